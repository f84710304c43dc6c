//! Element types: what safetensors can hold, and what torch calls each type and its storage.
//!
//! What is left out: conversion of values, which is in [`crate::output`]'s cast.

use std::fmt;

/// An element type of a safetensors file, in the order in which that format's own writer lays
/// tensors out (largest alignment last).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Dtype {
    /// One byte, 0 or 1.
    Bool,
    /// 8-bit unsigned integer.
    U8,
    /// 8-bit signed integer.
    I8,
    /// 8-bit floating point, 5 exponent and 2 mantissa bits, with infinities.
    F8E5M2,
    /// 8-bit floating point, 4 exponent and 3 mantissa bits, no infinities, largest 448.
    F8E4M3,
    /// A power of two: a biased exponent alone.
    F8E8M0,
    /// As [`Dtype::F8E4M3`] with exponent bias 8, no negative zero, largest 240.
    F8E4M3Fnuz,
    /// As [`Dtype::F8E5M2`] with exponent bias 16, no negative zero and no infinities.
    F8E5M2Fnuz,
    /// 16-bit signed integer.
    I16,
    /// 16-bit unsigned integer.
    U16,
    /// 16-bit IEEE floating point.
    F16,
    /// The upper half of a 32-bit float.
    Bf16,
    /// 32-bit signed integer.
    I32,
    /// 32-bit unsigned integer.
    U32,
    /// 32-bit IEEE floating point.
    F32,
    /// A pair of 32-bit floats: real and imaginary part.
    C64,
    /// 64-bit IEEE floating point.
    F64,
    /// 64-bit signed integer.
    I64,
    /// 64-bit unsigned integer.
    U64,
}

impl Dtype {
    /// Bytes an element takes: 1, 2, 4 or 8.
    #[must_use]
    pub const fn size(self) -> u64 {
        match self {
            Self::Bool
            | Self::U8
            | Self::I8
            | Self::F8E5M2
            | Self::F8E4M3
            | Self::F8E8M0
            | Self::F8E4M3Fnuz
            | Self::F8E5M2Fnuz => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::C64 | Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// Bytes that a big-endian writer reverses as one: an element, or one part of a complex one.
    pub(crate) const fn swapped_size(self) -> usize {
        match self {
            Self::C64 => 4,
            _ => self.size() as usize,
        }
    }

    /// Whether elements are real floating-point numbers, which a cast converts.
    #[must_use]
    pub const fn is_floating(self) -> bool {
        matches!(
            self,
            Self::F64
                | Self::F32
                | Self::F16
                | Self::Bf16
                | Self::F8E5M2
                | Self::F8E4M3
                | Self::F8E8M0
                | Self::F8E4M3Fnuz
                | Self::F8E5M2Fnuz
        )
    }

    /// The name in a safetensors header: `F32`, `BF16`, `F8_E4M3`, `BOOL`, …
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "BOOL",
            Self::U8 => "U8",
            Self::I8 => "I8",
            Self::F8E5M2 => "F8_E5M2",
            Self::F8E4M3 => "F8_E4M3",
            Self::F8E8M0 => "F8_E8M0",
            Self::F8E4M3Fnuz => "F8_E4M3FNUZ",
            Self::F8E5M2Fnuz => "F8_E5M2FNUZ",
            Self::I16 => "I16",
            Self::U16 => "U16",
            Self::F16 => "F16",
            Self::Bf16 => "BF16",
            Self::I32 => "I32",
            Self::U32 => "U32",
            Self::F32 => "F32",
            Self::C64 => "C64",
            Self::F64 => "F64",
            Self::I64 => "I64",
            Self::U64 => "U64",
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// An element type of torch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// Its name in the module `torch`: `float32`.
    pub(crate) name: &'static str,
    /// The class of a storage of it, in `torch` and `torch.cuda`, where one exists.
    storage: Option<&'static str>,
    /// Bytes an element takes in a storage.
    pub(crate) size: u64,
    /// The safetensors type, where there is one.
    pub(crate) dtype: Option<Dtype>,
}

const fn element(
    name: &'static str,
    storage: Option<&'static str>,
    size: u64,
    dtype: Option<Dtype>,
) -> Element {
    Element {
        name,
        storage,
        size,
        dtype,
    }
}

/// Bytes without a type of their own, as `torch.UntypedStorage` holds them.
pub(crate) static BYTE: Element = element("uint8", Some("ByteStorage"), 1, Some(Dtype::U8));

/// torch's element types with whole bytes (the module `torch.storage` lists them), apart from
/// [`BYTE`].
static ELEMENTS: [Element; 26] = [
    element("float64", Some("DoubleStorage"), 8, Some(Dtype::F64)),
    element("float32", Some("FloatStorage"), 4, Some(Dtype::F32)),
    element("float16", Some("HalfStorage"), 2, Some(Dtype::F16)),
    element("bfloat16", Some("BFloat16Storage"), 2, Some(Dtype::Bf16)),
    element("int64", Some("LongStorage"), 8, Some(Dtype::I64)),
    element("int32", Some("IntStorage"), 4, Some(Dtype::I32)),
    element("int16", Some("ShortStorage"), 2, Some(Dtype::I16)),
    element("int8", Some("CharStorage"), 1, Some(Dtype::I8)),
    element("bool", Some("BoolStorage"), 1, Some(Dtype::Bool)),
    element("complex128", Some("ComplexDoubleStorage"), 16, None),
    element(
        "complex64",
        Some("ComplexFloatStorage"),
        8,
        Some(Dtype::C64),
    ),
    element("complex32", None, 4, None),
    element("quint8", Some("QUInt8Storage"), 1, None),
    element("qint8", Some("QInt8Storage"), 1, None),
    element("qint32", Some("QInt32Storage"), 4, None),
    element("quint4x2", Some("QUInt4x2Storage"), 1, None),
    element("quint2x4", Some("QUInt2x4Storage"), 1, None),
    element("uint64", None, 8, Some(Dtype::U64)),
    element("uint32", None, 4, Some(Dtype::U32)),
    element("uint16", None, 2, Some(Dtype::U16)),
    element("float8_e4m3fn", None, 1, Some(Dtype::F8E4M3)),
    element("float8_e5m2", None, 1, Some(Dtype::F8E5M2)),
    element("float8_e4m3fnuz", None, 1, Some(Dtype::F8E4M3Fnuz)),
    element("float8_e5m2fnuz", None, 1, Some(Dtype::F8E5M2Fnuz)),
    element("float8_e8m0fnu", None, 1, Some(Dtype::F8E8M0)),
    // Two 4-bit numbers in a byte: what a dimension counts differs between torch and safetensors.
    element("float4_e2m1fn_x2", None, 1, None),
];

impl Element {
    fn all() -> impl Iterator<Item = &'static Self> {
        ELEMENTS.iter().chain([&BYTE])
    }

    /// The type that `torch.NAME` names.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|element| element.name == name)
    }

    /// The type of the elements of a `torch.NAME` storage.
    pub(crate) fn of_storage(name: &str) -> Option<&'static Self> {
        if name == "UntypedStorage" {
            return Some(&BYTE);
        }
        Self::all().find(|element| element.storage == Some(name))
    }
}
