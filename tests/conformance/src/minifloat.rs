//! Floating-point formats of at most eight bits, by the tables of the OCP specifications: what
//! each code means, and the code of a value that has one.

use tensoracle_graph::DataType;

/// The value of a code. E4M3 and E2M1: sign, exponent, mantissa, without infinities; E8M0: a power
/// of two.
pub(crate) fn value_of(data_type: DataType, code: u8) -> f64 {
    let sign = |bit: u8| if code & bit == 0 { 1.0 } else { -1.0 };
    // Mantissa over its range, with the hidden one where the exponent is not zero.
    let magnitude = |exponent: u8, mantissa: u8, range: f64, bias: i32| match exponent {
        0 => f64::from(mantissa) / range * 2f64.powi(1 - bias),
        _ => (1.0 + f64::from(mantissa) / range) * 2f64.powi(i32::from(exponent) - bias),
    };
    match data_type {
        DataType::Fp8 if code & 0x7f == 0x7f => f64::NAN,
        DataType::Fp8 => sign(0x80) * magnitude(code >> 3 & 0x0f, code & 7, 8.0, 7),
        DataType::Fp4 => sign(0x08) * magnitude(code >> 1 & 3, code & 1, 2.0, 1),
        _ if code == 0xff => f64::NAN,
        _ => 2f64.powi(i32::from(code) - 127),
    }
}

/// The code of a value that the type holds; that of zero for any other.
pub(crate) fn code_of(data_type: DataType, value: f64) -> u8 {
    let codes = match data_type {
        DataType::Fp4 => 0..=15,
        _ => 0..=255,
    };
    codes
        .into_iter()
        .find(|&code| {
            let held = value_of(data_type, code);
            held.to_bits() == value.to_bits() || held.is_nan() && value.is_nan()
        })
        .unwrap_or(0)
}
