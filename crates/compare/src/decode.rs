//! Decoding of stored elements to `f64`, a block at a time; every type but the 64-bit integers
//! fits exactly.
//!
//! The loops are plain and branch-free so that the compiler vectorises them; [`crate::block`]
//! inlines them into code compiled for the processor at hand.

use crate::block::BLOCK;
use crate::sums::times_power_of_two;
use tensoracle_element::Element;

/// What makes a floating point type's spacing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Precision {
    /// Bits of the significand, the hidden one included.
    pub(crate) significand_bits: i32,
    /// Exponent of the smallest normal number.
    pub(crate) min_exponent: i32,
}

impl Precision {
    /// The precision of a floating point type; integers and booleans have none that is used.
    pub(crate) const fn of(element: Element) -> Self {
        let (significand_bits, min_exponent) = match element {
            Element::F64 => (53, -1022),
            Element::F32 => (24, -126),
            Element::F16 => (11, -14),
            Element::BF16 => (8, -126),
            Element::F8_E4M3 => (4, -6),
            Element::F8_E5M2 => (3, -14),
            _ => (1, 0),
        };
        Self {
            significand_bits,
            min_exponent,
        }
    }

    /// The smallest normal number.
    pub(crate) fn min_normal(self) -> f64 {
        times_power_of_two(1.0, self.min_exponent)
    }

    /// Units in the last place, from the spacing of numbers with one significant bit; the largest
    /// number where they are more.
    pub(crate) fn units_in_the_last_place(self, spacings: f64) -> f64 {
        times_power_of_two(spacings, self.significand_bits - 1).min(f64::MAX)
    }
}

/// Decodes up to a block of elements; `bytes` holds a whole number of them.
#[inline(always)]
pub(crate) fn decode(element: Element, bytes: &[u8], out: &mut [f64; BLOCK]) {
    match element {
        Element::F64 => each(bytes, out, f64::from_le_bytes),
        Element::F32 => each(bytes, out, |b| f64::from(f32::from_le_bytes(b))),
        Element::F16 => each(bytes, out, |b| half_to_f64(u16::from_le_bytes(b))),
        Element::BF16 => each(bytes, out, |b| {
            f64::from(f32::from_bits(u32::from(u16::from_le_bytes(b)) << 16))
        }),
        Element::F8_E4M3 => each(bytes, out, |[b]| e4m3_to_f64(b)),
        // The upper half of a 16-bit IEEE number.
        Element::F8_E5M2 => each(bytes, out, |[b]| half_to_f64(u16::from(b) << 8)),
        Element::I8 => each(bytes, out, |[b]| f64::from(b.cast_signed())),
        Element::I16 => each(bytes, out, |b| f64::from(i16::from_le_bytes(b))),
        Element::I32 => each(bytes, out, |b| f64::from(i32::from_le_bytes(b))),
        Element::I64 => each(bytes, out, |b| i64::from_le_bytes(b) as f64),
        Element::U8 => each(bytes, out, |[b]| f64::from(b)),
        Element::U16 => each(bytes, out, |b| f64::from(u16::from_le_bytes(b))),
        Element::U32 => each(bytes, out, |b| f64::from(u32::from_le_bytes(b))),
        Element::U64 => each(bytes, out, |b| u64::from_le_bytes(b) as f64),
        Element::BOOL => each(bytes, out, |[b]| if b == 0 { 0.0 } else { 1.0 }),
    }
}

#[inline(always)]
fn each<const SIZE: usize>(
    bytes: &[u8],
    out: &mut [f64; BLOCK],
    decode: impl Fn([u8; SIZE]) -> f64,
) {
    for (out, &bytes) in out.iter_mut().zip(bytes.as_chunks::<SIZE>().0) {
        *out = decode(bytes);
    }
}

/// Exact: shifted into the fields of an `f32` and multiplied by the difference of the exponent
/// biases, which also makes subnormal numbers normal.
#[inline(always)]
fn half_to_f64(bits: u16) -> f64 {
    const BIASES: f32 = f32::from_bits((127 + 112) << 23);
    let magnitude = (u32::from(bits) & 0x7fff) << 13;
    let finite = (f32::from_bits(magnitude) * BIASES).to_bits();
    // All ones in the exponent stay all ones.
    let magnitude = if magnitude >= 0x0f80_0000 {
        magnitude | 0x7f80_0000
    } else {
        finite
    };
    f64::from(f32::from_bits(magnitude | (u32::from(bits) & 0x8000) << 16))
}

/// Exact, by the same way; the type has no infinity and one NaN of each sign.
#[inline(always)]
fn e4m3_to_f64(bits: u8) -> f64 {
    const BIASES: f32 = f32::from_bits((127 + 120) << 23);
    let magnitude = u32::from(bits) & 0x7f;
    let finite = (f32::from_bits(magnitude << 20) * BIASES).to_bits();
    let value = if magnitude == 0x7f {
        f32::NAN.to_bits()
    } else {
        finite
    };
    f64::from(f32::from_bits(value | (u32::from(bits) & 0x80) << 24))
}

/// Whether a type has integers that `f64` does not hold exactly.
pub(crate) const fn is_wide(element: Element) -> bool {
    matches!(element, Element::I64 | Element::U64)
}

/// The differences of two blocks of integers of which one at least is 64 bits wide, rounded once:
/// the halves of 32 bits differ by integers that `f64` holds exactly.
#[inline(always)]
pub(crate) fn wide_differences(
    (candidate, candidate_bytes): (Element, &[u8]),
    (reference, reference_bytes): (Element, &[u8]),
    out: &mut [f64; BLOCK],
) {
    const HIGH: f64 = 4_294_967_296.0;
    let mut candidate_halves = [[0.0; BLOCK]; 2];
    let mut reference_halves = [[0.0; BLOCK]; 2];
    split(candidate, candidate_bytes, &mut candidate_halves);
    split(reference, reference_bytes, &mut reference_halves);
    let [candidate_high, candidate_low] = &candidate_halves;
    let [reference_high, reference_low] = &reference_halves;
    for i in 0..BLOCK {
        let high = candidate_high[i] - reference_high[i];
        out[i] = high * HIGH + (candidate_low[i] - reference_low[i]);
    }
}

/// Splits integers into a signed upper and an unsigned lower half of 32 bits.
#[inline(always)]
fn split(element: Element, bytes: &[u8], [high, low]: &mut [[f64; BLOCK]; 2]) {
    if element == Element::U64 {
        each(bytes, high, |b| (u64::from_le_bytes(b) >> 32) as f64);
        each(bytes, low, |b| f64::from(u64::from_le_bytes(b) as u32));
    } else if element == Element::I64 {
        each(bytes, high, |b| {
            f64::from((i64::from_le_bytes(b) >> 32) as i32)
        });
        each(bytes, low, |b| f64::from(i64::from_le_bytes(b) as u32));
    } else {
        // Narrower ones are their own lower half: only the sum of the halves counts.
        decode(element, bytes, low);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(element: Element, bytes: &[u8]) -> Vec<f64> {
        let mut out = [0.0; BLOCK];
        bytes
            .chunks(BLOCK * element.size())
            .flat_map(|chunk| {
                decode(element, chunk, &mut out);
                out[..chunk.len() / element.size()].to_vec()
            })
            .collect()
    }

    #[test]
    fn every_16_bit_pattern_decodes_as_the_half_crate_says() {
        let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        for (bits, found) in (0..=u16::MAX).zip(decoded(Element::F16, &bytes)) {
            let expected = half::f16::from_bits(bits).to_f64();
            assert!(found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan());
        }
        for (bits, found) in (0..=u16::MAX).zip(decoded(Element::BF16, &bytes)) {
            let expected = half::bf16::from_bits(bits).to_f64();
            assert!(found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan());
        }
    }

    #[test]
    fn every_8_bit_float_decodes_by_its_definition() {
        let bytes: Vec<u8> = (0..=u8::MAX).collect();
        for (element, exponent_bits, significand_bits, bias) in
            [(Element::F8_E4M3, 4, 3, 7), (Element::F8_E5M2, 5, 2, 15)]
        {
            for (bits, found) in (0..=u8::MAX).zip(decoded(element, &bytes)) {
                let exponent = i32::from(bits >> significand_bits) & ((1 << exponent_bits) - 1);
                let fraction = f64::from(bits & ((1 << significand_bits) - 1))
                    / f64::from(1u8 << significand_bits);
                let magnitude = match (element, exponent, fraction) {
                    (Element::F8_E4M3, 15, 0.875) => f64::NAN,
                    (Element::F8_E5M2, 31, 0.0) => f64::INFINITY,
                    (Element::F8_E5M2, 31, _) => f64::NAN,
                    (_, 0, _) => fraction * 2f64.powi(1 - bias),
                    _ => (1.0 + fraction) * 2f64.powi(exponent - bias),
                };
                let expected = if bits >= 0x80 { -magnitude } else { magnitude };
                assert!(
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                    "{element} {bits:#x}: {found} instead of {expected}"
                );
            }
        }
    }

    #[test]
    fn wide_integers_differ_exactly_until_the_one_rounding() {
        let signed = [
            i64::MIN,
            i64::MIN,
            -1,
            0,
            i64::MAX,
            i64::MAX,
            1 << 53,
            -(1 << 40),
        ];
        let unsigned = [
            u64::MAX,
            0,
            u64::MAX,
            1,
            u64::MAX,
            1 << 63,
            (1 << 53) + 1,
            1 << 40,
        ];
        let signed_bytes: Vec<u8> = signed.iter().flat_map(|v| v.to_le_bytes()).collect();
        let unsigned_bytes: Vec<u8> = unsigned.iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut out = [0.0; BLOCK];
        wide_differences(
            (Element::I64, &signed_bytes),
            (Element::U64, &unsigned_bytes),
            &mut out,
        );
        for i in 0..signed.len() {
            let exact = i128::from(signed[i]) - i128::from(unsigned[i]);
            assert_eq!(out[i], exact as f64, "{} - {}", signed[i], unsigned[i]);
        }
        let narrow: Vec<u8> = [-3i8, 7].iter().flat_map(|v| v.to_le_bytes()).collect();
        wide_differences(
            (Element::I8, &narrow),
            (Element::U64, &unsigned_bytes[..16]),
            &mut out,
        );
        assert_eq!(out[0], (-3 - i128::from(u64::MAX)) as f64);
        assert_eq!(out[1], 7.0);
    }
}
