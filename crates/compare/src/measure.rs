//! The pass over two whole tensors: in chunks on all cores, each a row of blocks, combined in
//! order so that the result does not depend on the number of threads.

use crate::block::{BLOCK, Block, Found, Limits, Sums};
use crate::decode::Precision;
use crate::histogram::{Counter, Histogram};
use crate::quick::Quick;
use crate::sums::{RunningSum, Scaled};
use crate::{CompareError, TensorRef, Tolerance};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use tensoracle_kernels::compare::{Vectorized, prefetch, vectorized};
use tensoracle_progress::Progress;

/// Elements in a chunk: enough that handing it out costs nothing against measuring it.
const CHUNK: usize = 256 * BLOCK;

/// Most chunks of one comparison: bounds what is kept of them, however large the tensors.
const MAX_CHUNKS: usize = 1 << 14;

/// A measurement's largest value and the index of the first element that has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Worst {
    pub(crate) error: f64,
    pub(crate) index: u64,
}

/// Positions where a side is not finite.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NonFinite {
    pub(crate) candidate: u64,
    pub(crate) reference: u64,
    pub(crate) both_nan: u64,
    pub(crate) same_infinity: u64,
    pub(crate) differing: u64,
    pub(crate) first_differing: Option<u64>,
}

/// What is known of a chunk, and in the end of both tensors.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Part {
    pub(crate) sums: Sums<RunningSum>,
    pub(crate) worst_absolute: Option<Worst>,
    pub(crate) worst_relative: Option<Worst>,
    pub(crate) worst_spacings: f64,
    pub(crate) outside: u64,
    pub(crate) first_outside: Option<u64>,
    pub(crate) nonfinite: NonFinite,
}

/// Measures two tensors of the same shape and kind, of at least one element.
pub(crate) fn measure(
    candidate: TensorRef<'_>,
    reference: TensorRef<'_>,
    tolerance: Option<Tolerance>,
    progress: &dyn Progress,
) -> Result<(Part, Histogram), CompareError> {
    let count = candidate.count() as usize;
    let chunk = count
        .div_ceil(MAX_CHUNKS)
        .next_multiple_of(BLOCK)
        .max(CHUNK);
    let chunks = count.div_ceil(chunk);
    let counters = CounterPool::default();
    let parts: Vec<Part> = (0..chunks)
        .into_par_iter()
        .map_init(
            || counters.borrow(),
            |counter, index| {
                if progress.is_cancelled() {
                    return Part::default();
                }
                let range = index * chunk..count.min((index + 1) * chunk);
                let elements = range.len();
                let part = vectorized(Chunk {
                    candidate,
                    reference,
                    tolerance,
                    range,
                    counter: counter.get(),
                });
                progress.advance(
                    (elements * (candidate.element().size() + reference.element().size())) as u64,
                );
                part
            },
        )
        .collect();
    if progress.is_cancelled() {
        return Err(CompareError::Cancelled);
    }
    let mut whole = Part::default();
    parts.iter().for_each(|part| whole.append(part));
    // Only the last block of all is padded, since chunks are whole blocks.
    let padding = (count.next_multiple_of(BLOCK) - count) as u64 + whole.nonfinite.positions();
    Ok((whole, Histogram::new(counters.into_counters(), padding)))
}

/// Lends every thread a counter of its own. Which thread counts what does not matter: counts are
/// integers.
#[derive(Default)]
struct CounterPool(Mutex<Vec<Counter>>);

struct Borrowed<'a> {
    pool: &'a CounterPool,
    counter: Option<Counter>,
}

impl CounterPool {
    fn borrow(&self) -> Borrowed<'_> {
        let counter = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Borrowed {
            pool: self,
            counter,
        }
    }

    fn into_counters(self) -> Vec<Counter> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Borrowed<'_> {
    fn get(&mut self) -> &mut Counter {
        self.counter.get_or_insert_with(Counter::new)
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        if let Some(counter) = self.counter.take() {
            self.pool
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(counter);
        }
    }
}

/// A row of blocks to be measured by code compiled for the processor at hand.
struct Chunk<'a> {
    candidate: TensorRef<'a>,
    reference: TensorRef<'a>,
    tolerance: Option<Tolerance>,
    range: Range<usize>,
    counter: &'a mut Counter,
}

impl Vectorized for Chunk<'_> {
    type Output = Part;

    #[inline(always)]
    fn run(self) -> Part {
        let (candidate, reference) = (self.candidate, self.reference);
        let mut limits = Limits {
            absolute: self.tolerance.map_or(0.0, Tolerance::absolute),
            relative: self.tolerance.map_or(0.0, Tolerance::relative),
            relative_error: 0.0,
            min_normal: Precision::of(candidate.element()).min_normal(),
        };
        let mut part = Part::default();
        let mut block = Block::zero();
        let mut quick = Quick::default();
        for start in self.range.clone().step_by(BLOCK) {
            let range = start..self.range.end.min(start + BLOCK);
            let quick_found = quick.measure(
                &mut block,
                candidate,
                reference,
                range.clone(),
                &limits,
                self.counter,
            );
            if let Some(found) = quick_found
                && found.is_sound_at_sight()
                && !part.improves_with(&found)
            {
                part.add_quiet(&found);
                continue;
            }
            // Something must be looked for, or looked at with care.
            block.load(candidate, reference, range.clone());
            let mut found = quick_found.unwrap_or_else(|| {
                prefetch(candidate.bytes_after(range.end));
                prefetch(reference.bytes_after(range.end));
                block.pass(&limits)
            });
            let mut sound = found.is_sound(&block);
            if !sound {
                quick.forget();
                part.nonfinite.take_out_of(&mut block, start as u64);
                found = block.pass(&limits);
                sound = found.is_sound(&block);
            }
            if !sound {
                part.sums.add(block.scaled_sums());
                found.worst_spacings = block.worst_spacings(&limits);
            } else {
                part.sums
                    .add(found.sums.map(|value| Scaled { value, exponent: 0 }));
            }
            part.outside += found.outside;
            part.worst_spacings = part.worst_spacings.max(found.worst_spacings);
            if found.worst > part.worst_absolute.map_or(0.0, |worst| worst.error) {
                part.find_worst_absolute(&block, found.worst, start as u64);
            }
            // A difference that overflowed is beyond what the pass compares.
            if found.relative_improves && block.exceeds_relative_error(&limits) || !sound {
                part.find_worst_relative(&block, start as u64);
                limits.relative_error = part
                    .worst_relative
                    .map_or(0.0, |worst| worst.error * (1.0 - 1e-15));
            }
            if found.outside > 0 && part.first_outside.is_none() {
                part.first_outside = block
                    .position(|_, r, d| limits.exceeded_by(d.abs(), r))
                    .map(|i| start as u64 + i as u64);
            }
            if !quick.will_count() {
                self.counter.count(&block.bins);
            }
        }
        quick.finish(self.counter);
        part
    }
}

impl Part {
    /// Whether a block has something that must be found in it.
    #[inline(always)]
    fn improves_with(&self, found: &Found) -> bool {
        found.worst > self.worst_absolute.map_or(0.0, |worst| worst.error)
            || found.relative_improves
            || found.outside > 0 && self.first_outside.is_none()
    }

    /// Adds a sound block in which nothing must be found.
    #[inline(always)]
    fn add_quiet(&mut self, found: &Found) {
        self.sums
            .add(found.sums.map(|value| Scaled { value, exponent: 0 }));
        self.worst_spacings = self.worst_spacings.max(found.worst_spacings);
        self.outside += found.outside;
    }

    #[cold]
    fn find_worst_absolute(&mut self, block: &Block, worst: f64, start: u64) {
        let position = block.position(|_, _, d| d.abs() == worst);
        self.worst_absolute = position
            .map(|i| Worst {
                error: worst,
                index: start + i as u64,
            })
            .or(self.worst_absolute);
    }

    #[cold]
    fn find_worst_relative(&mut self, block: &Block, start: u64) {
        for i in 0..BLOCK {
            let (c, r, d) = (block.candidate[i], block.reference[i], block.difference[i]);
            let error = relative_error(c, r, d);
            if error > self.worst_relative.map_or(0.0, |worst| worst.error) {
                self.worst_relative = Some(Worst {
                    error,
                    index: start + i as u64,
                });
            }
        }
    }

    /// Adds what is known of the chunk that follows.
    fn append(&mut self, next: &Self) {
        let larger = |first: Option<Worst>, second: Option<Worst>| match (first, second) {
            (Some(a), Some(b)) if b.error > a.error => Some(b),
            (first, second) => first.or(second),
        };
        self.sums.append(&next.sums);
        self.worst_absolute = larger(self.worst_absolute, next.worst_absolute);
        self.worst_relative = larger(self.worst_relative, next.worst_relative);
        self.worst_spacings = self.worst_spacings.max(next.worst_spacings);
        self.outside += next.outside;
        self.first_outside = self.first_outside.or(next.first_outside);
        let (sum, other) = (&mut self.nonfinite, &next.nonfinite);
        sum.candidate += other.candidate;
        sum.reference += other.reference;
        sum.both_nan += other.both_nan;
        sum.same_infinity += other.same_infinity;
        sum.differing += other.differing;
        sum.first_differing = sum.first_differing.or(other.first_differing);
    }
}

/// `|difference / reference|`; 0 where the reference is. Halves keep an overflowed difference of
/// finite values finite.
pub(crate) fn relative_error(candidate: f64, reference: f64, difference: f64) -> f64 {
    if reference == 0.0 {
        0.0
    } else if difference.is_finite() {
        (difference / reference).abs()
    } else {
        ((candidate * 0.5 - reference * 0.5) / reference).abs() * 2.0
    }
}

impl NonFinite {
    /// Positions that are not finite on both sides.
    pub(crate) fn positions(&self) -> u64 {
        self.both_nan + self.same_infinity + self.differing
    }

    /// Counts a block's elements that are not finite and makes both sides zero there.
    #[cold]
    fn take_out_of(&mut self, block: &mut Block, start: u64) {
        for i in 0..BLOCK {
            let (c, r) = (block.candidate[i], block.reference[i]);
            if c.is_finite() && r.is_finite() {
                continue;
            }
            self.candidate += u64::from(!c.is_finite());
            self.reference += u64::from(!r.is_finite());
            if c.is_nan() && r.is_nan() {
                self.both_nan += 1;
            } else if c == r {
                self.same_infinity += 1;
            } else {
                self.differing += 1;
                self.first_differing = self.first_differing.or(Some(start + i as u64));
            }
            block.candidate[i] = 0.0;
            block.reference[i] = 0.0;
            block.difference[i] = 0.0;
        }
    }
}
