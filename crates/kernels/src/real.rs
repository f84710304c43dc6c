//! The two element types, and the scalar arithmetic that the generic loops need from them.
//!
//! The vectorisable `f32` functions themselves are in `math`; `f64` takes its functions from the
//! `libm` crate, whose results do not depend on the operating system's C library.

use crate::math;
use crate::registers::Registers;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// An element: `f32` or `f64`.
pub trait Real:
    bytemuck::Pod
    + Default
    + Debug
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + Scalar
    + Registers
{
    /// Rounds to nearest even.
    fn from_f64(value: f64) -> Self;
    /// Exact.
    fn to_f64(self) -> f64;
}

/// Arithmetic on one element. `FMA` as in [`crate::level::Kernel`].
pub trait Scalar: Copy {
    const ZERO: Self;
    const ONE: Self;
    const INFINITY: Self;
    /// Whether `exp` and its kin are straight-line arithmetic that the compiler vectorises.
    const VECTOR_MATH: bool;

    fn madd<const FMA: bool>(self, factor: Self, term: Self) -> Self;
    fn is_nan(self) -> bool;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn round_half_even(self) -> Self;

    fn exp<const FMA: bool>(self) -> Self;
    fn exp_m1<const FMA: bool>(self) -> Self;
    fn ln<const FMA: bool>(self) -> Self;
    fn ln_1p<const FMA: bool>(self) -> Self;
    fn tanh<const FMA: bool>(self) -> Self;
    fn erf<const FMA: bool>(self) -> Self;
    /// Sine and cosine of a whole slice, in place: `f32` treats large arguments separately.
    fn sin_slice<const FMA: bool>(values: &mut [Self]);
    fn cos_slice<const FMA: bool>(values: &mut [Self]);
    fn pow(self, exponent: Self) -> Self;
}

impl Real for f32 {
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

/// What both types take from the standard library, where it is one instruction or close to it.
macro_rules! basics {
    ($float:ty) => {
        const ZERO: Self = 0.0;
        const ONE: Self = 1.0;
        const INFINITY: Self = <$float>::INFINITY;

        #[inline(always)]
        fn madd<const FMA: bool>(self, factor: Self, term: Self) -> Self {
            if FMA {
                self.mul_add(factor, term)
            } else {
                self * factor + term
            }
        }
        #[inline(always)]
        fn is_nan(self) -> bool {
            <$float>::is_nan(self)
        }
        #[inline(always)]
        fn abs(self) -> Self {
            <$float>::abs(self)
        }
        #[inline(always)]
        fn sqrt(self) -> Self {
            <$float>::sqrt(self)
        }
        #[inline(always)]
        fn floor(self) -> Self {
            <$float>::floor(self)
        }
        #[inline(always)]
        fn ceil(self) -> Self {
            <$float>::ceil(self)
        }
        #[inline(always)]
        fn round_half_even(self) -> Self {
            <$float>::round_ties_even(self)
        }
    };
}

impl Scalar for f32 {
    basics!(f32);
    const VECTOR_MATH: bool = true;

    #[inline(always)]
    fn exp<const FMA: bool>(self) -> Self {
        math::exp::<FMA>(self)
    }
    #[inline(always)]
    fn exp_m1<const FMA: bool>(self) -> Self {
        math::exp_m1::<FMA>(self)
    }
    #[inline(always)]
    fn ln<const FMA: bool>(self) -> Self {
        math::ln::<FMA>(self)
    }
    #[inline(always)]
    fn ln_1p<const FMA: bool>(self) -> Self {
        math::ln_1p::<FMA>(self)
    }
    #[inline(always)]
    fn tanh<const FMA: bool>(self) -> Self {
        math::tanh::<FMA>(self)
    }
    #[inline(always)]
    fn erf<const FMA: bool>(self) -> Self {
        math::erf::<FMA>(self)
    }
    #[inline(always)]
    fn sin_slice<const FMA: bool>(values: &mut [Self]) {
        math::sin_slice::<FMA>(values);
    }
    #[inline(always)]
    fn cos_slice<const FMA: bool>(values: &mut [Self]) {
        math::cos_slice::<FMA>(values);
    }
    #[inline(always)]
    fn pow(self, exponent: Self) -> Self {
        libm::pow(f64::from(self), f64::from(exponent)) as f32
    }
}

impl Scalar for f64 {
    basics!(f64);
    const VECTOR_MATH: bool = false;

    #[inline(always)]
    fn exp<const FMA: bool>(self) -> Self {
        libm::exp(self)
    }
    #[inline(always)]
    fn exp_m1<const FMA: bool>(self) -> Self {
        libm::expm1(self)
    }
    #[inline(always)]
    fn ln<const FMA: bool>(self) -> Self {
        libm::log(self)
    }
    #[inline(always)]
    fn ln_1p<const FMA: bool>(self) -> Self {
        libm::log1p(self)
    }
    #[inline(always)]
    fn tanh<const FMA: bool>(self) -> Self {
        libm::tanh(self)
    }
    #[inline(always)]
    fn erf<const FMA: bool>(self) -> Self {
        libm::erf(self)
    }
    #[inline(always)]
    fn sin_slice<const FMA: bool>(values: &mut [Self]) {
        values.iter_mut().for_each(|v| *v = libm::sin(*v));
    }
    #[inline(always)]
    fn cos_slice<const FMA: bool>(values: &mut [Self]) {
        values.iter_mut().for_each(|v| *v = libm::cos(*v));
    }
    #[inline(always)]
    fn pow(self, exponent: Self) -> Self {
        libm::pow(self, exponent)
    }
}
