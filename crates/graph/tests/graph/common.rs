//! What the tests share: short ways to make inputs and to say what a layer inferred.

use std::fmt::Write;
use tensoracle_graph::{Constraint, DataType, Dims, Graph, GraphError, Tensor};

/// A network input to be: its type and shape.
pub(crate) type Input = (DataType, Dims);

pub(crate) fn float(dims: Dims) -> Input {
    (DataType::Float, dims)
}

pub(crate) fn int(dims: Dims) -> Input {
    (DataType::Int64, dims)
}

pub(crate) fn boolean(dims: Dims) -> Input {
    (DataType::Bool, dims)
}

pub(crate) fn with_inputs(inputs: &[Input]) -> (Graph, Vec<Tensor>) {
    let mut graph = Graph::new();
    let tensors = inputs
        .iter()
        .enumerate()
        .map(|(index, (data_type, dims))| {
            let name = format!("input{index}");
            graph.add_input(&name, *data_type, dims.clone()).unwrap()
        })
        .collect();
    (graph, tensors)
}

/// What `add` gives over the inputs, as `type[dims]` with what must hold at run time, or the
/// fault's message.
#[track_caller]
pub(crate) fn inferred(
    inputs: &[Input],
    add: impl FnOnce(&mut Graph, &[Tensor]) -> Result<Tensor, GraphError>,
) -> String {
    let (mut graph, tensors) = with_inputs(inputs);
    match add(&mut graph, &tensors) {
        Ok(tensor) => described(&graph, tensor),
        Err(error) => error.fault.to_string(),
    }
}

/// A tensor as `type[dims]`, with what its layer needs at run time.
pub(crate) fn described(graph: &Graph, tensor: Tensor) -> String {
    let mut text = format!("{}{}", graph.data_type(tensor), graph.dims(tensor));
    let constraints = graph.producer(tensor).map_or(&[][..], |n| n.constraints());
    for (index, constraint) in constraints.iter().enumerate() {
        let separator = if index == 0 { " where" } else { "," };
        match constraint {
            Constraint::Equal(a, b) => write!(text, "{separator} {a} = {b}").unwrap(),
            Constraint::AtMost(a, b) => write!(text, "{separator} {a} <= {b}").unwrap(),
        }
    }
    text
}
