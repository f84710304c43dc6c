//! `IShuffleLayer`: a transpose, then a reshape, then a second transpose.

use crate::infer::{Infer, Inferred, Input};
use crate::{Dim, Dims, Fault, Graph, GraphError, Tensor, TensorLabel};
use serde::{Deserialize, Serialize};

/// Arguments of a shuffle layer. Steps that are `None` do nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shuffle {
    /// The permutation before the reshape: output axis `i` is input axis `first_transpose[i]`.
    pub first_transpose: Option<Vec<usize>>,
    /// The new shape: 0 copies the input's dimension at that place (see `zero_is_placeholder`),
    /// one −1 takes what is left.
    pub reshape: Option<Vec<i64>>,
    /// The permutation after the reshape.
    pub second_transpose: Option<Vec<usize>>,
    /// Whether a 0 in the new shape copies a dimension (the default) or is a size of zero.
    pub zero_is_placeholder: bool,
}

impl Default for Shuffle {
    fn default() -> Self {
        Self {
            first_transpose: None,
            reshape: None,
            second_transpose: None,
            zero_is_placeholder: true,
        }
    }
}

impl Shuffle {
    /// Permutes the axes: output axis `i` is input axis `permutation[i]`.
    #[must_use]
    pub fn transpose(permutation: impl Into<Vec<usize>>) -> Self {
        Self {
            first_transpose: Some(permutation.into()),
            ..Self::default()
        }
    }

    /// Gives the elements another shape; 0 copies a dimension, one −1 takes what is left.
    #[must_use]
    pub fn reshape(dims: impl Into<Vec<i64>>) -> Self {
        Self {
            reshape: Some(dims.into()),
            ..Self::default()
        }
    }

    /// Reshapes after the first transpose.
    #[must_use]
    pub fn then_reshape(self, dims: impl Into<Vec<i64>>) -> Self {
        Self {
            reshape: Some(dims.into()),
            ..self
        }
    }

    /// Permutes the axes after the reshape.
    #[must_use]
    pub fn then_transpose(self, permutation: impl Into<Vec<usize>>) -> Self {
        Self {
            second_transpose: Some(permutation.into()),
            ..self
        }
    }

    /// Makes a 0 in the new shape a size of zero.
    #[must_use]
    pub fn zero_is_size(self) -> Self {
        Self {
            zero_is_placeholder: false,
            ..self
        }
    }

    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(2)?;
        let input = infer.input(0, "input")?;
        let mut dims = input.dims().clone();
        let mut moved = false;
        if let Some(permutation) = &self.first_transpose {
            dims = permuted("first_transpose", permutation, &dims)?;
            moved |= !is_identity(permutation);
        }
        let wanted = match (infer.optional(1, "reshape dimensions"), &self.reshape) {
            (Some(_), Some(reshape)) => {
                return Err(Fault::Argument {
                    argument: "reshape",
                    found: format!("{reshape:?}"),
                    expected: "no dimensions here, since a tensor gives them".into(),
                });
            }
            (Some(tensor), None) => Some(tensor.shape_value()?.to_vec()),
            (None, Some(reshape)) => Some(reshape.iter().copied().map(Dim::from).collect()),
            (None, None) => None,
        };
        if let Some(wanted) = wanted {
            dims = self.reshaped(infer, &input, &dims, &wanted)?;
        }
        if let Some(permutation) = &self.second_transpose {
            dims = permuted("second_transpose", permutation, &dims)?;
            moved |= !is_identity(permutation);
        }
        let value = input.value().filter(|_| !moved).map(<[_]>::to_vec);
        Ok(Inferred::new(input.data_type(), dims).with_value(value))
    }

    fn reshaped(
        &self,
        infer: &mut Infer<'_>,
        input: &Input,
        from: &Dims,
        wanted: &[Dim],
    ) -> Result<Dims, Fault> {
        let argument = |expected: &str| Fault::Argument {
            argument: "reshape",
            found: format!("{wanted:?}"),
            expected: expected.into(),
        };
        let overflow = || Fault::Overflow {
            what: "the number of elements of the new shape".into(),
        };
        let total = from.volume().ok_or_else(overflow)?;
        let mut wildcard = None;
        let mut dims = Vec::with_capacity(wanted.len());
        let mut known = Dim::from(1);
        for (axis, dim) in wanted.iter().enumerate() {
            let dim = match dim.fixed() {
                Some(-1) if wildcard.replace(axis).is_some() => {
                    return Err(argument("at most one −1"));
                }
                Some(-1) => Dim::from(1),
                Some(0) if self.zero_is_placeholder => from
                    .get(axis)
                    .ok_or_else(|| argument("0 only where the input has a dimension to copy"))?
                    .clone(),
                Some(size) if size < 0 => return Err(argument("sizes of at least −1")),
                Some(_) => dim.clone(),
                None => {
                    infer.at_most_dim(&Dim::from(0), dim);
                    dim.clone()
                }
            };
            known = known.mul(&dim).ok_or_else(overflow)?;
            dims.push(dim);
        }
        if let Some(axis) = wildcard {
            if known.fixed() == Some(0) {
                return Err(argument("no −1 beside a size of zero"));
            }
            dims[axis] = total.floor_div(&known).ok_or_else(overflow)?;
            known = known.mul(&dims[axis]).ok_or_else(overflow)?;
        }
        if infer.equal(&known, &total).is_none() {
            let label = TensorLabel {
                dims: from.clone(),
                ..input.label()
            };
            return Err(Fault::Reshape {
                tensor: label,
                to: format!("{wanted:?} ({known} elements)"),
                expected: total.to_string(),
            });
        }
        Ok(dims.into())
    }
}

fn is_identity(permutation: &[usize]) -> bool {
    permutation
        .iter()
        .enumerate()
        .all(|(index, &axis)| index == axis)
}

fn permuted(argument: &'static str, permutation: &[usize], dims: &Dims) -> Result<Dims, Fault> {
    let mut seen = vec![false; dims.len()];
    let each_once = permutation.iter().all(|&axis| {
        seen.get_mut(axis)
            .is_some_and(|seen| !std::mem::replace(seen, true))
    });
    if !each_once || permutation.len() != dims.len() {
        return Err(Fault::Argument {
            argument,
            found: format!("{permutation:?}"),
            expected: format!("each axis of {dims} once"),
        });
    }
    Ok(permutation.iter().map(|&axis| dims[axis].clone()).collect())
}

impl Graph {
    /// Transposes, reshapes and transposes again, each step optional:
    /// `add_shuffle(x, Shuffle::reshape([0, -1, 12, 32]).then_transpose([0, 2, 1, 3]))`.
    ///
    /// # Errors
    /// A permutation that does not name each axis once, or a new shape with another number of
    /// elements, more than one −1, or a 0 with nothing to copy.
    #[track_caller]
    pub fn add_shuffle(&mut self, input: Tensor, shuffle: Shuffle) -> Result<Tensor, GraphError> {
        self.add_one(shuffle, &[Some(input)])
    }

    /// As [`Self::add_shuffle`], with the new shape given by a vector of Int32 or Int64 that is
    /// computed from shapes and constants.
    ///
    /// # Errors
    /// As [`Self::add_shuffle`], or dimensions that depend on other data.
    #[track_caller]
    pub fn add_shuffle_to(
        &mut self,
        input: Tensor,
        reshape_dimensions: Tensor,
        shuffle: Shuffle,
    ) -> Result<Tensor, GraphError> {
        self.add_one(shuffle, &[Some(input), Some(reshape_dimensions)])
    }
}
