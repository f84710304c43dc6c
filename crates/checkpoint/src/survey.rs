//! Looking around in a checkpoint's value without converting it: the mapping at a path, mappings
//! worth selecting, tensors and unknown objects wherever they are.
//!
//! What is left out: the policy on what is found, in [`crate::flatten`].

use crate::error::Problem;
use crate::flatten::MAX_DEPTH;
use crate::pickle::global::GlobalId;
use crate::pickle::value::Span;
use crate::pickle::{Heap, Value};
use std::borrow::Cow;
use std::collections::HashSet;

/// Mappings that an error offers for selection.
const MAX_OFFERED: usize = 32;

/// A key as a path shows it.
pub(crate) fn shown_key<'p>(key: Value<'p>) -> Cow<'p, str> {
    match key {
        Value::Text(text) => text.into(),
        Value::Int(number) => number.to_string().into(),
        Value::Bool(value) => if value { "True" } else { "False" }.into(),
        Value::None => "None".into(),
        _ => "?".into(),
    }
}

/// The value at `path`, keys joined with dots, in the mapping `top`. Keys may have dots in them.
pub(crate) fn select<'p>(heap: &mut Heap<'p>, top: u32, path: &str) -> Result<Value<'p>, Problem> {
    let mut found = Vec::new();
    matches(heap, top, path, 0, &mut found)?;
    match found.as_slice() {
        [value] => Ok(*value),
        [] => Err(Problem::SelectionMissing {
            path: path.into(),
            available: mappings_with_tensors(heap, top)?,
        }),
        _ => Err(Problem::SelectionAmbiguous { path: path.into() }),
    }
}

fn matches<'p>(
    heap: &mut Heap<'p>,
    dict: u32,
    path: &str,
    depth: usize,
    found: &mut Vec<Value<'p>>,
) -> Result<(), Problem> {
    let mut seen = HashSet::new();
    // From the end: the last value of a key that stands twice is the one that counts.
    for at in (0..heap.dict(dict).len()).rev() {
        heap.budget.take(1)?;
        let [key, value] = heap.dict(dict)[at];
        let Value::Text(key) = key else { continue };
        let Some(rest) = path.strip_prefix(key) else {
            continue;
        };
        if !seen.insert(key) {
            continue;
        }
        match (rest.strip_prefix('.'), value) {
            _ if rest.is_empty() => found.push(value),
            (Some(rest), Value::Dict(inner)) if depth < MAX_DEPTH => {
                matches(heap, inner, rest, depth + 1, found)?;
            }
            _ => {}
        }
        if found.len() > 1 {
            break;
        }
    }
    Ok(())
}

/// Values that lie in others, each once, with the way that led to it.
struct Trail<'p> {
    steps: Vec<Step<'p>>,
    next: usize,
    seen: HashSet<Container>,
}

struct Step<'p> {
    parent: usize,
    label: Label<'p>,
    value: Value<'p>,
}

#[derive(Clone, Copy)]
enum Label<'p> {
    Key(Value<'p>),
    Item(u32),
}

#[derive(PartialEq, Eq, Hash)]
enum Container {
    Dict(u32),
    List(u32),
    Tuple(Span),
}

impl<'p> Trail<'p> {
    fn from(value: Value<'p>) -> Self {
        Self {
            steps: vec![Step {
                parent: 0,
                label: Label::Item(0),
                value,
            }],
            next: 0,
            seen: HashSet::new(),
        }
    }

    /// The next value, breadth first. With `lists`, what lies in lists, sets and tuples too.
    fn next(&mut self, heap: &mut Heap<'p>, lists: bool) -> Result<Option<usize>, Problem> {
        let at = self.next;
        let Some(step) = self.steps.get(at) else {
            return Ok(None);
        };
        self.next += 1;
        let container = match step.value {
            Value::Dict(dict) => Container::Dict(dict),
            Value::List(list) | Value::Set(list) if lists => Container::List(list),
            Value::Tuple(span) if lists => Container::Tuple(span),
            _ => return Ok(Some(at)),
        };
        let count = match container {
            Container::Dict(dict) => heap.dict(dict).len(),
            Container::List(list) => heap.list(list).len(),
            Container::Tuple(span) => heap.tuple(span).len(),
        };
        if self.seen.contains(&container) {
            return Ok(Some(at));
        }
        heap.budget.take_many::<Step<'_>>(count + 1)?;
        let mut follow = |label, value| {
            self.steps.push(Step {
                parent: at,
                label,
                value,
            });
        };
        match container {
            Container::Dict(dict) => {
                for [key, value] in heap.dict(dict) {
                    follow(Label::Key(*key), *value);
                }
            }
            Container::List(list) => {
                for (item, value) in (0..).zip(heap.list(list)) {
                    follow(Label::Item(item), *value);
                }
            }
            Container::Tuple(span) => {
                for (item, value) in (0..).zip(heap.tuple(span)) {
                    follow(Label::Item(item), *value);
                }
            }
        }
        self.seen.insert(container);
        Ok(Some(at))
    }

    /// Keys joined with dots, places in lists in brackets.
    fn path(&self, mut at: usize) -> String {
        let mut labels = Vec::new();
        while at != 0 {
            labels.push(self.steps[at].label);
            at = self.steps[at].parent;
        }
        let mut path = String::new();
        for label in labels.iter().rev() {
            match label {
                Label::Key(key) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&shown_key(*key));
                }
                Label::Item(item) => path.push_str(&format!("[{item}]")),
            }
        }
        path
    }
}

/// Whether the value is a tensor or a mapping with one somewhere in it.
pub(crate) fn holds_tensor<'p>(heap: &mut Heap<'p>, value: Value<'p>) -> Result<bool, Problem> {
    let mut trail = Trail::from(value);
    while let Some(at) = trail.next(heap, false)? {
        if let Value::Tensor(_) | Value::OddTensor(_) = trail.steps[at].value {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Paths of some mappings that hold tensors directly.
fn mappings_with_tensors(heap: &mut Heap<'_>, top: u32) -> Result<Vec<String>, Problem> {
    let mut trail = Trail::from(Value::Dict(top));
    let mut parents = Vec::new();
    while let Some(at) = trail.next(heap, false)? {
        let parent = trail.steps[at].parent;
        if let Value::Tensor(_) = trail.steps[at].value
            && parent != 0
            && parents.last() != Some(&parent)
            && parents.len() < MAX_OFFERED
        {
            parents.push(parent);
        }
    }
    let mut paths = Vec::new();
    for parent in parents {
        let path = trail.path(parent);
        heap.budget.take(path.len() as u64)?;
        paths.push(path);
    }
    Ok(paths)
}

/// Objects of the `wanted` globals with their paths, outside of the mappings `except`.
pub(crate) fn find_objects<'p>(
    heap: &mut Heap<'p>,
    object: Value<'p>,
    except: &[u32],
    wanted: &HashSet<GlobalId>,
) -> Result<Vec<(GlobalId, Option<String>)>, Problem> {
    let mut trail = Trail::from(object);
    trail
        .seen
        .extend(except.iter().map(|dict| Container::Dict(*dict)));
    let mut found = Vec::new();
    while let Some(at) = trail.next(heap, true)? {
        if let Value::Object(id) | Value::Global(id) = trail.steps[at].value
            && wanted.contains(&id)
        {
            let path = trail.path(at);
            heap.budget.take(path.len() as u64 + 64)?;
            found.push((id, Some(path)));
        }
    }
    Ok(found)
}
