//! What can go wrong with a file of tensors, and the formats there are.

use crate::Element;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A kind of file that holds tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// One array, as `numpy.save` writes it.
    Npy,
    /// A zip archive of arrays, as `numpy.savez` and `numpy.savez_compressed` write it.
    Npz,
    /// Named tensors behind a JSON header.
    Safetensors,
    /// Elements alone.
    Raw,
}

impl Format {
    /// The format that a file's first bytes show.
    pub(crate) fn of_contents(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(crate::npy::MAGIC) {
            Some(Self::Npy)
        } else if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
            Some(Self::Npz)
        } else if bytes.get(8) == Some(&b'{') {
            Some(Self::Safetensors)
        } else {
            None
        }
    }

    /// The format that a path's extension asks for, in either case.
    #[must_use]
    pub fn of_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "npy" => Some(Self::Npy),
            "npz" => Some(Self::Npz),
            "safetensors" => Some(Self::Safetensors),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Npy => ".npy",
            Self::Npz => ".npz",
            Self::Safetensors => ".safetensors",
            Self::Raw => "raw",
        })
    }
}

/// Why a file of tensors could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TensorFileError {
    /// The file could not be opened or mapped.
    #[error("cannot open `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// The contents are of no known format.
    #[error("`{}` is neither .npy, .npz nor .safetensors", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// The contents contradict their format.
    #[error("`{}` is no sound {format} file: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The format that it was read as.
        format: Format,
        /// What is wrong.
        reason: String,
    },
    /// A raw file is not as long as its type and shape say.
    #[error(
        "`{}` holds {found} bytes; {element} of shape {dims:?} takes {}",
        path.display(),
        expected.map_or_else(|| "more than can be counted".to_owned(), |bytes| bytes.to_string())
    )]
    RawSize {
        /// The file.
        path: PathBuf,
        /// The element type asked for.
        element: Element,
        /// The shape asked for, or made from the file's size.
        dims: Vec<u64>,
        /// Bytes that they take; `None` where that overflows.
        expected: Option<u64>,
        /// Bytes in the file.
        found: u64,
    },
    /// The file has no tensor of this name.
    #[error("`{}` holds no tensor named `{name}`", path.display())]
    NoTensor {
        /// The file.
        path: PathBuf,
        /// The name asked for.
        name: String,
    },
    /// A tensor's elements are of a type that cannot be read.
    #[error("tensor `{name}` in `{}` has elements of type `{found}`", path.display())]
    UnsupportedElement {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// The file's name of the type.
        found: String,
    },
    /// A tensor would take more room unpacked than allowed.
    #[error(
        "tensor `{name}` in `{}` takes {needed} bytes unpacked; the limit is {limit}",
        path.display()
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// Bytes that it takes.
        needed: u64,
        /// Bytes that are allowed.
        limit: u64,
    },
    /// A tensor could not be inflated or rearranged.
    #[error("cannot unpack tensor `{name}` in `{}`", path.display())]
    Unpack {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// What is wrong with the archive, or with the temporary file.
        source: io::Error,
    },
    /// The path's extension names no format that can be written.
    #[error("cannot tell from `{}` which format to write", path.display())]
    UnknownExtension {
        /// The path.
        path: PathBuf,
    },
    /// A `.npy` file was to hold more or less than one tensor.
    #[error("`{}` can hold one tensor; {found} were given", path.display())]
    NotOneTensor {
        /// The path.
        path: PathBuf,
        /// How many were given.
        found: usize,
    },
    /// The format has no name for the element type.
    #[error("tensor `{name}` cannot be written to `{}`: {format} has no type {element}", path.display())]
    Unrepresentable {
        /// The path.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// Its element type.
        element: Element,
        /// The format.
        format: Format,
    },
    /// A tensor's bytes are not as many as its type and shape say.
    #[error("tensor `{name}` has {found} bytes; {element} of shape {dims:?} takes another number")]
    WrongLength {
        /// The tensor.
        name: String,
        /// Its element type.
        element: Element,
        /// Its shape.
        dims: Vec<u64>,
        /// Bytes given.
        found: usize,
    },
    /// Two tensors to be written have the same name.
    #[error("two tensors to write to `{}` are named `{name}`", path.display())]
    DuplicateName {
        /// The path.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// The file could not be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
}

impl TensorFileError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownFormat { .. } => {
                Some("give the element type and shape to read it as raw elements".to_owned())
            }
            // ml_dtypes saves bfloat16 and the 8-bit floating point types as nameless bytes.
            Self::UnsupportedElement { found, .. } if found.contains('V') => Some(
                "NumPy saves bfloat16 and float8 without their names; save as .safetensors, or \
                 cast to float32 before saving"
                    .to_owned(),
            ),
            Self::TooLarge { .. } => Some(
                "save it uncompressed, row-major and little-endian to have it mapped".to_owned(),
            ),
            Self::UnknownExtension { .. } => {
                Some("end the name in .npy, .npz or .safetensors".to_owned())
            }
            Self::NotOneTensor { .. } => {
                Some("end the name in .npz or .safetensors to write several".to_owned())
            }
            Self::Unrepresentable { .. } => Some("write to a .safetensors file".to_owned()),
            _ => None,
        }
    }
}
