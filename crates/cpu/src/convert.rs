//! Between the packed little-endian bytes that callers and constants have and the elements in
//! memory; and the rounding that a declared type implies.

use crate::Mode;
use crate::minifloat::{decode_e8m0, decode_fp4, decode_fp8, encode_e8m0, encode_fp4, encode_fp8};
use crate::storage::{Elements, ElementsMut};
use half::{bf16, f16};
use tensoracle_graph::DataType;
use tensoracle_kernels::Real;

/// Unpacks `bytes` of type `data_type` into as many elements.
pub(crate) fn unpack<T: Real>(data_type: DataType, bytes: &[u8], out: ElementsMut<'_, T>) {
    /// One value for each chunk of `N` bytes.
    fn each<const N: usize, E>(bytes: &[u8], out: &mut [E], decode: impl Fn([u8; N]) -> E) {
        let (chunks, _) = bytes.as_chunks::<N>();
        out.iter_mut()
            .zip(chunks)
            .for_each(|(out, chunk)| *out = decode(*chunk));
    }
    /// Two values a byte, the first in the low half.
    fn nibbles<E>(bytes: &[u8], out: &mut [E], decode: impl Fn(u8) -> E) {
        out.iter_mut().enumerate().for_each(|(index, out)| {
            *out = decode((bytes[index / 2] >> (index % 2 * 4)) & 0x0f);
        });
    }
    let real = |value: f64| T::from_f64(value);
    match out {
        ElementsMut::Real(out) => match data_type {
            DataType::Float => match bytemuck::try_cast_slice_mut::<T, f32>(out) {
                // Little-endian machines hold `f32` exactly as callers pack it.
                Ok(out) if cfg!(target_endian = "little") && size_of::<T>() == 4 => {
                    bytemuck::cast_slice_mut::<f32, u8>(out).copy_from_slice(bytes);
                }
                _ => each(bytes, out, |chunk| {
                    real(f64::from(f32::from_le_bytes(chunk)))
                }),
            },
            DataType::Half => each(bytes, out, |chunk| real(f16::from_le_bytes(chunk).to_f64())),
            DataType::BFloat16 => {
                each(bytes, out, |chunk| {
                    real(bf16::from_le_bytes(chunk).to_f64())
                });
            }
            DataType::Fp8 => each(bytes, out, |[code]| real(decode_fp8(code))),
            DataType::E8M0 => each(bytes, out, |[code]| real(decode_e8m0(code))),
            _ => nibbles(bytes, out, |code| real(decode_fp4(code))),
        },
        ElementsMut::Integer(out) => match data_type {
            DataType::Int64 => each(bytes, out, i64::from_le_bytes),
            DataType::Int32 => each(bytes, out, |chunk| i64::from(i32::from_le_bytes(chunk))),
            DataType::UInt8 => each(bytes, out, |[byte]| i64::from(byte)),
            DataType::Int8 => each(bytes, out, |[byte]| i64::from(byte as i8)),
            // The sign is the nibble's highest bit.
            _ => nibbles(bytes, out, |code| i64::from((code << 4) as i8 >> 4)),
        },
        ElementsMut::Boolean(out) => each(bytes, out, |[byte]| u8::from(byte != 0)),
    }
}

/// Packs elements as `data_type`, rounding where they are wider.
pub(crate) fn pack<T: Real>(data_type: DataType, elements: Elements<'_, T>) -> Vec<u8> {
    fn each<E: Copy, const N: usize>(elements: &[E], encode: impl Fn(E) -> [u8; N]) -> Vec<u8> {
        elements
            .iter()
            .flat_map(|&element| encode(element))
            .collect()
    }
    fn nibbles<E: Copy>(elements: &[E], encode: impl Fn(E) -> u8) -> Vec<u8> {
        let code = |element: Option<&E>| element.map_or(0, |&element| encode(element) & 0x0f);
        elements
            .chunks(2)
            .map(|pair| code(pair.first()) | code(pair.get(1)) << 4)
            .collect()
    }
    match elements {
        Elements::Real(elements) => match data_type {
            DataType::Float => match bytemuck::try_cast_slice::<T, f32>(elements) {
                Ok(elements) if cfg!(target_endian = "little") && size_of::<T>() == 4 => {
                    bytemuck::cast_slice(elements).to_vec()
                }
                _ => each(elements, |value| (value.to_f64() as f32).to_le_bytes()),
            },
            DataType::Half => each(elements, |value| half(value.to_f64()).to_le_bytes()),
            DataType::BFloat16 => each(elements, |value| brain(value.to_f64()).to_le_bytes()),
            DataType::Fp8 => each(elements, |value| [encode_fp8(value.to_f64())]),
            DataType::E8M0 => each(elements, |value| [encode_e8m0(value.to_f64())]),
            _ => nibbles(elements, |value: T| encode_fp4(value.to_f64())),
        },
        Elements::Integer(elements) => match data_type {
            DataType::Int64 => each(elements, i64::to_le_bytes),
            DataType::Int32 => each(elements, |value| (value as i32).to_le_bytes()),
            DataType::Int8 | DataType::UInt8 => each(elements, |value| [value as u8]),
            _ => nibbles(elements, |value| value as u8),
        },
        Elements::Boolean(elements) => elements.to_vec(),
    }
}

/// Rounds what a layer computed to the declared type of its output, as far as `mode` asks for it.
/// Integers always wrap to their width.
pub(crate) fn round<T: Real>(mode: Mode, data_type: DataType, elements: ElementsMut<'_, T>) {
    fn each<T: Real>(elements: &mut [T], round: impl Fn(f64) -> f64) {
        elements
            .iter_mut()
            .for_each(|value| *value = T::from_f64(round(value.to_f64())));
    }
    match elements {
        ElementsMut::Real(elements) if mode != Mode::Exact => match data_type {
            DataType::Float if size_of::<T>() == size_of::<f32>() => {}
            DataType::Float => each(elements, |value| f64::from(value as f32)),
            DataType::Half => each(elements, |value| half(value).to_f64()),
            DataType::BFloat16 => each(elements, |value| brain(value).to_f64()),
            DataType::Fp8 => each(elements, |value| decode_fp8(encode_fp8(value))),
            DataType::E8M0 => each(elements, |value| decode_e8m0(encode_e8m0(value))),
            _ => each(elements, |value| decode_fp4(encode_fp4(value))),
        },
        ElementsMut::Integer(elements) if data_type != DataType::Int64 => {
            elements
                .iter_mut()
                .for_each(|value| *value = wrap(data_type, *value));
        }
        _ => {}
    }
}

/// The nearest `Half`, ties to even.
fn half(value: f64) -> f16 {
    f16::from_f32(towards_odd(value))
}

/// The nearest `BFloat16`, ties to even.
fn brain(value: f64) -> bf16 {
    bf16::from_f32(towards_odd(value))
}

/// The value in `f32`, or of its two neighbours there the one with an odd last bit: it lies on the
/// same side of every tie of a narrower format, so that rounding it once more rounds the value
/// once (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms
/// using rounding to odd", 2008). `f16::from_f64` drops the low half of the value first.
fn towards_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let bits = nearest.to_bits();
    if f64::from(nearest) == value || !nearest.is_finite() || bits & 1 == 1 {
        return nearest;
    }
    let is_nearer_to_zero = f64::from(nearest).abs() < value.abs();
    f32::from_bits(if is_nearer_to_zero {
        bits + 1
    } else {
        bits - 1
    })
}

/// The low bits of an integer, as two's complement of the type's width.
pub(crate) fn wrap(data_type: DataType, value: i64) -> i64 {
    match data_type {
        DataType::Int32 => i64::from(value as i32),
        DataType::Int8 => i64::from(value as i8),
        DataType::UInt8 => i64::from(value as u8),
        DataType::Int4 => i64::from((value as i8) << 4 >> 4),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value just beside a tie of the narrow format rounds to its own side.
    #[test]
    fn narrow_types_round_once() {
        for (bits, tiny) in [(10, 2f64.powi(-40)), (7, 2f64.powi(-50))] {
            let step = 2f64.powi(-bits);
            let tie = 1.0 + step / 2.0;
            let round = |value: f64| match bits {
                10 => half(value).to_f64(),
                _ => brain(value).to_f64(),
            };
            assert_eq!(round(tie), 1.0);
            assert_eq!(round(tie + tiny), 1.0 + step);
            assert_eq!(round(tie - tiny), 1.0);
            assert_eq!(round(-tie - tiny), -1.0 - step);
            assert_eq!(round(tie + step), 1.0 + 2.0 * step);
            assert_eq!(round(tie + step - tiny), 1.0 + step);
        }
        assert_eq!(half(2f64.powi(-25)).to_f64(), 0.0);
        assert_eq!(
            half(2f64.powi(-25) * (1.0 + 1e-12)).to_f64(),
            2f64.powi(-24)
        );
        assert_eq!(half(65_519.999_999_999).to_f64(), 65504.0);
        assert!(half(65520.0).is_infinite());
        assert!(brain(f64::MAX).is_infinite());
        assert!(half(f64::NAN).is_nan());
        assert_eq!(half(-1e-300).to_bits(), 0x8000);
    }
}
