//! The element types a safetensors file can hold, and which of them TensorRT has.
//!
//! What is left out: the values themselves (`convert`).

use std::fmt;
use tensoracle_graph::DataType;

/// The type of a stored tensor's elements, by its name in the safetensors header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(non_camel_case_types, reason = "the format's own names")]
pub enum Element {
    /// One byte, 0 or 1.
    BOOL,
    /// 4-bit floating point E2M1, two in a byte, the first in the low half.
    F4,
    /// 6-bit floating point E2M3. The format does not say how elements share bytes.
    F6_E2M3,
    /// 6-bit floating point E3M2. The format does not say how elements share bytes.
    F6_E3M2,
    /// 8-bit unsigned integer.
    U8,
    /// 8-bit signed integer.
    I8,
    /// 8-bit floating point with infinities, largest 57344.
    F8_E5M2,
    /// 8-bit floating point without infinities (E4M3FN), largest 448.
    F8_E4M3,
    /// An 8-bit power of two, 2^-127 to 2^127.
    F8_E8M0,
    /// 8-bit floating point E4M3 with bias 8, one zero and one NaN, largest 240.
    F8_E4M3FNUZ,
    /// 8-bit floating point E5M2 with bias 16, one zero and one NaN, largest 57344.
    F8_E5M2FNUZ,
    /// 16-bit signed integer.
    I16,
    /// 16-bit unsigned integer.
    U16,
    /// 16-bit IEEE floating point.
    F16,
    /// The upper half of an `F32`.
    BF16,
    /// 32-bit signed integer.
    I32,
    /// 32-bit unsigned integer.
    U32,
    /// 32-bit IEEE floating point.
    F32,
    /// Complex, two `F32`.
    C64,
    /// 64-bit IEEE floating point.
    F64,
    /// 64-bit signed integer.
    I64,
    /// 64-bit unsigned integer.
    U64,
}

/// What kind of number an [`Element`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementKind {
    /// Floating point.
    Floating,
    /// Signed or unsigned integers.
    Integer,
    /// 0 or 1.
    Boolean,
    /// Complex numbers.
    Complex,
}

impl Element {
    /// All element types.
    pub const ALL: [Self; 22] = [
        Self::BOOL,
        Self::F4,
        Self::F6_E2M3,
        Self::F6_E3M2,
        Self::U8,
        Self::I8,
        Self::F8_E5M2,
        Self::F8_E4M3,
        Self::F8_E8M0,
        Self::F8_E4M3FNUZ,
        Self::F8_E5M2FNUZ,
        Self::I16,
        Self::U16,
        Self::F16,
        Self::BF16,
        Self::I32,
        Self::U32,
        Self::F32,
        Self::C64,
        Self::F64,
        Self::I64,
        Self::U64,
    ];

    /// The name in a safetensors header: `F32`, `BF16`, `F8_E4M3`, …
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BOOL => "BOOL",
            Self::F4 => "F4",
            Self::F6_E2M3 => "F6_E2M3",
            Self::F6_E3M2 => "F6_E3M2",
            Self::U8 => "U8",
            Self::I8 => "I8",
            Self::F8_E5M2 => "F8_E5M2",
            Self::F8_E4M3 => "F8_E4M3",
            Self::F8_E8M0 => "F8_E8M0",
            Self::F8_E4M3FNUZ => "F8_E4M3FNUZ",
            Self::F8_E5M2FNUZ => "F8_E5M2FNUZ",
            Self::I16 => "I16",
            Self::U16 => "U16",
            Self::F16 => "F16",
            Self::BF16 => "BF16",
            Self::I32 => "I32",
            Self::U32 => "U32",
            Self::F32 => "F32",
            Self::C64 => "C64",
            Self::F64 => "F64",
            Self::I64 => "I64",
            Self::U64 => "U64",
        }
    }

    /// The type of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|element| element.name() == name)
    }

    /// Bits an element takes: 4 to 64.
    #[must_use]
    pub const fn bits(self) -> u64 {
        match self {
            Self::F4 => 4,
            Self::F6_E2M3 | Self::F6_E3M2 => 6,
            Self::BOOL
            | Self::U8
            | Self::I8
            | Self::F8_E5M2
            | Self::F8_E4M3
            | Self::F8_E8M0
            | Self::F8_E4M3FNUZ
            | Self::F8_E5M2FNUZ => 8,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 16,
            Self::I32 | Self::U32 | Self::F32 => 32,
            Self::C64 | Self::F64 | Self::I64 | Self::U64 => 64,
        }
    }

    /// Bytes that `elements` of this type take when packed, rounded up; `None` on overflow.
    #[must_use]
    pub const fn bytes_for(self, elements: u64) -> Option<u64> {
        match elements.checked_mul(self.bits()) {
            Some(bits) => Some(bits.div_ceil(8)),
            None => None,
        }
    }

    /// Whether the type holds floating point, integers, booleans or complex numbers.
    #[must_use]
    pub const fn kind(self) -> ElementKind {
        match self {
            Self::BOOL => ElementKind::Boolean,
            Self::U8
            | Self::I8
            | Self::I16
            | Self::U16
            | Self::I32
            | Self::U32
            | Self::I64
            | Self::U64 => ElementKind::Integer,
            Self::C64 => ElementKind::Complex,
            _ => ElementKind::Floating,
        }
    }

    /// The TensorRT type with the same bytes, where there is one.
    #[must_use]
    pub const fn data_type(self) -> Option<DataType> {
        match self {
            Self::BOOL => Some(DataType::Bool),
            Self::F4 => Some(DataType::Fp4),
            Self::U8 => Some(DataType::UInt8),
            Self::I8 => Some(DataType::Int8),
            Self::F8_E4M3 => Some(DataType::Fp8),
            Self::F8_E8M0 => Some(DataType::E8M0),
            Self::F16 => Some(DataType::Half),
            Self::BF16 => Some(DataType::BFloat16),
            Self::I32 => Some(DataType::Int32),
            Self::F32 => Some(DataType::Float),
            Self::I64 => Some(DataType::Int64),
            Self::F6_E2M3
            | Self::F6_E3M2
            | Self::F8_E5M2
            | Self::F8_E4M3FNUZ
            | Self::F8_E5M2FNUZ
            | Self::I16
            | Self::U16
            | Self::U32
            | Self::C64
            | Self::F64
            | Self::U64 => None,
        }
    }

    /// A type that TensorRT has and that holds this one's values, exactly or (for `F64` and `U64`)
    /// as nearly as TensorRT can.
    pub(crate) const fn nearest_supported(self) -> Option<Self> {
        match self {
            Self::F8_E5M2 | Self::F8_E5M2FNUZ => Some(Self::F16),
            Self::F8_E4M3FNUZ => Some(Self::F16),
            Self::F64 => Some(Self::F32),
            Self::I16 | Self::U16 => Some(Self::I32),
            Self::U32 | Self::U64 => Some(Self::I64),
            _ => None,
        }
    }

    /// Whether the places of single elements in the stored bytes are known.
    pub(crate) const fn is_addressable(self) -> bool {
        !matches!(self, Self::F6_E2M3 | Self::F6_E3M2)
    }
}

impl fmt::Display for Element {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::Dtype;

    /// The reference crate reads a dtype by its name and knows its width.
    #[test]
    fn names_and_widths_are_the_reference_s() {
        for element in Element::ALL {
            let reference: Dtype =
                serde_json::from_str(&format!("\"{}\"", element.name())).unwrap();
            assert_eq!(reference.to_string(), element.name());
            assert_eq!(reference.bitsize() as u64, element.bits(), "{element}");
            assert_eq!(Element::from_name(element.name()), Some(element));
        }
        // A message for an unknown name lists every dtype the reference has.
        let message = serde_json::from_str::<Dtype>("\"?\"")
            .unwrap_err()
            .to_string();
        assert_eq!(message.matches('`').count(), 2 * (Element::ALL.len() + 1));
    }

    #[test]
    fn a_shared_type_has_the_same_width_in_both_vocabularies() {
        for element in Element::ALL {
            if let Some(data_type) = element.data_type() {
                assert_eq!(data_type.bits(), element.bits(), "{element}");
            }
            if let Some(other) = element.nearest_supported() {
                assert!(element.data_type().is_none() && other.data_type().is_some());
            }
        }
    }
}
