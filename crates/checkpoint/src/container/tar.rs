//! The tar layout of torch before 0.1.10: members `storages`, `tensors` and `pickle`, each a
//! sequence of pickles with raw numbers between them.
//!
//! Headers are those of POSIX ustar: a name, octal sizes, a checksum. What is left out: links,
//! extended headers (skipped as members of other names), anything but the three members.

use super::count_of;
use super::legacy::StorageRanges;
use crate::bytes::{i64_at, slice_at, u32_at};
use crate::error::Problem;
use crate::pickle::global::Known;
use crate::pickle::heap::INDEXED;
use crate::pickle::machine::NoPersistent;
use crate::pickle::value::Key;
use crate::pickle::{Heap, Persistent, Value, run};
use std::collections::HashMap;
use std::ops::Range;

const BLOCK: usize = 512;

/// Dimensions that a tensor may have; torch stops here too.
const MAX_RANK: u32 = 64;

/// Whether the file starts with a tar header.
pub(crate) fn is_tar(bytes: &[u8]) -> bool {
    slice_at(bytes, 0, BLOCK).is_some_and(|header| has_checksum(header) && header[0] != 0)
}

/// Whether the header's checksum, the sum of its bytes with the checksum taken as spaces, is right.
fn has_checksum(header: &[u8]) -> bool {
    let sum: u64 = header
        .iter()
        .enumerate()
        .map(|(at, byte)| match at {
            148..156 => u64::from(b' '),
            _ => u64::from(*byte),
        })
        .sum();
    octal(&header[148..156]) == Some(sum)
}

/// An octal number that ends with a space or NUL, possibly after leading spaces.
fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(text.trim_matches([' ', '\0']), 8).ok()
}

/// Ranges of the three members.
struct Members {
    storages: Range<usize>,
    tensors: Range<usize>,
    pickle: Range<usize>,
}

fn members(bytes: &[u8]) -> Result<Members, Problem> {
    let mut found: [Option<Range<usize>>; 3] = [None, None, None];
    let names = ["storages", "tensors", "pickle"];
    let mut at = 0;
    while let Some(header) = slice_at(bytes, at, BLOCK) {
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        if !has_checksum(header) {
            return Err(Problem::layout("a tar header does not match its checksum"));
        }
        let name = header[..100].split(|byte| *byte == 0).next().unwrap_or(&[]);
        let len = octal(&header[124..136])
            .and_then(|len| usize::try_from(len).ok())
            .ok_or_else(|| Problem::layout("a tar member has no size"))?;
        let start = at + BLOCK;
        let cut = || {
            Problem::truncated(format!(
                "tar member {:?} of {len} bytes",
                String::from_utf8_lossy(name)
            ))
        };
        slice_at(bytes, start, len).ok_or_else(cut)?;
        if let Some(slot) = names.iter().position(|known| known.as_bytes() == name) {
            if found[slot].is_some() {
                return Err(Problem::layout(format!(
                    "two tar members are named {}",
                    names[slot]
                )));
            }
            found[slot] = Some(start..start + len);
        }
        at = len
            .checked_next_multiple_of(BLOCK)
            .and_then(|len| start.checked_add(len))
            .ok_or_else(cut)?;
    }
    match found {
        [Some(storages), Some(tensors), Some(pickle)] => Ok(Members {
            storages,
            tensors,
            pickle,
        }),
        [None, None, None] => Err(Problem::NotACheckpoint {
            found: "a tar archive of other files".into(),
        }),
        _ => Err(Problem::truncated(
            "the tar archive lacks one of storages, tensors and pickle",
        )),
    }
}

/// What the numbers in persistent ids stand for.
#[derive(Default)]
struct Objects<'p> {
    by_key: HashMap<i64, Value<'p>>,
}

impl<'p> Objects<'p> {
    fn insert(&mut self, heap: &mut Heap<'p>, key: i64, value: Value<'p>) -> Result<(), Problem> {
        heap.budget.take_many::<(i64, Value<'_>)>(INDEXED)?;
        if self.by_key.insert(key, value).is_some() {
            return Err(Problem::layout(format!("object {key} stands twice")));
        }
        Ok(())
    }

    fn storage(&self, key: i64) -> Result<u32, Problem> {
        match self.by_key.get(&key) {
            Some(Value::Storage(storage)) => Ok(*storage),
            _ => Err(Problem::StorageMissing {
                key: key.to_string(),
            }),
        }
    }
}

impl<'p> Persistent<'p> for Objects<'p> {
    fn load(
        &mut self,
        heap: &mut Heap<'p>,
        id: Value<'p>,
    ) -> Result<Result<Value<'p>, String>, Problem> {
        let key = match id {
            Value::Int(key) => Some(key),
            Value::Text(key) => key.parse().ok(),
            // A class with its source code.
            Value::Tuple(items) => match *heap.tuple(items) {
                [class, _file, _source] => return Ok(Ok(class)),
                _ => None,
            },
            _ => None,
        };
        Ok(match key.and_then(|key| self.by_key.get(&key)) {
            Some(value) => Ok(*value),
            None => Err("a persistent id of no tensor or storage".into()),
        })
    }
}

/// Reads the three members.
pub(crate) fn load<'p>(
    heap: &mut Heap<'p>,
    bytes: &'p [u8],
) -> Result<(Value<'p>, StorageRanges<'p>), Problem> {
    let members = members(bytes)?;
    let mut objects = Objects::default();
    let ranges = read_storages(
        heap,
        &bytes[..members.storages.end],
        members.storages.start,
        &mut objects,
    )?;
    read_tensors(
        heap,
        &bytes[..members.tensors.end],
        members.tensors.start,
        &mut objects,
    )?;
    let pickle = &bytes[..members.pickle.end];
    let (object, _) = run(heap, pickle, members.pickle.start, &mut objects)?;
    Ok((object, ranges))
}

fn read_count<'p>(
    heap: &mut Heap<'p>,
    bytes: &'p [u8],
    at: usize,
) -> Result<(u64, usize), Problem> {
    let (count, next) = run(heap, bytes, at, &mut NoPersistent)?;
    match count_of(count) {
        Some(count) => Ok((count, next)),
        None => Err(Problem::layout("a tar member does not start with a count")),
    }
}

/// The member `storages`: a count, so many storages, and a list of views.
fn read_storages<'p>(
    heap: &mut Heap<'p>,
    bytes: &'p [u8],
    start: usize,
    objects: &mut Objects<'p>,
) -> Result<StorageRanges<'p>, Problem> {
    let mut ranges = StorageRanges::default();
    let (count, mut next) = read_count(heap, bytes, start)?;
    for _ in 0..count {
        let (description, after) = run(heap, bytes, next, &mut NoPersistent)?;
        let described = match description {
            Value::Tuple(items) => match *heap.tuple(items) {
                [Value::Int(key), _device, Value::Global(class)] => match heap.known(class) {
                    Some(Known::StorageClass(element)) => Some((key, element)),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        let Some((key, element)) = described else {
            return Err(Problem::layout(
                "a storage is not described by a key, a device and a class",
            ));
        };
        let elements = i64_at(bytes, after)
            .ok_or_else(|| Problem::truncated(format!("storage {key} lacks its size")))?;
        let elements = u64::try_from(elements)
            .map_err(|_| Problem::layout(format!("storage {key} has {elements} elements")))?;
        let root = heap
            .declare_root(Key::Number(key), element, elements)?
            .map_err(Problem::layout)?;
        let whole = heap.root(root);
        next = ranges.read(heap, bytes, after, whole)?;
        if let Some(storage) = heap.new_storage(root, element, 0, whole.len)? {
            objects.insert(heap, key, storage)?;
        }
    }
    let (views, _) = run(heap, bytes, next, &mut NoPersistent)?;
    let Value::List(views) = views else {
        return Err(Problem::layout("its list of storage views is not a list"));
    };
    for at in 0..heap.list(views).len() {
        read_view(heap, heap.list(views)[at], objects)?;
    }
    Ok(ranges)
}

/// A view: its own key, its root's key, its first element and how many it has.
fn read_view<'p>(
    heap: &mut Heap<'p>,
    view: Value<'p>,
    objects: &mut Objects<'p>,
) -> Result<(), Problem> {
    let numbers = match view {
        Value::Tuple(items) => match *heap.tuple(items) {
            [Value::Int(key), Value::Int(root), first, count] => {
                Some((key, root, count_of(first), count_of(count)))
            }
            _ => None,
        },
        _ => None,
    };
    let Some((key, root, Some(first), Some(count))) = numbers else {
        return Err(Problem::layout("a storage view is not four numbers"));
    };
    let root = heap.storage(objects.storage(root)?);
    let size = root.element.size;
    let place = first
        .checked_mul(size)
        .and_then(|first| first.checked_add(root.start))
        .zip(count.checked_mul(size));
    let storage = match place {
        Some((start, len)) => heap.new_storage(root.root, root.element, start, len)?,
        None => None,
    };
    match storage {
        Some(storage) => objects.insert(heap, key, storage),
        None => Err(Problem::layout(format!(
            "storage view {key} reaches past its storage"
        ))),
    }
}

/// The member `tensors`: a count, and so many tensors: a description; the number of dimensions in
/// 4 bytes and 4 bytes of padding; sizes, strides and the offset, 8 bytes each.
fn read_tensors<'p>(
    heap: &mut Heap<'p>,
    bytes: &'p [u8],
    start: usize,
    objects: &mut Objects<'p>,
) -> Result<(), Problem> {
    let (count, mut next) = read_count(heap, bytes, start)?;
    for _ in 0..count {
        let (description, after) = run(heap, bytes, next, &mut NoPersistent)?;
        let described = match description {
            Value::Tuple(items) => match *heap.tuple(items) {
                [Value::Int(key), Value::Int(storage), _class] => Some((key, storage)),
                _ => None,
            },
            _ => None,
        };
        let Some((key, storage)) = described else {
            return Err(Problem::layout(
                "a tensor is not described by a key, a storage and a class",
            ));
        };
        let storage = objects.storage(storage)?;
        let cut = || Problem::truncated(format!("tensor {key} lacks its sizes"));
        let rank = u32_at(bytes, after).ok_or_else(cut)?;
        if rank > MAX_RANK {
            return Err(Problem::layout(format!(
                "tensor {key} has {rank} dimensions"
            )));
        }
        let rank = rank as usize;
        let mut numbers = [0; 2 * MAX_RANK as usize + 1];
        let numbers = &mut numbers[..2 * rank + 1];
        for (at, number) in numbers.iter_mut().enumerate() {
            let value = i64_at(bytes, after + 8 + 8 * at).ok_or_else(cut)?;
            *number = u64::try_from(value).map_err(|_| {
                Problem::layout(format!("tensor {key} has an extent or offset of {value}"))
            })?;
        }
        next = after + 8 + 8 * numbers.len();
        let element = heap.storage(storage).element;
        let tensor = heap.new_tensor(
            storage,
            element,
            numbers[2 * rank],
            &numbers[..rank],
            &numbers[rank..2 * rank],
        )?;
        objects.insert(heap, key, tensor)?;
    }
    Ok(())
}
