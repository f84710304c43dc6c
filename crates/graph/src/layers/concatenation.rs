//! `IConcatenationLayer`: tensors joined along one axis.

use crate::infer::{Infer, Inferred};
use crate::{Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// Arguments of a concatenation layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Concatenation {
    /// The axis joined along; negative counts from the end.
    pub axis: i64,
}

impl Concatenation {
    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        let count = infer.input_count();
        if count == 0 {
            return Err(Fault::InputCount {
                found: 0,
                expected: "at least 1".into(),
            });
        }
        let first = infer.input(0, "input")?;
        let axis = first.axis("axis", self.axis)?;
        self.axis = axis as i64;
        let mut dims = first.dims().to_vec();
        let mut value = first.value().map(<[_]>::to_vec);
        for index in 1..count {
            let next = infer.input(index, "input")?;
            next.same_type_as(&first)?;
            next.rank_is(first.rank())?;
            for (position, dim) in dims.iter_mut().enumerate() {
                let size = &next.dims()[position];
                *dim = if position == axis {
                    dim.add(size).ok_or_else(|| Fault::Overflow {
                        what: "the size along the axis of concatenation".into(),
                    })?
                } else {
                    infer
                        .equal(dim, size)
                        .ok_or_else(|| next.dim_fault(position, dim.to_string()))?
                };
            }
            value = match (value, next.value()) {
                (Some(mut joined), Some(more)) => {
                    joined.extend_from_slice(more);
                    Some(joined)
                }
                _ => None,
            };
        }
        // Parts of a matrix would interleave; shapes are vectors.
        let value = value.filter(|_| dims.len() == 1);
        Ok(Inferred::new(first.data_type(), dims.into()).with_value(value))
    }
}

impl Graph {
    /// Joins tensors along `axis`; their other dimensions are equal.
    ///
    /// # Errors
    /// No tensors, differing types or ranks, other dimensions that differ, or an axis outside the
    /// rank.
    #[track_caller]
    pub fn add_concatenation(
        &mut self,
        inputs: &[Tensor],
        axis: i64,
    ) -> Result<Tensor, GraphError> {
        let inputs: Vec<_> = inputs.iter().copied().map(Some).collect();
        self.add_one(Concatenation { axis }, &inputs)
    }
}
