//! Shuffle: the transposes move elements, the reshape between them does not.

use super::Call;
use super::strided::{gather_strided, row_major};
use crate::storage::{Elements, ElementsMut, moved};
use tensoracle_graph::Shuffle;
use tensoracle_kernels::Real;

pub(super) fn run<T: Real>(layer: &Shuffle, call: &mut Call<'_, T>) {
    let input = call.input(0);
    let first = layer
        .first_transpose
        .as_deref()
        .filter(|permutation| moves(permutation));
    let second = layer
        .second_transpose
        .as_deref()
        .filter(|permutation| moves(permutation));
    let dims = call.dims;
    moved!(
        input.elements,
        &mut call.output,
        |from, to| match (first, second) {
            (None, None) => to.copy_from_slice(from),
            (Some(first), None) => transpose(from, input.dims, first, to),
            (None, Some(second)) => transpose(from, &before(second, dims), second, to),
            (Some(first), Some(second)) => {
                let mut between = vec![Default::default(); from.len()];
                transpose(from, input.dims, first, &mut between);
                transpose(&between, &before(second, dims), second, to);
            }
        }
    );
}

/// Whether a permutation changes anything.
pub(crate) fn moves(permutation: &[usize]) -> bool {
    permutation
        .iter()
        .enumerate()
        .any(|(index, &axis)| index != axis)
}

/// The dims that a permutation made `dims` of.
fn before(permutation: &[usize], dims: &[usize]) -> Vec<usize> {
    let mut from = vec![0; dims.len()];
    permutation
        .iter()
        .zip(dims)
        .for_each(|(&axis, &size)| from[axis] = size);
    from
}

fn transpose<E: Copy + Send + Sync>(
    from: &[E],
    dims: &[usize],
    permutation: &[usize],
    to: &mut [E],
) {
    let strides = row_major(dims);
    let (dims, strides): (Vec<_>, Vec<_>) = permutation
        .iter()
        .map(|&axis| (dims[axis], strides[axis]))
        .unzip();
    gather_strided(from, 0, &dims, &strides, to);
}
