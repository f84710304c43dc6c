//! Convolutions whose groups have one input channel: every output channel is a sum of shifted
//! copies of one input plane.
//!
//! The padded plane is split by the strides into phases (for stride 2: even and odd columns, of
//! even and odd rows), in which neighbouring outputs read neighbouring inputs. A tap is then one
//! constant offset, and the whole plane one long run, rows' ends included: what is computed there
//! is not copied out.

use super::Finish;
use super::im2col::tap_coordinates;
use super::shape::ConvShape;
use crate::gemm::{RegisterKernel, Vector, dispatch_registers};
use crate::parallel::{self, PARALLEL_WORK, SharedMut};
use crate::{Real, map, scratch};

/// Registers of sums: enough to hide the latency of an addition.
const REGISTERS: usize = 4;

/// Elements that a run may be read or written beyond its end: less than the widest `REGISTERS`.
const SLACK: usize = 64;

/// How a padded plane is laid out in phases.
struct Layout {
    /// Phases' depth, height and width, enough for all outputs and taps.
    dims: [usize; 3],
    strides: [usize; 3],
}

impl Layout {
    fn of(shape: &ConvShape) -> Self {
        let reach = |i: usize| {
            let axis = &shape.axes[i];
            // A kernel that only ever touches some phases still gets all of them: 1 x 1 ones with
            // a stride are rare.
            ((axis.output() - 1) * axis.stride + axis.span()).div_ceil(axis.stride)
        };
        Self {
            dims: [reach(0), reach(1), reach(2)],
            strides: shape.axes.map(|a| a.stride),
        }
    }

    fn phase_len(&self) -> usize {
        self.dims.iter().product()
    }

    fn len(&self) -> usize {
        self.phase_len() * self.strides.iter().product::<usize>()
    }

    /// Where the element at padded coordinates lies.
    fn offset(&self, at: [usize; 3]) -> usize {
        let [sz, sy, sx] = self.strides;
        let phase = (at[0] % sz * sy + at[1] % sy) * sx + at[2] % sx;
        phase * self.phase_len() + self.within([at[0] / sz, at[1] / sy, at[2] / sx])
    }

    /// Where coordinates lie within a phase: also where the output at these coordinates lies in a
    /// run of outputs.
    fn within(&self, at: [usize; 3]) -> usize {
        (at[0] * self.dims[1] + at[1]) * self.dims[2] + at[2]
    }
}

/// `out[i] = bias + Σ weights[t]·x[offsets[t] + i]` for all i below `len`.
struct Run<'a, T> {
    x: &'a [T],
    offsets: &'a [usize],
    weights: &'a [T],
    bias: T,
    len: usize,
    out: &'a mut [T],
}

impl<T: Real> RegisterKernel<T> for Run<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        let step = REGISTERS * V::LEN;
        debug_assert!(step <= SLACK);
        for start in (0..self.len).step_by(step) {
            // SAFETY: `x` and `out` go on for `SLACK` elements after what the last output needs.
            unsafe {
                let mut sums = [V::splat(self.bias); REGISTERS];
                for (offset, weight) in self.offsets.iter().zip(self.weights) {
                    let x = self.x.as_ptr().add(offset + start);
                    let weight = V::splat(*weight);
                    for (r, sum) in sums.iter_mut().enumerate() {
                        *sum = sum.add_product(weight, V::load(x.add(r * V::LEN)));
                    }
                }
                let out = self.out.as_mut_ptr().add(start);
                for (r, sum) in sums.iter().enumerate() {
                    sum.store(out.add(r * V::LEN));
                }
            }
        }
    }
}

/// Convolves; the lengths have been checked.
pub(super) fn conv<T: Real>(
    shape: &ConvShape,
    x: &[T],
    weights: &[T],
    finish: Finish<'_, T>,
    out: &mut [T],
) {
    let layout = Layout::of(shape);
    let (taps, pixels, volume) = (shape.taps(), shape.pixels(), shape.input_volume());
    let dims = shape.output_dims();
    let run_len = layout.within(dims.map(|d| d - 1)) + 1;
    let offsets: Vec<usize> = (0..taps)
        .map(|tap| {
            let at = tap_coordinates(shape, tap);
            layout.offset(std::array::from_fn(|i| at[i] * shape.axes[i].dilation))
        })
        .collect();

    let planes = shape.batch * shape.out_channels;
    let plane_work = (2 * run_len * taps + layout.len() * 2).max(1);
    let planes_per_task = (PARALLEL_WORK / 8 / plane_work).max(1);
    let to = SharedMut(out.as_mut_ptr());
    let work = planes.saturating_mul(plane_work);
    parallel::for_each(planes.div_ceil(planes_per_task), work, |task| {
        scratch::with(layout.len() + SLACK, |padded: &mut [T]| {
            scratch::with(run_len + SLACK, |run: &mut [T]| {
                // The padding stays zero from plane to plane.
                padded.fill(T::ZERO);
                let first = task * planes_per_task;
                for plane in first..(first + planes_per_task).min(planes) {
                    let channel = plane % shape.out_channels;
                    let source = plane / shape.out_channels * shape.in_channels
                        + channel / shape.group_out();
                    fill(shape, &layout, &x[source * volume..][..volume], padded);
                    let kernel = Run {
                        x: padded,
                        offsets: &offsets,
                        weights: &weights[channel * taps..][..taps],
                        bias: finish.bias.map_or(T::ZERO, |bias| bias[channel]),
                        len: run_len,
                        out: run,
                    };
                    // SAFETY: the largest offset plus `run_len` is the layout's length at most,
                    // and both buffers have the slack.
                    unsafe { dispatch_registers(kernel) };
                    // SAFETY: within `out`, whose length is checked; each plane is one task's.
                    let out = unsafe {
                        std::slice::from_raw_parts_mut(to.get().add(plane * pixels), pixels)
                    };
                    for (i, row) in out.chunks_exact_mut(dims[2]).enumerate() {
                        let from = layout.within([i / dims[1], i % dims[1], 0]);
                        row.copy_from_slice(&run[from..from + dims[2]]);
                    }
                    if let Some(activation) = finish.activation {
                        map::activate_here(activation, out);
                    }
                }
            });
        });
    });
}

/// Copies a plane into its phases.
fn fill<T: Real>(shape: &ConvShape, layout: &Layout, plane: &[T], padded: &mut [T]) {
    let [depth, height, width] = shape.axes.map(|a| a.input);
    let pad = shape.axes.map(|a| a.pad_begin);
    let limit = |i: usize| layout.dims[i] * layout.strides[i];
    let step = layout.strides[2];
    for z in 0..depth.min(limit(0).saturating_sub(pad[0])) {
        for y in 0..height.min(limit(1).saturating_sub(pad[1])) {
            let row = &plane[(z * height + y) * width..][..width];
            // Elements beyond the last one that any output needs are left out.
            let row = &row[..width.min(limit(2).saturating_sub(pad[2]))];
            for phase in 0..step.min(row.len()) {
                let at = layout.offset([z + pad[0], y + pad[1], phase + pad[2]]);
                let from = &row[phase..];
                let to = &mut padded[at..][..from.len().div_ceil(step)];
                if step == 1 {
                    to.copy_from_slice(from);
                } else {
                    to.iter_mut()
                        .zip(from.iter().step_by(step))
                        .for_each(|(t, f)| *t = *f);
                }
            }
        }
    }
}
