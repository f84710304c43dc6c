//! What the comparison of tensors needs of the processor. Most of its loops are plain Rust and
//! live with it: they need to be compiled for the widest instructions and to have memory fetched
//! ahead of them. The innermost one is in `block`, in registers.

mod block;

pub use block::{
    BANKS, BIN_BITS, BINS, BLOCK, BlockFound, BlockLimits, Counts, Side, compare_block,
    compares_blocks,
};

use crate::level::{Kernel, dispatch};

/// A loop to be compiled once per [`Level`](crate::Level).
///
/// `run` and everything it calls per element must be `#[inline(always)]`, so that the code ends up
/// inside the function that enables the instructions.
pub trait Vectorized {
    /// What the loop returns.
    type Output;

    /// The loop.
    fn run(self) -> Self::Output;
}

struct Loop<V>(V);

impl<V: Vectorized> Kernel for Loop<V> {
    type Output = V::Output;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> V::Output {
        self.0.run()
    }
}

/// Runs a loop as compiled for [`cpu_level`](crate::cpu_level). Products and sums are not fused, so
/// that every level rounds alike.
#[inline]
pub fn vectorized<V: Vectorized>(body: V) -> V::Output {
    dispatch(Loop(body))
}

/// Bytes that come from memory at a time.
#[cfg(target_arch = "x86_64")]
const CACHE_LINE: usize = 64;

/// Asks for `bytes` to be brought near the processor while it goes on with something else. A hint
/// that changes no result; without effect where the instruction is unknown to us.
#[inline(always)]
pub fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(CACHE_LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has the instruction, and it accesses nothing that the
        // program could observe: it cannot fault, and here it is given an address inside a slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum<'a>(&'a [f64]);

    impl Vectorized for Sum<'_> {
        type Output = f64;

        #[inline(always)]
        fn run(self) -> f64 {
            self.0.iter().sum()
        }
    }

    #[test]
    fn a_loop_gives_what_it_gives_outside() {
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i) * 0.1).collect();
        prefetch(bytemuck::cast_slice(&values));
        prefetch(&[]);
        assert_eq!(vectorized(Sum(&values)), values.iter().sum::<f64>());
    }
}
