//! Everything that can go wrong between a path and a tensor's elements.

use crate::convert::ConvertFault;
use crate::element::Element;
use crate::header::HeaderFault;
use crate::index::IndexFault;
use crate::stamp::StampField;
use crate::text::{Dims, Name, Names};
use crate::view_fault::ViewFault;
use std::io;
use std::path::PathBuf;

/// An error about weights. The message names what it is about, what was expected and what was
/// found; what to do is told by [`hint`](Self::hint).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// A file could not be opened, measured, mapped or read.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
    /// A folder without weights in it, or something that is no file at all.
    #[error("{}: not a file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A folder that holds neither an index nor a `model.safetensors`.
    #[error("{}: the folder holds no `model.safetensors` and no index of shards", path.display())]
    NoWeightsInFolder {
        /// The folder.
        path: PathBuf,
    },
    /// No file was given.
    #[error("no weights file was given")]
    NoFiles,
    /// A file that is not valid safetensors.
    #[error("{}: {fault}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: HeaderFault,
    },
    /// An index of shards that does not describe the shards.
    #[error("{}: {fault}", path.display())]
    Index {
        /// The index.
        path: PathBuf,
        /// What is wrong with it.
        fault: IndexFault,
    },
    /// Two of the opened files hold a tensor of the same name.
    #[error("tensor {} stands in two files: {} and {}", Name(name), first.display(), second.display())]
    InTwoFiles {
        /// The tensor.
        name: String,
        /// The first file that holds it.
        first: PathBuf,
        /// The second.
        second: PathBuf,
    },
    /// No tensor has the name asked for.
    #[error(
        "{}: no tensor {} among {}",
        file,
        Name(name),
        counted(*count)
    )]
    NoSuchTensor {
        /// The name asked for.
        name: String,
        /// The file, or how many there are.
        file: String,
        /// How many tensors there are.
        count: usize,
        /// Up to three names that may have been meant.
        near: Vec<String>,
    },
    /// A view that the tensor's type or shape does not allow.
    #[error("{tensor}: {fault}")]
    View {
        /// The tensor that was viewed.
        tensor: String,
        /// What does not fit.
        fault: ViewFault,
    },
    /// A value that its cast cannot represent.
    #[error("tensor {} of {}: element {} {fault}", Name(name), path.display(), Dims(index))]
    Convert {
        /// The stored tensor.
        name: String,
        /// Its file.
        path: PathBuf,
        /// Where in the stored tensor the first such value stands.
        index: Vec<u64>,
        /// The value, and why it does not fit.
        fault: ConvertFault,
    },
    /// An element type that TensorRT does not have, used as a constant.
    #[error("{tensor}: TensorRT has no data type for {element}")]
    NoDataType {
        /// The tensor.
        tensor: String,
        /// Its element type.
        element: Element,
    },
    /// A buffer that is too short or too long for the elements.
    #[error("{tensor}: {expected} bytes expected for the elements, a buffer of {found} given")]
    BufferSize {
        /// The tensor.
        tensor: String,
        /// Bytes that the elements take.
        expected: u64,
        /// The buffer's length.
        found: u64,
    },
    /// Memory for a tensor could not be had.
    #[error("{tensor}: no memory for {bytes} bytes")]
    OutOfMemory {
        /// The tensor.
        tensor: String,
        /// Bytes asked for.
        bytes: u64,
    },
    /// A file is no longer the one that was opened.
    #[error("{}: the file changed while it was in use: its {field} was {before} and is {after}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What differs.
        field: StampField,
        /// The value when the file was opened.
        before: String,
        /// The value now.
        after: String,
    },
    /// The caller asked to stop.
    #[error("hashing the weights was cancelled")]
    Cancelled,
}

fn counted(count: usize) -> String {
    match count {
        1 => "1 tensor".to_owned(),
        count => format!("{count} tensors"),
    }
}

impl WeightsError {
    /// What to do about it, where there is something to do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Header { fault, .. } => fault.hint(),
            Self::Index { fault, .. } => fault.hint(),
            Self::View { fault, .. } => fault.hint(),
            Self::Convert { fault, .. } => fault.hint(),
            Self::NoSuchTensor { near, .. } if !near.is_empty() => {
                Some(format!("near names: {}", Names(near)))
            }
            Self::NoDataType { element, .. } => Some(match element.nearest_supported() {
                Some(other) => format!("cast it: `.cast(Element::{other})`"),
                None => "store the tensor with another type".to_owned(),
            }),
            Self::Changed { .. } => Some(
                "write new weights to another file and rename it into place between builds"
                    .to_owned(),
            ),
            Self::NoWeightsInFolder { .. } => Some("name the file itself".to_owned()),
            _ => None,
        }
    }
}
