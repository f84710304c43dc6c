//! Tensors in files: `.npy`, `.npz`, `.safetensors` and raw dumps, read and written.
//!
//! Files are mapped, so a tensor larger than memory can be read. Bytes are copied only where the
//! file does not hold them as row-major little-endian elements: a deflated `.npz` member, a
//! big-endian or a column-major array goes through a buffer that moves to an unnamed temporary
//! file once it is large. What is left out: conversion between element types, and any meaning of
//! the names.
//!
//! Files are not trusted: a damaged or hostile one is answered with a [`TensorFileError`]. While a
//! [`TensorFile`] lives, nobody may change its file in place; see `tensoracle_mapping`.

#![forbid(unsafe_code)]

mod error;
mod npy;
mod npz;
mod rearrange;
mod safe;
mod write;

pub use error::{Format, TensorFileError};
pub use tensoracle_element::{Element, Kind, UnknownElement};
pub use write::{TensorData, write};

use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tensoracle_mapping::{FileBytes, Read};

/// How much a file may make the reader hold that is not mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes that one tensor may take once inflated or rearranged.
    pub unpacked_bytes: u64,
    /// Unpacked tensors up to this size are held in memory, larger ones in a temporary file.
    pub memory_bytes: usize,
}

impl Default for Limits {
    /// 64 GiB unpacked, of which 64 MiB in memory.
    fn default() -> Self {
        Self {
            unpacked_bytes: 64 << 30,
            memory_bytes: 64 << 20,
        }
    }
}

/// An open file of named tensors.
#[derive(Debug)]
pub struct TensorFile {
    path: PathBuf,
    bytes: SharedBytes,
    format: Format,
    limits: Limits,
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
    archive: Option<npz::Archive>,
}

/// What a file says about one of its tensors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    name: String,
    element: Result<Element, String>,
    dims: Vec<u64>,
    place: Place,
}

/// Where a tensor's bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// In the file as they are wanted.
    Direct(Range<usize>),
    /// In the file, but in another order.
    Rearranged {
        range: Range<usize>,
        order: npy::Order,
    },
    /// In the compressed archive member of this index, the first `skip` bytes being its header.
    Deflated {
        member: usize,
        skip: usize,
        order: npy::Order,
    },
}

impl Entry {
    /// The tensor's name; a `.npy` or raw file's only tensor has the file's name without its
    /// extension.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of its elements, or the file's own name of a type that has no [`Element`].
    ///
    /// # Errors
    /// The file's name for a type that cannot be read.
    pub fn element(&self) -> Result<Element, &str> {
        self.element.as_ref().copied().map_err(String::as_str)
    }

    /// Its extents, outermost first; empty for a scalar.
    #[must_use]
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }
}

/// One tensor, row-major and little-endian.
#[derive(Debug)]
pub struct Tensor<'a> {
    /// Its name in the file.
    pub name: &'a str,
    /// The type of its elements.
    pub element: Element,
    /// Its extents, outermost first; empty for a scalar.
    pub dims: &'a [u64],
    /// Its elements; exactly as many bytes as `element` and `dims` say, at any alignment.
    pub bytes: Bytes<'a>,
}

/// A tensor's bytes, wherever they live.
pub struct Bytes<'a>(Held<'a>);

enum Held<'a> {
    Mapped(&'a [u8]),
    Memory(Vec<u8>),
    Temporary(FileBytes),
}

impl Bytes<'_> {
    /// Whether the bytes are the opened file's own, neither copied nor inflated.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        matches!(self.0, Held::Mapped(_))
    }
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Held::Mapped(bytes) => bytes,
            Held::Memory(bytes) => bytes,
            Held::Temporary(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Bytes<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "Bytes({}, direct: {})",
            self.len(),
            self.is_direct()
        )
    }
}

/// The whole file's bytes, shared with the archive reader.
#[derive(Debug, Clone)]
struct SharedBytes(Arc<FileBytes>);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl TensorFile {
    /// Opens a `.npy`, `.npz` or `.safetensors` file, told apart by their contents, with the
    /// default limits.
    ///
    /// ```
    /// use tensoracle_tensorfile::{Element, TensorData, TensorFile, write};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("logits.npy");
    /// let bytes: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    /// write(&path, &[TensorData { name: "logits", element: Element::F32, dims: &[2], bytes: &bytes }])?;
    ///
    /// let file = TensorFile::open(&path)?;
    /// let tensor = file.tensor("logits")?;
    /// assert_eq!((tensor.element, tensor.dims), (Element::F32, &[2][..]));
    /// assert_eq!(&*tensor.bytes, bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A file that cannot be opened, is of none of these formats, or is damaged.
    pub fn open(path: &Path) -> Result<Self, TensorFileError> {
        Self::open_with(path, Read::Mapped, Limits::default())
    }

    /// Opens a file as [`open`](Self::open) does, saying how it is read and what it may take.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(path: &Path, read: Read, limits: Limits) -> Result<Self, TensorFileError> {
        let bytes = open_bytes(path, read)?;
        let Some(format) = Format::of_contents(bytes.as_ref()) else {
            return Err(TensorFileError::UnknownFormat {
                path: path.to_owned(),
            });
        };
        let damaged = |reason| TensorFileError::Damaged {
            path: path.to_owned(),
            format,
            reason,
        };
        let mut archive = None;
        let entries = match format {
            Format::Npy => vec![npy::entry(bytes.as_ref(), stem(path)).map_err(damaged)?],
            Format::Npz => {
                let opened = npz::Archive::open(bytes.clone()).map_err(damaged)?;
                let entries = opened.entries().map_err(damaged)?;
                archive = Some(opened);
                entries
            }
            Format::Safetensors => safe::entries(bytes.as_ref()).map_err(damaged)?,
            Format::Raw => {
                return Err(TensorFileError::UnknownFormat {
                    path: path.to_owned(),
                });
            }
        };
        let mut by_name = HashMap::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            if by_name.insert(entry.name.clone(), index).is_some() {
                return Err(damaged(format!("two tensors are named `{}`", entry.name)));
            }
        }
        let path = path.to_owned();
        Ok(Self {
            path,
            bytes,
            format,
            limits,
            entries,
            by_name,
            archive,
        })
    }

    /// Opens a file that holds nothing but one tensor's elements, row-major and little-endian.
    /// Without `dims` it is one-dimensional and as long as the file.
    ///
    /// # Errors
    /// A file that cannot be opened or whose size is not what `element` and `dims` say.
    pub fn open_raw(
        path: &Path,
        element: Element,
        dims: Option<&[u64]>,
    ) -> Result<Self, TensorFileError> {
        let bytes = open_bytes(path, Read::Mapped)?;
        let found = bytes.as_ref().len() as u64;
        let dims = dims.map_or_else(|| vec![found / element.size() as u64], <[u64]>::to_vec);
        let expected = element.bytes_for(&dims);
        if expected != Some(found) {
            return Err(TensorFileError::RawSize {
                path: path.to_owned(),
                element,
                dims,
                expected,
                found,
            });
        }
        let name = stem(path);
        Ok(Self {
            path: path.to_owned(),
            format: Format::Raw,
            limits: Limits::default(),
            by_name: HashMap::from([(name.clone(), 0)]),
            entries: vec![Entry {
                name,
                element: Ok(element),
                dims,
                place: Place::Direct(0..bytes.as_ref().len()),
            }],
            bytes,
            archive: None,
        })
    }

    /// The path the file was opened at.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What kind of file it is.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// What the file holds, in its own order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What the file says about the tensor of this name.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.by_name.get(name).map(|&index| &self.entries[index])
    }

    /// The tensor of this name. Inflates or rearranges it where the file holds it otherwise.
    ///
    /// # Errors
    /// No such tensor, an element type that has no [`Element`], a tensor beyond the limits, a
    /// damaged archive member, or a temporary file that cannot be written.
    pub fn tensor(&self, name: &str) -> Result<Tensor<'_>, TensorFileError> {
        let entry = self.entry(name).ok_or_else(|| TensorFileError::NoTensor {
            path: self.path.clone(),
            name: name.to_owned(),
        })?;
        let element =
            entry
                .element
                .clone()
                .map_err(|found| TensorFileError::UnsupportedElement {
                    path: self.path.clone(),
                    name: name.into(),
                    found,
                })?;
        let bytes = Bytes(self.hold(entry, element)?);
        Ok(Tensor {
            name: &entry.name,
            element,
            dims: &entry.dims,
            bytes,
        })
    }

    fn hold(&self, entry: &Entry, element: Element) -> Result<Held<'_>, TensorFileError> {
        let file = self.bytes.as_ref();
        let too_large = |needed| TensorFileError::TooLarge {
            path: self.path.clone(),
            name: entry.name.clone(),
            needed,
            limit: self.limits.unpacked_bytes,
        };
        let needed = match &entry.place {
            Place::Direct(range) => return Ok(Held::Mapped(&file[range.clone()])),
            Place::Rearranged { range, .. } => range.len() as u64,
            Place::Deflated { .. } => element.bytes_for(&entry.dims).unwrap_or(u64::MAX),
        };
        if needed > self.limits.unpacked_bytes {
            return Err(too_large(needed));
        }
        let unpack = |source| TensorFileError::Unpack {
            path: self.path.clone(),
            name: entry.name.clone(),
            source,
        };
        let rearrange = |bytes: &[u8], order| {
            rearrange::row_major_little_endian(bytes, element, &entry.dims, order, self.limits)
                .map_err(unpack)
        };
        match &entry.place {
            Place::Direct(range) => Ok(Held::Mapped(&file[range.clone()])),
            Place::Rearranged { range, order } => rearrange(&file[range.clone()], *order),
            Place::Deflated {
                member,
                skip,
                order,
            } => {
                let Some(archive) = &self.archive else {
                    unreachable!("only an archive has deflated members");
                };
                let held = archive
                    .inflate(*member, *skip, needed, self.limits)
                    .map_err(unpack)?;
                if order.is_direct(&entry.dims, element) {
                    return Ok(held);
                }
                let inflated = Bytes(held);
                rearrange(&inflated, *order)
            }
        }
    }
}

fn open_bytes(path: &Path, read: Read) -> Result<SharedBytes, TensorFileError> {
    FileBytes::open(path, read)
        .map(|bytes| SharedBytes(Arc::new(bytes)))
        .map_err(|source| TensorFileError::Open {
            path: path.to_owned(),
            source,
        })
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
