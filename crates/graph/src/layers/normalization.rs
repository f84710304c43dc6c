//! `INormalizationLayer`, in the form that `addNormalizationV2` makes: layer, instance and group
//! normalization.

use crate::infer::{FLOATS, Infer, Inferred};
use crate::{Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// Arguments of a normalization layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalization {
    /// The axes that mean and variance are taken over; negative counts from the end.
    pub axes: Vec<i64>,
    /// Added to the variance; default 1e-5.
    pub epsilon: f32,
    /// Groups of channels (axis 1) normalized apart. Other than 1 only with exactly the axes
    /// behind the channels; mean and variance are then taken over a group's channels as well.
    pub groups: u64,
}

impl Normalization {
    /// Over the given axes: the last for layer normalization, all spatial ones for instance
    /// normalization.
    #[must_use]
    pub fn over(axes: impl Into<Vec<i64>>) -> Self {
        Self {
            axes: axes.into(),
            epsilon: 1e-5,
            groups: 1,
        }
    }

    /// Sets what is added to the variance.
    #[must_use]
    pub fn epsilon(self, epsilon: f32) -> Self {
        Self { epsilon, ..self }
    }

    /// Sets the number of groups of channels.
    #[must_use]
    pub fn groups(self, groups: u64) -> Self {
        Self { groups, ..self }
    }

    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(3)?;
        let input = infer.input(0, "input")?;
        input.type_in(FLOATS)?;
        let mut axes = input.axes("axes", &self.axes)?;
        axes.sort_unstable();
        let fault = |argument, found: String, expected: &str| {
            Err(Fault::Argument {
                argument,
                found,
                expected: expected.into(),
            })
        };
        if axes.is_empty() {
            return fault("axes", "[]".into(), "at least one axis");
        }
        if !(self.epsilon.is_finite() && self.epsilon >= 0.0) {
            return fault(
                "epsilon",
                self.epsilon.to_string(),
                "a finite number of at least 0",
            );
        }
        if self.groups != 1 {
            input.rank_at_least(3)?;
            if !axes.iter().copied().eq(2..input.rank()) {
                let expected = "all axes behind the channels, since there are groups";
                return fault("axes", format!("{axes:?}"), expected);
            }
            let channels = input.dims()[1]
                .fixed()
                .and_then(|size| u64::try_from(size).ok());
            if channels.is_none_or(|c| c.checked_rem(self.groups) != Some(0)) {
                let expected = format!("a fixed multiple of {} groups", self.groups);
                return Err(input.dim_fault(1, expected));
            }
        }
        self.axes = axes.into_iter().map(|axis| axis as i64).collect();
        let scale = infer.input(1, "scale")?;
        let bias = infer.input(2, "bias")?;
        for parameter in [&scale, &bias] {
            parameter.same_type_as(&input)?;
            parameter.rank_is(input.rank())?;
            for (axis, (size, whole)) in
                parameter.dims().iter().zip(input.dims().iter()).enumerate()
            {
                if size.fixed() != Some(1) && infer.equal(size, whole).is_none() {
                    return Err(parameter.dim_fault(axis, format!("{whole} or 1")));
                }
            }
        }
        for (axis, (a, b)) in scale.dims().iter().zip(bias.dims().iter()).enumerate() {
            if infer.equal(a, b).is_none() {
                return Err(bias.dim_fault(axis, format!("{a} as the scale has")));
            }
        }
        Ok(Inferred::new(input.data_type(), input.dims().clone()))
    }
}

impl Graph {
    /// Normalizes: `(x - mean) / sqrt(variance + epsilon) · scale + bias`.
    ///
    /// `scale` and `bias` have one shape, of the input's rank, which broadcasts to the input's:
    /// `[1, 1, d]` for layer normalization over the last axis, `[1, C, 1, 1]` for instance and
    /// group normalization.
    ///
    /// # Errors
    /// Types or shapes that do not fit, axes outside the rank, or groups that do not divide the
    /// channels.
    #[track_caller]
    pub fn add_normalization(
        &mut self,
        input: Tensor,
        scale: Tensor,
        bias: Tensor,
        normalization: Normalization,
    ) -> Result<Tensor, GraphError> {
        self.add_one(normalization, &[Some(input), Some(scale), Some(bias)])
    }
}
