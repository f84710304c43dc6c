//! `IShapeLayer`: a tensor's dimensions as a tensor.

use crate::infer::{Infer, Inferred};
use crate::{DataType, Dim, Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// A shape layer has no arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {}

impl Shape {
    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(1)?;
        let input = infer.input(0, "input")?;
        let dims = vec![Dim::from(input.rank())];
        let value = Some(input.dims().to_vec());
        Ok(Inferred::new(DataType::Int64, dims.into()).with_value(value))
    }
}

impl Graph {
    /// The dimensions of `input` as a vector of Int64.
    ///
    /// # Errors
    /// A tensor of another graph.
    #[track_caller]
    pub fn add_shape(&mut self, input: Tensor) -> Result<Tensor, GraphError> {
        self.add_one(Shape {}, &[Some(input)])
    }
}
