//! The data types of TensorRT 11: what an element is and how many bits it takes.
//!
//! What is left out: conversions between them, which belong to whoever holds the values.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The type of a tensor's elements, as `nvinfer1::DataType` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DataType {
    /// 32-bit IEEE floating point.
    Float,
    /// 16-bit IEEE floating point.
    Half,
    /// 16-bit "brain" floating point: the upper half of a `Float`.
    BFloat16,
    /// 8-bit signed integer.
    Int8,
    /// 8-bit unsigned integer.
    UInt8,
    /// 32-bit signed integer.
    Int32,
    /// 64-bit signed integer.
    Int64,
    /// One byte, 0 or 1.
    Bool,
    /// 8-bit floating point, 4 exponent and 3 mantissa bits (E4M3FN: no infinities, largest 448).
    Fp8,
    /// 4-bit signed integer, two in a byte, the first in the low half.
    Int4,
    /// 4-bit floating point, E2M1 (largest 6), two in a byte, the first in the low half.
    Fp4,
    /// An 8-bit power of two (a biased exponent alone), the scale of block quantization.
    E8M0,
}

/// What kind of number a [`DataType`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Floating point.
    Floating,
    /// Signed or unsigned integers.
    Integer,
    /// True or false.
    Boolean,
}

impl DataType {
    /// All data types, in TensorRT's order.
    pub const ALL: [Self; 12] = [
        Self::Float,
        Self::Half,
        Self::Int8,
        Self::Int32,
        Self::Bool,
        Self::UInt8,
        Self::Fp8,
        Self::BFloat16,
        Self::Int64,
        Self::Int4,
        Self::Fp4,
        Self::E8M0,
    ];

    /// Bits an element takes: 4 to 64.
    #[must_use]
    pub const fn bits(self) -> u64 {
        match self {
            Self::Int4 | Self::Fp4 => 4,
            Self::Int8 | Self::UInt8 | Self::Bool | Self::Fp8 | Self::E8M0 => 8,
            Self::Half | Self::BFloat16 => 16,
            Self::Float | Self::Int32 => 32,
            Self::Int64 => 64,
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

    /// Whether the type holds floating point, integers or booleans.
    #[must_use]
    pub const fn kind(self) -> Kind {
        match self {
            Self::Float | Self::Half | Self::BFloat16 | Self::Fp8 | Self::Fp4 | Self::E8M0 => {
                Kind::Floating
            }
            Self::Int8 | Self::UInt8 | Self::Int32 | Self::Int64 | Self::Int4 => Kind::Integer,
            Self::Bool => Kind::Boolean,
        }
    }

    /// The short lower-case name that listings use: `float`, `half`, `bfloat16`, `int8`, …
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Half => "half",
            Self::BFloat16 => "bfloat16",
            Self::Int8 => "int8",
            Self::UInt8 => "uint8",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Bool => "bool",
            Self::Fp8 => "fp8",
            Self::Int4 => "int4",
            Self::Fp4 => "fp4",
            Self::E8M0 => "e8m0",
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_sizes_round_up_and_refuse_overflow() {
        assert_eq!(DataType::Int4.bytes_for(3), Some(2));
        assert_eq!(DataType::Int64.bytes_for(3), Some(24));
        assert_eq!(DataType::Float.bytes_for(0), Some(0));
        assert_eq!(DataType::Int64.bytes_for(u64::MAX / 8), None);
    }
}
