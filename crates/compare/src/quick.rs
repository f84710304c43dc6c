//! The way of almost all blocks where the processor has one for them: measured in registers, the
//! histogram bins of one counted while the next is measured.
//!
//! It takes whole blocks of what `f64` holds exactly, and leaves to [`crate::measure`] whatever
//! must be looked for in them or looked at with care.

use crate::TensorRef;
use crate::block::{BLOCK, Block, Found, Limits, Sums};
use crate::decode::{decode, is_wide};
use crate::histogram::Counter;
use std::ops::Range;
use tensoracle_element::Element;
use tensoracle_kernels::compare::{BlockLimits, Side, compare_block, compares_blocks, prefetch};

/// What goes over from one block to the next.
pub(crate) struct Quick {
    is_open: bool,
    bins: [[u32; BLOCK]; 2],
    current: usize,
    /// Whether the current bins are still to be counted.
    uncounted: bool,
}

impl Default for Quick {
    fn default() -> Self {
        Self {
            is_open: compares_blocks(),
            bins: [[0; BLOCK]; 2],
            current: 0,
            uncounted: false,
        }
    }
}

impl Quick {
    /// Measures a whole block; `None` where only the other way is open. What is not `f32` is
    /// decoded into `block` first.
    #[inline(always)]
    pub(crate) fn measure(
        &mut self,
        block: &mut Block,
        candidate: TensorRef<'_>,
        reference: TensorRef<'_>,
        range: Range<usize>,
        limits: &Limits,
        counter: &mut Counter,
    ) -> Option<Found> {
        let wide = is_wide(candidate.element()) || is_wide(reference.element());
        if !self.is_open || wide || range.len() < BLOCK {
            self.finish(counter);
            return None;
        }
        let candidate = side(candidate, range.clone(), &mut block.candidate);
        let reference = side(reference, range, &mut block.reference);
        let (first, second) = self.bins.split_at_mut(1);
        let (before, bins) = match self.current {
            0 => (&first[0], &mut second[0]),
            _ => (&second[0], &mut first[0]),
        };
        let before = self.uncounted.then(|| (before, counter.room_for_a_block()));
        let limits = BlockLimits {
            absolute: limits.absolute,
            relative: limits.relative,
            relative_error: limits.relative_error,
            min_normal: limits.min_normal,
        };
        let found = compare_block(candidate, reference, &limits, bins, before)?;
        self.current = 1 - self.current;
        self.uncounted = true;
        Some(Found {
            sums: Sums {
                difference: found.difference,
                absolute: found.absolute,
                squares: found.squares,
                candidate_squares: found.candidate_squares,
                reference_squares: found.reference_squares,
                products: found.products,
            },
            worst: found.worst,
            worst_spacings: found.worst_spacings,
            outside: found.outside,
            relative_improves: found.relative_improves,
        })
    }

    /// Counts what is still to be counted.
    #[inline(always)]
    pub(crate) fn finish(&mut self, counter: &mut Counter) {
        if std::mem::take(&mut self.uncounted) {
            counter.count(&self.bins[self.current]);
        }
    }

    /// Drops the bins of a block whose values turned out to need care.
    pub(crate) fn forget(&mut self) {
        self.uncounted = false;
    }

    pub(crate) fn will_count(&self) -> bool {
        self.uncounted
    }
}

/// A block of one side for the quick way: as it is, or decoded.
#[inline(always)]
fn side<'a>(tensor: TensorRef<'a>, range: Range<usize>, decoded: &'a mut [f64; BLOCK]) -> Side<'a> {
    let bytes = tensor.bytes_of(range.clone());
    let single = || (tensor.element() == Element::F32).then(|| bytes.as_array().map(Side::Single));
    let double = || (tensor.element() == Element::F64).then(|| bytes.as_array().map(Side::Double));
    if let Some(side) = single().or_else(double).flatten() {
        return side;
    }
    prefetch(tensor.bytes_after(range.end));
    decode(tensor.element(), bytes, decoded);
    Side::Double(bytemuck::cast_ref(decoded))
}
