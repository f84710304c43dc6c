//! Element-wise maps over slices: unary and binary operations, activations, scale and shift.
//!
//! Broadcasting is the caller's, who calls these on the contiguous runs that it leaves. Results do
//! not depend on where in a slice an element lies.

use crate::activation::math_map;
use crate::level::{Kernel, dispatch};
use crate::parallel::{PIECE, TOUCH, worth_dividing};
use crate::{Activation, Real};
use rayon::prelude::*;

/// Elements handled at a time: enough to fill the vector registers of every level.
const BLOCK: usize = 32;

/// Applies a longer `f` in blocks. The last, shorter one is filled up and goes through the same
/// code, since one element at a time would take as long as a block.
#[inline(always)]
pub(crate) fn vector_map<T: Real>(values: &mut [T], f: impl Fn(T) -> T) {
    let (blocks, rest) = values.as_chunks_mut::<BLOCK>();
    for block in blocks {
        block.iter_mut().for_each(|v| *v = f(*v));
    }
    if !rest.is_empty() {
        let mut block = [T::ONE; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        block.iter_mut().for_each(|v| *v = f(*v));
        rest.copy_from_slice(&block[..rest.len()]);
    }
}

/// Applies `f` in one loop: of a few instructions, or a call per element.
#[inline(always)]
pub(crate) fn plain_map<T: Real>(values: &mut [T], f: impl Fn(T) -> T) {
    for v in values {
        *v = f(*v);
    }
}

/// An operation on one element, after TensorRT's `UnaryOperation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Unary {
    Exp,
    Log,
    Sqrt,
    Recip,
    Abs,
    Neg,
    Sin,
    Cos,
    Tan,
    Sinh,
    Cosh,
    Asin,
    Acos,
    Atan,
    Asinh,
    Acosh,
    Atanh,
    Ceil,
    Floor,
    Erf,
    /// -1, 0 or 1; NaN for NaN.
    Sign,
    /// To the nearest integer, ties to even.
    Round,
    /// 1 for NaN, else 0.
    IsNan,
    /// 1 for ±∞, else 0.
    IsInf,
}

impl Unary {
    /// Work per element, in the unit of `parallel`.
    fn cost(self) -> usize {
        match self {
            Self::Recip | Self::Abs | Self::Neg | Self::Ceil | Self::Floor => TOUCH,
            Self::Sign | Self::Round | Self::IsNan | Self::IsInf => TOUCH,
            Self::Exp | Self::Log | Self::Sqrt | Self::Sin | Self::Cos | Self::Erf => 5 * TOUCH,
            _ => 50 * TOUCH,
        }
    }

    #[inline(always)]
    fn apply<T: Real, const FMA: bool>(self, values: &mut [T]) {
        /// A rarely used function, computed in `f64` for both types and rounded once.
        #[inline(always)]
        fn wide<T: Real>(values: &mut [T], f: impl Fn(f64) -> f64) {
            plain_map(values, |x| T::from_f64(f(x.to_f64())));
        }
        let flag = |b: bool| if b { T::ONE } else { T::ZERO };
        match self {
            Self::Exp => math_map(values, |x| x.exp::<FMA>()),
            Self::Log => math_map(values, |x| x.ln::<FMA>()),
            Self::Sqrt => plain_map(values, |x| x.sqrt()),
            Self::Recip => plain_map(values, |x| T::ONE / x),
            Self::Abs => plain_map(values, |x| x.abs()),
            Self::Neg => plain_map(values, |x| -x),
            Self::Sin => T::sin_slice::<FMA>(values),
            Self::Cos => T::cos_slice::<FMA>(values),
            Self::Tan => wide(values, libm::tan),
            Self::Sinh => wide(values, libm::sinh),
            Self::Cosh => wide(values, libm::cosh),
            Self::Asin => wide(values, libm::asin),
            Self::Acos => wide(values, libm::acos),
            Self::Atan => wide(values, libm::atan),
            Self::Asinh => wide(values, libm::asinh),
            Self::Acosh => wide(values, libm::acosh),
            Self::Atanh => wide(values, libm::atanh),
            Self::Ceil => plain_map(values, |x| x.ceil()),
            Self::Floor => plain_map(values, |x| x.floor()),
            Self::Erf => math_map(values, |x| x.erf::<FMA>()),
            Self::Sign => plain_map(values, |x| {
                let sign = if x < T::ZERO { -T::ONE } else { x };
                if x > T::ZERO { T::ONE } else { sign }
            }),
            Self::Round => plain_map(values, |x| x.round_half_even()),
            Self::IsNan => plain_map(values, |x| flag(x.is_nan())),
            Self::IsInf => plain_map(values, |x| flag(x.abs() == T::INFINITY)),
        }
    }
}

/// An operation on two elements, after TensorRT's `ElementWiseOperation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Binary {
    Sum,
    Prod,
    Sub,
    Div,
    /// The smaller; NaN if either is NaN.
    Min,
    /// The larger; NaN if either is NaN.
    Max,
    /// The first to the power of the second, as C's `pow`.
    Pow,
    /// ⌊a / b⌋
    FloorDiv,
}

/// The larger of two, NaN if either is.
#[inline(always)]
pub(crate) fn larger<T: Real>(a: T, b: T) -> T {
    // A NaN in `b` fails the first comparison, one in `a` passes the second.
    if a > b || a.is_nan() { a } else { b }
}

/// The smaller of two, NaN if either is.
#[inline(always)]
pub(crate) fn smaller<T: Real>(a: T, b: T) -> T {
    if a < b || a.is_nan() { a } else { b }
}

impl Binary {
    fn cost(self) -> usize {
        if self == Self::Pow {
            100 * TOUCH
        } else {
            TOUCH
        }
    }

    /// `a[i] = op(a[i], b[i])`, or with the operands swapped.
    #[inline(always)]
    fn apply<T: Real>(self, a: &mut [T], b: &[T], swapped: bool) {
        #[inline(always)]
        fn zip<T: Real>(a: &mut [T], b: &[T], swapped: bool, f: impl Fn(T, T) -> T) {
            if swapped {
                a.iter_mut().zip(b).for_each(|(a, b)| *a = f(*b, *a));
            } else {
                a.iter_mut().zip(b).for_each(|(a, b)| *a = f(*a, *b));
            }
        }
        match self {
            Self::Sum => zip(a, b, swapped, |a, b| a + b),
            Self::Prod => zip(a, b, swapped, |a, b| a * b),
            Self::Sub => zip(a, b, swapped, |a, b| a - b),
            Self::Div => zip(a, b, swapped, |a, b| a / b),
            Self::Min => zip(a, b, swapped, smaller),
            Self::Max => zip(a, b, swapped, larger),
            Self::Pow => zip(a, b, swapped, T::pow),
            Self::FloorDiv => zip(a, b, swapped, |a, b| (a / b).floor()),
        }
    }

    /// `a[i] = op(a[i], s)`, or with the operands swapped.
    #[inline(always)]
    fn apply_scalar<T: Real>(self, a: &mut [T], s: T, swapped: bool) {
        #[inline(always)]
        fn each<T: Real>(a: &mut [T], s: T, swapped: bool, f: impl Fn(T, T) -> T) {
            if swapped {
                a.iter_mut().for_each(|a| *a = f(s, *a));
            } else {
                a.iter_mut().for_each(|a| *a = f(*a, s));
            }
        }
        match self {
            Self::Sum => each(a, s, swapped, |a, b| a + b),
            Self::Prod => each(a, s, swapped, |a, b| a * b),
            Self::Sub => each(a, s, swapped, |a, b| a - b),
            Self::Div => each(a, s, swapped, |a, b| a / b),
            Self::Min => each(a, s, swapped, smaller),
            Self::Max => each(a, s, swapped, larger),
            // The one exponent that layers use all the time; a square is rounded once either way.
            Self::Pow if !swapped && s == T::ONE + T::ONE => each(a, s, swapped, |a, _| a * a),
            Self::Pow => each(a, s, swapped, T::pow),
            Self::FloorDiv => each(a, s, swapped, |a, b| (a / b).floor()),
        }
    }
}

/// A map compiled per level: what to do to `values`, with `other` beside them.
struct Map<'a, T, F> {
    values: &'a mut [T],
    f: F,
}

/// Something that can be done in place to a run of elements.
trait InPlace<T>: Copy + Sync {
    fn run<const FMA: bool>(self, values: &mut [T]);
}

impl<T: Real> InPlace<T> for Unary {
    #[inline(always)]
    fn run<const FMA: bool>(self, values: &mut [T]) {
        self.apply::<T, FMA>(values);
    }
}

impl<T: Real> InPlace<T> for Activation<T> {
    #[inline(always)]
    fn run<const FMA: bool>(self, values: &mut [T]) {
        self.apply::<FMA>(values);
    }
}

/// x·scale + shift.
#[derive(Clone, Copy)]
struct ScaleShift<T>(T, T);

impl<T: Real> InPlace<T> for ScaleShift<T> {
    #[inline(always)]
    fn run<const FMA: bool>(self, values: &mut [T]) {
        plain_map(values, |x| x.madd::<FMA>(self.0, self.1));
    }
}

/// A binary operation with one operand fixed.
#[derive(Clone, Copy)]
struct WithScalar<T> {
    op: Binary,
    scalar: T,
    swapped: bool,
}

impl<T: Real> InPlace<T> for WithScalar<T> {
    #[inline(always)]
    fn run<const FMA: bool>(self, values: &mut [T]) {
        self.op.apply_scalar(values, self.scalar, self.swapped);
    }
}

impl<T: Real, F: InPlace<T>> Kernel for Map<'_, T, F> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        self.f.run::<FMA>(self.values);
    }
}

/// In place, divided over threads if large.
fn map_in_place<T: Real>(values: &mut [T], cost: usize, f: impl InPlace<T>) {
    if worth_dividing(values.len().saturating_mul(cost)) {
        values
            .par_chunks_mut(PIECE)
            .for_each(|values| dispatch(Map { values, f }));
    } else {
        dispatch(Map { values, f });
    }
}

/// Out of place: a piece is copied and then, still in the first cache, mapped.
fn map<T: Real>(x: &[T], out: &mut [T], cost: usize, f: impl InPlace<T>) {
    assert_eq!(
        x.len(),
        out.len(),
        "element-wise map: input and output lengths differ"
    );
    let serial = |x: &[T], out: &mut [T]| {
        for (x, out) in x.chunks(PIECE / 16).zip(out.chunks_mut(PIECE / 16)) {
            out.copy_from_slice(x);
            dispatch(Map { values: out, f });
        }
    };
    if worth_dividing(x.len().saturating_mul(cost)) {
        out.par_chunks_mut(PIECE)
            .zip(x.par_chunks(PIECE))
            .for_each(|(out, x)| serial(x, out));
    } else {
        serial(x, out);
    }
}

/// `out[i] = op(x[i])`. Both slices have the same length.
pub fn unary<T: Real>(op: Unary, x: &[T], out: &mut [T]) {
    map(x, out, op.cost(), op);
}

/// `values[i] = op(values[i])`.
pub fn unary_in_place<T: Real>(op: Unary, values: &mut [T]) {
    map_in_place(values, op.cost(), op);
}

/// `values[i] = activation(values[i])`.
pub fn activate<T: Real>(activation: Activation<T>, values: &mut [T]) {
    map_in_place(values, activation.cost(), activation);
}

/// [`activate`] on the calling thread only, for use within a task.
pub(crate) fn activate_here<T: Real>(activation: Activation<T>, values: &mut [T]) {
    dispatch(Map {
        values,
        f: activation,
    });
}

/// `values[i] = values[i]·scale + shift`, fused where the level fuses.
pub fn scale_shift<T: Real>(values: &mut [T], scale: T, shift: T) {
    map_in_place(values, TOUCH, ScaleShift(scale, shift));
}

struct Zip<'a, T> {
    op: Binary,
    a: &'a mut [T],
    b: &'a [T],
    swapped: bool,
}

impl<T: Real> Kernel for Zip<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        self.op.apply(self.a, self.b, self.swapped);
    }
}

/// `out[i] = op(a[i], b[i])`. All three slices have the same length.
pub fn binary<T: Real>(op: Binary, a: &[T], b: &[T], out: &mut [T]) {
    assert_eq!(
        a.len(),
        out.len(),
        "binary operation: first operand and output lengths differ"
    );
    assert_eq!(
        b.len(),
        out.len(),
        "binary operation: second operand and output lengths differ"
    );
    let serial = |a: &[T], b: &[T], out: &mut [T]| {
        let pieces = a.chunks(PIECE / 16).zip(b.chunks(PIECE / 16));
        for ((a, b), out) in pieces.zip(out.chunks_mut(PIECE / 16)) {
            out.copy_from_slice(a);
            dispatch(Zip {
                op,
                a: out,
                b,
                swapped: false,
            });
        }
    };
    if worth_dividing(out.len().saturating_mul(op.cost())) {
        out.par_chunks_mut(PIECE)
            .zip(a.par_chunks(PIECE))
            .zip(b.par_chunks(PIECE))
            .for_each(|((out, a), b)| serial(a, b, out));
    } else {
        serial(a, b, out);
    }
}

/// `a[i] = op(a[i], b[i])`, or `op(b[i], a[i])` if `swapped`. Both have the same length.
pub fn binary_in_place<T: Real>(op: Binary, a: &mut [T], b: &[T], swapped: bool) {
    assert_eq!(a.len(), b.len(), "binary operation: operand lengths differ");
    if worth_dividing(a.len().saturating_mul(op.cost())) {
        a.par_chunks_mut(PIECE)
            .zip(b.par_chunks(PIECE))
            .for_each(|(a, b)| dispatch(Zip { op, a, b, swapped }));
    } else {
        dispatch(Zip { op, a, b, swapped });
    }
}

/// `out[i] = op(a[i], b)`. Both slices have the same length.
pub fn binary_scalar<T: Real>(op: Binary, a: &[T], b: T, out: &mut [T]) {
    map(
        a,
        out,
        op.cost(),
        WithScalar {
            op,
            scalar: b,
            swapped: false,
        },
    );
}

/// `out[i] = op(a, b[i])`. Both slices have the same length.
pub fn scalar_binary<T: Real>(op: Binary, a: T, b: &[T], out: &mut [T]) {
    map(
        b,
        out,
        op.cost(),
        WithScalar {
            op,
            scalar: a,
            swapped: true,
        },
    );
}
