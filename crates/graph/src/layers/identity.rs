//! `IIdentityLayer`: the input as it is.

use crate::infer::{Infer, Inferred};
use crate::{Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// An identity layer has no arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {}

impl Identity {
    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(1)?;
        let input = infer.input(0, "input")?;
        let value = input.value().map(<[_]>::to_vec);
        Ok(Inferred::new(input.data_type(), input.dims().clone()).with_value(value))
    }
}

impl Graph {
    /// Adds a layer whose output is its input: a place to hang a name on.
    ///
    /// # Errors
    /// A tensor of another graph.
    #[track_caller]
    pub fn add_identity(&mut self, input: Tensor) -> Result<Tensor, GraphError> {
        self.add_one(Identity {}, &[Some(input)])
    }
}
