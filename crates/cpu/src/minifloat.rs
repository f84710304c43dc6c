//! Floating-point formats of eight bits and less, by their parameters.
//!
//! Formats: OCP 8-bit Floating Point Specification (E4M3) and OCP Microscaling Formats
//! Specification (E2M1, E8M0), which TensorRT's `kFP8`, `kFP4` and `kE8M0` follow.

/// A format with a sign, an exponent and a mantissa, without infinities.
struct MiniFloat {
    mantissa_bits: i32,
    bias: i32,
    largest: f64,
    /// The code of NaN, where there is one.
    nan: Option<u8>,
    sign_bit: u8,
}

const E4M3: MiniFloat = MiniFloat {
    mantissa_bits: 3,
    bias: 7,
    largest: 448.0,
    nan: Some(0x7f),
    sign_bit: 0x80,
};
const E2M1: MiniFloat = MiniFloat {
    mantissa_bits: 1,
    bias: 1,
    largest: 6.0,
    nan: None,
    sign_bit: 0x08,
};

impl MiniFloat {
    fn decode(&self, code: u8) -> f64 {
        let magnitude = code & (self.sign_bit - 1);
        if self.nan == Some(magnitude) {
            return f64::NAN;
        }
        let mantissa = f64::from(magnitude & ((1 << self.mantissa_bits) - 1));
        let exponent = i32::from(magnitude >> self.mantissa_bits);
        let unit = f64::from(2f32.powi(1 - self.bias - self.mantissa_bits));
        let value = match exponent {
            0 => mantissa * unit,
            _ => (mantissa + f64::from(1 << self.mantissa_bits)) * unit * 2f64.powi(exponent - 1),
        };
        if code & self.sign_bit == 0 {
            value
        } else {
            -value
        }
    }

    /// To nearest, ties to even; beyond the largest value to the largest value.
    fn encode(&self, value: f64) -> u8 {
        if value.is_nan() {
            // Without a NaN the largest value marks what went wrong, as CUDA's conversions have it.
            return self.nan.unwrap_or(self.sign_bit - 1);
        }
        let sign = if value.is_sign_negative() {
            self.sign_bit
        } else {
            0
        };
        let magnitude = value.abs().min(self.largest);
        // Steps between neighbours are equal below twice the smallest normal value.
        let lowest = 1 - self.bias;
        let exponent = (exponent_of(magnitude)).max(lowest);
        let steps = (magnitude * 2f64.powi(self.mantissa_bits - exponent)).round_ties_even();
        // Rounding up to the next power of two carries into the exponent by itself.
        let code = ((exponent - lowest) << self.mantissa_bits) + steps as i32;
        sign | code as u8
    }
}

/// The exponent of the largest power of two not above a positive number.
fn exponent_of(value: f64) -> i32 {
    // Subnormals of f64 are far below every format here.
    ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// The value of an E4M3 code.
pub(crate) fn decode_fp8(code: u8) -> f64 {
    E4M3.decode(code)
}

/// The E4M3 code nearest to a value; saturates at ±448.
pub(crate) fn encode_fp8(value: f64) -> u8 {
    E4M3.encode(value)
}

/// The value of an E2M1 code in the low four bits.
pub(crate) fn decode_fp4(code: u8) -> f64 {
    E2M1.decode(code & 0x0f)
}

/// The E2M1 code nearest to a value; saturates at ±6.
pub(crate) fn encode_fp4(value: f64) -> u8 {
    E2M1.encode(value)
}

/// The value of an E8M0 code: a power of two.
pub(crate) fn decode_e8m0(code: u8) -> f64 {
    if code == 0xff {
        f64::NAN
    } else {
        2f64.powi(i32::from(code) - 127)
    }
}

/// The E8M0 code of the power of two nearest to a value, ties upwards; saturates at both ends.
/// What is not positive has no power of two: it becomes the smallest one, NaN stays NaN.
pub(crate) fn encode_e8m0(value: f64) -> u8 {
    if value.is_nan() {
        return 0xff;
    }
    if value <= 0.0 {
        return 0;
    }
    let exponent = exponent_of(value);
    let up = value / 2f64.powi(exponent) >= 1.5;
    (exponent + i32::from(up) + 127).clamp(0, 254) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_survives_a_round_trip() {
        for code in 0..=255u8 {
            let value = decode_fp8(code);
            let back = encode_fp8(value);
            assert!(
                back == code || (value.is_nan() && back & 0x7f == 0x7f),
                "{code:#x}"
            );
            assert_eq!(encode_e8m0(decode_e8m0(code)), code, "{code:#x}");
        }
        for code in 0..16u8 {
            assert_eq!(encode_fp4(decode_fp4(code)), code, "{code:#x}");
        }
    }

    /// The tables of the OCP specifications.
    #[test]
    fn values_are_those_of_the_specifications() {
        let fp4: Vec<f64> = (0..8).map(decode_fp4).collect();
        assert_eq!(fp4, [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
        assert_eq!(decode_fp8(0x7e), 448.0);
        assert_eq!(decode_fp8(0x08), 2f64.powi(-6), "smallest normal");
        assert_eq!(decode_fp8(0x01), 2f64.powi(-9), "smallest subnormal");
        assert_eq!(decode_fp8(0xc0), -2.0);
        assert!(decode_fp8(0x7f).is_nan());
        assert_eq!(decode_e8m0(127), 1.0);
    }

    #[test]
    fn rounding_is_to_nearest_even_and_saturates() {
        assert_eq!(decode_fp8(encode_fp8(17.0)), 16.0, "tie to even");
        assert_eq!(decode_fp8(encode_fp8(19.0)), 20.0, "tie to even, upwards");
        assert_eq!(
            decode_fp8(encode_fp8(31.9)),
            32.0,
            "carries into the exponent"
        );
        assert_eq!(decode_fp8(encode_fp8(f64::INFINITY)), 448.0);
        assert_eq!(decode_fp8(encode_fp8(-1e9)), -448.0);
        assert_eq!(decode_fp8(encode_fp8(2f64.powi(-10))), 0.0, "tie to zero");
        assert_eq!(decode_fp4(encode_fp4(5.0)), 4.0, "tie to even");
        assert_eq!(decode_fp4(encode_fp4(0.25)), 0.0, "tie to even");
        assert_eq!(decode_e8m0(encode_e8m0(3.0)), 4.0);
    }
}
