//! `ISoftMaxLayer`: exponentials along an axis, scaled to a sum of 1.

use crate::infer::{FLOATS, Infer, Inferred};
use crate::{Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// Arguments of a softmax layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftMax {
    /// The axis summed over; negative counts from the end.
    pub axis: i64,
}

impl SoftMax {
    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(1)?;
        let input = infer.input(0, "input")?;
        input.type_in(FLOATS)?;
        self.axis = input.axis("axis", self.axis)? as i64;
        Ok(Inferred::new(input.data_type(), input.dims().clone()))
    }
}

impl Graph {
    /// Adds `exp(x) / sum(exp(x))` along `axis`.
    ///
    /// # Errors
    /// An input that is not floating point, or an axis outside the rank.
    #[track_caller]
    pub fn add_softmax(&mut self, input: Tensor, axis: i64) -> Result<Tensor, GraphError> {
        self.add_one(SoftMax { axis }, &[Some(input)])
    }
}
