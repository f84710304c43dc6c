//! What a caller gives, held against what the graph declares: names, types, shapes and bytes.
//!
//! What is left out: ranges of sizes that a plan was built for and running (`session`).

use crate::bind::Bound;
use crate::{CpuError, Input};
use std::collections::BTreeMap;
use tensoracle_graph::{Graph, Tensor};

/// Checks that every input is given once, with its type and as many bytes as its shape needs.
pub(crate) fn check_inputs(
    graph: &Graph,
    bound: &Bound,
    inputs: &[Input<'_>],
) -> Result<(), CpuError> {
    for (position, input) in inputs.iter().enumerate() {
        let name = || input.name.to_owned();
        let tensor = input_named(graph, input.name)?;
        if inputs[..position]
            .iter()
            .any(|other| other.name == input.name)
        {
            return Err(CpuError::TwiceGiven { name: name() });
        }
        let expected = graph.data_type(tensor);
        if input.data_type != expected {
            return Err(CpuError::InputType {
                name: name(),
                found: input.data_type,
                expected,
            });
        }
        let len = bound.len(tensor.index()) as u64;
        let expected = expected
            .bytes_for(len)
            .and_then(|bytes| usize::try_from(bytes).ok());
        if expected != Some(input.bytes.len()) {
            return Err(CpuError::InputBytes {
                name: name(),
                found: input.bytes.len(),
                expected: expected.unwrap_or(usize::MAX),
                dims: wide(&bound.dims[tensor.index()]),
            });
        }
    }
    let given = |name: &str| inputs.iter().any(|input| input.name == name);
    match graph.inputs().iter().find(|(name, _)| !given(name)) {
        Some((name, _)) => Err(CpuError::MissingInput { name: name.clone() }),
        None => Ok(()),
    }
}

/// The sizes of the names in input shapes.
pub(crate) fn bind_names(
    graph: &Graph,
    shapes: &[(&str, &[u64])],
) -> Result<BTreeMap<String, i64>, CpuError> {
    let mut names: BTreeMap<String, i64> = BTreeMap::new();
    for (position, (name, shape)) in shapes.iter().enumerate() {
        let tensor = input_named(graph, name)?;
        if shapes[..position].iter().any(|(other, _)| other == name) {
            return Err(CpuError::TwiceGiven {
                name: (*name).to_owned(),
            });
        }
        let declared = graph.dims(tensor);
        let fault = |problem: String| CpuError::InputShape {
            name: (*name).to_owned(),
            found: shape.to_vec(),
            expected: declared.to_string(),
            problem,
        };
        if shape.len() != declared.len() {
            return Err(fault(format!(
                "{} dimensions, expected {}",
                shape.len(),
                declared.len()
            )));
        }
        for (axis, (size, dim)) in shape.iter().zip(declared.iter()).enumerate() {
            let size = i64::try_from(*size)
                .map_err(|_| fault(format!("{size} along axis {axis} does not fit in 64 bits")))?;
            let expected = match (dim.fixed(), dim.name()) {
                (Some(expected), _) => expected,
                (None, Some(name)) => *names.entry(name.to_owned()).or_insert(size),
                (None, None) => size,
            };
            if size != expected {
                return Err(fault(format!(
                    "{size} along axis {axis}, where {dim} is {expected}"
                )));
            }
        }
    }
    for (name, tensor) in graph.inputs() {
        let unbound = graph
            .dims(*tensor)
            .iter()
            .any(|dim| dim.name().is_some_and(|name| !names.contains_key(name)));
        if unbound {
            let expected = graph.dims(*tensor).to_string();
            return Err(CpuError::ShapeNotSet {
                name: name.clone(),
                expected,
            });
        }
    }
    Ok(names)
}

fn input_named(graph: &Graph, name: &str) -> Result<Tensor, CpuError> {
    let found = graph.inputs().iter().find(|(found, _)| found == name);
    found.map(|(_, tensor)| *tensor).ok_or_else(|| {
        let known = graph.inputs().iter().map(|(name, _)| name.clone());
        unknown("input", name, known.collect())
    })
}

pub(crate) fn unknown(role: &'static str, name: &str, known: Vec<String>) -> CpuError {
    CpuError::UnknownTensor {
        role,
        name: name.to_owned(),
        known: known.join(", "),
    }
}

pub(crate) fn all_names(graph: &Graph) -> Vec<String> {
    graph
        .inputs()
        .iter()
        .chain(graph.outputs())
        .map(|(name, _)| name.clone())
        .collect()
}

pub(crate) fn wide(dims: &[usize]) -> Vec<u64> {
    dims.iter().map(|&size| size as u64).collect()
}
