//! Concatenation: each input's part of every outer index, one after another.

use super::{Call, around, resolved};
use crate::storage::{Elements, ElementsMut, moved};
use tensoracle_graph::Concatenation;
use tensoracle_kernels::Real;

pub(super) fn run<T: Real>(layer: &Concatenation, call: &mut Call<'_, T>) {
    let axis = resolved(layer.axis);
    let [_, whole, inner] = around(call.dims, axis);
    let mut position = 0;
    for index in 0..call.inputs.len() {
        let input = call.input(index);
        let run = input.dims[axis] * inner;
        moved!(input.elements, &mut call.output, |from, to| {
            if run > 0 {
                for (from, to) in from.chunks(run).zip(to.chunks_mut(whole * inner)) {
                    to[position..position + run].copy_from_slice(from);
                }
            }
        });
        position += run;
    }
}
