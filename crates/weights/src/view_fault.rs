//! Why a view of a tensor cannot be.

use crate::element::{Element, ElementKind};
use crate::text::Dims;
use crate::view::count;

/// Why a view of a tensor cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewFault {
    /// A cast between types that have no conversion.
    #[error("{from} cannot be cast to {to}")]
    Cast {
        /// The tensor's type.
        from: Element,
        /// The type asked for.
        to: Element,
    },
    /// Not a permutation of the tensor's axes.
    #[error("{permutation:?} is not a permutation of the axes of {}", Dims(dims))]
    Permutation {
        /// What was given.
        permutation: Vec<usize>,
        /// The tensor's shape.
        dims: Vec<u64>,
    },
    /// A shape with another number of elements.
    #[error(
        "{} ({}) cannot be reshaped to {} ({})",
        Dims(from),
        elements(from),
        Dims(to),
        elements(to)
    )]
    Reshape {
        /// The tensor's shape.
        from: Vec<u64>,
        /// The shape asked for.
        to: Vec<u64>,
    },
    /// A slice with more or fewer ranges than the tensor has axes.
    #[error("{found} ranges given for the {} axes of {}", dims.len(), Dims(dims))]
    SliceRank {
        /// How many ranges were given.
        found: usize,
        /// The tensor's shape.
        dims: Vec<u64>,
    },
    /// A range that is reversed or goes past the end.
    #[error("range {start}..{end} does not fit axis {axis} of {}", Dims(dims))]
    SliceRange {
        /// The axis.
        axis: usize,
        /// The range's first index.
        start: u64,
        /// One past its last index.
        end: u64,
        /// The tensor's shape.
        dims: Vec<u64>,
    },
    /// An axis that the tensor does not have.
    #[error("axis {axis} given for the {} axes of {}", dims.len(), Dims(dims))]
    Axis {
        /// The axis.
        axis: usize,
        /// The tensor's shape.
        dims: Vec<u64>,
    },
    /// Nothing to concatenate.
    #[error("no parts to concatenate")]
    NoParts,
    /// Parts of different types.
    #[error("part {part} of the concatenation is {found}, part 0 is {expected}")]
    ConcatElement {
        /// The position of the part that differs.
        part: usize,
        /// The first part's type.
        expected: Element,
        /// The part's type.
        found: Element,
    },
    /// Parts whose shapes differ on other axes than the one joined along.
    #[error(
        "part {part} of the concatenation along axis {axis} is {}, part 0 is {}",
        Dims(found),
        Dims(expected)
    )]
    ConcatDims {
        /// The position of the part that differs.
        part: usize,
        /// The axis joined along.
        axis: usize,
        /// The first part's shape.
        expected: Vec<u64>,
        /// The part's shape.
        found: Vec<u64>,
    },
    /// More bytes than can be counted.
    #[error(
        "a tensor of {element} {} has more bytes than can be counted",
        Dims(dims)
    )]
    TooLarge {
        /// The element type.
        element: Element,
        /// The shape.
        dims: Vec<u64>,
    },
    /// Elements whose places in the stored bytes the format does not say.
    #[error("the elements of {element} cannot be moved one by one")]
    NotAddressable {
        /// The element type.
        element: Element,
    },
}

impl ViewFault {
    /// What to do about it, where there is something to do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::ConcatElement { expected, .. } => Some(format!(
                "cast the parts to one type first: `.cast(Element::{expected})`"
            )),
            Self::NotAddressable { .. } => {
                Some("the format does not say how such elements share bytes".to_owned())
            }
            Self::Cast { from, to }
                if [from, to].iter().any(|e| e.kind() == ElementKind::Complex) =>
            {
                Some("store real and imaginary parts as two tensors".to_owned())
            }
            _ => None,
        }
    }
}

fn elements(dims: &[u64]) -> String {
    match count(dims) {
        Some(1) => "1 element".to_owned(),
        Some(count) => format!("{count} elements"),
        None => "too many elements to count".to_owned(),
    }
}
