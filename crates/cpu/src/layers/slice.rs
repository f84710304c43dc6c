//! Slice: inside the input by strides; outside it by the mode, one coordinate at a time.

use super::Call;
use super::strided::{gather_strided, row_major};
use crate::storage::{Elements, ElementsMut, moved};
use tensoracle_graph::{SampleMode, Slice};
use tensoracle_kernels::Real;

pub(super) fn run<T: Real>(layer: &Slice, call: &mut Call<'_, T>) {
    let input = call.input(0);
    let Some(slice) = call.slice else {
        unreachable!("sizes are bound before a slice runs");
    };
    if call.dims.contains(&0) {
        return;
    }
    let strides = row_major(input.dims);
    if is_inside(&slice.start, &slice.stride, call.dims, input.dims) {
        let offset = slice
            .start
            .iter()
            .zip(&strides)
            .map(|(start, stride)| *start as isize * stride);
        let steps: Vec<isize> = slice
            .stride
            .iter()
            .zip(&strides)
            .zip(call.dims)
            // A single element takes no step, however large one is declared.
            .map(|((step, stride), &size)| {
                if size == 1 {
                    0
                } else {
                    *step as isize * stride
                }
            })
            .collect();
        let (offset, dims) = (offset.sum(), call.dims);
        moved!(input.elements, &mut call.output, |from, to| {
            gather_strided(from, offset, dims, &steps, to);
        });
        return;
    }
    // For each axis, where each output coordinate reads: an offset, or the fill value.
    let places: Vec<Vec<Option<usize>>> = (0..call.dims.len())
        .map(|axis| {
            (0..call.dims[axis])
                .map(|index| {
                    let at = slice.start[axis]
                        .saturating_add((index as i64).saturating_mul(slice.stride[axis]));
                    sample(layer.mode, at, input.dims[axis]).map(|at| at * strides[axis] as usize)
                })
                .collect()
        })
        .collect();
    let fill = call.optional(4).map(|fill| fill.elements);
    match (input.elements, &mut call.output) {
        (Elements::Real(from), ElementsMut::Real(to)) => {
            copy(
                from,
                &places,
                fill.map_or_else(T::default, |fill| fill.real()[0]),
                to,
            );
        }
        (Elements::Integer(from), ElementsMut::Integer(to)) => {
            copy(from, &places, fill.map_or(0, |fill| fill.integer()[0]), to);
        }
        (Elements::Boolean(from), ElementsMut::Boolean(to)) => {
            copy(from, &places, fill.map_or(0, |fill| fill.boolean()[0]), to);
        }
        _ => unreachable!("inference gives input and output one type"),
    }
}

fn is_inside(start: &[i64], stride: &[i64], dims: &[usize], input: &[usize]) -> bool {
    (0..dims.len()).all(|axis| {
        let last = stride[axis]
            .checked_mul(dims[axis] as i64 - 1)
            .and_then(|reach| reach.checked_add(start[axis]));
        let inside = 0..input[axis] as i64;
        inside.contains(&start[axis]) && last.is_some_and(|last| inside.contains(&last))
    })
}

/// The coordinate that is read in place of `at`; `None` for the fill value.
fn sample(mode: SampleMode, at: i64, size: usize) -> Option<usize> {
    let size = i64::try_from(size).ok()?;
    if (0..size).contains(&at) {
        return usize::try_from(at).ok();
    }
    if size == 0 {
        return None;
    }
    let at = match mode {
        // Inference and the sizes' constraints keep strict slices inside.
        SampleMode::StrictBounds | SampleMode::Fill => return None,
        SampleMode::Wrap => at.rem_euclid(size),
        SampleMode::Clamp => at.clamp(0, size - 1),
        SampleMode::Reflect => {
            // There and back again, the outermost elements once: a period of 2·(size - 1).
            let period = (2 * (size - 1)).max(1);
            let at = at.rem_euclid(period);
            at.min(period - at).min(size - 1)
        }
    };
    usize::try_from(at).ok()
}

/// Row-major over the axes; the innermost axis is the inner loop.
fn copy<E: Copy>(from: &[E], places: &[Vec<Option<usize>>], fill: E, to: &mut [E]) {
    let Some((inner, outer)) = places.split_last() else {
        to.copy_from_slice(&from[..to.len()]);
        return;
    };
    for (index, to) in to.chunks_mut(inner.len()).enumerate() {
        let mut rest = index;
        let mut base = Some(0usize);
        for axis in outer.iter().rev() {
            let place = axis[rest % axis.len()];
            rest /= axis.len();
            base = base.zip(place).map(|(base, place)| base + place);
        }
        for (to, place) in to.iter_mut().zip(inner) {
            *to = base
                .zip(*place)
                .map_or(fill, |(base, place)| from[base + place]);
        }
    }
}
