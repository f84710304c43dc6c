//! What a comparison says.

use crate::histogram::Histogram;
use crate::measure::{NonFinite, Part, Worst, measure};
use crate::{CompareError, Precision, TensorRef, Tolerance, Value, number};
use serde::{Serialize, Serializer};
use tensoracle_element::{Element, Kind};
use tensoracle_progress::{Progress, Silent};

/// The shares of elements that quantiles of the error are given for.
pub const QUANTILES: [f64; 6] = [0.5, 0.75, 0.9, 0.99, 0.999, 0.9999];

/// Measurements of a candidate against its reference.
///
/// The fields from `candidate_nonfinite_count` to `mismatch_fraction` are strict: one NaN or
/// infinity on either side makes every floating point measurement `None`. `finite` measures the
/// positions that are finite on both sides, whatever the others are, and `nonfinite` says what
/// those are. Floating point is compared in `f64`.
///
/// In JSON, numbers that are not finite are the strings `NaN`, `Infinity` and `-Infinity`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OutputComparison {
    /// The type of the candidate's elements.
    pub candidate_element: Element,
    /// The type of the reference's elements.
    pub reference_element: Element,
    /// The shape of both.
    pub dims: Vec<u64>,
    /// Elements of each.
    pub element_count: u64,
    /// The limits that elements were held against.
    #[serde(flatten, serialize_with = "flat_tolerance")]
    pub tolerance: Option<Tolerance>,

    /// NaNs and infinities in the candidate.
    pub candidate_nonfinite_count: u64,
    /// NaNs and infinities in the reference.
    pub reference_nonfinite_count: u64,
    /// Largest `|candidate − reference|`; infinite where the largest number is exceeded.
    #[serde(serialize_with = "number::optional")]
    pub max_absolute_error: Option<f64>,
    /// Euclidean norm of the difference over that of the reference; `None` for a zero reference.
    #[serde(serialize_with = "number::optional")]
    pub relative_l2_error: Option<f64>,
    /// Cosine of the angle between both, seen as vectors; `None` where either is zero.
    #[serde(serialize_with = "number::optional")]
    pub cosine_similarity: Option<f64>,
    /// Elements beyond the tolerance; `None` without one.
    pub outside_tolerance_count: Option<u64>,
    /// The same as a share of all elements.
    pub outside_tolerance_fraction: Option<f64>,
    /// Elements of integer or boolean tensors that are not equal; `None` for floating point.
    pub mismatch_count: Option<u64>,
    /// The same as a share of all elements.
    pub mismatch_fraction: Option<f64>,

    /// The first element that is beyond the tolerance (without one: that differs at all), or where
    /// one side is a NaN or infinity that the other is not.
    pub first_offending: Option<Located>,
    /// What became of NaNs and infinities; `None` for integers and booleans.
    pub nonfinite: Option<NonFiniteCounts>,
    /// Measurements over the positions that are finite on both sides: for integers, over all;
    /// `None` for booleans and where there is no such position.
    pub finite: Option<FiniteMeasurements>,
}

/// NaNs and infinities by what the other side has in their place.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NonFiniteCounts {
    /// Positions where both sides are NaN.
    pub both_nan_count: u64,
    /// Positions where both sides are the same infinity.
    pub same_infinity_count: u64,
    /// Positions where one side is not finite and the other is something else.
    pub differing_count: u64,
    /// The first of the differing positions.
    pub first_differing: Option<Located>,
}

/// Measurements over positions that are finite on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FiniteMeasurements {
    /// How many positions they are.
    pub count: u64,
    /// Largest `|candidate − reference|`.
    #[serde(serialize_with = "number::plain")]
    pub max_absolute_error: f64,
    /// Euclidean norm of the difference over that of the reference, even where norms or
    /// differences exceed the largest number; `None` for a zero reference.
    #[serde(serialize_with = "number::optional")]
    pub relative_l2_error: Option<f64>,
    /// Cosine of the angle between both; `None` where either is zero.
    #[serde(serialize_with = "number::optional")]
    pub cosine_similarity: Option<f64>,
    /// Elements beyond the tolerance; `None` without one and for integers.
    pub outside_tolerance_count: Option<u64>,
    /// The same as a share of these positions.
    pub outside_tolerance_fraction: Option<f64>,
    /// Mean of `candidate − reference`: the bias.
    #[serde(serialize_with = "number::plain")]
    pub mean_error: f64,
    /// Mean of `|candidate − reference|`.
    #[serde(serialize_with = "number::plain")]
    pub mean_absolute_error: f64,
    /// Root of the mean of the squared error.
    #[serde(serialize_with = "number::plain")]
    pub rms_error: f64,
    /// `10 · log₁₀(Σ reference² / Σ error²)`, in decibels; `None` where either sum is zero.
    #[serde(serialize_with = "number::optional")]
    pub signal_to_noise_db: Option<f64>,
    /// Largest error in units in the last place: the error over the spacing that the candidate's
    /// type has at the reference. A reference rounded correctly to that type is off by at most
    /// 0.5. `None` for integers.
    #[serde(serialize_with = "number::optional")]
    pub max_ulp_error: Option<f64>,
    /// The element with the largest error; `None` where nothing differs.
    pub worst_absolute: Option<Located>,
    /// The element with the largest error over `|reference|`, among those with a reference other
    /// than zero.
    pub worst_relative: Option<Located>,
    /// The errors that the shares [`QUANTILES`] of elements do not exceed, to 0.8%.
    pub quantiles: Vec<Quantile>,
    /// How many errors are how large.
    pub histogram: Histogram,
}

/// An error that a share of elements does not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantile {
    /// The share, 0 to 1.
    pub fraction: f64,
    /// The error.
    #[serde(serialize_with = "number::plain")]
    pub error: f64,
}

/// One element and where it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Located {
    /// Its row-major index.
    pub index: u64,
    /// The same as a position along each dimension, outermost first.
    pub position: Vec<u64>,
    /// The candidate's value.
    pub candidate: Value,
    /// The reference's value.
    pub reference: Value,
    /// `|candidate − reference|`; NaN where that is none.
    #[serde(serialize_with = "number::plain")]
    pub error: f64,
    /// The error over `|reference|`; `None` where the reference is zero or either is not finite.
    #[serde(serialize_with = "number::optional")]
    pub relative_error: Option<f64>,
}

/// Measures one candidate against the corresponding reference, on all cores. It reports; the
/// caller chooses the limits that make an acceptable output.
///
/// The result depends on the two tensors and the tolerance alone, not on the number of threads.
///
/// ```
/// use tensoracle_compare::{TensorRef, Tolerance, compare_outputs};
///
/// let reference = TensorRef::of(&[2, 2], &[1.0f32, 2.0, 3.0, 4.0])?;
/// let candidate = TensorRef::of(&[2, 2], &[1.0f32, 2.0, 3.5, 4.0])?;
/// let found = compare_outputs(candidate, reference, Some(Tolerance::new(0.1, 0.0)?))?;
/// assert_eq!(found.max_absolute_error, Some(0.5));
/// assert_eq!(found.outside_tolerance_count, Some(1));
/// assert_eq!(found.first_offending.unwrap().position, [1, 0]);
/// # Ok::<(), tensoracle_compare::CompareError>(())
/// ```
///
/// # Errors
/// Different shapes, different kinds of number, or no elements.
pub fn compare_outputs(
    candidate: TensorRef<'_>,
    reference: TensorRef<'_>,
    tolerance: Option<Tolerance>,
) -> Result<OutputComparison, CompareError> {
    compare_outputs_with(candidate, reference, tolerance, &Silent)
}

/// As [`compare_outputs`], telling `progress` of the bytes compared.
///
/// # Errors
/// As [`compare_outputs`]; [`CompareError::Cancelled`] when `progress` asks to stop.
pub fn compare_outputs_with(
    candidate: TensorRef<'_>,
    reference: TensorRef<'_>,
    tolerance: Option<Tolerance>,
    progress: &dyn Progress,
) -> Result<OutputComparison, CompareError> {
    check(candidate, reference)?;
    let kind = candidate.element().kind();
    // Integers and booleans agree where they are equal.
    let tolerance = tolerance.filter(|_| kind == Kind::Floating);
    let (part, histogram) = measure(candidate, reference, tolerance, progress)?;
    let pair = Pair {
        candidate,
        reference,
    };
    Ok(pair.comparison(kind, tolerance, &part, histogram))
}

/// Whether two tensors can be compared at all.
///
/// # Errors
/// Different shapes, different kinds of number, or no elements.
pub(crate) fn check(
    candidate: TensorRef<'_>,
    reference: TensorRef<'_>,
) -> Result<(), CompareError> {
    if candidate.dims() != reference.dims() {
        return Err(CompareError::Shapes {
            candidate: candidate.dims().to_vec(),
            reference: reference.dims().to_vec(),
        });
    }
    if candidate.element().kind() != reference.element().kind() {
        return Err(CompareError::Kinds {
            candidate: candidate.element(),
            reference: reference.element(),
        });
    }
    if candidate.count() == 0 {
        return Err(CompareError::Empty {
            dims: candidate.dims().to_vec(),
        });
    }
    Ok(())
}

struct Pair<'a> {
    candidate: TensorRef<'a>,
    reference: TensorRef<'a>,
}

impl Pair<'_> {
    fn comparison(
        &self,
        kind: Kind,
        tolerance: Option<Tolerance>,
        part: &Part,
        histogram: Histogram,
    ) -> OutputComparison {
        let count = self.candidate.count();
        let floating = kind == Kind::Floating;
        let share = |of: u64| of as f64 / count as f64;
        let nonfinite = &part.nonfinite;
        let finite_count = count - nonfinite.positions();
        let finite = (kind != Kind::Boolean && finite_count > 0)
            .then(|| self.finite(kind, tolerance, part, histogram, finite_count));
        let strict = finite
            .as_ref()
            .filter(|_| floating && nonfinite.candidate == 0 && nonfinite.reference == 0);
        let first_offending = match (part.first_outside, nonfinite.first_differing) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let mismatches = (!floating).then_some(part.outside);
        OutputComparison {
            candidate_element: self.candidate.element(),
            reference_element: self.reference.element(),
            dims: self.candidate.dims().to_vec(),
            element_count: count,
            tolerance,
            candidate_nonfinite_count: nonfinite.candidate,
            reference_nonfinite_count: nonfinite.reference,
            max_absolute_error: strict.map(|finite| finite.max_absolute_error),
            relative_l2_error: strict.and_then(|finite| finite.relative_l2_error),
            cosine_similarity: strict.and_then(|finite| finite.cosine_similarity),
            outside_tolerance_count: strict.and_then(|finite| finite.outside_tolerance_count),
            outside_tolerance_fraction: strict.and_then(|finite| finite.outside_tolerance_fraction),
            mismatch_count: mismatches,
            mismatch_fraction: mismatches.map(share),
            first_offending: first_offending.and_then(|index| self.locate(index)),
            nonfinite: floating.then(|| self.nonfinite(nonfinite)),
            finite,
        }
    }

    fn nonfinite(&self, found: &NonFinite) -> NonFiniteCounts {
        NonFiniteCounts {
            both_nan_count: found.both_nan,
            same_infinity_count: found.same_infinity,
            differing_count: found.differing,
            first_differing: found.first_differing.and_then(|index| self.locate(index)),
        }
    }

    fn finite(
        &self,
        kind: Kind,
        tolerance: Option<Tolerance>,
        part: &Part,
        histogram: Histogram,
        count: u64,
    ) -> FiniteMeasurements {
        let sums = part.sums.map(|sum| sum.total());
        let divisor = count as f64;
        let outside = tolerance.map(|_| part.outside);
        let norm_of = |squares: crate::sums::Scaled| (squares.value > 0.0).then(|| squares.sqrt());
        let difference_norm = sums.squares.sqrt();
        let (candidate_norm, reference_norm) = (
            norm_of(sums.candidate_squares),
            norm_of(sums.reference_squares),
        );
        let cosine = candidate_norm
            .zip(reference_norm)
            .map(|(candidate, reference)| {
                // Rounding may exceed what a cosine can be.
                sums.products
                    .over(candidate)
                    .over(reference)
                    .get()
                    .clamp(-1.0, 1.0)
            });
        let noise = sums.squares.value > 0.0;
        let signal_to_noise = (noise && reference_norm.is_some())
            .then(|| sums.reference_squares.over(sums.squares).decibels());
        let precision = Precision::of(self.candidate.element());
        let max_absolute_error = part.worst_absolute.map_or(0.0, |worst| worst.error);
        let locate = |worst: Option<Worst>| worst.and_then(|worst| self.locate(worst.index));
        FiniteMeasurements {
            count,
            max_absolute_error,
            relative_l2_error: reference_norm.map(|norm| difference_norm.over(norm).get()),
            cosine_similarity: cosine,
            outside_tolerance_count: outside,
            outside_tolerance_fraction: outside.map(|outside| outside as f64 / divisor),
            mean_error: sums.difference.divided_by(divisor).get(),
            mean_absolute_error: sums.absolute.divided_by(divisor).get(),
            rms_error: sums.squares.divided_by(divisor).sqrt().get(),
            signal_to_noise_db: signal_to_noise,
            max_ulp_error: (kind == Kind::Floating)
                .then(|| precision.units_in_the_last_place(part.worst_spacings)),
            worst_absolute: locate(part.worst_absolute),
            worst_relative: locate(part.worst_relative),
            quantiles: QUANTILES
                .iter()
                .map(|&fraction| Quantile {
                    fraction,
                    error: histogram.quantile(fraction).min(max_absolute_error),
                })
                .collect(),
            histogram,
        }
    }

    fn locate(&self, index: u64) -> Option<Located> {
        let (candidate, reference) = (self.candidate.value(index)?, self.reference.value(index)?);
        let (c, r) = (candidate.as_f64(), reference.as_f64());
        let error = candidate.distance(reference);
        let relative = (c.is_finite() && r.is_finite() && r != 0.0)
            .then(|| crate::measure::relative_error(c, r, error));
        Some(Located {
            index,
            position: position(self.candidate.dims(), index),
            candidate,
            reference,
            error,
            relative_error: relative,
        })
    }
}

/// A row-major index as a position along each dimension.
pub(crate) fn position(dims: &[u64], mut index: u64) -> Vec<u64> {
    let mut position = vec![0; dims.len()];
    for (place, &dim) in position.iter_mut().zip(dims).rev() {
        *place = index % dim.max(1);
        index /= dim.max(1);
    }
    position
}

fn flat_tolerance<S: Serializer>(
    tolerance: &Option<Tolerance>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Flat {
        atol: Option<f64>,
        rtol: Option<f64>,
    }
    Flat {
        atol: tolerance.map(Tolerance::absolute),
        rtol: tolerance.map(Tolerance::relative),
    }
    .serialize(serializer)
}
