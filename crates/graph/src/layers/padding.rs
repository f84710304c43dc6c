//! `IPaddingLayer`: zeros around the last two dimensions, or cropping of them.

use crate::infer::{Infer, Inferred};
use crate::{Dim, Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// Arguments of a padding layer, for the last two dimensions; negative crops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Padding {
    /// Zeros in front.
    pub pre_padding: [i64; 2],
    /// Zeros behind.
    pub post_padding: [i64; 2],
}

impl Padding {
    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(1)?;
        let input = infer.input(0, "input")?;
        input.rank_at_least(2)?;
        let mut dims = input.dims().to_vec();
        let first = dims.len() - 2;
        for (side, (pre, post)) in self.pre_padding.iter().zip(self.post_padding).enumerate() {
            let axis = first + side;
            let size = dims[axis]
                .add(&Dim::from(*pre))
                .and_then(|dim| dim.add(&Dim::from(post)));
            let size = size.ok_or_else(|| Fault::Overflow {
                what: format!("the padded size along axis {axis}"),
            })?;
            // Cropping may leave nothing, and neither side may crop more than there is.
            let least = pre.saturating_neg().max(post.saturating_neg()).max(0);
            if !infer.at_most_dim(&Dim::from(0), &size)
                || !infer.at_most_dim(&Dim::from(least), &dims[axis])
            {
                return Err(input.dim_fault(axis, "at least as much as is cropped".into()));
            }
            dims[axis] = size;
        }
        Ok(Inferred::new(input.data_type(), dims.into()))
    }
}

impl Graph {
    /// Adds zeros in front of and behind the last two dimensions; negative numbers crop. Pad
    /// other dimensions with a slice in the fill mode.
    ///
    /// # Errors
    /// Fewer than two dimensions, or cropping more than there is.
    #[track_caller]
    pub fn add_padding(
        &mut self,
        input: Tensor,
        pre_padding: [i64; 2],
        post_padding: [i64; 2],
    ) -> Result<Tensor, GraphError> {
        self.add_one(
            Padding {
                pre_padding,
                post_padding,
            },
            &[Some(input)],
        )
    }
}
