//! What is compared: a tensor's elements, wherever they lie.

use crate::CompareError;
use crate::block::BLOCK;
use serde::{Serialize, Serializer};
use std::fmt;
use std::ops::Range;
use tensoracle_element::Element;

/// A tensor in memory or in a mapping: row-major, little-endian, at any alignment.
#[derive(Debug, Clone, Copy)]
pub struct TensorRef<'a> {
    element: Element,
    dims: &'a [u64],
    bytes: &'a [u8],
}

impl<'a> TensorRef<'a> {
    /// A tensor of `bytes`.
    ///
    /// # Errors
    /// Bytes that are not as many as `element` and `dims` say.
    pub fn new(element: Element, dims: &'a [u64], bytes: &'a [u8]) -> Result<Self, CompareError> {
        if element.bytes_for(dims) != Some(bytes.len() as u64) {
            return Err(CompareError::WrongLength {
                element,
                dims: dims.to_vec(),
                found: bytes.len(),
            });
        }
        Ok(Self {
            element,
            dims,
            bytes,
        })
    }

    /// A tensor of Rust values.
    ///
    /// # Errors
    /// Values that are not as many as `dims` say.
    pub fn of<T: Scalar>(dims: &'a [u64], values: &'a [T]) -> Result<Self, CompareError> {
        Self::new(T::ELEMENT, dims, bytemuck::cast_slice(values))
    }

    /// The type of its elements.
    #[must_use]
    pub fn element(&self) -> Element {
        self.element
    }

    /// Its extents, outermost first; empty for a scalar.
    #[must_use]
    pub fn dims(&self) -> &'a [u64] {
        self.dims
    }

    /// Its elements' bytes.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes of the elements in `range`; none where it goes beyond the end.
    #[inline(always)]
    pub(crate) fn bytes_of(&self, range: Range<usize>) -> &'a [u8] {
        let size = self.element.size();
        self.bytes
            .get(range.start * size..range.end * size)
            .unwrap_or_default()
    }

    /// The bytes of the block of elements from `start` on, or of what there is of it.
    #[inline(always)]
    pub(crate) fn bytes_after(&self, start: usize) -> &'a [u8] {
        let size = self.element.size();
        let end = self.bytes.len().min((start + BLOCK) * size);
        self.bytes.get(start * size..end).unwrap_or_default()
    }

    /// How many elements it has.
    #[must_use]
    pub fn count(&self) -> u64 {
        (self.bytes.len() / self.element.size()) as u64
    }

    /// The element at a row-major index; `None` beyond the end.
    #[must_use]
    pub fn value(&self, index: u64) -> Option<Value> {
        let size = self.element.size();
        let start = usize::try_from(index).ok()?.checked_mul(size)?;
        let bytes = self.bytes.get(start..start.checked_add(size)?)?;
        let wide = || Some(u64::from_le_bytes(bytes.try_into().ok()?));
        Some(match self.element {
            Element::BOOL => Value::Boolean(bytes != [0]),
            Element::U64 => Value::Unsigned(wide()?),
            Element::I64 => Value::Signed(wide()?.cast_signed()),
            narrow => {
                let mut out = [0.0; BLOCK];
                crate::decode::decode(narrow, bytes, &mut out);
                match narrow.kind() {
                    tensoracle_element::Kind::Floating => Value::Float(out[0]),
                    _ => Value::Signed(out[0] as i64),
                }
            }
        })
    }
}

/// A Rust type whose slices are tensors.
pub trait Scalar: bytemuck::NoUninit + private::Sealed {
    /// Its element type.
    const ELEMENT: Element;
}

mod private {
    pub trait Sealed {}
}

macro_rules! scalars {
    ($($rust:ty => $element:ident),+ $(,)?) => {$(
        impl private::Sealed for $rust {}
        // Slices are taken as bytes in the processor's order, which is that of the element types.
        #[cfg(target_endian = "little")]
        impl Scalar for $rust {
            const ELEMENT: Element = Element::$element;
        }
    )+};
}

scalars!(
    f64 => F64, f32 => F32, half::f16 => F16, half::bf16 => BF16,
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64, bool => BOOL,
);

/// One element's value, exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Floating point of any width.
    Float(f64),
    /// An integer that fits 64 signed bits.
    Signed(i64),
    /// A 64-bit unsigned integer.
    Unsigned(u64),
    /// True or false.
    Boolean(bool),
}

impl Value {
    /// The nearest `f64`.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Float(value) => value,
            Self::Signed(value) => value as f64,
            Self::Unsigned(value) => value as f64,
            Self::Boolean(value) => f64::from(u8::from(value)),
        }
    }

    /// `|self − other|`, rounded once.
    pub(crate) fn distance(self, other: Self) -> f64 {
        let integer = |value: Self| match value {
            Self::Signed(value) => Some(i128::from(value)),
            Self::Unsigned(value) => Some(i128::from(value)),
            Self::Float(_) | Self::Boolean(_) => None,
        };
        match (integer(self), integer(other)) {
            (Some(a), Some(b)) => (a - b).unsigned_abs() as f64,
            _ => (self.as_f64() - other.as_f64()).abs(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Float(value) => formatter.pad(&crate::number::text(*value)),
            Self::Signed(value) => fmt::Display::fmt(value, formatter),
            Self::Unsigned(value) => fmt::Display::fmt(value, formatter),
            Self::Boolean(value) => fmt::Display::fmt(value, formatter),
        }
    }
}

impl Serialize for Value {
    /// A JSON number or boolean; not-finite values as the strings `NaN`, `Infinity` and
    /// `-Infinity`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Float(value) => crate::number::plain(value, serializer),
            Self::Signed(value) => serializer.serialize_i64(*value),
            Self::Unsigned(value) => serializer.serialize_u64(*value),
            Self::Boolean(value) => serializer.serialize_bool(*value),
        }
    }
}
