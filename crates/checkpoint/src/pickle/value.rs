//! The values that a pickle builds. Containers lie in the [`Heap`](super::Heap) and are named by
//! number, so that values are small, may form cycles, and drop without recursion.
//!
//! What is left out: numbers that no conversion looks at are kept only as "a number of this type".

use super::global::GlobalId;
use crate::dtype::Element;

/// A run of values in the heap's tuple items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl Span {
    /// No values.
    pub(crate) const EMPTY: Self = Self { start: 0, len: 0 };
}

/// A Python value. Text borrows from the pickle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'p> {
    None,
    Bool(bool),
    Int(i64),
    /// An integer beyond 64 bits: little-endian two's complement.
    BigInt(&'p [u8]),
    Float,
    Text(&'p str),
    /// Text with lone surrogates, which UTF-8 cannot hold.
    BrokenText,
    Bytes,
    Tuple(Span),
    List(u32),
    Set(u32),
    Dict(u32),
    /// A class or function by name, on the closed list or not.
    Global(GlobalId),
    /// A value of a known type that nothing looks into: the type's name.
    Inert(&'static str),
    /// What calling an unknown global would have made.
    Object(GlobalId),
    Storage(u32),
    Tensor(u32),
    /// A tensor of a kind that safetensors cannot hold: which.
    OddTensor(&'static str),
}

/// A storage, or a view of one, as a pickle describes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Storage {
    /// The whole storage that this is, or is part of.
    pub(crate) root: u32,
    pub(crate) element: &'static Element,
    /// First byte in the root.
    pub(crate) start: u64,
    /// Bytes.
    pub(crate) len: u64,
}

/// A whole storage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Root<'p> {
    /// Its key in the file.
    pub(crate) key: Key<'p>,
    /// Bytes, as the pickle says.
    pub(crate) len: u64,
    /// Bytes of an element, as the pickle says.
    pub(crate) element_size: u64,
}

/// What a file calls a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Key<'p> {
    Text(&'p str),
    Number(i64),
}

impl std::fmt::Display for Key<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => write!(formatter, "{text:?}"),
            Self::Number(number) => number.fmt(formatter),
        }
    }
}

impl<'p> Key<'p> {
    pub(crate) fn of(value: Value<'p>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(Self::Text(text)),
            Value::Int(number) => Some(Self::Number(number)),
            _ => None,
        }
    }
}

/// A tensor: a strided view of a storage. Not yet checked against the storage's size.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tensor {
    pub(crate) storage: u32,
    pub(crate) element: &'static Element,
    /// First element in the storage.
    pub(crate) offset: u64,
    /// First of its sizes in the heap's extents; its strides follow them.
    pub(crate) extents: u32,
    /// Number of dimensions.
    pub(crate) rank: u8,
}
