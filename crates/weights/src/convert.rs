//! Single elements from one type to another.
//!
//! The rules, which `WeightTensor::cast` tells users: between floating types a value is rounded;
//! every other cast keeps the value exactly or is a [`ConvertFault`].
//!
//! What is left out: where elements come from and go to (`materialise`).

use crate::element::{Element, ElementKind};
use crate::small_float::SmallFloat;
use half::{bf16, f16};
use std::fmt;

/// A value that a cast cannot represent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertFault {
    /// The value, as text.
    pub value: String,
    /// The type cast from.
    pub from: Element,
    /// The type cast to.
    pub to: Element,
}

impl fmt::Display for ConvertFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, from, to } = self;
        if from == &Element::BOOL && value != "0" && value != "1" {
            write!(formatter, "is {value}, which is no {from}")
        } else {
            write!(
                formatter,
                "is {value} ({from}), which {to} cannot hold exactly"
            )
        }
    }
}

impl ConvertFault {
    /// What to do about it, where there is something to do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        (self.from.kind() == ElementKind::Floating && self.to.kind() == ElementKind::Integer)
            .then(|| "a cast to integers does not round; cast to a floating type".to_owned())
    }
}

/// Whether elements of one type can be cast to another at all.
pub(crate) fn is_castable(from: Element, to: Element) -> bool {
    let takes_part =
        |element: Element| element.is_addressable() && element.kind() != ElementKind::Complex;
    takes_part(from) && takes_part(to)
}

/// Converts one element given and returned as bits, in the low end of the word.
pub(crate) fn convert(bits: u64, from: Element, to: Element) -> Result<u64, ConvertFault> {
    let value = decode(bits, from);
    value
        .and_then(|value| encode(value, to))
        .ok_or_else(|| ConvertFault {
            value: value.map_or_else(|| bits.to_string(), |value| value.to_string()),
            from,
            to,
        })
}

/// A value of any castable type, exactly: every floating type fits in an `f64`, every integer
/// type in an `i128`.
#[derive(Debug, Clone, Copy)]
enum Value {
    Floating(f64),
    Integer(i128),
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Floating(value) => write!(formatter, "{value:?}"),
            Self::Integer(value) => write!(formatter, "{value}"),
        }
    }
}

fn decode(bits: u64, from: Element) -> Option<Value> {
    let integer = match from {
        Element::BOOL if bits > 1 => return None,
        Element::BOOL | Element::U8 | Element::U16 | Element::U32 | Element::U64 => {
            i128::from(bits)
        }
        Element::I8 => i128::from(bits as u8 as i8),
        Element::I16 => i128::from(bits as u16 as i16),
        Element::I32 => i128::from(bits as u32 as i32),
        Element::I64 => i128::from(bits as i64),
        Element::F64 => return Some(Value::Floating(f64::from_bits(bits))),
        Element::F32 => return Some(Value::Floating(f32::from_bits(bits as u32).into())),
        Element::F16 => return Some(Value::Floating(f16::from_bits(bits as u16).into())),
        Element::BF16 => return Some(Value::Floating(bf16::from_bits(bits as u16).into())),
        _ => return Some(Value::Floating(SmallFloat::of(from)?.decode(bits))),
    };
    Some(Value::Integer(integer))
}

fn encode(value: Value, to: Element) -> Option<u64> {
    match (to.kind(), value) {
        (ElementKind::Floating, Value::Floating(value)) => encode_floating(value, to),
        (ElementKind::Floating, Value::Integer(value)) => {
            // `as` rounds; whatever comes back unequal did not fit.
            let bits = encode_floating(value as f64, to)?;
            let Value::Floating(back) = decode(bits, to)? else {
                return None;
            };
            (back.is_finite() && back as i128 == value && back.fract() == 0.0).then_some(bits)
        }
        (_, Value::Integer(value)) => encode_integer(value, to),
        (_, Value::Floating(value)) => {
            let is_whole = value.is_finite() && value.fract() == 0.0;
            // Whole values beyond every integer type saturate here and are refused there.
            is_whole.then(|| encode_integer(value as i128, to))?
        }
    }
}

fn encode_integer(value: i128, to: Element) -> Option<u64> {
    match to {
        Element::BOOL => (value == 0 || value == 1).then_some(value as u64),
        Element::U8 => u8::try_from(value).ok().map(u64::from),
        Element::U16 => u16::try_from(value).ok().map(u64::from),
        Element::U32 => u32::try_from(value).ok().map(u64::from),
        Element::U64 => u64::try_from(value).ok(),
        Element::I8 => i8::try_from(value).ok().map(|value| u64::from(value as u8)),
        Element::I16 => i16::try_from(value)
            .ok()
            .map(|value| u64::from(value as u16)),
        Element::I32 => i32::try_from(value)
            .ok()
            .map(|value| u64::from(value as u32)),
        Element::I64 => i64::try_from(value).ok().map(|value| value as u64),
        _ => None,
    }
}

fn encode_floating(value: f64, to: Element) -> Option<u64> {
    match to {
        Element::F64 => Some(value.to_bits()),
        Element::F32 => Some(u64::from((value as f32).to_bits())),
        _ => SmallFloat::of(to)?.encode(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn to_small(value: f64, to: Element) -> Option<u64> {
        convert(value.to_bits(), Element::F64, to).ok()
    }

    fn as_f64(bits: u64, from: Element) -> f64 {
        f64::from_bits(convert(bits, from, Element::F64).unwrap())
    }

    /// Values computed by hand from the formats' definitions.
    #[test]
    fn known_codes_decode() {
        for (element, bits, value) in [
            (Element::F8_E4M3, 0x7e, 448.0),
            (Element::F8_E4M3, 0x01, 0.001_953_125),
            (Element::F8_E4M3, 0xb8, -1.0),
            (Element::F8_E5M2, 0x7b, 57344.0),
            (Element::F8_E5M2, 0x7c, f64::INFINITY),
            (Element::F8_E5M2, 0x01, 1.0 / 65536.0),
            (Element::F8_E4M3FNUZ, 0x7f, 240.0),
            (Element::F8_E5M2FNUZ, 0x7f, 57344.0),
            (Element::F8_E5M2FNUZ, 0x01, 1.0 / 131_072.0),
            (Element::F4, 0x1, 0.5),
            (Element::F4, 0x7, 6.0),
            (Element::F4, 0xd, -3.0),
            (Element::F8_E8M0, 0x7f, 1.0),
            (Element::F8_E8M0, 0x00, 2f64.powi(-127)),
            (Element::F8_E8M0, 0xfe, 2f64.powi(127)),
        ] {
            assert_eq!(as_f64(bits, element), value, "{element} {bits:#x}");
        }
        for (element, bits) in [
            (Element::F8_E4M3, 0x7f),
            (Element::F8_E4M3, 0xff),
            (Element::F8_E5M2, 0x7d),
            (Element::F8_E4M3FNUZ, 0x80),
            (Element::F8_E5M2FNUZ, 0x80),
            (Element::F8_E8M0, 0xff),
        ] {
            assert!(as_f64(bits, element).is_nan(), "{element} {bits:#x}");
        }
    }

    #[test]
    fn overflow_is_infinity_where_there_is_one_and_the_largest_value_elsewhere() {
        for (value, element, bits) in [
            (65_520.0, Element::F16, 0x7c00),
            (65_519.999, Element::F16, 0x7bff),
            (-1e300, Element::BF16, 0xff80),
            (61_440.0, Element::F8_E5M2, 0x7c),
            (61_439.0, Element::F8_E5M2, 0x7b),
            (1e9, Element::F8_E4M3, 0x7e),
            (f64::NEG_INFINITY, Element::F8_E4M3, 0xfe),
            (f64::INFINITY, Element::F8_E4M3FNUZ, 0x7f),
            (-7.0, Element::F4, 0xf),
            (-0.0, Element::F8_E4M3FNUZ, 0x00),
            (-1e-30, Element::F8_E5M2FNUZ, 0x00),
            (-0.0, Element::F8_E4M3, 0x80),
        ] {
            assert_eq!(to_small(value, element), Some(bits), "{value} to {element}");
        }
        assert_eq!(to_small(f64::NAN, Element::F4), None);
        for refused in [
            3.0,
            0.0,
            -2.0,
            2f64.powi(128),
            2f64.powi(-128),
            f64::INFINITY,
        ] {
            assert_eq!(to_small(refused, Element::F8_E8M0), None, "{refused}");
        }
        assert_eq!(to_small(0.25, Element::F8_E8M0), Some(125));
    }

    /// A double that lies just above a tie of the small type rounds up; going through `F32` would
    /// make it a tie.
    #[test]
    fn doubles_round_once() {
        let above_the_tie = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(to_small(above_the_tie, Element::F16), Some(0x3c01));
        assert_eq!(to_small(1.0 + 2f64.powi(-11), Element::F16), Some(0x3c00));
        assert_eq!(
            to_small(1.0 + 3.0 * 2f64.powi(-11), Element::F16),
            Some(0x3c02)
        );
    }

    #[test]
    fn casts_across_kinds_are_exact_or_refused() {
        let cast = |bits: u64, from, to| convert(bits, from, to).ok();
        assert_eq!(cast(3f64.to_bits(), Element::F64, Element::I8), Some(3));
        assert_eq!(
            cast((-3f64).to_bits(), Element::F64, Element::I8),
            Some(0xfd)
        );
        assert_eq!(cast(3.5f64.to_bits(), Element::F64, Element::I8), None);
        assert_eq!(cast(1e300f64.to_bits(), Element::F64, Element::U64), None);
        assert_eq!(
            cast(2f64.powi(64).to_bits(), Element::F64, Element::U64),
            None
        );
        assert_eq!(cast(f64::NAN.to_bits(), Element::F64, Element::I64), None);
        assert_eq!(cast(u64::MAX, Element::U64, Element::F64), None);
        assert_eq!(cast(u64::MAX, Element::U64, Element::I64), None);
        assert_eq!(cast(u64::MAX, Element::I64, Element::I8), Some(0xff));
        assert_eq!(cast(2049, Element::I32, Element::F16), None);
        assert_eq!(cast(2048, Element::I32, Element::F16), Some(0x6800));
        assert_eq!(cast(7, Element::U8, Element::F4), None);
        assert_eq!(cast(1, Element::BOOL, Element::I64), Some(1));
        assert_eq!(cast(2, Element::BOOL, Element::I64), None);
        assert_eq!(cast(2, Element::I64, Element::BOOL), None);
        assert_eq!(
            cast(1f32.to_bits().into(), Element::F32, Element::BOOL),
            Some(1)
        );
    }

    const SMALL: [Element; 8] = [
        Element::F16,
        Element::BF16,
        Element::F8_E5M2,
        Element::F8_E4M3,
        Element::F8_E4M3FNUZ,
        Element::F8_E5M2FNUZ,
        Element::F4,
        Element::F8_E8M0,
    ];

    #[test]
    fn every_code_survives_the_round_trip() {
        for element in SMALL {
            for bits in 0..1u64 << element.bits() {
                let value = as_f64(bits, element);
                let back = to_small(value, element);
                if value.is_nan() {
                    assert!(as_f64(back.unwrap(), element).is_nan());
                } else {
                    assert_eq!(back, Some(bits), "{element} {bits:#x} is {value}");
                }
            }
        }
    }

    #[test]
    fn codes_of_16_bits_decode_as_half_says() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (
                f16::from_bits(bits).to_f64(),
                bf16::from_bits(bits).to_f64(),
            );
            let of = |element| SmallFloat::of(element).unwrap().decode(bits.into());
            assert!(of(Element::F16) == half || half.is_nan());
            assert!(of(Element::BF16) == brain || brain.is_nan());
        }
    }

    proptest! {
        /// The nearest of all codes by search, against the arithmetic.
        #[test]
        fn rounding_finds_the_nearest_code(value in -70_000f64..70_000.0, shrink in 0i32..40) {
            let value = value * 2f64.powi(-shrink);
            for element in SMALL.into_iter().filter(|&element| element != Element::F8_E8M0) {
                let found = as_f64(to_small(value, element).unwrap(), element);
                let largest = as_f64(SmallFloat::of(element).unwrap().largest(), element);
                let nearest = (0..1u64 << element.bits())
                    .map(|bits| as_f64(bits, element))
                    .filter(|code| code.is_finite())
                    .map(|code| (code - value).abs())
                    .fold(f64::INFINITY, f64::min);
                if found.is_finite() {
                    prop_assert_eq!((found - value).abs(), nearest, "{} to {}", value, element);
                } else {
                    prop_assert!(value.abs() > largest);
                }
            }
        }

        #[test]
        fn single_precision_rounds_to_16_bits_as_half_says(bits: u32) {
            let value = f32::from_bits(bits);
            prop_assume!(!value.is_nan());
            let cast = |to| convert(bits.into(), Element::F32, to).unwrap();
            prop_assert_eq!(cast(Element::F16), u64::from(f16::from_f32(value).to_bits()));
            prop_assert_eq!(cast(Element::BF16), u64::from(bf16::from_f32(value).to_bits()));
        }
    }
}
