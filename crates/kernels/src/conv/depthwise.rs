//! Convolutions whose groups have one input channel: every output channel is a sum of shifted
//! copies of one input plane.
//!
//! The padded plane is split by the strides into phases (for stride 2: even and odd columns, of
//! even and odd rows), in which neighbouring outputs read neighbouring inputs. A tap is then one
//! constant offset, and the whole plane one long run, rows' ends included: what is computed there
//! is not copied out.

use super::Finish;
use super::im2col::{copy, tap_coordinates};
use super::shape::ConvShape;
use crate::parallel::{self, PARALLEL_WORK, SharedMut};
use crate::registers::{RegisterKernel, Vector, dispatch_registers};
use crate::{Real, map, scratch};

/// Registers of sums: enough to hide the latency of an addition.
const REGISTERS: usize = 4;

/// Elements that a run may be read or written beyond its end: less than the widest `REGISTERS`.
const SLACK: usize = 64;

/// Elements of a run, at least.
const RUN_LEN: usize = 512;

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

/// `out[i] = bias + Σ weights[t]·x[offsets[t] + i]` for all i below `len`, then the limits.
struct Run<'a, T> {
    x: *const T,
    offsets: &'a [usize],
    weights: &'a [T],
    bias: T,
    limits: Option<(T, T)>,
    len: usize,
    out: *mut T,
}

impl<T: Real> RegisterKernel<T> for Run<'_, T> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        const { assert!(REGISTERS * V::LEN <= SLACK) };
        let mut start = 0;
        // SAFETY: `x` and `out` go on for a register's width after what the last output needs.
        unsafe {
            while self.len - start > (REGISTERS - 1) * V::LEN {
                self.step::<V, REGISTERS>(start);
                start += REGISTERS * V::LEN;
                if start >= self.len {
                    return;
                }
            }
            while start < self.len {
                self.step::<V, 1>(start);
                start += V::LEN;
            }
        }
    }
}

impl<T: Real> Run<'_, T> {
    /// `R` registers of outputs from `start`.
    #[inline(always)]
    unsafe fn step<V: Vector<Element = T>, const R: usize>(&self, start: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut sums = [V::splat(self.bias); R];
            for (offset, weight) in self.offsets.iter().zip(self.weights) {
                let x = self.x.add(offset + start);
                let weight = V::splat(*weight);
                for (r, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.add_product(weight, V::load(x.add(r * V::LEN)));
                }
            }
            if let Some((low, high)) = self.limits {
                let (low, high) = (V::splat(low), V::splat(high));
                sums.iter_mut()
                    .for_each(|sum| *sum = sum.at_most(high).at_least(low));
            }
            let out = self.out.add(start);
            for (r, sum) in sums.iter().enumerate() {
                sum.store(out.add(r * V::LEN));
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

    // Some lines of the output at a time, so that a run's results are still in the first cache
    // when they are copied out.
    let pitch = layout.dims[2];
    let lines = RUN_LEN.div_ceil(pitch);
    let limits = finish.activation.and_then(|activation| activation.limits());
    let activation = finish.activation.filter(|_| limits.is_none());

    let planes = shape.batch * shape.out_channels;
    let plane_work = (2 * run_len * taps + layout.len() * 2).max(1);
    let planes_per_task = (PARALLEL_WORK / 8 / plane_work).max(1);
    let to = SharedMut(out.as_mut_ptr());
    let work = planes.saturating_mul(plane_work);
    parallel::for_each(planes.div_ceil(planes_per_task), work, |task| {
        scratch::with(layout.len() + SLACK, |padded: &mut [T]| {
            scratch::with(
                (lines * pitch).min(run_len) + SLACK,
                |results: &mut [T]| {
                    // The padding stays zero from plane to plane.
                    padded.fill(T::ZERO);
                    let first = task * planes_per_task;
                    for plane in first..(first + planes_per_task).min(planes) {
                        let channel = plane % shape.out_channels;
                        let source = plane / shape.out_channels * shape.in_channels
                            + channel / shape.group_out();
                        fill(shape, &layout, &x[source * volume..][..volume], padded);
                        // SAFETY: within `out`, whose length is checked; each plane is one task's.
                        let out = unsafe {
                            std::slice::from_raw_parts_mut(to.get().add(plane * pixels), pixels)
                        };
                        for slice in 0..dims[0] {
                            for line in (0..dims[1]).step_by(lines) {
                                let count = lines.min(dims[1] - line);
                                let at = layout.within([slice, line, 0]);
                                let kernel = Run {
                                    x: padded[at..].as_ptr(),
                                    offsets: &offsets,
                                    weights: &weights[channel * taps..][..taps],
                                    bias: finish.bias.map_or(T::ZERO, |bias| bias[channel]),
                                    limits,
                                    len: (count - 1) * pitch + dims[2],
                                    out: results.as_mut_ptr(),
                                };
                                // SAFETY: the last output's offset plus the largest tap's is within
                                // the layout, the length at most that of `results`; both have slack.
                                unsafe { dispatch_registers(kernel) };
                                let out = &mut out[(slice * dims[1] + line) * dims[2]..];
                                let rows = out.chunks_exact_mut(dims[2]).zip(results.chunks(pitch));
                                for (out, results) in rows.take(count) {
                                    out.copy_from_slice(&results[..dims[2]]);
                                }
                            }
                        }
                        if let Some(activation) = activation {
                            map::activate_here(activation, out);
                        }
                    }
                },
            );
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
                copy(from, step, &mut padded[at..][..from.len().div_ceil(step)]);
            }
        }
    }
}
