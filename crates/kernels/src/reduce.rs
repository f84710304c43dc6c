//! Reductions along one axis: of contiguous runs, and of whole rows onto each other.
//!
//! The order of operations is fixed by the shape: sums of contiguous runs are those of `fold`; along a strided axis, rows are summed in groups of 128
//! and the groups' sums added up. Minimum and maximum are NaN if any element is.

use crate::level::{Kernel, dispatch};
use crate::map::{larger, smaller};
use crate::parallel::{self, SharedMut, TOUCH};
use crate::{Real, fold, scratch};

/// How elements are combined, after TensorRT's `ReduceOperation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Reduce {
    /// 0 of nothing.
    Sum,
    /// 1 of nothing.
    Prod,
    /// -∞ of nothing.
    Max,
    /// ∞ of nothing.
    Min,
    /// NaN of nothing.
    Mean,
}

/// Independent accumulators of a contiguous run.
const LANES: usize = 64;
/// Rows whose sum is kept apart, along a strided axis.
const GROUP: usize = 128;
/// Columns handled at a time along a strided axis.
const COLUMNS: usize = 64;

impl Reduce {
    #[inline(always)]
    fn neutral<T: Real>(self) -> T {
        match self {
            Self::Sum | Self::Mean => T::ZERO,
            Self::Prod => T::ONE,
            Self::Max => -T::INFINITY,
            Self::Min => T::INFINITY,
        }
    }

    #[inline(always)]
    fn combine<T: Real>(self, a: T, b: T) -> T {
        match self {
            Self::Sum | Self::Mean => a + b,
            Self::Prod => a * b,
            Self::Max => larger(a, b),
            Self::Min => smaller(a, b),
        }
    }
}

/// Combines a run with a fixed tree: interleaved lanes first, then the lanes pairwise.
#[inline(always)]
fn combine<T: Real>(values: &[T], neutral: T, combine: impl Fn(T, T) -> T) -> T {
    let (blocks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [neutral; LANES];
    for block in blocks {
        for (lane, v) in lanes.iter_mut().zip(block) {
            *lane = combine(*lane, *v);
        }
    }
    for (lane, v) in lanes.iter_mut().zip(rest) {
        *lane = combine(*lane, *v);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] = combine(lanes[i], lanes[i + width]);
        }
        width /= 2;
    }
    lanes[0]
}

/// One contiguous run.
struct Run<'a, T> {
    op: Reduce,
    values: &'a [T],
}

impl<T: Real> Kernel for Run<'_, T> {
    /// In `f64`, which holds either type's values.
    type Output = f64;
    #[inline(always)]
    fn run<const FMA: bool>(self) -> f64 {
        let values = self.values;
        match self.op {
            Reduce::Sum | Reduce::Mean => fold::sum(values),
            Reduce::Prod => combine(values, T::ONE, |a, b| a * b).to_f64(),
            Reduce::Max => combine(values, -T::INFINITY, larger).to_f64(),
            Reduce::Min => combine(values, T::INFINITY, smaller).to_f64(),
        }
    }
}

/// Rows of `inner` elements combined onto each other, for at most [`COLUMNS`] columns.
struct Rows<'a, T> {
    op: Reduce,
    /// From the first column of the first row.
    values: &'a [T],
    axis: usize,
    inner: usize,
    out: &'a mut [T],
}

impl<T: Real> Kernel for Rows<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        match self.op {
            Reduce::Sum | Reduce::Mean => self.fold(Reduce::Sum),
            Reduce::Prod => self.fold(Reduce::Prod),
            Reduce::Max => self.fold(Reduce::Max),
            Reduce::Min => self.fold(Reduce::Min),
        }
    }
}

impl<T: Real> Rows<'_, T> {
    /// `op` is a constant in every call, so that it is decided outside the loops.
    #[inline(always)]
    fn fold(self, op: Reduce) {
        let columns = self.out.len();
        let mut total = [op.neutral(); COLUMNS];
        for group in (0..self.axis).step_by(GROUP) {
            let mut part = [op.neutral(); COLUMNS];
            for row in group..(group + GROUP).min(self.axis) {
                let row = &self.values[row * self.inner..][..columns];
                if let Ok(row) = <&[T; COLUMNS]>::try_from(row) {
                    part.iter_mut()
                        .zip(row)
                        .for_each(|(a, b)| *a = op.combine(*a, *b));
                } else {
                    part.iter_mut()
                        .zip(row)
                        .for_each(|(a, b)| *a = op.combine(*a, *b));
                }
            }
            total
                .iter_mut()
                .zip(part)
                .for_each(|(a, b)| *a = op.combine(*a, b));
        }
        self.out.copy_from_slice(&total[..columns]);
    }
}

/// Runs above this length are themselves divided, at multiples of it.
const LONG: usize = 1 << 17;

/// Reduces the middle axis of `x`, `[outer, axis, inner]`, into `out`, `[outer, inner]`.
///
/// # Panics
/// If a slice's length is not the product of its dimensions.
pub fn reduce<T: Real>(op: Reduce, x: &[T], [outer, axis, inner]: [usize; 3], out: &mut [T]) {
    assert_eq!(x.len(), outer * axis * inner, "reduction: input length");
    assert_eq!(out.len(), outer * inner, "reduction: output length");
    if inner == 1 {
        reduce_runs(op, x, outer, axis, out);
    } else {
        let parts = inner.div_ceil(COLUMNS);
        let to = SharedMut(out.as_mut_ptr());
        parallel::for_each(outer * parts, x.len() * TOUCH, |i| {
            let (row, column) = (i / parts, i % parts * COLUMNS);
            let columns = COLUMNS.min(inner - column);
            // SAFETY: within `out`, whose length is checked; every index has columns of its own.
            let out = unsafe {
                std::slice::from_raw_parts_mut(to.get().add(row * inner + column), columns)
            };
            if axis == 0 {
                out.fill(op.neutral());
            } else {
                let values = &x[row * axis * inner + column..];
                dispatch(Rows {
                    op,
                    values,
                    axis,
                    inner,
                    out,
                });
            }
        });
    }
    if op == Reduce::Mean {
        let count = axis as f64;
        // Runs have their mean already, taken before rounding.
        if inner != 1 {
            out.iter_mut()
                .for_each(|v| *v = T::from_f64(v.to_f64() / count));
        }
    }
}

fn reduce_runs<T: Real>(op: Reduce, x: &[T], outer: usize, axis: usize, out: &mut [T]) {
    let finish = |value: f64| {
        T::from_f64(if op == Reduce::Mean {
            value / axis as f64
        } else {
            value
        })
    };
    if axis <= LONG {
        let to = SharedMut(out.as_mut_ptr());
        parallel::for_each(outer, x.len() * TOUCH, |i| {
            let values = &x[i * axis..(i + 1) * axis];
            // SAFETY: `out` has `outer` elements, each written once.
            unsafe { *to.get().add(i) = finish(dispatch(Run { op, values })) };
        });
        return;
    }
    let parts = axis.div_ceil(LONG);
    scratch::with(parts, |partial: &mut [f64]| {
        for (i, out) in out.iter_mut().enumerate() {
            let values = &x[i * axis..(i + 1) * axis];
            let to = SharedMut(partial.as_mut_ptr());
            parallel::for_each(parts, axis * TOUCH, |i| {
                let values = &values[i * LONG..((i + 1) * LONG).min(axis)];
                // SAFETY: `partial` has `parts` elements, each written once.
                unsafe { *to.get().add(i) = dispatch(Run { op, values }) };
            });
            *out = finish(dispatch(Run {
                op: part_op(op),
                values: partial,
            }));
        }
    });
}

/// What combines the results of parts: sums, also for a mean.
fn part_op(op: Reduce) -> Reduce {
    if op == Reduce::Mean { Reduce::Sum } else { op }
}
