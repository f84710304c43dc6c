//! Softmax along one axis.

use super::{Call, around, resolved};
use tensoracle_graph::SoftMax;
use tensoracle_kernels::{Real, softmax};

pub(super) fn run<T: Real>(layer: &SoftMax, call: &mut Call<'_, T>) {
    let shape = around(call.dims, resolved(layer.axis));
    let from = call.input(0).elements.real();
    let to = call.output.real();
    to.copy_from_slice(from);
    softmax(to, shape);
}
