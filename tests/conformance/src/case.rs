//! A case: a small graph, its inputs, and what it must give.

use crate::{Array, Values};
use std::sync::Arc;
use tensoracle_graph::{DataType, Dim, Dims, Graph, GraphError, Tensor};

/// Adds layers over the inputs and gives the outputs.
pub(crate) type Build =
    dyn Fn(&mut Graph, &[Tensor]) -> Result<Vec<Tensor>, GraphError> + Send + Sync;

/// A small graph with inputs and expected outputs.
#[derive(Clone)]
pub struct Case {
    /// The name, unique among the cases of its layer.
    pub name: String,
    /// The inputs, in order.
    pub inputs: Vec<Array>,
    /// The expected outputs, in order. Floating point is not rounded to its declared type.
    pub expected: Vec<Array>,
    /// How much outputs may differ.
    pub bound: Bound,
    pub(crate) build: Arc<Build>,
}

/// How much an output may differ from what is expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Not at all, in any precision: elements are moved, or computed exactly.
    Same,
    /// One layer computes. In f32, by at most `absolute + relative·|expected|` besides the rounding
    /// to the declared type; where a layer is computed in f64, by that rounding alone.
    Layer {
        /// In the unit of the outputs.
        absolute: f64,
        /// As a share of what is expected.
        relative: f64,
    },
    /// Several layers compute, each rounding to its type: in every precision by at most
    /// `absolute + relative·|expected|`.
    Layers {
        /// In the unit of the outputs.
        absolute: f64,
        /// As a share of what is expected.
        relative: f64,
    },
}

/// How a case's graph declares the shapes of its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizes {
    /// As numbers.
    Fixed,
    /// As names that are bound at run time, as far as the layer takes names.
    Named,
}

impl Case {
    /// A case whose graph `build` makes over the inputs.
    pub(crate) fn new(
        name: impl Into<String>,
        inputs: impl Into<Vec<Array>>,
        expected: impl Into<Vec<Array>>,
        build: impl Fn(&mut Graph, &[Tensor]) -> Result<Vec<Tensor>, GraphError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            inputs: inputs.into(),
            expected: expected.into(),
            bound: Bound::Same,
            build: Arc::new(build),
        }
    }

    /// Lets several layers differ by this much.
    pub(crate) fn within(self, absolute: f64, relative: f64) -> Self {
        let bound = Bound::Layers { absolute, relative };
        Self { bound, ..self }
    }

    /// The name of input or output number `index`.
    #[must_use]
    pub fn tensor_name(role: char, index: usize) -> String {
        format!("{role}{index}")
    }

    /// The graph, with inputs `x0`, `x1`, … and outputs `y0`, `y1`, …. `None` when no dimension of
    /// any input can be named.
    ///
    /// # Errors
    /// What the graph refuses.
    pub fn graph(&self, sizes: Sizes) -> Result<Option<Graph>, GraphError> {
        match sizes {
            Sizes::Fixed => self.graph_with(&|_, _| false).map(Some),
            Sizes::Named => Ok(self.named_graph()),
        }
    }

    /// All sizes of two and more named, or those along one axis of all inputs, or of one input;
    /// whatever the layer takes first. Equal sizes get one name, so that they agree.
    fn named_graph(&self) -> Option<Graph> {
        let all = |_: usize, _: usize| true;
        if let Ok(graph) = self.graph_with(&all) {
            return Some(graph).filter(|graph| !graph.dim_names().is_empty());
        }
        let rank = self.inputs.iter().map(|input| input.dims.len()).max()?;
        let along = (0..rank).find_map(|axis| self.named_where(&|_, found| found == axis));
        along.or_else(|| {
            let each = (0..self.inputs.len()).flat_map(|input| (0..rank).map(move |a| (input, a)));
            each.into_iter()
                .find_map(|place| self.named_where(&|input, axis| (input, axis) == place))
        })
    }

    fn named_where(&self, named: &dyn Fn(usize, usize) -> bool) -> Option<Graph> {
        let graph = self.graph_with(named).ok()?;
        Some(graph).filter(|graph| !graph.dim_names().is_empty())
    }

    fn graph_with(&self, named: &dyn Fn(usize, usize) -> bool) -> Result<Graph, GraphError> {
        let mut graph = Graph::new();
        let mut tensors = Vec::new();
        for (index, array) in self.inputs.iter().enumerate() {
            let dim = |(axis, &size): (usize, &u64)| match size {
                2.. if named(index, axis) => Dim::named(&format!("size{size}")),
                _ => Dim::from(size),
            };
            let dims: Dims = array.dims.iter().enumerate().map(dim).collect();
            let name = Self::tensor_name('x', index);
            tensors.push(graph.add_input(&name, array.data_type, dims)?);
        }
        let outputs = (self.build)(&mut graph, &tensors)?;
        for (index, tensor) in outputs.into_iter().enumerate() {
            graph.mark_output(&Self::tensor_name('y', index), tensor)?;
        }
        Ok(graph)
    }
}

/// An input of `Float`, for cases written by hand.
pub(crate) fn float(dims: &[u64], values: &[f64]) -> Array {
    Array::float(dims, values)
}

/// An input of `Int64`, for cases written by hand.
pub(crate) fn int64(dims: &[u64], values: &[i64]) -> Array {
    Array {
        data_type: DataType::Int64,
        dims: dims.to_vec(),
        values: Values::Integer(values.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;

    /// The cases of a layer, and how many of them have sizes that can be named.
    fn counts(cases: &[Case]) -> (usize, usize) {
        let named = |case: &&Case| case.graph(Sizes::Named).unwrap().is_some();
        (cases.len(), cases.iter().filter(named).count())
    }

    #[test]
    fn named_sizes_are_tried_where_there_are_any() {
        for (layer, cases) in cases::all() {
            let (all, named) = counts(&cases);
            let names: std::collections::BTreeSet<_> =
                cases.iter().map(|case| &case.name).collect();
            assert_eq!(names.len(), all, "two cases of {layer} have one name");
            // The inputs of constant layers are none.
            assert!(
                layer == "constant" || named * 2 > all,
                "{layer}: {named} of {all}"
            );
        }
    }
}
