//! One block of a comparison of two tensors in AVX-512 registers: all sums, maxima and histogram
//! bins in one go, with the counting of the block before woven in, since that keeps other parts
//! of the processor busy.
//!
//! What the numbers mean, and the same for other processors, is in the `compare` crate.

/// Values in a block.
pub const BLOCK: usize = 512;

/// Bits of the significand that tell histogram bins apart, beside the exponent.
pub const BIN_BITS: u32 = 6;

/// Bins for all non-negative `f64` values.
pub const BINS: usize = 1 << (11 + BIN_BITS);

/// Separate counts for neighbouring elements: incrementing the same counter twice in a row waits
/// for the first to be stored.
pub const BANKS: usize = 4;

/// Counts of bins, by place of the element modulo [`BANKS`].
pub type Counts = [[u32; BINS]; BANKS];

/// One side's values.
#[derive(Debug, Clone, Copy)]
pub enum Side<'a> {
    /// `f32` in little-endian order at any alignment.
    Single(&'a [u8; 4 * BLOCK]),
    /// `f64` in the same form.
    Double(&'a [u8; 8 * BLOCK]),
}

/// What the values are held against.
#[derive(Debug, Clone, Copy)]
pub struct BlockLimits {
    /// An element is outside where its error exceeds `absolute + relative · |reference|`, the
    /// product rounded before the sum.
    pub absolute: f64,
    /// See `absolute`.
    pub relative: f64,
    /// A relative error that is to be exceeded.
    pub relative_error: f64,
    /// The smallest normal number of the candidate's type, a power of two.
    pub min_normal: f64,
}

/// What was found; right only where all values are finite and no sum overflows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockFound {
    /// Sum of candidate − reference.
    pub difference: f64,
    /// Sum of its magnitude.
    pub absolute: f64,
    /// Sum of its square.
    pub squares: f64,
    /// Sum of candidate².
    pub candidate_squares: f64,
    /// Sum of reference².
    pub reference_squares: f64,
    /// Sum of candidate · reference.
    pub products: f64,
    /// Largest error.
    pub worst: f64,
    /// Largest error over the power of two at or below the reference, or over the smallest normal
    /// number where that is larger.
    pub worst_spacings: f64,
    /// Elements outside the limits.
    pub outside: u64,
    /// Whether some error exceeds `relative_error · |reference|`.
    pub relative_improves: bool,
}

/// Whether [`compare_block`] works on this processor.
pub fn compares_blocks() -> bool {
    cfg!(target_arch = "x86_64") && crate::cpu_level() == crate::Level::Avx512
}

/// Measures a block and writes the histogram bin of each error to `bins`; counts the bins of the
/// block `before` meanwhile. `None`, with nothing done, on processors without AVX-512.
///
/// Memory that follows the values is fetched ahead, whether it is theirs or not.
#[inline]
pub fn compare_block(
    candidate: Side<'_>,
    reference: Side<'_>,
    limits: &BlockLimits,
    bins: &mut [u32; BLOCK],
    before: Option<(&[u32; BLOCK], &mut Counts)>,
) -> Option<BlockFound> {
    #[cfg(target_arch = "x86_64")]
    if compares_blocks() {
        // SAFETY: the level says that the processor has these instructions.
        return Some(unsafe { avx512::pass(candidate, reference, limits, bins, before) });
    }
    let _ = (candidate, reference, limits, bins, before);
    None
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{BANKS, BIN_BITS, BINS, BLOCK, BlockFound, BlockLimits, Counts, Side};
    use std::arch::x86_64::*;

    const LANES: usize = 8;
    /// Elements of one round: a cache line of `f32`.
    const ROUND: usize = 2 * LANES;
    /// How far ahead memory is fetched, in bytes.
    const AHEAD: usize = 4096;

    /// Where values come from; one type for each, so that each has a loop of its own.
    trait Source: Copy {
        /// The eight values from `at` on.
        ///
        /// # Safety
        /// The processor has AVX-512 F.
        unsafe fn load(self, at: usize) -> __m512d;

        fn prefetch(self, at: usize);
    }

    impl Source for &[u8; 4 * BLOCK] {
        #[inline(always)]
        unsafe fn load(self, at: usize) -> __m512d {
            let lanes = &self[4 * at..][..4 * LANES];
            // SAFETY: the 32 bytes are there, and the load needs no alignment; the caller promises
            // the instructions.
            unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(lanes.as_ptr().cast())) }
        }

        #[inline(always)]
        fn prefetch(self, at: usize) {
            let ahead = self.as_ptr().wrapping_add(4 * at + AHEAD);
            // SAFETY: a prefetch accesses nothing that could be observed and faults nowhere.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(ahead.cast()) };
        }
    }

    impl Source for &[u8; 8 * BLOCK] {
        #[inline(always)]
        unsafe fn load(self, at: usize) -> __m512d {
            let lanes = &self[8 * at..][..8 * LANES];
            // SAFETY: the 64 bytes are there, and the load needs no alignment; the caller promises
            // the instructions.
            unsafe { _mm512_loadu_pd(lanes.as_ptr().cast()) }
        }

        #[inline(always)]
        fn prefetch(self, at: usize) {
            for line in [8 * at, 8 * at + 64] {
                let ahead = self.as_ptr().wrapping_add(line + AHEAD);
                // SAFETY: as above.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(ahead.cast()) };
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    pub(super) fn pass(
        candidate: Side<'_>,
        reference: Side<'_>,
        limits: &BlockLimits,
        bins: &mut [u32; BLOCK],
        before: Option<(&[u32; BLOCK], &mut Counts)>,
    ) -> BlockFound {
        match (candidate, reference) {
            (Side::Single(c), Side::Single(r)) => pass_over(c, r, limits, bins, before),
            (Side::Single(c), Side::Double(r)) => pass_over(c, r, limits, bins, before),
            (Side::Double(c), Side::Single(r)) => pass_over(c, r, limits, bins, before),
            (Side::Double(c), Side::Double(r)) => pass_over(c, r, limits, bins, before),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    fn pass_over(
        candidate: impl Source,
        reference: impl Source,
        limits: &BlockLimits,
        bins: &mut [u32; BLOCK],
        mut before: Option<(&[u32; BLOCK], &mut Counts)>,
    ) -> BlockFound {
        let exponent = _mm512_set1_epi64(0x7ff0_0000_0000_0000);
        // The inverse of a power of two has the opposite exponent.
        let inversion = _mm512_set1_epi64(2046 << 52);
        let largest_inverse = _mm512_set1_pd(1.0 / limits.min_normal);
        let absolute_limit = _mm512_set1_pd(limits.absolute);
        let relative_limit = _mm512_set1_pd(limits.relative);
        let relative_error = _mm512_set1_pd(limits.relative_error);
        let zero = _mm512_setzero_pd();
        let (mut difference, mut absolute, mut squares) = (zero, zero, zero);
        let (mut candidate_squares, mut reference_squares, mut products) = (zero, zero, zero);
        let (mut worst, mut worst_spacings, mut excess) = (zero, zero, zero);
        let mut outside = _mm512_setzero_si512();
        let one = _mm512_set1_epi64(1);
        for start in (0..BLOCK).step_by(ROUND) {
            candidate.prefetch(start);
            reference.prefetch(start);
            for at in [start, start + LANES] {
                // SAFETY: this function's own features include AVX-512 F.
                let (c, r) = unsafe { (candidate.load(at), reference.load(at)) };
                let d = _mm512_sub_pd(c, r);
                let error = _mm512_abs_pd(d);
                let magnitude = _mm512_abs_pd(r);
                difference = _mm512_add_pd(difference, d);
                absolute = _mm512_add_pd(absolute, error);
                squares = _mm512_fmadd_pd(d, d, squares);
                candidate_squares = _mm512_fmadd_pd(c, c, candidate_squares);
                reference_squares = _mm512_fmadd_pd(r, r, reference_squares);
                products = _mm512_fmadd_pd(c, r, products);
                worst = _mm512_max_pd(error, worst);
                let limit = _mm512_add_pd(absolute_limit, _mm512_mul_pd(relative_limit, magnitude));
                let exceeds = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(error, limit);
                outside = _mm512_mask_add_epi64(outside, exceeds, outside, one);
                excess = _mm512_max_pd(_mm512_fnmadd_pd(relative_error, magnitude, error), excess);
                let power = _mm512_and_si512(_mm512_castpd_si512(r), exponent);
                let inverse = _mm512_castsi512_pd(_mm512_sub_epi64(inversion, power));
                let inverse = _mm512_min_pd(inverse, largest_inverse);
                worst_spacings = _mm512_max_pd(_mm512_mul_pd(error, inverse), worst_spacings);
                let bin = _mm512_srli_epi64::<{ 52 - BIN_BITS }>(_mm512_castpd_si512(error));
                let bin = _mm512_cvtepi64_epi32(bin);
                let place: &mut [u32; LANES] = bins[at..][..LANES].as_mut_array().unwrap();
                // SAFETY: there is room for eight numbers, and the store needs no alignment.
                unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), bin) };
            }
            if let Some((before, counts)) = &mut before {
                for (place, &bin) in before[start..start + ROUND].iter().enumerate() {
                    counts[place % BANKS][bin as usize % BINS] += 1;
                }
            }
        }
        BlockFound {
            difference: _mm512_reduce_add_pd(difference),
            absolute: _mm512_reduce_add_pd(absolute),
            squares: _mm512_reduce_add_pd(squares),
            candidate_squares: _mm512_reduce_add_pd(candidate_squares),
            reference_squares: _mm512_reduce_add_pd(reference_squares),
            products: _mm512_reduce_add_pd(products),
            worst: _mm512_reduce_max_pd(worst),
            worst_spacings: _mm512_reduce_max_pd(worst_spacings),
            outside: _mm512_reduce_add_epi64(outside).cast_unsigned(),
            relative_improves: _mm512_reduce_max_pd(excess) > 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of many sizes; halves of the bits keep differences exact enough to compare.
    fn values(seed: u64) -> [f64; BLOCK] {
        let mut state = seed;
        std::array::from_fn(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            f64::from(((state >> 40) as f32 - 8e6) * 2f32.powi((state & 31) as i32 - 40))
        })
    }

    #[test]
    fn a_block_has_the_sums_and_maxima_of_its_elements() {
        let (candidate, reference) = (values(1), values(2));
        let bytes = |values: &[f64; BLOCK]| -> [u8; 4 * BLOCK] {
            let bytes: Vec<u8> = values
                .iter()
                .flat_map(|&v| (v as f32).to_le_bytes())
                .collect();
            bytes.try_into().unwrap()
        };
        let (candidate_bytes, reference_bytes) = (bytes(&candidate), bytes(&reference));
        let limits = BlockLimits {
            absolute: 1.0,
            relative: 0.5,
            relative_error: 1e9,
            min_normal: 2f64.powi(-14),
        };
        let mut counts = vec![[0u32; BINS]; BANKS];
        let counts: &mut Counts = counts.as_mut_slice().try_into().unwrap();
        let before: [u32; BLOCK] = std::array::from_fn(|i| (i / 8) as u32);
        let mut bins = [0; BLOCK];
        let Some(found) = compare_block(
            Side::Double(bytemuck::cast_ref(&candidate)),
            Side::Double(bytemuck::cast_ref(&reference)),
            &limits,
            &mut bins,
            Some((&before, counts)),
        ) else {
            return; // Without AVX-512 there is nothing to test.
        };
        let pairs = || candidate.iter().zip(&reference);
        let close = |found: f64, expected: f64, scale: f64| {
            assert!(
                (found - expected).abs() <= 1e-13 * scale,
                "{found} instead of {expected}"
            );
        };
        let sum = |term: &dyn Fn(f64, f64) -> f64| pairs().map(|(&c, &r)| term(c, r)).sum::<f64>();
        close(found.difference, sum(&|c, r| c - r), found.absolute);
        close(found.absolute, sum(&|c, r| (c - r).abs()), found.absolute);
        close(found.squares, sum(&|c, r| (c - r) * (c - r)), found.squares);
        close(
            found.candidate_squares,
            sum(&|c, _| c * c),
            found.candidate_squares,
        );
        close(
            found.reference_squares,
            sum(&|_, r| r * r),
            found.reference_squares,
        );
        close(found.products, sum(&|c, r| c * r), found.squares);
        let largest =
            |term: &dyn Fn(f64, f64) -> f64| pairs().map(|(&c, &r)| term(c, r)).fold(0.0, f64::max);
        assert_eq!(found.worst, largest(&|c, r| (c - r).abs()));
        let spacings =
            |c: f64, r: f64| (c - r).abs() / r.abs().log2().floor().exp2().max(2f64.powi(-14));
        assert_eq!(found.worst_spacings, largest(&spacings));
        let outside = |c: f64, r: f64| f64::from((c - r).abs() > 1.0 + 0.5 * r.abs());
        assert_eq!(found.outside as f64, sum(&outside));
        let improves = |c: f64, r: f64| f64::from((c - r).abs() > 1e9 * r.abs());
        assert_eq!(found.relative_improves, sum(&improves) > 0.0);
        for (i, (c, r)) in pairs().enumerate() {
            assert_eq!(
                u64::from(bins[i]),
                (c - r).abs().to_bits() >> (52 - BIN_BITS)
            );
        }
        // Each of the 64 bins has two elements in each bank.
        assert!(
            counts
                .iter()
                .all(|bank| bank[..64].iter().all(|&count| count == 2))
        );
        assert!(
            counts
                .iter()
                .all(|bank| bank[64..].iter().all(|&count| count == 0))
        );

        let mut others = [0; BLOCK];
        let single = compare_block(
            Side::Single(&candidate_bytes),
            Side::Single(&reference_bytes),
            &limits,
            &mut others,
            None,
        );
        assert_eq!((single, others), (Some(found), bins));
    }
}
