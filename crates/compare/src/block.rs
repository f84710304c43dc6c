//! One block of elements: everything that is measured, in one pass over `f64` values in the
//! innermost cache.
//!
//! [`Block::pass`] assumes that every value is finite and that no square overflows or loses its
//! value to underflow. Its sums show whether that was so ([`Found::is_sound`]); the rare other
//! block is summed again by [`Block::scaled_sums`], once what is not finite has been taken out.
//! What is left out: decoding, and the combination of blocks.

use crate::TensorRef;
use crate::decode::{decode, is_wide, wide_differences};
use crate::histogram;
use crate::sums::{RunningSum, Scaled, exponent_of, times_power_of_two};
use std::ops::Range;

/// Elements in a block: small enough that its values and the histogram's busy part share the
/// innermost cache, large enough that what is done once a block costs little.
pub(crate) use tensoracle_kernels::compare::BLOCK;

/// Independent partial sums: enough that vectors of any width need not wait for one another.
/// Fixed, so that every processor adds in the same order.
const LANES: usize = 32;

/// Sums of squares within these bounds have neither overflowed nor lost anything that counts to
/// underflow, and 2⁶⁰ of them can be added.
const SOUND: Range<f64> = f64::from_bits((1023 - 800) << 52)..f64::from_bits((1023 + 900) << 52);

/// The six sums that the measurements are made of.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums<T> {
    // Of the differences, their magnitudes and their squares; of the squares of each side, and of
    // the products of both.
    pub(crate) difference: T,
    pub(crate) absolute: T,
    pub(crate) squares: T,
    pub(crate) candidate_squares: T,
    pub(crate) reference_squares: T,
    pub(crate) products: T,
}

/// What is asked of each element besides its error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// An element is outside where its error exceeds `absolute + relative · |reference|`.
    pub(crate) absolute: f64,
    pub(crate) relative: f64,
    /// A relative error worth looking at: the worst so far, lowered by what rounding may hide.
    pub(crate) relative_error: f64,
    /// The candidate type's smallest normal number.
    pub(crate) min_normal: f64,
}

impl Limits {
    /// Whether an error is outside.
    #[inline(always)]
    pub(crate) fn exceeded_by(&self, error: f64, reference: f64) -> bool {
        error > self.absolute + self.relative * reference.abs()
    }

    /// An error over the power of two at or below the reference, or over the smallest normal
    /// number where that is larger.
    #[inline(always)]
    fn spacings(&self, error: f64, reference: f64) -> f64 {
        const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
        let power = f64::from_bits(reference.to_bits() & EXPONENT);
        let power = if power > self.min_normal {
            power
        } else {
            self.min_normal
        };
        // The inverse of a power of two has the opposite exponent.
        error * f64::from_bits((2046u64 << 52).wrapping_sub(power.to_bits()))
    }
}

/// A block's values; those beyond its elements are zero on both sides.
pub(crate) struct Block {
    pub(crate) candidate: [f64; BLOCK],
    pub(crate) reference: [f64; BLOCK],
    /// Candidate minus reference, rounded once.
    pub(crate) difference: [f64; BLOCK],
    /// The histogram bin of each error.
    pub(crate) bins: [u32; BLOCK],
}

/// What a pass over a block found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) sums: Sums<f64>,
    /// Largest error.
    pub(crate) worst: f64,
    /// Largest of [`Limits::spacings`].
    pub(crate) worst_spacings: f64,
    /// Elements outside the limits.
    pub(crate) outside: u64,
    /// Whether some relative error exceeds the one in the limits, or may.
    pub(crate) relative_improves: bool,
}

impl Block {
    pub(crate) const fn zero() -> Self {
        Self {
            candidate: [0.0; BLOCK],
            reference: [0.0; BLOCK],
            difference: [0.0; BLOCK],
            bins: [0; BLOCK],
        }
    }

    /// Takes the elements in `range`, a block of them at most, and their differences.
    #[inline(always)]
    pub(crate) fn load(
        &mut self,
        candidate: TensorRef<'_>,
        reference: TensorRef<'_>,
        range: Range<usize>,
    ) {
        if range.len() < BLOCK {
            *self = Self::zero();
        }
        let candidate = (candidate.element(), candidate.bytes_of(range.clone()));
        let reference = (reference.element(), reference.bytes_of(range));
        // One loop for both sides keeps the code for every type from being there twice.
        for ((element, bytes), out) in [
            (candidate, &mut self.candidate),
            (reference, &mut self.reference),
        ] {
            decode(element, bytes, out);
        }
        if is_wide(candidate.0) || is_wide(reference.0) {
            wide_differences(candidate, reference, &mut self.difference);
        } else {
            for i in 0..BLOCK {
                self.difference[i] = self.candidate[i] - self.reference[i];
            }
        }
    }

    /// Measures the block and fills in its bins. Where [`Found::is_sound`] denies it, the sums
    /// mean nothing.
    ///
    /// One loop for each measurement: the compiler turns loops this simple into vector code, and
    /// reading the block from the innermost cache again costs little.
    #[inline(always)]
    pub(crate) fn pass(&mut self, limits: &Limits) -> Found {
        let (candidate, reference, difference) =
            (&self.candidate, &self.reference, &self.difference);
        let sums = Sums {
            difference: sum(difference, difference, |d, _| d),
            absolute: sum(difference, difference, |d, _| d.abs()),
            squares: sum(difference, difference, |d, _| d * d),
            candidate_squares: sum(candidate, candidate, |c, _| c * c),
            reference_squares: sum(reference, reference, |r, _| r * r),
            products: sum(candidate, reference, |c, r| c * r),
        };
        let outside = count(difference, reference, |d, r| limits.exceeded_by(d.abs(), r));
        for (bin, error) in self.bins.iter_mut().zip(difference) {
            *bin = histogram::bin_of(error.abs());
        }
        Found {
            sums,
            worst: largest(difference, difference, |d, _| d.abs()),
            worst_spacings: largest(difference, reference, |d, r| limits.spacings(d.abs(), r)),
            outside,
            relative_improves: self.exceeds_relative_error(limits),
        }
    }

    /// Whether some element has a relative error beyond the limit, a reference of zero having none.
    #[inline(always)]
    pub(crate) fn exceeds_relative_error(&self, limits: &Limits) -> bool {
        let exceeds = |d: f64, r: f64| (d.abs() > limits.relative_error * r.abs()) & (r != 0.0);
        count(&self.difference, &self.reference, exceeds) > 0
    }

    /// The first element that `wanted` is true of.
    pub(crate) fn position(&self, wanted: impl Fn(f64, f64, f64) -> bool) -> Option<usize> {
        (0..BLOCK).find(|&i| wanted(self.candidate[i], self.reference[i], self.difference[i]))
    }

    /// Half of a difference: a difference of two finite values may overflow.
    fn half(&self, i: usize) -> f64 {
        match self.difference[i] {
            d if d.is_finite() => d * 0.5,
            _ => self.candidate[i] * 0.5 - self.reference[i] * 0.5,
        }
    }

    /// The largest of [`Limits::spacings`], also where the reference is next to the largest number
    /// or a difference overflows.
    pub(crate) fn worst_spacings(&self, limits: &Limits) -> f64 {
        let least = exponent_of(limits.min_normal);
        (0..BLOCK).fold(0.0, |worst: f64, i| {
            let exponent = exponent_of(self.reference[i]).max(least);
            let spacings = match self.difference[i].abs() {
                // The half of a subnormal number would not be exact.
                small if small < 1.0 => times_power_of_two(small, -exponent),
                _ => times_power_of_two(self.half(i).abs(), 1 - exponent),
            };
            worst.max(spacings)
        })
    }

    /// Sums of a block whose values, all finite, are too large or too small for plain ones: of
    /// values scaled by the power of two of the largest.
    pub(crate) fn scaled_sums(&self) -> Sums<Scaled> {
        let largest = |values: &[f64; BLOCK]| values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let candidate_exponent = exponent_of(largest(&self.candidate));
        let reference_exponent = exponent_of(largest(&self.reference));
        let largest_half = (0..BLOCK).fold(0.0, |m: f64, i| m.max(self.half(i).abs()));
        // The half of a subnormal difference is not exact; then nothing needs halving.
        let (halving, difference_exponent) = match exponent_of(largest_half) {
            small if small < -1000 => (0, exponent_of(largest(&self.difference))),
            other => (1, other),
        };
        let mut sums = Sums::<f64>::default();
        for i in 0..BLOCK {
            let c = times_power_of_two(self.candidate[i], -candidate_exponent);
            let r = times_power_of_two(self.reference[i], -reference_exponent);
            let d = if halving == 1 {
                self.half(i)
            } else {
                self.difference[i]
            };
            let d = times_power_of_two(d, -difference_exponent);
            sums.difference += d;
            sums.absolute += d.abs();
            sums.squares += d * d;
            sums.candidate_squares += c * c;
            sums.reference_squares += r * r;
            sums.products += c * r;
        }
        let difference_exponent = difference_exponent + halving;
        let scaled = |value, exponent| Scaled { value, exponent };
        Sums {
            difference: scaled(sums.difference, difference_exponent),
            absolute: scaled(sums.absolute, difference_exponent),
            squares: scaled(sums.squares, 2 * difference_exponent),
            candidate_squares: scaled(sums.candidate_squares, 2 * candidate_exponent),
            reference_squares: scaled(sums.reference_squares, 2 * reference_exponent),
            products: scaled(sums.products, candidate_exponent + reference_exponent),
        }
    }
}

impl Found {
    /// Whether the sums are what they claim to be, as far as they show it: a sum of zero may be
    /// that of zeros or of numbers whose squares underflow.
    #[inline(always)]
    pub(crate) fn is_sound_at_sight(&self) -> bool {
        (SOUND.contains(&self.sums.squares) || self.worst == 0.0 && self.sums.squares == 0.0)
            && SOUND.contains(&self.sums.candidate_squares)
            && SOUND.contains(&self.sums.reference_squares)
    }

    /// Whether the sums are what they claim to be.
    #[inline(always)]
    pub(crate) fn is_sound(&self, block: &Block) -> bool {
        let sound = |squares: f64| SOUND.contains(&squares);
        let zero = |values: &[f64; BLOCK]| count(values, values, |value, _| value != 0.0) == 0;
        (sound(self.sums.squares) || self.worst == 0.0 && self.sums.squares == 0.0)
            && (sound(self.sums.candidate_squares) || zero(&block.candidate))
            && (sound(self.sums.reference_squares) || zero(&block.reference))
    }
}

impl<T> Sums<T> {
    #[inline(always)]
    pub(crate) fn map<U>(self, each: impl Fn(T) -> U) -> Sums<U> {
        Sums {
            difference: each(self.difference),
            absolute: each(self.absolute),
            squares: each(self.squares),
            candidate_squares: each(self.candidate_squares),
            reference_squares: each(self.reference_squares),
            products: each(self.products),
        }
    }
}

impl Sums<RunningSum> {
    pub(crate) fn add(&mut self, terms: Sums<Scaled>) {
        self.difference.add(terms.difference);
        self.absolute.add(terms.absolute);
        self.squares.add(terms.squares);
        self.candidate_squares.add(terms.candidate_squares);
        self.reference_squares.add(terms.reference_squares);
        self.products.add(terms.products);
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.difference.append(&other.difference);
        self.absolute.append(&other.absolute);
        self.squares.append(&other.squares);
        self.candidate_squares.append(&other.candidate_squares);
        self.reference_squares.append(&other.reference_squares);
        self.products.append(&other.products);
    }
}

/// The sum of what `term` makes of each pair.
#[inline(always)]
fn sum(a: &[f64; BLOCK], b: &[f64; BLOCK], term: impl Fn(f64, f64) -> f64) -> f64 {
    let mut lanes = [0.0f64; LANES];
    for (a, b) in a
        .as_chunks::<LANES>()
        .0
        .iter()
        .zip(b.as_chunks::<LANES>().0)
    {
        for lane in 0..LANES {
            lanes[lane] += term(a[lane], b[lane]);
        }
    }
    fold(lanes, |a, b| a + b)
}

/// The largest of what `term` makes of each pair, which is not negative; NaN is passed over.
#[inline(always)]
fn largest(a: &[f64; BLOCK], b: &[f64; BLOCK], term: impl Fn(f64, f64) -> f64) -> f64 {
    let mut lanes = [0.0f64; LANES];
    for (a, b) in a
        .as_chunks::<LANES>()
        .0
        .iter()
        .zip(b.as_chunks::<LANES>().0)
    {
        for lane in 0..LANES {
            let value = term(a[lane], b[lane]);
            lanes[lane] = if value > lanes[lane] {
                value
            } else {
                lanes[lane]
            };
        }
    }
    fold(lanes, f64::max)
}

/// How many pairs `wanted` is true of.
#[inline(always)]
fn count(a: &[f64; BLOCK], b: &[f64; BLOCK], wanted: impl Fn(f64, f64) -> bool) -> u64 {
    a.iter()
        .zip(b)
        .map(|(&a, &b)| u64::from(wanted(a, b)))
        .sum()
}

/// Combines lanes in a fixed order: halves, quarters, and so on.
#[inline(always)]
fn fold(mut lanes: [f64; LANES], combine: impl Fn(f64, f64) -> f64) -> f64 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = combine(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}
