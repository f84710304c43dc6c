//! Floating types of at most 16 bits: what their codes mean, and the nearest code to a value.
//!
//! What is left out: which casts are allowed (`convert`).

use crate::element::Element;

/// The layout of a floating type of at most 16 bits: sign, exponent, mantissa.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SmallFloat {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    special: Special,
}

/// What a small float's highest codes mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Special {
    /// IEEE 754: the highest exponent is infinity and NaN.
    Ieee,
    /// Only the code of all ones is NaN; no infinities.
    AllOnesIsNan,
    /// Only the code of negative zero is NaN; no infinities.
    NegativeZeroIsNan,
    /// All codes are finite.
    Finite,
    /// No sign and no mantissa; the code of all ones is NaN.
    ExponentOnly,
}

impl SmallFloat {
    /// Sources: IEEE 754-2019; OCP 8-bit Floating Point (E4M3, E5M2); OCP Microscaling Formats
    /// 1.0 (E2M1, E8M0); arXiv:2206.02915 (FNUZ).
    pub(crate) const fn of(element: Element) -> Option<Self> {
        let (exponent_bits, mantissa_bits, bias, special) = match element {
            Element::F16 => (5, 10, 15, Special::Ieee),
            Element::BF16 => (8, 7, 127, Special::Ieee),
            Element::F8_E5M2 => (5, 2, 15, Special::Ieee),
            Element::F8_E4M3 => (4, 3, 7, Special::AllOnesIsNan),
            Element::F8_E4M3FNUZ => (4, 3, 8, Special::NegativeZeroIsNan),
            Element::F8_E5M2FNUZ => (5, 2, 16, Special::NegativeZeroIsNan),
            Element::F4 => (2, 1, 1, Special::Finite),
            Element::F8_E8M0 => (8, 0, 127, Special::ExponentOnly),
            _ => return None,
        };
        Some(Self {
            exponent_bits,
            mantissa_bits,
            bias,
            special,
        })
    }

    const fn sign_bit(self) -> u64 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    /// The code of the largest finite value.
    pub(crate) const fn largest(self) -> u64 {
        match self.special {
            Special::Ieee => self.infinity() - 1,
            Special::AllOnesIsNan => self.sign_bit() - 2,
            Special::NegativeZeroIsNan | Special::Finite => self.sign_bit() - 1,
            Special::ExponentOnly => self.sign_bit() - 2,
        }
    }

    /// The code after the largest finite value of an IEEE type.
    const fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    const fn nan(self) -> Option<u64> {
        match self.special {
            Special::Ieee => Some(self.infinity() | 1 << (self.mantissa_bits - 1)),
            Special::AllOnesIsNan | Special::ExponentOnly => Some(self.sign_bit() - 1),
            Special::NegativeZeroIsNan => Some(self.sign_bit()),
            Special::Finite => None,
        }
    }

    pub(crate) fn decode(self, bits: u64) -> f64 {
        if self.special == Special::ExponentOnly {
            return if bits == self.sign_bit() - 1 {
                f64::NAN
            } else {
                power_of_two(bits as i32 - self.bias)
            };
        }
        let negative = bits & self.sign_bit() != 0;
        let magnitude = bits & (self.sign_bit() - 1);
        let exponent = (magnitude >> self.mantissa_bits) as i32;
        let mantissa = (magnitude & ((1 << self.mantissa_bits) - 1)) as f64;
        let is_nan = match self.special {
            Special::Ieee => magnitude > self.infinity(),
            Special::AllOnesIsNan => magnitude == self.sign_bit() - 1,
            Special::NegativeZeroIsNan => bits == self.sign_bit(),
            Special::Finite | Special::ExponentOnly => false,
        };
        if is_nan {
            return f64::NAN;
        }
        let size = if self.special == Special::Ieee && magnitude == self.infinity() {
            f64::INFINITY
        } else if exponent == 0 {
            mantissa * power_of_two(1 - self.bias - self.mantissa_bits as i32)
        } else {
            let unit = power_of_two(exponent - self.bias - self.mantissa_bits as i32);
            (mantissa + f64::from(1 << self.mantissa_bits)) * unit
        };
        if negative { -size } else { size }
    }

    /// The nearest code, ties to even.
    pub(crate) fn encode(self, value: f64) -> Option<u64> {
        if value.is_nan() {
            return self.nan();
        }
        if self.special == Special::ExponentOnly {
            let code = exponent_of(value).wrapping_add(self.bias);
            let is_held = value.is_sign_positive()
                && (0..=self.largest() as i32).contains(&code)
                && power_of_two(code - self.bias) == value;
            return is_held.then_some(code as u64);
        }
        let sign = if value.is_sign_negative() {
            self.sign_bit()
        } else {
            0
        };
        let size = value.abs();
        let magnitude = if size.is_infinite() {
            u64::MAX
        } else {
            // In units of the last place the value is rounded to an integer. That integer plus
            // the exponent's code is the result, because carrying out of the mantissa is carrying
            // into the exponent.
            let lowest = 1 - self.bias;
            let exponent = exponent_of(size).max(lowest);
            let scale = power_of_two(self.mantissa_bits as i32 - exponent);
            let rounded = (size * scale).round_ties_even() as u64;
            (((exponent - lowest) as u64) << self.mantissa_bits) + rounded
        };
        let code = if magnitude <= self.largest() {
            sign | magnitude
        } else if self.special == Special::Ieee {
            sign | self.infinity()
        } else {
            sign | self.largest()
        };
        let is_nan = self.special == Special::NegativeZeroIsNan && code == self.sign_bit();
        Some(if is_nan { 0 } else { code })
    }
}

/// The exponent of the leading bit, for a normal `f64`; lower than any small float's for others.
fn exponent_of(value: f64) -> i32 {
    ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// 2^exponent for a normal result: the scales of small floats lie far within.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}
