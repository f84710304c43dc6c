//! The header of a safetensors file: read whole, and every fault told apart.
//!
//! What is left out: files (`file`), and the bytes of tensors, which are never looked at.

use crate::element::Element;
use crate::signature::FileKind;
use crate::text::{Dims, Name};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// Bytes before the header: its length, a little-endian 64-bit integer.
const LENGTH_BYTES: u64 = 8;

/// The longest header the format allows.
const HEADER_LIMIT: u64 = 100_000_000;

/// The header's entry that is no tensor.
const METADATA_KEY: &str = "__metadata__";

/// What a valid safetensors file says it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    metadata: BTreeMap<String, String>,
    /// In the order of their names.
    tensors: Vec<StoredTensor>,
}

/// A tensor as its file stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTensor {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub element: Element,
    /// Its shape; empty for a scalar.
    pub dims: Vec<u64>,
    /// Where its bytes lie, from the beginning of the file.
    pub range: Range<usize>,
}

/// What is wrong with a file that should be safetensors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderFault {
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The file is of another kind.
    #[error("the file is {0}, not safetensors")]
    OtherKind(FileKind),
    /// The header's length is zero: what a file looks like whose space was reserved and never
    /// written.
    #[error("the header has no bytes")]
    NoHeader,
    /// The header is longer than the format allows.
    #[error("the header should have {found} bytes, more than the format's limit of {limit}")]
    HeaderTooLong {
        /// The header's length according to the file.
        found: u64,
        /// The longest header allowed.
        limit: u64,
    },
    /// The file ends inside its header.
    #[error("the file ends inside its header: {expected} bytes expected, {found} found")]
    HeaderTruncated {
        /// Bytes up to the end of the header.
        expected: u64,
        /// The file's size.
        found: u64,
    },
    /// The file ends before its last tensor does.
    #[error("the file is shorter than its header says: {expected} bytes expected, {found} found")]
    Truncated {
        /// The size that the header implies.
        expected: u64,
        /// The file's size.
        found: u64,
    },
    /// The file goes on after its last tensor.
    #[error("the file is longer than its header says: {expected} bytes expected, {found} found")]
    TrailingBytes {
        /// The size that the header implies.
        expected: u64,
        /// The file's size.
        found: u64,
    },
    /// The header is not UTF-8.
    #[error("the header is not UTF-8 from byte {offset} on")]
    NotUtf8 {
        /// The first wrong byte, from the beginning of the file.
        offset: u64,
    },
    /// The header is not the JSON that the format asks for.
    #[error("the header is not valid: {message}")]
    InvalidJson {
        /// What the JSON reader found, with line and column.
        message: String,
    },
    /// Two entries have one name; readers differ in which of them they take.
    #[error("{} stands twice in the header", Name(name))]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A data type that the format does not have.
    #[error("tensor {} has the unknown dtype {}", Name(name), Name(dtype))]
    UnknownElement {
        /// The tensor's name.
        name: String,
        /// The dtype's name in the header.
        dtype: String,
    },
    /// A shape whose size exceeds 64 bits.
    #[error(
        "tensor {} of {element} {} has more bytes than can be counted",
        Name(name),
        Dims(dims)
    )]
    TooManyElements {
        /// The tensor's name.
        name: String,
        /// Its element type.
        element: Element,
        /// Its shape.
        dims: Vec<u64>,
    },
    /// Elements of less than a byte that do not fill their last byte.
    #[error(
        "tensor {} of {element} {} does not fill whole bytes",
        Name(name),
        Dims(dims)
    )]
    PartialByte {
        /// The tensor's name.
        name: String,
        /// Its element type.
        element: Element,
        /// Its shape.
        dims: Vec<u64>,
    },
    /// A tensor ends before it begins.
    #[error(
        "tensor {} begins at data offset {begin} and ends before it, at {end}",
        Name(name)
    )]
    Reversed {
        /// The tensor's name.
        name: String,
        /// Where it begins, from the beginning of the data.
        begin: u64,
        /// Where it ends.
        end: u64,
    },
    /// A tensor has more or fewer bytes than its type and shape ask for.
    #[error(
        "tensor {} of {element} {} takes {expected} bytes, but its data offsets span {found}",
        Name(name),
        Dims(dims)
    )]
    SizeMismatch {
        /// The tensor's name.
        name: String,
        /// Its element type.
        element: Element,
        /// Its shape.
        dims: Vec<u64>,
        /// Bytes that type and shape ask for.
        expected: u64,
        /// Bytes that the offsets span.
        found: u64,
    },
    /// Two tensors share bytes.
    #[error(
        "tensor {} begins at data offset {begin}, inside {}, which ends at {end}",
        Name(name),
        Name(previous)
    )]
    Overlap {
        /// The later tensor's name.
        name: String,
        /// Where it begins.
        begin: u64,
        /// The earlier tensor's name.
        previous: String,
        /// Where that one ends.
        end: u64,
    },
    /// Bytes that belong to no tensor.
    #[error(
        "tensor {} begins at data offset {begin}, but the data before it ends at {end}",
        Name(name)
    )]
    Gap {
        /// The name of the tensor after the gap.
        name: String,
        /// Where it begins.
        begin: u64,
        /// Where the data before it ends.
        end: u64,
    },
}

impl HeaderFault {
    /// What to do about it, where there is something to do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::OtherKind(kind) => Some(kind.hint().to_owned()),
            Self::Empty
            | Self::NoHeader
            | Self::HeaderTruncated { .. }
            | Self::Truncated { .. } => Some(
                "the file may still be written or downloaded; if not, fetch it again".to_owned(),
            ),
            Self::UnknownElement { .. } => {
                let known: Vec<&str> = Element::ALL.iter().map(|element| element.name()).collect();
                Some(format!("known are {}", known.join(", ")))
            }
            Self::HeaderTooLong { .. } | Self::NotUtf8 { .. } | Self::InvalidJson { .. } => {
                Some("the file may be no safetensors file, or a damaged one".to_owned())
            }
            _ => Some("write the file again with the tool that made it".to_owned()),
        }
    }
}

impl Header {
    /// Reads and checks the header of a whole file's bytes.
    ///
    /// # Errors
    /// The first fault found.
    pub fn parse(file: &[u8]) -> Result<Self, HeaderFault> {
        Self::parse_safetensors(file).map_err(|fault| match fault {
            // Any bytes may begin a safetensors file, so other kinds are looked for only in a
            // file that has no header to read.
            HeaderFault::HeaderTooLong { .. }
            | HeaderFault::HeaderTruncated { .. }
            | HeaderFault::NotUtf8 { .. }
            | HeaderFault::InvalidJson { .. } => {
                FileKind::recognise(file).map_or(fault, HeaderFault::OtherKind)
            }
            _ => fault,
        })
    }

    fn parse_safetensors(file: &[u8]) -> Result<Self, HeaderFault> {
        let size = file.len() as u64;
        let Some((length, rest)) = file.split_first_chunk() else {
            return Err(match size {
                0 => HeaderFault::Empty,
                found => HeaderFault::HeaderTruncated {
                    expected: LENGTH_BYTES,
                    found,
                },
            });
        };
        let length = u64::from_le_bytes(*length);
        if length == 0 {
            return Err(HeaderFault::NoHeader);
        }
        if length > HEADER_LIMIT {
            return Err(HeaderFault::HeaderTooLong {
                found: length,
                limit: HEADER_LIMIT,
            });
        }
        let data_start = LENGTH_BYTES + length;
        let Some(json) = rest.get(..length as usize) else {
            return Err(HeaderFault::HeaderTruncated {
                expected: data_start,
                found: size,
            });
        };
        let json = str::from_utf8(json).map_err(|error| HeaderFault::NotUtf8 {
            offset: LENGTH_BYTES + error.valid_up_to() as u64,
        })?;
        let entries: Entries =
            serde_json::from_str(json).map_err(|error| HeaderFault::InvalidJson {
                message: error.to_string(),
            })?;

        if let Some(name) = entries.duplicate {
            return Err(HeaderFault::DuplicateName { name });
        }

        let mut tensors = Vec::with_capacity(entries.tensors.len());
        for (name, entry) in entries.tensors {
            tensors.push(CheckedEntry::new(name, entry)?);
        }
        let expected = data_start.saturating_add(check_coverage(&tensors)?);
        if size < expected {
            return Err(HeaderFault::Truncated {
                expected,
                found: size,
            });
        }
        if size > expected {
            return Err(HeaderFault::TrailingBytes {
                expected,
                found: size,
            });
        }
        // All offsets are now known to lie within the file, and so within the address space.
        let tensors = tensors
            .into_iter()
            .map(
                |CheckedEntry {
                     name,
                     element,
                     dims,
                     data,
                 }| StoredTensor {
                    name,
                    element,
                    dims,
                    range: (data_start + data.start) as usize..(data_start + data.end) as usize,
                },
            )
            .collect();
        Ok(Self {
            metadata: entries.metadata.unwrap_or_default(),
            tensors,
        })
    }

    /// The tensors, in the order of their names.
    #[must_use]
    pub fn tensors(&self) -> &[StoredTensor] {
        &self.tensors
    }

    /// Where a tensor stands among [`Self::tensors`].
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.tensors
            .binary_search_by(|tensor| tensor.name.as_str().cmp(name))
            .ok()
    }

    /// The free-form text that the file carries (`__metadata__`).
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }
}

/// An entry whose type, shape and length agree. `data` counts from the beginning of the data.
struct CheckedEntry {
    name: String,
    element: Element,
    dims: Vec<u64>,
    data: Range<u64>,
}

impl CheckedEntry {
    fn new(name: String, entry: Entry) -> Result<Self, HeaderFault> {
        let Entry {
            dtype,
            shape: dims,
            data_offsets: (begin, end),
        } = entry;
        let Some(element) = Element::from_name(&dtype) else {
            return Err(HeaderFault::UnknownElement { name, dtype });
        };
        // The reference multiplies in this order too, so that `[huge, huge, 0]` overflows there
        // and here.
        let bits = dims
            .iter()
            .try_fold(1, |product: u64, &dim| product.checked_mul(dim))
            .and_then(|elements| elements.checked_mul(element.bits()));
        let Some(bits) = bits else {
            return Err(HeaderFault::TooManyElements {
                name,
                element,
                dims,
            });
        };
        if bits % 8 != 0 {
            return Err(HeaderFault::PartialByte {
                name,
                element,
                dims,
            });
        }
        let Some(found) = end.checked_sub(begin) else {
            return Err(HeaderFault::Reversed { name, begin, end });
        };
        let expected = bits / 8;
        if found != expected {
            return Err(HeaderFault::SizeMismatch {
                name,
                element,
                dims,
                expected,
                found,
            });
        }
        Ok(Self {
            name,
            element,
            dims,
            data: begin..end,
        })
    }
}

/// Checks that the tensors lie one after another without gaps, and answers their bytes in all.
fn check_coverage(tensors: &[CheckedEntry]) -> Result<u64, HeaderFault> {
    let mut in_order: Vec<&CheckedEntry> = tensors.iter().collect();
    in_order.sort_by_key(|tensor| (tensor.data.start, tensor.data.end));
    let mut end = 0;
    let mut previous = "";
    for tensor in in_order {
        let begin = tensor.data.start;
        let name = || tensor.name.clone();
        if begin < end {
            return Err(HeaderFault::Overlap {
                name: name(),
                begin,
                previous: previous.to_owned(),
                end,
            });
        }
        if begin > end {
            return Err(HeaderFault::Gap {
                name: name(),
                begin,
                end,
            });
        }
        end = tensor.data.end;
        previous = &tensor.name;
    }
    Ok(end)
}

/// The header's JSON, whose values are still to be checked.
struct Entries {
    metadata: Option<BTreeMap<String, String>>,
    tensors: BTreeMap<String, Entry>,
    /// The first key that stands twice.
    duplicate: Option<String>,
}

/// A tensor's entry in the header's JSON.
#[derive(serde::Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object with an entry for each tensor")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut metadata = None;
                let mut tensors = BTreeMap::new();
                let mut duplicate = None;
                while let Some(key) = map.next_key::<String>()? {
                    let named = |error| A::Error::custom(format_args!("{}: {error}", Name(&key)));
                    let stood_before = if key == METADATA_KEY {
                        let text: Option<_> = map.next_value().map_err(named)?;
                        metadata.replace(text).is_some()
                    } else {
                        let entry = map.next_value().map_err(named)?;
                        tensors.insert(key.clone(), entry).is_some()
                    };
                    if stood_before && duplicate.is_none() {
                        duplicate = Some(key);
                    }
                }
                Ok(Entries {
                    metadata: metadata.flatten(),
                    tensors,
                    duplicate,
                })
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
}
