//! The pickled layout of torch 0.1.10 to 1.5, which later versions still write on request: a magic
//! number, a protocol number, facts of the writing system, the object, and the keys of storages,
//! each a pickle of its own; then the storages, each behind its number of elements.
//!
//! Storages are little-endian whatever the writing system. What is left out: tar archives, in
//! [`super::tar`].

use super::{Location, Storages, storage_of_id};
use crate::bytes::{i64_at, slice_at};
use crate::error::Problem;
use crate::pickle::heap::INDEXED;
use crate::pickle::machine::NoPersistent;
use crate::pickle::value::{Key, Root};
use crate::pickle::{Heap, Persistent, Value, run};
use std::collections::HashMap;
use std::ops::Range;

/// `torch.serialization.MAGIC_NUMBER`, 0x1950a86a20f9469cfc6c, as a pickle holds it.
const MAGIC: [u8; 10] = [0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];

/// `torch.serialization.PROTOCOL_VERSION`.
const PROTOCOL: i64 = 1001;

/// Where each storage lies in the file.
#[derive(Debug, Default)]
pub(crate) struct StorageRanges<'p> {
    pub(super) by_key: HashMap<Key<'p>, Range<usize>>,
}

impl Storages for StorageRanges<'_> {
    fn locate(&self, root: Root<'_>) -> Result<Location, Problem> {
        match self.by_key.get(&root.key) {
            Some(range) => Ok(Location::Stored(range.clone())),
            None => Err(Problem::StorageMissing {
                key: root.key.to_string(),
            }),
        }
    }
}

impl<'p> StorageRanges<'p> {
    /// Reads the storage at `at`, a number of elements and so many elements; the offset after it.
    pub(super) fn read(
        &mut self,
        heap: &mut Heap<'p>,
        bytes: &[u8],
        at: usize,
        root: Root<'p>,
    ) -> Result<usize, Problem> {
        let key = root.key;
        let missing = |what: &str| Problem::truncated(format!("storage {key} lacks {what}"));
        let count = i64_at(bytes, at).ok_or_else(|| missing("its size"))?;
        let found = u64::try_from(count)
            .ok()
            .and_then(|count| count.checked_mul(root.element_size))
            .ok_or_else(|| Problem::layout(format!("storage {key} has {count} elements")))?;
        if found != root.len {
            return Err(Problem::StorageSize {
                key: key.to_string(),
                expected: root.len,
                found,
            });
        }
        let start = at + 8;
        let len = usize::try_from(found).map_err(|_| missing("its last bytes"))?;
        slice_at(bytes, start, len).ok_or_else(|| missing("its last bytes"))?;
        heap.budget.take_many::<(Key<'_>, Range<usize>)>(INDEXED)?;
        if self.by_key.insert(key, start..start + len).is_some() {
            return Err(Problem::layout(format!("storage {key} stands twice")));
        }
        Ok(start + len)
    }
}

/// Persistent ids of the pickled layout: storages, and classes with their source code.
struct Ids;

impl<'p> Persistent<'p> for Ids {
    fn load(
        &mut self,
        heap: &mut Heap<'p>,
        id: Value<'p>,
    ) -> Result<Result<Value<'p>, String>, Problem> {
        let Value::Tuple(items) = id else {
            return Ok(Err("a persistent id that is not a tuple".into()));
        };
        match *heap.tuple(items) {
            // The class stands for itself; its source is not looked at.
            [Value::Text("module"), class, _file, _source] => Ok(Ok(class)),
            [_, _, _, _, _, _] => storage_of_id(heap, items),
            _ => Ok(Err(
                "a persistent id that does not describe a storage".into()
            )),
        }
    }
}

/// Runs all pickles and finds the storages.
pub(crate) fn load<'p>(
    heap: &mut Heap<'p>,
    bytes: &'p [u8],
) -> Result<(Value<'p>, StorageRanges<'p>), Problem> {
    let (magic, next) = run(heap, bytes, 0, &mut NoPersistent)?;
    if magic != Value::BigInt(&MAGIC) {
        return Err(not_torch(heap));
    }
    let (protocol, next) = run(heap, bytes, next, &mut NoPersistent)?;
    if protocol != Value::Int(PROTOCOL) {
        return Err(Problem::layout(format!(
            "its protocol is {}, and {PROTOCOL} is known",
            match protocol {
                Value::Int(number) => number.to_string(),
                other => format!("a {}", heap.type_name(other)),
            }
        )));
    }
    let (_system, next) = run(heap, bytes, next, &mut NoPersistent)?;
    let (object, next) = run(heap, bytes, next, &mut Ids)?;
    let (keys, mut next) = run(heap, bytes, next, &mut NoPersistent)?;
    let Value::List(keys) = keys else {
        return Err(Problem::layout(format!(
            "its list of storages is a {}",
            heap.type_name(keys)
        )));
    };
    let mut ranges = StorageRanges::default();
    for at in 0..heap.list(keys).len() {
        let root = Key::of(heap.list(keys)[at]).and_then(|key| heap.root_of(key));
        let Some(root) = root else {
            return Err(Problem::layout(
                "its list of storages names one that no tensor uses",
            ));
        };
        let root = heap.root(root);
        next = ranges.read(heap, bytes, next, root)?;
    }
    Ok((object, ranges))
}

/// A pickle that is not torch's, with the first global it names that is not on the closed list.
fn not_torch(heap: &Heap<'_>) -> Problem {
    let global = heap.unknown_globals().next();
    Problem::NotACheckpoint {
        found: match global {
            Some(id) => format!("a bare pickle that names {}", heap.global(id)),
            None => "a bare pickle".into(),
        },
    }
}
