//! Memory-mapped, validated safetensors weights with lazy views and content digests.
//!
//! ```no_run
//! use tensoracle_weights::{Element, Weights};
//!
//! # fn main() -> Result<(), tensoracle_weights::WeightsError> {
//! let weights = Weights::open("model.safetensors")?;
//! let query = weights
//!     .tensor("encoder.0.qkv.weight")? // F32 [1152, 384], nothing read yet
//!     .narrow(0, 0..384)?
//!     .transpose(&[1, 0])?
//!     .cast(Element::F16)?;
//! let constant = query.into_constant()?; // what a graph takes
//! # Ok(())
//! # }
//! ```
//!
//! A [`Weights`] opens one file, several, or a sharded folder with its index. The header is
//! checked whole before anything is handed out, and each fault has its own error
//! ([`HeaderFault`], [`IndexFault`]). A [`WeightTensor`] refers to stored bytes and to what is to
//! be done with them; elements are produced when somebody reads them. Tensors in real files often
//! start at any byte, so nothing here asks for alignment.
//!
//! # Contract of mapped files
//!
//! By default a file is mapped ([`Read::Mapped`]): while a `Weights` or anything made from it
//! lives, nobody may change the file in place or truncate it. Replacing it by renaming another
//! file over it is safe. A file that is truncated meanwhile ends the process with `SIGBUS`. For
//! network file systems and for directories where others write, open with [`Read::Owned`], which
//! reads the file into memory. [`Weights::unchanged`] tells whether the files are still those that
//! were opened.
//!
//! # The format
//!
//! The header is read here rather than by the `safetensors` crate, because that crate answers many
//! faults with one error, drops the first of two tensors of one name, and does not say how large
//! a file should have been. Its tests and the fuzz target hold this reader to that crate's: what is
//! accepted here is accepted there, with the same tensors at the same bytes.

#![forbid(unsafe_code)]

mod convert;
mod digest;
mod element;
mod error;
mod file;
mod header;
mod index;
mod layout;
mod materialise;
mod nearest;
mod places;
mod signature;
mod small_float;
mod source;
mod stamp;
mod text;
mod used;
mod view;
mod view_fault;
mod weights;

pub use convert::ConvertFault;
pub use digest::DigestCache;
pub use element::{Element, ElementKind};
pub use error::WeightsError;
pub use header::{Header, HeaderFault, StoredTensor};
pub use index::IndexFault;
pub use signature::FileKind;
pub use source::WeightConstant;
pub use stamp::{FileStamp, StampField};
pub use tensoracle_mapping::Read;
pub use used::UsedWeights;
pub use view::WeightTensor;
pub use view_fault::ViewFault;
pub use weights::{Weights, WeightsOptions};
