//! Gather: rows, single elements or coordinates. An index out of bounds gives zero.

use super::strided::row_major;
use super::{Call, Operand, around, resolved};
use crate::storage::{Elements, ElementsMut, moved};
use tensoracle_graph::{Gather, GatherMode};
use tensoracle_kernels::Real;

pub(super) fn run<T: Real>(layer: &Gather, call: &mut Call<'_, T>) {
    let (data, indices) = (call.input(0), call.input(1));
    let dims = call.dims;
    moved!(
        data.elements,
        &mut call.output,
        |from, to| match layer.mode {
            GatherMode::Default => default(layer, from, data.dims, &indices, dims, to),
            GatherMode::Element => element(layer, from, data.dims, &indices, to),
            GatherMode::Nd => nd(layer, from, data.dims, &indices, to),
        }
    );
}

/// An index counted from the front, if it is inside.
fn place(index: i64, size: usize) -> Option<usize> {
    let index = if index < 0 {
        index.checked_add(size as i64)?
    } else {
        index
    };
    usize::try_from(index).ok().filter(|&index| index < size)
}

fn default<T: Copy, E: Copy + Default>(
    layer: &Gather,
    from: &[E],
    data: &[usize],
    indices: &Operand<'_, T>,
    output: &[usize],
    to: &mut [E],
) {
    let axis = resolved(layer.axis);
    let [_, size, inner] = around(data, axis);
    let shared = layer.elementwise_dims;
    // Output: shared · data between shared and axis · indices behind shared · inner.
    let shared_size: usize = output[..shared].iter().product();
    let middle: usize = data[shared..axis].iter().product();
    let picks: usize = indices.dims[shared..].iter().product();
    if to.is_empty() {
        return;
    }
    // The shared dimension may be broadcast on either side.
    let repeats = |dims: &[usize]| shared == 1 && dims[0] == 1;
    let mut parts = to.chunks_mut(inner);
    let all = indices.elements.integer();
    for s in 0..shared_size {
        let data_start = if repeats(data) { 0 } else { s * middle };
        let row = if repeats(indices.dims) { 0 } else { s * picks };
        for m in 0..middle {
            let start = (data_start + m) * size;
            for &index in &all[row..row + picks] {
                let Some(to) = parts.next() else { return };
                match place(index, size) {
                    Some(index) => to.copy_from_slice(&from[(start + index) * inner..][..inner]),
                    None => to.fill(E::default()),
                }
            }
        }
    }
}

fn element<T: Copy, E: Copy + Default>(
    layer: &Gather,
    from: &[E],
    data: &[usize],
    indices: &Operand<'_, T>,
    to: &mut [E],
) {
    let axis = resolved(layer.axis);
    let strides = row_major(data);
    let mut position = vec![0usize; data.len()];
    for (to, &index) in to.iter_mut().zip(indices.elements.integer()) {
        let offset: usize = (0..data.len())
            .filter(|&other| other != axis)
            .map(|other| position[other] * strides[other] as usize)
            .sum();
        *to = place(index, data[axis]).map_or_else(E::default, |index| {
            from[offset + index * strides[axis] as usize]
        });
        // The next position in row-major order.
        for axis in (0..position.len()).rev() {
            position[axis] += 1;
            if position[axis] < indices.dims[axis] {
                break;
            }
            position[axis] = 0;
        }
    }
}

fn nd<T: Copy, E: Copy + Default>(
    layer: &Gather,
    from: &[E],
    data: &[usize],
    indices: &Operand<'_, T>,
    to: &mut [E],
) {
    let shared = layer.elementwise_dims;
    let length = indices.dims[indices.dims.len() - 1];
    let run: usize = data[shared + length..].iter().product();
    let behind: usize = data[shared..].iter().product();
    let last = indices.dims.len() - 1;
    let rows: usize = indices.dims[shared..last].iter().product();
    if to.is_empty() {
        return;
    }
    let sizes = &data[shared..shared + length];
    let strides = row_major(&data[shared..]);
    let coordinates = indices.elements.integer();
    for (number, to) in to.chunks_mut(run).enumerate() {
        let coordinate = &coordinates[number * length..][..length];
        let offset = coordinate.iter().zip(sizes).zip(&strides).try_fold(
            number / rows * behind,
            |offset, ((&index, &size), &stride)| {
                Some(offset + place(index, size)? * stride as usize)
            },
        );
        match offset {
            Some(offset) => to.copy_from_slice(&from[offset..][..run]),
            None => to.fill(E::default()),
        }
    }
}
