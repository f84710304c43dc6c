//! The types that the elements of a stored tensor have: names, widths and kinds.
//!
//! Wider than what an engine computes with: files hold `F64` or `U16`, too. What is left out:
//! elements of less than a byte, complex numbers, and any arithmetic on values.

#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The type of a stored tensor's elements, little-endian, under the names that safetensors uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(
    non_camel_case_types,
    reason = "the names are those of the file format"
)]
pub enum Element {
    /// 64-bit IEEE floating point.
    F64,
    /// 32-bit IEEE floating point.
    F32,
    /// 16-bit IEEE floating point.
    F16,
    /// The upper half of an `F32`.
    BF16,
    /// 8-bit floating point, 4 exponent and 3 mantissa bits, no infinities, largest 448.
    F8_E4M3,
    /// 8-bit floating point, 5 exponent and 2 mantissa bits, with infinities, largest 57344.
    F8_E5M2,
    /// 8-bit signed integer.
    I8,
    /// 16-bit signed integer.
    I16,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
    /// 8-bit unsigned integer.
    U8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit unsigned integer.
    U64,
    /// One byte: zero is false, anything else is true.
    BOOL,
}

/// What sort of number an [`Element`] is. Tensors of different kinds cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Floating point.
    Floating,
    /// Signed or unsigned integers.
    Integer,
    /// True or false.
    Boolean,
}

impl Element {
    /// Every element type.
    pub const ALL: [Self; 15] = [
        Self::F64,
        Self::F32,
        Self::F16,
        Self::BF16,
        Self::F8_E4M3,
        Self::F8_E5M2,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::BOOL,
    ];

    /// Bytes that one element takes: 1, 2, 4 or 8.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 | Self::U64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::BF16 | Self::I16 | Self::U16 => 2,
            Self::F8_E4M3 | Self::F8_E5M2 | Self::I8 | Self::U8 | Self::BOOL => 1,
        }
    }

    /// Whether the type is floating point, integer or boolean.
    #[must_use]
    pub const fn kind(self) -> Kind {
        match self {
            Self::F64 | Self::F32 | Self::F16 | Self::BF16 | Self::F8_E4M3 | Self::F8_E5M2 => {
                Kind::Floating
            }
            Self::BOOL => Kind::Boolean,
            _ => Kind::Integer,
        }
    }

    /// The name that safetensors files use: `F32`, `F8_E4M3`, …
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F64 => "F64",
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::BF16 => "BF16",
            Self::F8_E4M3 => "F8_E4M3",
            Self::F8_E5M2 => "F8_E5M2",
            Self::I8 => "I8",
            Self::I16 => "I16",
            Self::I32 => "I32",
            Self::I64 => "I64",
            Self::U8 => "U8",
            Self::U16 => "U16",
            Self::U32 => "U32",
            Self::U64 => "U64",
            Self::BOOL => "BOOL",
        }
    }

    /// Bytes that a packed tensor of `dims` takes; `None` where that overflows.
    #[must_use]
    pub fn bytes_for(self, dims: &[u64]) -> Option<u64> {
        // A zero anywhere makes the product zero, whatever overflows before it.
        if dims.contains(&0) {
            return Some(0);
        }
        dims.iter()
            .try_fold(self.size() as u64, |bytes, &dim| bytes.checked_mul(dim))
    }
}

impl fmt::Display for Element {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Floating => "floating point",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
        })
    }
}

/// A name that no [`Element`] has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownElement(
    /// The name as it was given.
    pub String,
);

impl fmt::Display for UnknownElement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "`{}` is no element type; expected one of",
            self.0
        )?;
        Element::ALL
            .iter()
            .try_for_each(|element| write!(formatter, " {element}"))
    }
}

impl std::error::Error for UnknownElement {}

impl FromStr for Element {
    type Err = UnknownElement;

    /// Reads a safetensors name, in either case.
    fn from_str(text: &str) -> Result<Self, UnknownElement> {
        Self::ALL
            .into_iter()
            .find(|element| element.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownElement(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_in_either_case_and_match_serde() {
        for element in Element::ALL {
            assert_eq!(element.name().parse(), Ok(element));
            assert_eq!(element.name().to_lowercase().parse(), Ok(element));
            let json = serde_json::to_string(&element).unwrap();
            assert_eq!(json, format!("\"{element}\""));
        }
        let error = "F128".parse::<Element>().unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("`F128` is no element type; expected one of F64")
        );
    }

    #[test]
    fn sizes_of_tensors_refuse_overflow_but_not_emptiness() {
        assert_eq!(Element::F16.bytes_for(&[3, 5]), Some(30));
        assert_eq!(Element::F64.bytes_for(&[]), Some(8));
        assert_eq!(Element::F64.bytes_for(&[u64::MAX, 2]), None);
        assert_eq!(Element::F64.bytes_for(&[u64::MAX, 2, 0]), Some(0));
    }
}
