//! Elements in memory while a graph runs: floating point in the engine's own width, integers of
//! every type as `i64`, booleans as bytes 0 and 1.
//!
//! What is left out: the packed forms that callers and files have (`convert`).

use crate::CpuError;
use tensoracle_graph::{DataType, Kind};

/// How a data type's elements are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Real,
    Integer,
    Boolean,
}

impl Class {
    pub(crate) fn of(data_type: DataType) -> Self {
        match data_type.kind() {
            Kind::Floating => Self::Real,
            Kind::Integer => Self::Integer,
            Kind::Boolean => Self::Boolean,
        }
    }
}

/// Owned elements.
#[derive(Debug, Clone)]
pub(crate) enum Buffer<T> {
    Real(Vec<T>),
    Integer(Vec<i64>),
    Boolean(Vec<u8>),
}

/// Borrowed elements.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Elements<'a, T> {
    Real(&'a [T]),
    Integer(&'a [i64]),
    Boolean(&'a [u8]),
}

/// Borrowed elements to be written.
#[derive(Debug)]
pub(crate) enum ElementsMut<'a, T> {
    Real(&'a mut [T]),
    Integer(&'a mut [i64]),
    Boolean(&'a mut [u8]),
}

impl<T: Copy + Default> Buffer<T> {
    pub(crate) fn empty(class: Class) -> Self {
        match class {
            Class::Real => Self::Real(Vec::new()),
            Class::Integer => Self::Integer(Vec::new()),
            Class::Boolean => Self::Boolean(Vec::new()),
        }
    }

    /// Grows to hold at least `len` elements. What they are is not specified.
    pub(crate) fn reserve(&mut self, len: usize, what: &str) -> Result<(), CpuError> {
        fn grow<E: Copy + Default>(
            buffer: &mut Vec<E>,
            len: usize,
            what: &str,
        ) -> Result<(), CpuError> {
            let more = len.saturating_sub(buffer.len());
            buffer
                .try_reserve_exact(more)
                .map_err(|_| CpuError::OutOfMemory {
                    what: what.to_owned(),
                    bytes: (len as u64).saturating_mul(size_of::<E>() as u64),
                })?;
            if more > 0 {
                buffer.resize(len, E::default());
            }
            Ok(())
        }
        match self {
            Self::Real(buffer) => grow(buffer, len, what),
            Self::Integer(buffer) => grow(buffer, len, what),
            Self::Boolean(buffer) => grow(buffer, len, what),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Real(buffer) => buffer.len(),
            Self::Integer(buffer) => buffer.len(),
            Self::Boolean(buffer) => buffer.len(),
        }
    }

    pub(crate) fn class(&self) -> Class {
        match self {
            Self::Real(_) => Class::Real,
            Self::Integer(_) => Class::Integer,
            Self::Boolean(_) => Class::Boolean,
        }
    }

    /// The first `len` elements.
    pub(crate) fn elements(&self, len: usize) -> Elements<'_, T> {
        match self {
            Self::Real(buffer) => Elements::Real(&buffer[..len]),
            Self::Integer(buffer) => Elements::Integer(&buffer[..len]),
            Self::Boolean(buffer) => Elements::Boolean(&buffer[..len]),
        }
    }

    /// The first `len` elements, to be written.
    pub(crate) fn elements_mut(&mut self, len: usize) -> ElementsMut<'_, T> {
        match self {
            Self::Real(buffer) => ElementsMut::Real(&mut buffer[..len]),
            Self::Integer(buffer) => ElementsMut::Integer(&mut buffer[..len]),
            Self::Boolean(buffer) => ElementsMut::Boolean(&mut buffer[..len]),
        }
    }
}

// Graph inference fixes each tensor's type, and with it the class; a layer that asks for another
// class than its rules allow is a fault of this crate.
impl<'a, T> Elements<'a, T> {
    pub(crate) fn real(self) -> &'a [T] {
        match self {
            Self::Real(elements) => elements,
            _ => unreachable!("inference admits only floating point here"),
        }
    }

    pub(crate) fn integer(self) -> &'a [i64] {
        match self {
            Self::Integer(elements) => elements,
            _ => unreachable!("inference admits only integers here"),
        }
    }

    pub(crate) fn boolean(self) -> &'a [u8] {
        match self {
            Self::Boolean(elements) => elements,
            _ => unreachable!("inference admits only booleans here"),
        }
    }
}

impl<T> ElementsMut<'_, T> {
    pub(crate) fn real(&mut self) -> &mut [T] {
        match self {
            Self::Real(elements) => elements,
            _ => unreachable!("inference gives floating point here"),
        }
    }

    pub(crate) fn boolean(&mut self) -> &mut [u8] {
        match self {
            Self::Boolean(elements) => elements,
            _ => unreachable!("inference gives booleans here"),
        }
    }
}

/// Calls `$move` with the elements of an input and an output of one class, whatever the class:
/// for layers that move elements without looking at them.
macro_rules! moved {
    ($input:expr, $output:expr, |$from:ident, $to:ident| $move:expr) => {
        match ($input, $output) {
            (Elements::Real($from), ElementsMut::Real($to)) => $move,
            (Elements::Integer($from), ElementsMut::Integer($to)) => $move,
            (Elements::Boolean($from), ElementsMut::Boolean($to)) => $move,
            _ => unreachable!("inference gives input and output one type here"),
        }
    };
}
pub(crate) use moved;
