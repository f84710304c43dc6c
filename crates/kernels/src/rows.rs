//! Operations on rows that need a row's statistics: softmax, layer normalisation, moments.
//!
//! A row's sums are those of `fold`. Rows are divided over threads, a row never is.

use crate::activation::math_map;
use crate::level::{Kernel, dispatch};
use crate::map::plain_map;
use crate::parallel::{self, SharedMut, TOUCH};
use crate::{Real, fold, scratch};

/// Work per element of a softmax or normalisation.
const COST: usize = 8 * TOUCH;

/// Columns of a strided softmax handled at a time.
const COLUMNS: usize = 32;

/// Replaces a contiguous row by its softmax.
fn softmax_row<T: Real>(row: &mut [T]) {
    // A NaN is passed over here: it will make the sum NaN, and so the whole row.
    let max = fold::largest(row);
    dispatch(ExpFrom { row, max });
    let scale = T::from_f64(1.0 / fold::sum(row));
    dispatch(Scale { row, scale });
}

/// e to the power of each element less the largest.
struct ExpFrom<'a, T> {
    row: &'a mut [T],
    max: T,
}

impl<T: Real> Kernel for ExpFrom<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        math_map(self.row, |x| (x - self.max).exp::<FMA>());
    }
}

struct Scale<'a, T> {
    row: &'a mut [T],
    scale: T,
}

impl<T: Real> Kernel for Scale<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        plain_map(self.row, |x| x * self.scale);
    }
}

/// Rows of `inner` elements, of which up to [`COLUMNS`] columns are gathered, each a softmax.
fn softmax_columns<T: Real>(from: *mut T, axis: usize, inner: usize, columns: usize) {
    scratch::with(axis * columns, |gathered| {
        for i in 0..axis {
            for j in 0..columns {
                // SAFETY: the caller owns `columns` columns of `axis` rows, `inner` apart.
                gathered[j * axis + i] = unsafe { *from.add(i * inner + j) };
            }
        }
        for row in gathered.chunks_exact_mut(axis) {
            softmax_row(row);
        }
        for i in 0..axis {
            for j in 0..columns {
                // SAFETY: as above.
                unsafe { *from.add(i * inner + j) = gathered[j * axis + i] };
            }
        }
    });
}

/// Softmax over the middle axis of `values`, `[outer, axis, inner]`, in place. The largest element
/// is subtracted first; a NaN, or nothing but -∞, makes a row NaN.
///
/// # Panics
/// If the length is not the product of the dimensions.
pub fn softmax<T: Real>(values: &mut [T], [outer, axis, inner]: [usize; 3]) {
    assert_eq!(values.len(), outer * axis * inner, "softmax: length");
    if values.is_empty() {
        return;
    }
    let work = values.len().saturating_mul(COST);
    let parts = inner.div_ceil(COLUMNS);
    let to = SharedMut(values.as_mut_ptr());
    parallel::for_each(outer * parts, work, |i| {
        let (row, column) = (i / parts, i % parts * COLUMNS);
        // SAFETY: within `values`, whose length is checked; every index has columns of its own.
        let from = unsafe { to.get().add(row * axis * inner + column) };
        if inner == 1 {
            // SAFETY: a row of its own, as above.
            softmax_row(unsafe { std::slice::from_raw_parts_mut(from, axis) });
        } else {
            softmax_columns(from, axis, inner, COLUMNS.min(inner - column));
        }
    });
}

/// Mean and variance (the mean square of the distance from the mean) of some values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// NaN for no values.
    pub mean: f64,
    /// Never negative; NaN for no values.
    pub variance: f64,
}

/// The moments of a contiguous run, in two passes.
pub fn moments<T: Real>(values: &[T]) -> Moments {
    let count = values.len() as f64;
    let mean = fold::sum(values) / count;
    let centre = T::from_f64(mean);
    let squares = fold::squares(values, centre);
    // The centre was rounded: its distance from the mean is taken out again.
    let shift = mean - centre.to_f64();
    let variance = squares / count - shift * shift;
    Moments {
        mean,
        variance: if variance < 0.0 { 0.0 } else { variance },
    }
}

struct NormaliseRow<'a, T> {
    x: &'a [T],
    mean: T,
    factor: T,
    scale: Option<&'a [T]>,
    bias: Option<&'a [T]>,
    out: &'a mut [T],
}

impl<T: Real> Kernel for NormaliseRow<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (mean, factor) = (self.mean, self.factor);
        let pairs = self.out.iter_mut().zip(self.x);
        match (self.scale, self.bias) {
            (None, None) => pairs.for_each(|(o, x)| *o = (*x - mean) * factor),
            (Some(scale), None) => {
                pairs
                    .zip(scale)
                    .for_each(|((o, x), s)| *o = (*x - mean) * factor * *s);
            }
            (None, Some(bias)) => {
                let pairs = pairs.zip(bias);
                pairs.for_each(|((o, x), b)| *o = (*x - mean).madd::<FMA>(factor, *b));
            }
            (Some(scale), Some(bias)) => {
                let pairs = pairs.zip(scale).zip(bias);
                pairs.for_each(|(((o, x), s), b)| {
                    *o = ((*x - mean) * factor).madd::<FMA>(*s, *b);
                });
            }
        }
    }
}

/// Layer normalisation of each row of `x`, `[rows, columns]`, into `out`:
/// (x - mean) / √(variance + ε) · scale + bias, with `scale` and `bias` of `columns` elements.
///
/// # Panics
/// If a length does not fit the dimensions.
pub fn layer_norm<T: Real>(
    x: &[T],
    [rows, columns]: [usize; 2],
    epsilon: f64,
    scale: Option<&[T]>,
    bias: Option<&[T]>,
    out: &mut [T],
) {
    assert_eq!(x.len(), rows * columns, "layer normalisation: input length");
    assert_eq!(
        out.len(),
        rows * columns,
        "layer normalisation: output length"
    );
    for (name, values) in [("scale", scale), ("bias", bias)] {
        let len = values.map_or(columns, <[T]>::len);
        assert_eq!(len, columns, "layer normalisation: {name} length");
    }
    let to = SharedMut(out.as_mut_ptr());
    parallel::for_each(rows, x.len().saturating_mul(COST), |i| {
        let x = &x[i * columns..(i + 1) * columns];
        // SAFETY: `out` has `rows` rows of `columns`, each written by one call.
        let out = unsafe { std::slice::from_raw_parts_mut(to.get().add(i * columns), columns) };
        let Moments { mean, variance } = moments(x);
        let (mean, factor) = (
            T::from_f64(mean),
            T::from_f64(1.0 / (variance + epsilon).sqrt()),
        );
        dispatch(NormaliseRow {
            x,
            mean,
            factor,
            scale,
            bias,
            out,
        });
    });
}
