//! From a checkpoint's value to named tensors: keys joined with dots, everything else refused or,
//! on request, left out.
//!
//! What is left out: the tensors' bytes, in [`crate::entry`].

use crate::error::Problem;
use crate::options::Options;
use crate::pickle::global::GlobalId;
use crate::pickle::{Heap, Value};
use crate::refusal::{Entry, Kind};
use crate::survey;
use std::collections::{HashMap, HashSet};

/// Mappings that may lie in one another. Real checkpoints have fewer than ten.
pub(crate) const MAX_DEPTH: usize = 512;

/// Paid for each entry looked at: mappings that share mappings can have a number of paths that is
/// exponential in the file's size.
const VISIT: u64 = 16;

/// Paid for each key of a mapping while it is walked: a slot of a hash map, half of them in use.
const LOOKUP: u64 = 52;

/// Paid for each path beside its text.
const PATH: u64 = 96;

/// The key that holds a safetensors file's own metadata.
const RESERVED: &str = "__metadata__";

/// What became of a checkpoint's entries.
#[derive(Debug, Default)]
pub(crate) struct Flat {
    /// Tensors in the file's order, with their names.
    pub(crate) tensors: Vec<(String, u32)>,
    /// What cannot be converted.
    pub(crate) refused: Vec<Entry>,
    /// What was left out as asked.
    pub(crate) skipped: Vec<Entry>,
}

/// Flattens `object`, or the selected parts of it.
pub(crate) fn flatten<'p>(
    heap: &mut Heap<'p>,
    object: Value<'p>,
    options: &Options,
) -> Result<Flat, Problem> {
    let Value::Dict(top) = object else {
        return Err(not_a_mapping(heap, "the top level", object));
    };
    let mut roots = Vec::new();
    for path in &options.select {
        match survey::select(heap, top, path)? {
            Value::Dict(dict) => roots.push(dict),
            other => return Err(not_a_mapping(heap, path, other)),
        }
    }
    if options.select.is_empty() {
        roots.push(top);
    }
    let mut walk = Walk {
        heap,
        skip: options.skip_non_tensors,
        flat: Flat::default(),
        names: HashSet::new(),
        active: Vec::new(),
    };
    for root in &roots {
        walk.mapping(*root, "")?;
    }
    let mut flat = walk.flat;
    report_unnamed(heap, object, &roots, options, &mut flat)?;
    Ok(flat)
}

fn not_a_mapping(heap: &Heap<'_>, subject: &str, found: Value<'_>) -> Problem {
    let found = match found {
        Value::Object(id) => format!("object of {}", heap.global(id)),
        other => heap.type_name(other).to_owned(),
    };
    Problem::NotAMapping {
        subject: subject.into(),
        found,
    }
}

/// Adds the unknown globals that no entry names yet: in lists, outside of the selection, or built
/// and discarded.
fn report_unnamed<'p>(
    heap: &mut Heap<'p>,
    object: Value<'p>,
    roots: &[u32],
    options: &Options,
    flat: &mut Flat,
) -> Result<(), Problem> {
    let named: HashSet<&str> = flat
        .refused
        .iter()
        .chain(&flat.skipped)
        .filter_map(|entry| match &entry.kind {
            Kind::Object { global } => Some(global.as_str()),
            _ => None,
        })
        .collect();
    let mut unnamed: HashSet<GlobalId> = heap
        .unknown_globals()
        .filter(|id| !named.contains(heap.global(*id).to_string().as_str()))
        .collect();
    if unnamed.is_empty() {
        return Ok(());
    }
    let selected = if options.select.is_empty() {
        &[]
    } else {
        roots
    };
    let mut entries = survey::find_objects(heap, object, selected, &unnamed)?;
    for (id, _) in &entries {
        unnamed.remove(id);
    }
    let mut nowhere: Vec<_> = unnamed.into_iter().collect();
    nowhere.sort_unstable_by_key(|id| id.0);
    entries.extend(nowhere.into_iter().map(|id| (id, None)));
    let strict = options.select.is_empty() && !options.skip_non_tensors;
    let target = if strict {
        &mut flat.refused
    } else {
        &mut flat.skipped
    };
    for (id, path) in entries {
        let global = heap.global(id).to_string();
        heap.budget.take(PATH + global.len() as u64)?;
        target.push(Entry {
            path,
            kind: Kind::Object { global },
        });
    }
    Ok(())
}

struct Walk<'h, 'p> {
    heap: &'h mut Heap<'p>,
    skip: bool,
    flat: Flat,
    names: HashSet<String>,
    /// The mappings around the one being walked.
    active: Vec<u32>,
}

impl<'p> Walk<'_, 'p> {
    fn mapping(&mut self, dict: u32, path: &str) -> Result<(), Problem> {
        if self.active.contains(&dict) {
            return self.refuse(path.to_owned(), Kind::Cycle);
        }
        if self.active.len() == MAX_DEPTH {
            let kind = Kind::TooDeep { limit: MAX_DEPTH };
            return self.refuse(path.to_owned(), kind);
        }
        self.active.push(dict);
        let count = self.heap.dict(dict).len();
        self.heap.budget.take(LOOKUP.saturating_mul(count as u64))?;
        // A key that is set again has its last value.
        let last: HashMap<&str, usize> = self
            .heap
            .dict(dict)
            .iter()
            .enumerate()
            .filter_map(|(at, [key, _])| match key {
                Value::Text(key) => Some((*key, at)),
                _ => None,
            })
            .collect();
        for at in 0..count {
            self.heap.budget.take(VISIT)?;
            let [key, value] = self.heap.dict(dict)[at];
            match key {
                Value::Text(key) if last.get(key) != Some(&at) => {}
                Value::Text(key) => {
                    let name = self.join(path, key)?;
                    self.entry(name, value)?;
                }
                key => {
                    let shown = self.join(path, &survey::shown_key(key))?;
                    let kind = Kind::Key(self.heap.type_name(key));
                    if self.skip && !survey::holds_tensor(self.heap, value)? {
                        self.flat.skipped.push(Entry {
                            path: Some(shown),
                            kind,
                        });
                    } else {
                        self.refuse(shown, kind)?;
                    }
                }
            }
        }
        self.active.pop();
        Ok(())
    }

    fn entry(&mut self, name: String, value: Value<'p>) -> Result<(), Problem> {
        match value {
            Value::Dict(dict) => self.mapping(dict, &name),
            Value::Tensor(_) if name == RESERVED => self.refuse(name, Kind::Reserved),
            Value::Tensor(tensor) => {
                self.heap.budget.take(PATH + name.len() as u64)?;
                if self.names.insert(name.clone()) {
                    self.flat.tensors.push((name, tensor));
                    Ok(())
                } else {
                    self.refuse(name, Kind::Duplicate)
                }
            }
            // A tensor is never left out silently, whatever its kind.
            Value::OddTensor(kind) => self.refuse(name, Kind::Tensor(kind)),
            Value::Object(id) => {
                let global = self.heap.global(id).to_string();
                self.leaf(name, Kind::Object { global })
            }
            Value::Global(id) if self.heap.known(id).is_none() => {
                let global = self.heap.global(id).to_string();
                self.leaf(name, Kind::Object { global })
            }
            other => {
                let kind = Kind::Value(self.heap.type_name(other));
                self.leaf(name, kind)
            }
        }
    }

    /// An entry that is not a tensor.
    fn leaf(&mut self, path: String, kind: Kind) -> Result<(), Problem> {
        if self.skip {
            let path = Some(path);
            self.flat.skipped.push(Entry { path, kind });
            Ok(())
        } else {
            self.refuse(path, kind)
        }
    }

    fn refuse(&mut self, path: String, kind: Kind) -> Result<(), Problem> {
        self.heap.budget.take(PATH)?;
        let path = Some(path);
        self.flat.refused.push(Entry { path, kind });
        Ok(())
    }

    /// `path.key`, paid for.
    fn join(&mut self, path: &str, key: &str) -> Result<String, Problem> {
        let len = path.len() + key.len() + 1;
        self.heap.budget.take(PATH + len as u64)?;
        Ok(if self.active.len() <= 1 {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        })
    }
}
