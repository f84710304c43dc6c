//! PyTorch checkpoints to safetensors without torch; executes nothing.
//!
//! [`convert`] reads what `torch.save` has written since 2016: zip archives, the pickled layout
//! before them and the tar layout before that. A pickle is a program; this crate interprets the
//! opcodes that build data and gives a meaning to a closed list of globals (tensors, storages,
//! element types, ordered dictionaries). Whatever else a pickle names becomes an inert value,
//! which is refused, or left out on request, with its path and name. Files are untrusted: sizes
//! are checked against the file before anything is allocated, and everything but tensor data has
//! to fit a budget.
//!
//! ```no_run
//! use std::path::Path;
//! use tensoracle_checkpoint::{Options, convert};
//! use tensoracle_progress::Silent;
//!
//! let summary = convert(
//!     Path::new("model.pth"),
//!     Path::new("model.safetensors"),
//!     &Options::default(),
//!     &Silent,
//! )?;
//! println!("{} tensors", summary.tensors);
//! # Ok::<(), tensoracle_checkpoint::Error>(())
//! ```
//!
//! What is left out: reading safetensors, and loading tensors into memory.

#![forbid(unsafe_code)]

mod budget;
mod bytes;
mod container;
mod convert;
mod dtype;
mod entry;
mod error;
mod flatten;
#[doc(hidden)]
pub mod fuzzing;
mod options;
mod output;
mod pickle;
mod refusal;
mod source;
mod survey;

pub use convert::{Listing, Summary, TensorInfo, convert, inspect};
pub use dtype::Dtype;
pub use error::{Error, Problem};
pub use options::{CastTo, Options};
pub use refusal::{Entry, Kind, Refusal};
