//! Constant: elements are placed by the plan, so a constant layer never runs.

use super::Call;
use tensoracle_graph::Constant;
use tensoracle_kernels::Real;

pub(super) fn run<T: Real>(_: &Constant, _: &mut Call<'_, T>) {
    unreachable!("the plan supplies constants");
}
