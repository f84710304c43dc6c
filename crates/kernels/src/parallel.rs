//! When and how work is divided over the current rayon pool.
//!
//! Division never changes a result: pieces are independent, and what is summed is summed within
//! one piece (or over pieces of fixed size, in their order, by the caller).

use rayon::prelude::*;

/// Work, in floating-point operations of a matrix product (some hundred to a nanosecond of one core),
/// below which a second thread costs more than it saves: waking one takes some microseconds.
pub(crate) const PARALLEL_WORK: usize = 1 << 21;

/// The work of reading and writing an element.
pub(crate) const TOUCH: usize = 8;

/// Elements in a piece of a simple element-wise map.
pub(crate) const PIECE: usize = 1 << 14;

/// Whether work of this size is worth dividing here and now.
#[inline]
pub(crate) fn worth_dividing(work: usize) -> bool {
    work >= PARALLEL_WORK && rayon::current_num_threads() > 1
}

/// Calls `f` for every index below `count`, in parallel if `work` (of all of them) is worth it.
#[inline]
pub(crate) fn for_each(count: usize, work: usize, f: impl Fn(usize) + Sync + Send) {
    if count > 1 && worth_dividing(work) {
        (0..count).into_par_iter().for_each(f);
    } else {
        (0..count).for_each(f);
    }
}

/// A pointer that tasks share, each writing its own part of what it points to.
#[derive(Clone, Copy)]
pub(crate) struct SharedMut<T>(pub(crate) *mut T);

// SAFETY: the pointer is only a number until it is dereferenced, and every dereference states why
// the tasks' parts are disjoint.
unsafe impl<T: Send> Send for SharedMut<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SharedMut<T> {}

impl<T> SharedMut<T> {
    /// The pointer itself. A method, so that closures capture the whole (shareable) struct.
    #[inline(always)]
    pub(crate) fn get(self) -> *mut T {
        self.0
    }
}
