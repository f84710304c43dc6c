//! `IActivationLayer`: a function of one element with up to two parameters.

use crate::infer::{FLOATS, Infer, Inferred, NUMBERS};
use crate::{Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// The function, with TensorRT's names and formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActivationType {
    /// `max(0, x)`; also on integers.
    Relu,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// `tanh(x)`.
    Tanh,
    /// `x >= 0 ? x : alpha·x`.
    LeakyRelu,
    /// `x >= 0 ? x : alpha·(exp(x) - 1)`.
    Elu,
    /// `x > 0 ? beta·x : beta·(alpha·exp(x) - alpha)`.
    Selu,
    /// `x / (1 + |x|)`.
    Softsign,
    /// `alpha·log(exp(beta·x) + 1)`.
    Softplus,
    /// `max(alpha, min(beta, x))`.
    Clip,
    /// `max(0, min(1, alpha·x + beta))`.
    HardSigmoid,
    /// `alpha·tanh(beta·x)`.
    ScaledTanh,
    /// `x > alpha ? x : 0`.
    ThresholdedRelu,
    /// `0.5·x·(1 + erf(sqrt(0.5)·x))`.
    GeluErf,
    /// `0.5·x·(1 + tanh(sqrt(2/π)·(0.044715·x³ + x)))`.
    GeluTanh,
}

impl ActivationType {
    /// All activation types, in TensorRT's order.
    pub const ALL: [Self; 14] = [
        Self::Relu,
        Self::Sigmoid,
        Self::Tanh,
        Self::LeakyRelu,
        Self::Elu,
        Self::Selu,
        Self::Softsign,
        Self::Softplus,
        Self::Clip,
        Self::HardSigmoid,
        Self::ScaledTanh,
        Self::ThresholdedRelu,
        Self::GeluErf,
        Self::GeluTanh,
    ];

    /// The parameters `(alpha, beta)` that ONNX's operators of the same names default to; 0 where
    /// the function has none, and the whole range of `f32` for [`Self::Clip`].
    #[must_use]
    pub const fn default_parameters(self) -> (f32, f32) {
        match self {
            Self::LeakyRelu => (0.01, 0.0),
            Self::Elu | Self::ThresholdedRelu => (1.0, 0.0),
            // The fixed point of self-normalising networks, as ONNX's Selu states it.
            Self::Selu => (1.673_263_2, 1.050_701),
            Self::Softplus | Self::ScaledTanh => (1.0, 1.0),
            Self::Clip => (f32::MIN, f32::MAX),
            Self::HardSigmoid => (0.2, 0.5),
            _ => (0.0, 0.0),
        }
    }
}

/// Arguments of an activation layer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Activation {
    /// The function.
    pub function: ActivationType,
    /// First parameter; finite. Ignored where the function has none.
    pub alpha: f32,
    /// Second parameter; finite. Ignored where the function has none.
    pub beta: f32,
}

impl Activation {
    /// `max(low, min(high, x))`.
    #[must_use]
    pub fn clip(low: f32, high: f32) -> Self {
        Self {
            function: ActivationType::Clip,
            alpha: low,
            beta: high,
        }
    }

    /// Sets the first parameter.
    #[must_use]
    pub fn alpha(self, alpha: f32) -> Self {
        Self { alpha, ..self }
    }

    /// Sets the second parameter.
    #[must_use]
    pub fn beta(self, beta: f32) -> Self {
        Self { beta, ..self }
    }

    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(1)?;
        let input = infer.input(0, "input")?;
        let relu = self.function == ActivationType::Relu;
        input.type_in(if relu { NUMBERS } else { FLOATS })?;
        for (argument, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !value.is_finite() {
                return Err(Fault::Argument {
                    argument,
                    found: value.to_string(),
                    expected: "a finite number".into(),
                });
            }
        }
        Ok(Inferred::new(input.data_type(), input.dims().clone()))
    }
}

impl From<ActivationType> for Activation {
    /// The function with its [default parameters](ActivationType::default_parameters).
    fn from(function: ActivationType) -> Self {
        let (alpha, beta) = function.default_parameters();
        Self {
            function,
            alpha,
            beta,
        }
    }
}

impl Graph {
    /// Adds an activation: `add_activation(x, ActivationType::Relu)`, or with parameters
    /// `add_activation(x, Activation::clip(0.0, 6.0))`.
    ///
    /// # Errors
    /// An input that is not floating point (`Relu` also takes Int32 and Int64), or a parameter
    /// that is not finite.
    #[track_caller]
    pub fn add_activation(
        &mut self,
        input: Tensor,
        activation: impl Into<Activation>,
    ) -> Result<Tensor, GraphError> {
        self.add_one(activation.into(), &[Some(input)])
    }
}
