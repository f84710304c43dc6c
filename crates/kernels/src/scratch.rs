//! Per-thread working memory, reused from call to call and aligned to cache lines.
//!
//! Several buffers can be borrowed at a time, one inside another; large ones are freed after use.

use crate::Real;
use std::cell::RefCell;

/// A cache line, the unit in which buffers are allocated and aligned.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Lines above which a buffer is not kept for the next call (4 MiB).
const KEEP_LINES: usize = (4 << 20) / 64;

thread_local! {
    static FREE: RefCell<Vec<Vec<Line>>> = const { RefCell::new(Vec::new()) };
}

/// Calls `f` with a 64-byte aligned buffer of `len` elements of unspecified values.
#[inline]
pub(crate) fn with<T: Real, R>(len: usize, f: impl FnOnce(&mut [T]) -> R) -> R {
    if len == 0 {
        return f(&mut []);
    }
    let lines = (len * size_of::<T>()).div_ceil(64);
    let mut buffer = FREE.with_borrow_mut(Vec::pop).unwrap_or_default();
    if buffer.len() < lines {
        buffer.resize(lines, Line([0; 64]));
    }
    // SAFETY: the buffer holds at least `len` elements' worth of initialised bytes, is aligned more
    // strictly than any `Real`, every bit pattern is a valid `Real` (it is `Pod`), and it is
    // borrowed exclusively until `f` returns.
    let slice = unsafe { std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast::<T>(), len) };
    let result = f(slice);
    if buffer.len() <= KEEP_LINES {
        FREE.with_borrow_mut(|free| free.push(buffer));
    }
    result
}
