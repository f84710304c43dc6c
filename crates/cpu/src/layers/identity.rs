//! Identity: a copy, where the output could not simply share the input's memory.

use super::Call;
use crate::storage::{Elements, ElementsMut, moved};
use tensoracle_graph::Identity;
use tensoracle_kernels::Real;

pub(super) fn run<T: Real>(_: &Identity, call: &mut Call<'_, T>) {
    moved!(call.input(0).elements, &mut call.output, |from, to| to
        .copy_from_slice(from));
}
