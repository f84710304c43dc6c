//! Contiguous runs folded into one value in registers: sums, sums of squares, the largest element.
//!
//! The order is fixed by the length: interleaved lanes (four registers' worth), then the registers,
//! then the lanes, halves onto halves. Sums of long runs are made of pieces, added up in `f64`.
//! Other reductions are in `reduce`.

use crate::Real;
use crate::registers::{RegisterKernel, Vector, dispatch_registers};

/// Registers of lanes.
const REGISTERS: usize = 4;

/// Elements of the widest register.
const WIDEST: usize = 16;

/// Elements whose sum is kept in the element type.
const PIECE: usize = 4096;

/// How an element is taken into a lane, and lanes are joined.
trait Fold<T>: Copy {
    /// What a lane starts from.
    fn neutral(self) -> T;
    /// An element that changes no lane, to fill up the last block.
    fn filling(self) -> T;
    /// # Safety
    /// As for [`Vector`]'s methods.
    unsafe fn step<V: Vector<Element = T>>(self, lanes: V, values: V) -> V;
    /// # Safety
    /// As for [`Vector`]'s methods.
    unsafe fn join<V: Vector<Element = T>>(self, a: V, b: V) -> V;
    fn join_scalars(self, a: T, b: T) -> T;
}

#[derive(Clone, Copy)]
struct Sum;

impl<T: Real> Fold<T> for Sum {
    #[inline(always)]
    fn neutral(self) -> T {
        T::ZERO
    }
    #[inline(always)]
    fn filling(self) -> T {
        T::ZERO
    }
    #[inline(always)]
    unsafe fn step<V: Vector<Element = T>>(self, lanes: V, values: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { lanes.add(values) }
    }
    #[inline(always)]
    unsafe fn join<V: Vector<Element = T>>(self, a: V, b: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { a.add(b) }
    }
    #[inline(always)]
    fn join_scalars(self, a: T, b: T) -> T {
        a + b
    }
}

/// Squares of distances from a centre.
#[derive(Clone, Copy)]
struct Squares<T>(T);

impl<T: Real> Fold<T> for Squares<T> {
    #[inline(always)]
    fn neutral(self) -> T {
        T::ZERO
    }
    #[inline(always)]
    fn filling(self) -> T {
        self.0
    }
    #[inline(always)]
    unsafe fn step<V: Vector<Element = T>>(self, lanes: V, values: V) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let distance = values.sub(V::splat(self.0));
            lanes.add_product(distance, distance)
        }
    }
    #[inline(always)]
    unsafe fn join<V: Vector<Element = T>>(self, a: V, b: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { a.add(b) }
    }
    #[inline(always)]
    fn join_scalars(self, a: T, b: T) -> T {
        a + b
    }
}

/// The largest element that is not NaN.
#[derive(Clone, Copy)]
struct Largest;

impl<T: Real> Fold<T> for Largest {
    #[inline(always)]
    fn neutral(self) -> T {
        -T::INFINITY
    }
    #[inline(always)]
    fn filling(self) -> T {
        -T::INFINITY
    }
    #[inline(always)]
    unsafe fn step<V: Vector<Element = T>>(self, lanes: V, values: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { lanes.at_least(values) }
    }
    #[inline(always)]
    unsafe fn join<V: Vector<Element = T>>(self, a: V, b: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { a.at_least(b) }
    }
    #[inline(always)]
    fn join_scalars(self, a: T, b: T) -> T {
        if b > a { b } else { a }
    }
}

struct Run<'a, T, F> {
    values: &'a [T],
    fold: F,
}

impl<T: Real, F: Fold<T>> RegisterKernel<T> for Run<'_, T, F> {
    type Output = T;
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) -> T {
        const { assert!(V::LEN <= WIDEST) };
        let fold = self.fold;
        let block = REGISTERS * V::LEN;
        let blocks = self.values.chunks_exact(block);
        let rest = blocks.remainder();
        let mut lanes = [T::ZERO; WIDEST];
        // SAFETY: registers are loaded from whole blocks and stored to as many lanes.
        unsafe {
            let mut sums = [V::splat(fold.neutral()); REGISTERS];
            for values in blocks {
                for (r, sum) in sums.iter_mut().enumerate() {
                    *sum = fold.step(*sum, V::load(values.as_ptr().add(r * V::LEN)));
                }
            }
            if !rest.is_empty() {
                let mut filled = [fold.filling(); REGISTERS * WIDEST];
                filled[..rest.len()].copy_from_slice(rest);
                for (r, sum) in sums.iter_mut().enumerate() {
                    *sum = fold.step(*sum, V::load(filled.as_ptr().add(r * V::LEN)));
                }
            }
            let [a, b, c, d] = sums;
            fold.join(fold.join(a, b), fold.join(c, d))
                .store(lanes.as_mut_ptr());
        }
        let mut width = V::LEN / 2;
        while width > 0 {
            for i in 0..width {
                lanes[i] = fold.join_scalars(lanes[i], lanes[i + width]);
            }
            width /= 2;
        }
        lanes[0]
    }
}

fn pieces<T: Real>(values: &[T], fold: impl Fold<T>) -> f64 {
    let mut total = 0.0;
    for values in values.chunks(PIECE) {
        // SAFETY: nothing but the instructions is asked for.
        total += unsafe { dispatch_registers(Run { values, fold }) }.to_f64();
    }
    total
}

/// The sum of a run.
pub(crate) fn sum<T: Real>(values: &[T]) -> f64 {
    pieces(values, Sum)
}

/// The sum of the squares of the distances from `centre`.
pub(crate) fn squares<T: Real>(values: &[T], centre: T) -> f64 {
    pieces(values, Squares(centre))
}

/// The largest element of a run that is not NaN; -∞ if there is none.
pub(crate) fn largest<T: Real>(values: &[T]) -> T {
    // SAFETY: nothing but the instructions is asked for.
    unsafe {
        dispatch_registers(Run {
            values,
            fold: Largest,
        })
    }
}
