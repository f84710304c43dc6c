//! The activation functions, applied in place to a run of elements: alone (`map`) or at the end of
//! a product or convolution while the values are in cache.
//!
//! Formulas are those documented for TensorRT's `ActivationType`, computed without avoidable
//! overflow or cancellation. All but the thresholded relu, whose comparison NaN fails, return NaN for
//! NaN.

use crate::Real;
use crate::map::{plain_map, vector_map};
use crate::parallel::TOUCH;

/// A function of one element with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "the parameters are those of the formulas")]
pub enum Activation<T> {
    /// max(0, x)
    Relu,
    /// 1 / (1 + e⁻ˣ)
    Sigmoid,
    /// tanh x
    Tanh,
    /// x if x ≥ 0, else α·x
    LeakyRelu { alpha: T },
    /// x if x ≥ 0, else α·(eˣ - 1)
    Elu { alpha: T },
    /// β·x if x > 0, else β·α·(eˣ - 1)
    Selu { alpha: T, beta: T },
    /// x / (1 + |x|)
    Softsign,
    /// α·ln(1 + e^(β·x))
    Softplus { alpha: T, beta: T },
    /// max(α, min(β, x))
    Clip { alpha: T, beta: T },
    /// max(0, min(1, α·x + β))
    HardSigmoid { alpha: T, beta: T },
    /// α·tanh(β·x)
    ScaledTanh { alpha: T, beta: T },
    /// x if x > α, else 0
    ThresholdedRelu { alpha: T },
    /// ½·x·(1 + erf(x/√2))
    GeluErf,
    /// ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))
    GeluTanh,
    /// x / (1 + e⁻ˣ)
    Silu,
}

/// max(low, min(high, x)), NaN for NaN.
#[inline(always)]
fn clip<T: Real>(x: T, low: T, high: T) -> T {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

/// 1 / (1 + e⁻ˣ); e to a positive power never occurs, so nothing overflows.
#[inline(always)]
fn sigmoid<T: Real, const FMA: bool>(x: T) -> T {
    let e = (-x.abs()).exp::<FMA>();
    let numerator = if x < T::ZERO { e } else { T::ONE };
    numerator / (T::ONE + e)
}

/// ln(1 + eˣ) as max(0, x) + ln(1 + e^-|x|).
#[inline(always)]
fn softplus<T: Real, const FMA: bool>(x: T) -> T {
    let positive = if x < T::ZERO { T::ZERO } else { x };
    positive + (-x.abs()).exp::<FMA>().ln_1p::<FMA>()
}

impl<T: Real> Activation<T> {
    /// Work per element, in the unit of `parallel`.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Self::Relu | Self::LeakyRelu { .. } | Self::Clip { .. } => TOUCH,
            Self::HardSigmoid { .. } | Self::ThresholdedRelu { .. } | Self::Softsign => TOUCH,
            _ => 5 * TOUCH,
        }
    }

    /// The lower and upper limit, if that is all the function does: kernels then apply it to sums
    /// still in registers. The upper limit comes first.
    pub(crate) fn limits(&self) -> Option<(T, T)> {
        match *self {
            Self::Relu => Some((T::ZERO, T::INFINITY)),
            Self::Clip { alpha, beta } => Some((alpha, beta)),
            _ => None,
        }
    }

    /// Replaces every value by its image.
    #[inline(always)]
    pub(crate) fn apply<const FMA: bool>(&self, values: &mut [T]) {
        match *self {
            Self::Relu => plain_map(values, |x| if x < T::ZERO { T::ZERO } else { x }),
            Self::Sigmoid => math_map(values, sigmoid::<T, FMA>),
            Self::Tanh => math_map(values, |x| x.tanh::<FMA>()),
            Self::LeakyRelu { alpha } => {
                plain_map(values, |x| if x < T::ZERO { alpha * x } else { x });
            }
            Self::Elu { alpha } => math_map(values, |x| {
                let below = alpha * x.exp_m1::<FMA>();
                if x < T::ZERO { below } else { x }
            }),
            Self::Selu { alpha, beta } => math_map(values, |x| {
                let below = alpha * x.exp_m1::<FMA>();
                beta * if x > T::ZERO { x } else { below }
            }),
            Self::Softsign => plain_map(values, |x| x / (T::ONE + x.abs())),
            Self::Softplus { alpha, beta } => {
                math_map(values, |x| alpha * softplus::<T, FMA>(beta * x));
            }
            Self::Clip { alpha, beta } => plain_map(values, |x| clip(x, alpha, beta)),
            Self::HardSigmoid { alpha, beta } => {
                plain_map(values, |x| {
                    clip(x.madd::<FMA>(alpha, beta), T::ZERO, T::ONE)
                });
            }
            Self::ScaledTanh { alpha, beta } => {
                math_map(values, |x| alpha * (beta * x).tanh::<FMA>());
            }
            Self::ThresholdedRelu { alpha } => {
                plain_map(values, |x| if x > alpha { x } else { T::ZERO });
            }
            Self::GeluErf => {
                let root = T::from_f64(std::f64::consts::FRAC_1_SQRT_2);
                let half = T::from_f64(0.5);
                math_map(values, |x| half * x * (T::ONE + (root * x).erf::<FMA>()));
            }
            Self::GeluTanh => {
                let root = T::from_f64((2.0 / std::f64::consts::PI).sqrt());
                let cubic = T::from_f64(0.044715);
                let half = T::from_f64(0.5);
                math_map(values, |x| {
                    let inner = (cubic * x * x).madd::<FMA>(x, x);
                    half * x * (T::ONE + (root * inner).tanh::<FMA>())
                });
            }
            Self::Silu => math_map(values, |x| x * sigmoid::<T, FMA>(x)),
        }
    }
}

/// A map that uses `exp` or its kin: vector code where those are, else a plain loop.
#[inline(always)]
pub(crate) fn math_map<T: Real>(values: &mut [T], f: impl Fn(T) -> T) {
    if T::VECTOR_MATH {
        vector_map(values, f)
    } else {
        plain_map(values, f)
    }
}
