//! How often errors of each size occur: counts in bins of 1/64 of a power of two, and quantiles
//! from them.

use crate::block::BLOCK;
use serde::{Serialize, Serializer};
use tensoracle_kernels::compare::{BANKS, BIN_BITS, BINS, Counts};

/// The bin of infinity; those beyond it would be of NaN and stay empty.
const BINS_BELOW_INFINITY: usize = 2047 << BIN_BITS;

/// The bin of a non-negative number: its exponent and the first bits of its significand.
#[inline(always)]
pub(crate) fn bin_of(magnitude: f64) -> u32 {
    (magnitude.to_bits() >> (52 - BIN_BITS)) as u32
}

/// The smallest number in a bin.
fn lower_bound(bin: usize) -> f64 {
    f64::from_bits((bin as u64) << (52 - BIN_BITS))
}

/// Counts under way, of one thread.
pub(crate) struct Counter {
    banks: Box<Counts>,
    counts: Vec<u64>,
    /// Elements in `banks`, which must not overflow.
    pending: u32,
}

impl Counter {
    pub(crate) fn new() -> Self {
        // Zeroed pages that are never counted in are never made.
        Self {
            banks: bytemuck::zeroed_box(),
            counts: vec![0; BINS],
            pending: 0,
        }
    }

    /// Counts a block of bins.
    #[inline(always)]
    pub(crate) fn count(&mut self, bins: &[u32; BLOCK]) {
        let banks = self.room_for_a_block();
        for (place, &bin) in bins.iter().enumerate() {
            banks[place % BANKS][bin as usize % BINS] += 1;
        }
    }

    /// The counts, for one more block to be counted in.
    #[inline(always)]
    pub(crate) fn room_for_a_block(&mut self) -> &mut Counts {
        if self.pending > u32::MAX - BLOCK as u32 {
            self.flush();
        }
        self.pending += BLOCK as u32;
        &mut self.banks
    }

    fn flush(&mut self) {
        for bank in self.banks.iter_mut() {
            for (count, pending) in self.counts.iter_mut().zip(bank) {
                *count += u64::from(std::mem::take(pending));
            }
        }
        self.pending = 0;
    }
}

/// How many errors lie in each of a row of bins that get wider with the error.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    bins: Vec<Bin>,
    total: u64,
}

impl Serialize for Histogram {
    /// The counts by whole powers of two.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.octaves().serialize(serializer)
    }
}

/// Errors from `lower` up to but not including `upper`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bin {
    /// The smallest error that falls in the bin; 0 for the bin of elements without an error.
    #[serde(serialize_with = "crate::number::plain")]
    pub lower: f64,
    /// The smallest error that is beyond the bin; infinite for errors that overflow.
    #[serde(serialize_with = "crate::number::plain")]
    pub upper: f64,
    /// Errors in the bin.
    pub count: u64,
}

impl Histogram {
    /// Adds up the counts of all threads; `padding` elements that are none were counted as zero.
    pub(crate) fn new(counters: Vec<Counter>, padding: u64) -> Self {
        let mut counts = vec![0u64; BINS];
        for mut counter in counters {
            counter.flush();
            counts
                .iter_mut()
                .zip(&counter.counts)
                .for_each(|(sum, count)| *sum += count);
        }
        counts[0] = counts[0].saturating_sub(padding);
        let total = counts.iter().sum();
        let bins = counts
            .into_iter()
            .enumerate()
            .filter(|&(_, count)| count > 0);
        let bins = bins.map(|(bin, count)| Bin {
            lower: lower_bound(bin),
            upper: match bin {
                0 => f64::from_bits(1),
                _ if bin + 1 < BINS_BELOW_INFINITY => lower_bound(bin + 1),
                _ => f64::INFINITY,
            },
            count,
        });
        Self {
            bins: bins.collect(),
            total,
        }
    }

    /// The bins that hold something, by increasing error. Each is at most 1/64 wide relative to
    /// its lower bound; below 2⁻¹⁰²² bins are 2⁻¹⁰²⁸ wide.
    #[must_use]
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// The same counts in whole powers of two, empty ones between included: for drawing.
    #[must_use]
    pub fn octaves(&self) -> Vec<Bin> {
        let mut octaves: Vec<Bin> = Vec::new();
        for &bin in &self.bins {
            let lower = power_below(bin.lower);
            let width = |lower: f64| (2.0 * lower).max(f64::MIN_POSITIVE);
            // Zero is a bin of its own; every other gap is filled.
            if let Some(&last) = octaves.last()
                && last.lower > 0.0
            {
                let mut next = last.upper;
                while next < lower {
                    octaves.push(Bin {
                        lower: next,
                        upper: width(next),
                        count: 0,
                    });
                    next = width(next);
                }
            }
            match octaves.last_mut() {
                Some(last) if last.lower == lower => last.count += bin.count,
                _ => {
                    let upper = if bin.lower == 0.0 {
                        bin.upper
                    } else {
                        width(lower)
                    };
                    octaves.push(Bin {
                        lower,
                        upper,
                        count: bin.count,
                    });
                }
            }
        }
        octaves
    }

    /// The error that a share `fraction` (0 to 1) of all elements does not exceed: the smallest
    /// counted one that so many are at or below, known to 0.8%.
    #[must_use]
    pub fn quantile(&self, fraction: f64) -> f64 {
        let wanted = (fraction.clamp(0.0, 1.0) * self.total as f64)
            .ceil()
            .max(1.0) as u64;
        let mut below = 0;
        for bin in &self.bins {
            below += bin.count;
            if below >= wanted {
                return match bin.lower {
                    0.0 => 0.0,
                    lower if lower.is_infinite() => lower,
                    lower => lower + (bin.upper - lower) * 0.5,
                };
            }
        }
        0.0
    }
}

/// The power of two at or below a number; subnormal ones go together under the smallest.
fn power_below(value: f64) -> f64 {
    match f64::from_bits(value.to_bits() & 0x7ff0_0000_0000_0000) {
        0.0 if value > 0.0 => f64::from_bits(1),
        power => power,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(errors: &[f64]) -> Histogram {
        let mut counter = Counter::new();
        let mut bins = [0; BLOCK];
        for (bin, &error) in bins.iter_mut().zip(errors) {
            *bin = bin_of(error);
        }
        counter.count(&bins);
        Histogram::new(vec![counter, Counter::new()], (BLOCK - errors.len()) as u64)
    }

    #[test]
    fn octaves_have_no_gaps_between_them_and_zero_apart() {
        let found = histogram(&[0.0, 0.0, 1.0, 1.99, 9.0, 5.0, 8.0]);
        let octaves = found.octaves();
        let shown: Vec<(f64, f64, u64)> = octaves
            .iter()
            .map(|bin| (bin.lower, bin.upper, bin.count))
            .collect();
        let zero = (0.0, f64::from_bits(1), 2);
        assert_eq!(
            shown,
            [
                zero,
                (1.0, 2.0, 2),
                (2.0, 4.0, 0),
                (4.0, 8.0, 1),
                (8.0, 16.0, 2)
            ]
        );
    }

    #[test]
    fn bins_reach_from_the_smallest_number_to_infinity() {
        let found = histogram(&[5e-324, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY]);
        let bins = found.bins();
        assert!(
            bins.iter()
                .all(|bin| bin.lower < bin.upper || bin.lower.is_infinite())
        );
        // The smallest subnormal numbers share the bin of zero.
        assert_eq!(
            bins[0],
            Bin {
                lower: 0.0,
                upper: f64::from_bits(1),
                count: 1
            }
        );
        assert_eq!(bins[1].lower, f64::MIN_POSITIVE);
        assert!(bins[2].lower < f64::MAX && bins[2].upper == f64::INFINITY);
        assert_eq!(bins[3].lower, f64::INFINITY);
        assert_eq!(found.quantile(1.0), f64::INFINITY);
        assert_eq!(found.octaves().iter().map(|bin| bin.count).sum::<u64>(), 4);
    }

    #[test]
    fn quantiles_are_within_a_percent_of_the_counted_error() {
        let errors: Vec<f64> = (0..500).map(|i| 1.037f64.powi(i - 250)).collect();
        let found = histogram(&errors);
        for (rank, &error) in errors.iter().enumerate() {
            let quantile = found.quantile((rank + 1) as f64 / 500.0 - 1e-6);
            assert!(
                (quantile / error - 1.0).abs() < 0.008,
                "{quantile} for {error}"
            );
        }
    }
}
