//! `ISelectLayer`: elements of one tensor where a condition holds, of another where not.

use crate::infer::{Infer, Inferred};
use crate::{DataType, Dims, Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// A select layer has no arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Select {}

impl Select {
    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(3)?;
        let condition = infer.input(0, "condition")?;
        let then_input = infer.input(1, "then input")?;
        let else_input = infer.input(2, "else input")?;
        condition.type_in(&[DataType::Bool])?;
        else_input.same_type_as(&then_input)?;
        let both = infer.broadcast(&then_input, &else_input)?;
        condition.rank_is(both.len())?;
        let axes = both.iter().zip(condition.dims().iter()).enumerate();
        let dims = axes
            .map(|(axis, (a, b))| infer.broadcast_dim(a, b, &condition, axis))
            .collect::<Result<Dims, Fault>>()?;
        Ok(Inferred::new(then_input.data_type(), dims))
    }
}

impl Graph {
    /// Picks from `then_input` where `condition` is true and from `else_input` where it is not.
    /// All three have one rank; dimensions fixed at 1 are broadcast.
    ///
    /// # Errors
    /// A condition that is not boolean, types that differ, or shapes that do not broadcast.
    #[track_caller]
    pub fn add_select(
        &mut self,
        condition: Tensor,
        then_input: Tensor,
        else_input: Tensor,
    ) -> Result<Tensor, GraphError> {
        self.add_one(
            Select {},
            &[Some(condition), Some(then_input), Some(else_input)],
        )
    }
}
