//! How constants are supplied: the trait that weights implement, and the recipe that says what a
//! constant is made of without holding its bytes.
//!
//! What is left out: files and formats (the `weights` crate) and any arithmetic on elements.

use crate::DataType;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The BLAKE3 digest of a stored tensor's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentDigest(pub [u8; 32]);

impl ContentDigest {
    /// Digests bytes already in memory, on the calling thread.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl From<ContentDigest> for String {
    fn from(digest: ContentDigest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for ContentDigest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let hash = blake3::Hash::from_hex(&text)
            .map_err(|error| format!("`{text}` is not a BLAKE3 digest: {error}"))?;
        Ok(Self(*hash.as_bytes()))
    }
}

/// What a constant's elements are: stored bytes, and what is done to them. Names and files are
/// deliberately absent, so that moving, renaming or re-sharding weights changes no identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Recipe {
    /// Bytes as they are stored, row-major and packed.
    Stored {
        /// The stored element type by its safetensors name (`F32`, `BF16`, `F64`, …), which may
        /// be one that no [`DataType`] has; by the name of a [`DataType`] where nothing is stored
        /// in a file.
        element: String,
        /// The stored shape.
        dims: Vec<u64>,
        /// Digest of the stored bytes.
        digest: ContentDigest,
    },
    /// Elements converted to another type, by its safetensors name.
    Cast {
        /// The element type converted to.
        element: String,
        /// What is converted.
        of: Box<Recipe>,
    },
    /// Axes permuted: output axis `i` is input axis `permutation[i]`.
    Transpose {
        /// A permutation of `0..rank`.
        permutation: Vec<usize>,
        /// What is permuted.
        of: Box<Recipe>,
    },
    /// The same elements under another shape.
    Reshape {
        /// The new shape.
        dims: Vec<u64>,
        /// What is reshaped.
        of: Box<Recipe>,
    },
    /// A box of elements: `start[i]..end[i]` along each axis.
    Slice {
        /// The first index along each axis.
        start: Vec<u64>,
        /// One past the last index along each axis.
        end: Vec<u64>,
        /// What is sliced.
        of: Box<Recipe>,
    },
    /// Parts joined along one axis.
    Concat {
        /// The axis joined along.
        axis: usize,
        /// The parts, in order.
        of: Vec<Recipe>,
    },
}

/// Why a constant's digest or elements could not be had.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{subject}: {reason}")]
pub struct SourceError {
    /// Which constant: a tensor's name and file.
    pub subject: String,
    /// What went wrong.
    pub reason: String,
    /// What to do about it, where there is something to do.
    pub hint: Option<String>,
    /// The supplier's own error, for programs to look into; its text is in `reason`.
    pub cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// Supplies a constant's elements when somebody needs them.
///
/// Defining a graph asks only for `data_type` and `dims`; its digest asks for `recipe`; a backend
/// that builds asks for the elements.
pub trait ConstantSource: std::any::Any + fmt::Debug + Send + Sync {
    /// The element type.
    fn data_type(&self) -> DataType;

    /// The shape; empty for a scalar.
    fn dims(&self) -> &[u64];

    /// What the elements are made of. May read and hash stored bytes.
    ///
    /// # Errors
    /// When the stored bytes cannot be read.
    fn recipe(&self) -> Result<Recipe, SourceError>;

    /// Writes the elements, row-major, packed, little-endian.
    ///
    /// `out` has exactly `data_type().bytes_for(product of dims)` bytes.
    ///
    /// # Errors
    /// When `out` has another length or the elements cannot be read.
    fn read(&self, out: &mut [u8]) -> Result<(), SourceError>;

    /// The elements as they lie in memory, where they already lie there as `read` would write
    /// them. Possibly unaligned for the element type.
    fn bytes(&self) -> Option<&[u8]> {
        None
    }

    /// How a person finds the constant: `encoder.0.weight · transpose [1, 0]`.
    fn describe(&self) -> String;
}
