//! Conversion of floating-point elements, as torch's `Tensor.to` does it: through 32 bits, to
//! nearest even, infinite beyond the largest number.
//!
//! What is left out: integers, booleans and complex numbers, which a conversion keeps as they are.

use crate::dtype::Dtype;
use half::{bf16, f16};

/// Converts the little-endian elements of `input`, of type `from`, to type `to` in `output`, which
/// has room for as many. Both types are floating point, and `to` is one of 16 or 32 bits.
pub(crate) fn cast(from: Dtype, to: Dtype, input: &[u8], output: &mut [u8]) {
    match from {
        Dtype::F64 => each(to, input, output, |bytes| f64::from_le_bytes(bytes) as f32),
        Dtype::F16 => each(to, input, output, |bytes| {
            f16::from_le_bytes(bytes).to_f32()
        }),
        Dtype::Bf16 => each(to, input, output, |bytes| {
            bf16::from_le_bytes(bytes).to_f32()
        }),
        Dtype::F8E5M2 => each(to, input, output, |[byte]| {
            f16::from_bits(u16::from(byte) << 8).to_f32()
        }),
        Dtype::F8E4M3 => each(to, input, output, |[byte]| match byte & 0x7f {
            0x7f => f32::NAN,
            _ => small_float(byte, 3, 7),
        }),
        Dtype::F8E4M3Fnuz => each(to, input, output, |[byte]| match byte {
            0x80 => f32::NAN,
            _ => small_float(byte, 3, 8),
        }),
        Dtype::F8E5M2Fnuz => each(to, input, output, |[byte]| match byte {
            0x80 => f32::NAN,
            _ => small_float(byte, 2, 16),
        }),
        Dtype::F8E8M0 => each(to, input, output, |[byte]| match byte {
            0xff => f32::NAN,
            _ => 2f32.powi(i32::from(byte) - 127),
        }),
        _ => each(to, input, output, f32::from_le_bytes),
    }
}

fn each<const SIZE: usize>(
    to: Dtype,
    input: &[u8],
    output: &mut [u8],
    read: impl Fn([u8; SIZE]) -> f32,
) {
    let (elements, _) = input.as_chunks::<SIZE>();
    let values = elements.iter().map(|bytes| read(*bytes));
    match to {
        Dtype::F16 => write(values, output, |value| f16::from_f32(value).to_le_bytes()),
        Dtype::Bf16 => write(values, output, |value| bf16::from_f32(value).to_le_bytes()),
        _ => write(values, output, f32::to_le_bytes),
    }
}

fn write<const SIZE: usize>(
    values: impl Iterator<Item = f32>,
    output: &mut [u8],
    convert: impl Fn(f32) -> [u8; SIZE],
) {
    let (places, _) = output.as_chunks_mut::<SIZE>();
    for (place, value) in places.iter_mut().zip(values) {
        *place = convert(value);
    }
}

/// A finite number of 8 bits: a sign, an exponent with `bias`, and `mantissa` bits.
fn small_float(byte: u8, mantissa: u32, bias: i32) -> f32 {
    let exponent = i32::from((byte & 0x7f) >> mantissa);
    let fraction = f32::from(byte & ((1 << mantissa) - 1));
    let one = f32::from(1u8 << mantissa);
    let magnitude = match exponent {
        0 => fraction / one * 2f32.powi(1 - bias),
        _ => (1.0 + fraction / one) * 2f32.powi(exponent - bias),
    };
    if byte & 0x80 == 0 {
        magnitude
    } else {
        -magnitude
    }
}
