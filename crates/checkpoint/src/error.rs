//! What can go wrong, each with the thing it is about, what was expected and what was found.
//!
//! What is left out: the list of entries that a conversion refuses, in [`crate::refusal`].

use crate::refusal::Refusal;
use std::io;
use std::path::{Path, PathBuf};

/// Why a conversion did not happen. The destination is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused to open, read, write or rename.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried: "open", "write", …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// A source file cannot be converted.
    #[error("{}: {problem}", path.display())]
    InFile {
        /// The source file.
        path: PathBuf,
        /// What is wrong with it.
        problem: Problem,
    },
    /// Entries of the sources have no place in a safetensors file.
    #[error("{}: {refusal}", path.display())]
    Refused {
        /// The source file or folder.
        path: PathBuf,
        /// Every offending entry.
        refusal: Refusal,
    },
    /// A folder or an index that does not lead to checkpoints.
    #[error("{}: {problem}", path.display())]
    Sources {
        /// The folder or index file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The tensors take more room than allowed; a tensor expanded from one element to billions
    /// shows up here.
    #[error(
        "the output would take at least {needed} bytes, and the limit is {limit} bytes; \
         the largest tensor is {largest} with {largest_bytes} bytes"
    )]
    OutputTooLarge {
        /// Bytes needed; `u64::MAX` where the number does not fit.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
        /// Name of the largest tensor.
        largest: String,
        /// Its size in bytes; `u64::MAX` where the number does not fit.
        largest_bytes: u64,
    },
    /// The header of the output would be longer than readers accept.
    #[error("the safetensors header would take {found} bytes, and readers accept {limit}")]
    HeaderTooLarge {
        /// Bytes needed.
        found: u64,
        /// Bytes that readers accept.
        limit: u64,
    },
    /// The destination cannot be written as asked.
    #[error("cannot write to {}: {problem}", path.display())]
    Destination {
        /// The destination.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// The caller's [`tensoracle_progress::Progress`] asked to stop.
    #[error("the conversion was cancelled")]
    Cancelled,
}

/// What is wrong with one source file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file is something else.
    #[error("not a PyTorch checkpoint, but {found}")]
    NotACheckpoint {
        /// What it looks like.
        found: String,
    },
    /// A compiled program rather than a dictionary of tensors.
    #[error("a TorchScript archive, which holds a program and not a mapping of tensors")]
    TorchScript,
    /// The file ends before what it announces.
    #[error("the file is cut short: {missing}")]
    Truncated {
        /// What should be there.
        missing: String,
    },
    /// The zip archive contradicts itself or uses what no checkpoint uses.
    #[error("the zip archive is not valid: {problem}")]
    Archive {
        /// What is wrong.
        problem: String,
    },
    /// The tar archive or the older pickled layout contradicts itself.
    #[error("the checkpoint's layout is not valid: {problem}")]
    Layout {
        /// What is wrong.
        problem: String,
    },
    /// The pickle holds what no checkpoint holds.
    #[error("the pickle is not valid at byte {position}: {problem}")]
    Pickle {
        /// Offset of the opcode in the pickle.
        position: u64,
        /// What is wrong.
        problem: String,
    },
    /// A storage's record has another size than the pickle says.
    #[error("storage {key} should hold {expected} bytes, and its record holds {found}")]
    StorageSize {
        /// The storage's key.
        key: String,
        /// Bytes the pickle announces.
        expected: u64,
        /// Bytes the file holds.
        found: u64,
    },
    /// A tensor's storage is not in the file.
    #[error("storage {key} is not in the file")]
    StorageMissing {
        /// The storage's key.
        key: String,
    },
    /// A tensor reaches past the end of its storage.
    #[error(
        "tensor {name} of shape {shape:?} and strides {strides:?} at element {offset} reaches \
         past its storage of {elements} elements"
    )]
    TensorOutOfBounds {
        /// Name as it would stand in the output.
        name: String,
        /// Sizes of its dimensions.
        shape: Vec<u64>,
        /// Elements between neighbours along each dimension.
        strides: Vec<u64>,
        /// Its first element in the storage.
        offset: u64,
        /// Elements in the storage.
        elements: u64,
    },
    /// Objects, names and directories would take more memory than allowed.
    #[error("everything but the tensor data would take more than {limit} bytes of memory")]
    TooMuchMetadata {
        /// Bytes allowed.
        limit: u64,
    },
    /// The value to convert is not a mapping.
    #[error("{subject} should be a mapping of names to tensors; found: {found}")]
    NotAMapping {
        /// "the top level", or the selected path.
        subject: String,
        /// Its type.
        found: String,
    },
    /// No mapping has the selected path.
    #[error(
        "there is no {path}; mappings with tensors below the top level: {}",
        list(available)
    )]
    SelectionMissing {
        /// The path asked for.
        path: String,
        /// Paths of mappings that hold tensors.
        available: Vec<String>,
    },
    /// Keys with dots in them give the selected path two meanings.
    #[error("{path} names more than one entry")]
    SelectionAmbiguous {
        /// The path asked for.
        path: String,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    }
}

impl Problem {
    pub(crate) fn archive(problem: impl Into<String>) -> Self {
        Self::Archive {
            problem: problem.into(),
        }
    }

    pub(crate) fn layout(problem: impl Into<String>) -> Self {
        Self::Layout {
            problem: problem.into(),
        }
    }

    pub(crate) fn truncated(missing: impl Into<String>) -> Self {
        Self::Truncated {
            missing: missing.into(),
        }
    }

    pub(crate) fn in_file(self, path: &Path) -> Error {
        Error::InFile {
            path: path.to_owned(),
            problem: self,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotACheckpoint { found } if found.contains("Git LFS") => {
                "fetch the file itself with `git lfs pull`".into()
            }
            Self::NotACheckpoint { found } if found.contains("safetensors") => {
                "it needs no conversion".into()
            }
            Self::NotACheckpoint { found } if found.contains("HTML") => {
                "a download answered with a web page; fetch the file again".into()
            }
            Self::TorchScript => {
                "load it with torch.jit.load and save its state_dict() with torch.save".into()
            }
            Self::Truncated { .. } => "download or copy the file again".into(),
            Self::TooMuchMetadata { .. } => {
                "if you trust the file, raise the limit with --max-metadata".into()
            }
            Self::NotAMapping { found, .. } if found.contains("object of") => {
                "a whole module was saved; save its state_dict() instead".into()
            }
            Self::NotAMapping { .. } => {
                "save a dictionary of tensors, such as a module's state_dict()".into()
            }
            _ => return None,
        })
    }
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// What to try, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::InFile { problem, .. } => problem.hint(),
            Self::Refused { refusal, .. } => refusal.hint(),
            Self::OutputTooLarge { .. } => Some(
                "if the size is right, raise the limit with --max-output; a tensor much larger \
                 than the file is one element repeated"
                    .into(),
            ),
            _ => None,
        }
    }
}
