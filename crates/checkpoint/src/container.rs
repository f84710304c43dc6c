//! The three layouts that torch has written, and telling them apart.
//!
//! What is left out: which of the values found are converted, in [`crate::flatten`].

pub(crate) mod inflate;
pub(crate) mod legacy;
pub(crate) mod tar;
pub(crate) mod torch_zip;
pub(crate) mod zip;

use crate::bytes::slice_at;
use crate::error::Problem;
use crate::pickle::value::{Root, Span};
use crate::pickle::{Heap, Value};
use inflate::Deflated;
use std::ops::Range;

/// Where the bytes of a storage lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// In the file, as they are.
    Stored(Range<usize>),
    /// In the file, compressed.
    Deflated(Deflated),
}

/// Finds the bytes of storages.
pub(crate) trait Storages {
    /// Where the bytes of `root` lie, checked to be as many as the pickle says.
    fn locate(&self, root: Root<'_>) -> Result<Location, Problem>;

    /// Whether elements are stored with their highest byte first.
    fn is_big_endian(&self) -> bool {
        false
    }
}

/// A checkpoint's layout, as its first bytes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// A zip archive: torch 1.6 and later.
    Zip,
    /// Pickles followed by storages: torch 0.1.10 to 1.5.
    Legacy,
    /// A tar archive: torch before 0.1.10.
    Tar,
}

/// Tells the layout of a file, or what the file is instead.
pub(crate) fn layout(bytes: &[u8]) -> Result<Layout, Problem> {
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        Ok(Layout::Zip)
    } else if tar::is_tar(bytes) {
        Ok(Layout::Tar)
    } else if bytes.starts_with(b"\x80") {
        Ok(Layout::Legacy)
    } else {
        Err(Problem::NotACheckpoint {
            found: describe(bytes).into(),
        })
    }
}

/// What a file that is no checkpoint looks like.
fn describe(bytes: &[u8]) -> &'static str {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    if bytes.is_empty() {
        "an empty file"
    } else if starts(b"version https://git-lfs") {
        "a Git LFS pointer: the file itself was not fetched"
    } else if starts(b"\x89HDF\r\n") {
        "an HDF5 file"
    } else if starts(b"GGUF") {
        "a GGUF file"
    } else if starts(b"\x93NUMPY") {
        "a NumPy array"
    } else if starts(b"\x1f\x8b") {
        "a gzip-compressed file"
    } else if slice_at(bytes, 8, 2) == Some(b"{\"") {
        "a safetensors file"
    } else if is_html(bytes) {
        "an HTML page"
    } else if bytes.iter().all(|byte| *byte == 0) {
        "a file of zeros"
    } else {
        "a file of an unknown format"
    }
}

fn is_html(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    [&b"<!doctype"[..], b"<html"]
        .iter()
        .any(|tag| slice_at(start, 0, tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag)))
}

/// The view of a storage that a persistent id of the zip and pickled layouts describes:
/// `("storage", class, key, device, elements)`, and in the pickled layout a sixth item, which is
/// none or `(key, first element, elements)` of a view.
pub(crate) fn storage_of_id<'p>(
    heap: &mut Heap<'p>,
    items: Span,
) -> Result<Result<Value<'p>, String>, Problem> {
    use crate::pickle::global::Known;
    use crate::pickle::value::Key;

    let (class, key, count, view) = match *heap.tuple(items) {
        [Value::Text("storage"), class, key, _device, count] => (class, key, count, Value::None),
        [Value::Text("storage"), class, key, _device, count, view] => (class, key, count, view),
        _ => {
            return Ok(Err(
                "a persistent id that does not describe a storage".into()
            ));
        }
    };
    let element = match class {
        Value::Global(id) => match heap.known(id) {
            Some(Known::StorageClass(element)) => element,
            _ => return Ok(Err(format!("{} is not a storage class", heap.global(id)))),
        },
        other => {
            return Ok(Err(format!(
                "a storage class that is a {}",
                heap.type_name(other)
            )));
        }
    };
    let (Some(key), Some(count)) = (Key::of(key), count_of(count)) else {
        return Ok(Err("a storage without a key or a size".into()));
    };
    let root = match heap.declare_root(key, element, count)? {
        Ok(root) => root,
        Err(problem) => return Ok(Err(problem)),
    };
    let (start, len) = match view {
        Value::None => (0, heap.root(root).len),
        Value::Tuple(view) => {
            let [_key, first, count] = *heap.tuple(view) else {
                return Ok(Err(
                    "a storage view that is not a key and two numbers".into()
                ));
            };
            let bytes = |value| count_of(value)?.checked_mul(element.size);
            match (bytes(first), bytes(count)) {
                (Some(start), Some(len)) => (start, len),
                _ => return Ok(Err("a storage view without a start or a size".into())),
            }
        }
        other => {
            return Ok(Err(format!(
                "a storage view that is a {}",
                heap.type_name(other)
            )));
        }
    };
    Ok(heap
        .new_storage(root, element, start, len)?
        .ok_or_else(|| format!("a view that reaches past storage {key}")))
}

/// A number of elements: an integer from 0.
pub(crate) fn count_of(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Int(count) => u64::try_from(count).ok(),
        _ => None,
    }
}
