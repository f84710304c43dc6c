//! What calling a global makes. Nothing is called: globals on the closed list have their effect
//! written out here, and all others make inert objects.
//!
//! Arguments are those of the functions of the same names in torch's `_utils.py` and `_tensor.py`.
//! What is left out: checking a tensor against the size of its storage, which waits until the
//! tensor is to be converted and has a name.

use super::global::Known;
use super::heap::Heap;
use super::machine::{Stop, here};
use super::value::{Span, Value};
use crate::dtype::Element;

/// Dimensions that a tensor may have; torch stops here too.
const MAX_RANK: usize = 64;

/// The value of `callable(*arguments)`, or an inert one in its place.
pub(crate) fn call<'p>(
    heap: &mut Heap<'p>,
    callable: Value<'p>,
    arguments: Span,
) -> Result<Value<'p>, Stop> {
    match callable {
        Value::Global(id) => match heap.known(id) {
            None => Ok(Value::Object(id)),
            Some(known) => call_known(heap, known, arguments).map_err(|stop| match stop {
                Stop::Here(problem) => Stop::Here(format!("{}: {problem}", heap.global(id))),
                stop => stop,
            }),
        },
        // What an unknown function returned is as unknown.
        Value::Object(id) => Ok(Value::Object(id)),
        other => here(format!("a call of a {}", heap.type_name(other))),
    }
}

fn call_known<'p>(heap: &mut Heap<'p>, known: Known, arguments: Span) -> Result<Value<'p>, Stop> {
    match known {
        Known::Mapping => mapping(heap, arguments, 0),
        Known::DefaultMapping => mapping(heap, arguments, 1),
        Known::List => sequence(heap, arguments).map(Value::List),
        Known::Set => sequence(heap, arguments).map(Value::Set),
        Known::Tuple => match heap.tuple(arguments) {
            [] => Ok(Value::Tuple(Span::EMPTY)),
            [Value::Tuple(span)] => Ok(Value::Tuple(*span)),
            [Value::List(list)] => {
                let list = *list;
                Ok(Value::Tuple(heap.tuple_of_list(list)?))
            }
            _ => here("arguments that are not one sequence"),
        },
        Known::Bytes => Ok(Value::Bytes),
        Known::Inert(name) => Ok(Value::Inert(name)),
        Known::OddTensor(name) => Ok(Value::OddTensor(name)),
        Known::RebuildTensor => match *heap.tuple(arguments) {
            [storage, offset, sizes, strides] => {
                tensor(heap, storage, None, [offset, sizes, strides])
            }
            _ => here("not 4 arguments"),
        },
        Known::RebuildTensorV2 => match *heap.tuple(arguments) {
            [
                storage,
                offset,
                sizes,
                strides,
                _gradient,
                _hooks,
                ref rest @ ..,
            ] if rest.len() <= 1 => match odd_bits(heap, rest)? {
                Some(odd) => Ok(odd),
                None => tensor(heap, storage, None, [offset, sizes, strides]),
            },
            _ => here("not 6 or 7 arguments"),
        },
        Known::RebuildTensorV3 => match *heap.tuple(arguments) {
            [
                storage,
                offset,
                sizes,
                strides,
                _gradient,
                _hooks,
                element,
                ref rest @ ..,
            ] if rest.len() <= 1 => {
                let Some(element) = element_type(heap, element) else {
                    return here("a seventh argument that is not a torch.dtype");
                };
                match odd_bits(heap, rest)? {
                    Some(odd) => Ok(odd),
                    None => tensor(heap, storage, Some(element), [offset, sizes, strides]),
                }
            }
            _ => here("not 7 or 8 arguments"),
        },
        Known::RebuildParameter => match *heap.tuple(arguments) {
            [
                data @ (Value::Tensor(_) | Value::OddTensor(_) | Value::Object(_)),
                _,
                _,
            ]
            | [
                data @ (Value::Tensor(_) | Value::OddTensor(_) | Value::Object(_)),
                _,
                _,
                _,
            ] => Ok(data),
            _ => here("not a tensor and 2 or 3 more arguments"),
        },
        Known::RebuildFromType => match *heap.tuple(arguments) {
            [function, class, Value::Tuple(inner), _state] => {
                rebuild_from_type(heap, function, class, inner)
            }
            _ => here("not a function, a type, arguments and a state"),
        },
        Known::TensorClass => Ok(Value::OddTensor("tensor pickled without torch.save")),
        Known::StorageClass(_) => Ok(Value::Inert("torch storage pickled without torch.save")),
        Known::Element(_) => here("a torch.dtype is not a function"),
    }
}

/// A mapping from nothing, from another mapping, or from pairs, after `skipped` arguments.
fn mapping<'p>(heap: &mut Heap<'p>, arguments: Span, skipped: usize) -> Result<Value<'p>, Stop> {
    let arguments = heap.tuple(arguments);
    let source = match arguments.get(skipped.min(arguments.len())..) {
        None | Some([]) => None,
        Some([source]) => Some(*source),
        Some(_) => return here("more than one mapping"),
    };
    let new = heap.new_dict()?;
    match source {
        None => {}
        Some(Value::Dict(dict)) => heap.update_dict(new, dict)?,
        // How Python 2 pickles an OrderedDict.
        Some(Value::List(list)) => {
            for at in 0..heap.list(list).len() {
                let pair = match heap.list(list)[at] {
                    Value::List(pair) => heap.list(pair),
                    Value::Tuple(pair) => heap.tuple(pair),
                    _ => &[],
                };
                let [key, value] = *pair else {
                    return here("an entry that is not a pair");
                };
                heap.set_items(new, &[[key, value]])?;
            }
        }
        Some(other) => return here(format!("a mapping of a {}", heap.type_name(other))),
    }
    Ok(Value::Dict(new))
}

/// A list in the heap from nothing or from another sequence.
fn sequence(heap: &mut Heap<'_>, arguments: Span) -> Result<u32, Stop> {
    match *heap.tuple(arguments) {
        [] => Ok(heap.new_list()?),
        [Value::List(list) | Value::Set(list)] => Ok(heap.copy_of_list(list)?),
        [Value::Tuple(span)] => Ok(heap.list_of_tuple(span)?),
        _ => here("arguments that are not one sequence"),
    }
}

fn element_type(heap: &Heap<'_>, value: Value<'_>) -> Option<&'static Element> {
    match value {
        Value::Global(id) => match heap.known(id) {
            Some(Known::Element(element)) => Some(element),
            _ => None,
        },
        _ => None,
    }
}

/// The kind of tensor that lazily conjugated or negated bits make, given the optional last
/// argument of a rebuild: a dictionary of flags.
fn odd_bits<'p>(heap: &Heap<'p>, metadata: &[Value<'p>]) -> Result<Option<Value<'p>>, Stop> {
    let flags = match metadata {
        [] | [Value::None] => return Ok(None),
        [Value::Dict(dict)] => heap.dict(*dict),
        _ => return here("metadata that is not a dict"),
    };
    let is_set = |flag: &str| {
        flags
            .iter()
            .rev()
            .find(|[key, _]| *key == Value::Text(flag))
            .is_some_and(|[_, value]| *value != Value::Bool(false))
    };
    Ok(if is_set("conj") {
        Some(Value::OddTensor("tensor with its conjugate bit set"))
    } else if is_set("neg") {
        Some(Value::OddTensor("tensor with its negative bit set"))
    } else {
        None
    })
}

fn rebuild_from_type<'p>(
    heap: &mut Heap<'p>,
    function: Value<'p>,
    class: Value<'p>,
    arguments: Span,
) -> Result<Value<'p>, Stop> {
    // A function that rebuilds from a type in turn would nest without end.
    let nested = match function {
        Value::Global(id) => heap.known(id) == Some(Known::RebuildFromType),
        _ => false,
    };
    if nested {
        return here("a rebuild within a rebuild");
    }
    let value = call(heap, function, arguments)?;
    match class {
        Value::Global(id) => Ok(match heap.known(id) {
            Some(Known::TensorClass) => value,
            Some(_) => Value::OddTensor("tensor subclass"),
            None => Value::Object(id),
        }),
        _ => here("a type that is not one"),
    }
}

fn tensor<'p>(
    heap: &mut Heap<'p>,
    storage: Value<'p>,
    element: Option<&'static Element>,
    [offset, sizes, strides]: [Value<'p>; 3],
) -> Result<Value<'p>, Stop> {
    let storage = match storage {
        Value::Storage(storage) => storage,
        other => return here(format!("a storage that is a {}", heap.type_name(other))),
    };
    let Value::Int(offset) = offset else {
        return here(format!("an offset that is a {}", heap.type_name(offset)));
    };
    let Ok(offset) = u64::try_from(offset) else {
        return here(format!("a negative offset, {offset}"));
    };
    let sizes = extents(heap, sizes, "size")?;
    let strides = extents(heap, strides, "stride")?;
    if sizes.len() != strides.len() {
        return here(format!(
            "{} sizes and {} strides",
            sizes.len(),
            strides.len()
        ));
    }
    let element = element.unwrap_or(heap.storage(storage).element);
    Ok(heap.new_tensor(storage, element, offset, &sizes, &strides)?)
}

/// Sizes or strides: a tuple or list of integers from 0.
fn extents(heap: &Heap<'_>, value: Value<'_>, what: &str) -> Result<Vec<u64>, Stop> {
    let items = match value {
        Value::Tuple(span) => heap.tuple(span),
        Value::List(list) => heap.list(list),
        other => return here(format!("a {what} that is a {}", heap.type_name(other))),
    };
    if items.len() > MAX_RANK {
        return here(format!(
            "{} dimensions; torch has at most {MAX_RANK}",
            items.len()
        ));
    }
    items
        .iter()
        .map(|item| match item {
            Value::Int(extent) => {
                u64::try_from(*extent).or_else(|_| here(format!("a {what} of {extent}")))
            }
            other => here(format!("a {what} that is a {}", heap.type_name(*other))),
        })
        .collect()
}
