//! Why two tensors could not be compared.

use tensoracle_element::Element;

/// A comparison that was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// A tensor's bytes are not as many as its type and shape say.
    #[error("a tensor of {element} and shape {dims:?} was given {found} bytes")]
    WrongLength {
        /// Its element type.
        element: Element,
        /// Its shape.
        dims: Vec<u64>,
        /// Bytes given.
        found: usize,
    },
    /// The shapes differ.
    #[error("the candidate has shape {candidate:?}, the reference {reference:?}")]
    Shapes {
        /// The candidate's shape.
        candidate: Vec<u64>,
        /// The reference's shape.
        reference: Vec<u64>,
    },
    /// One is floating point and the other is not, or one is boolean and the other is not.
    #[error(
        "the candidate's elements are {} ({candidate}), the reference's {} ({reference})",
        candidate.kind(),
        reference.kind()
    )]
    Kinds {
        /// The candidate's element type.
        candidate: Element,
        /// The reference's element type.
        reference: Element,
    },
    /// There is nothing to compare.
    #[error("tensors of shape {dims:?} have no elements")]
    Empty {
        /// The shape of both.
        dims: Vec<u64>,
    },
    /// A tolerance is negative, infinite or not a number.
    #[error("the {which} tolerance is {found}; expected a finite number of at least 0")]
    Tolerance {
        /// `absolute` or `relative`.
        which: &'static str,
        /// The number given.
        found: f64,
    },
    /// The caller asked for the work to stop.
    #[error("the comparison was cancelled")]
    Cancelled,
}

impl CompareError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Kinds { .. } => {
                Some("convert one side, so that both hold the same kind of number".to_owned())
            }
            _ => None,
        }
    }
}
