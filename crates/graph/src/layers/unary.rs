//! `IUnaryLayer`: a function of one element.

use crate::infer::{FLOATS, Infer, Inferred, NUMBERS};
use crate::{DataType, Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// The function, with TensorRT's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum UnaryOperation {
    /// Exponentiation.
    Exp,
    /// Natural logarithm.
    Log,
    /// Square root.
    Sqrt,
    /// Reciprocal.
    Recip,
    /// Absolute value; also of integers.
    Abs,
    /// Negation; also of integers.
    Neg,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Inverse sine.
    Asin,
    /// Inverse cosine.
    Acos,
    /// Inverse tangent.
    Atan,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// Ceiling.
    Ceil,
    /// Floor.
    Floor,
    /// Gauss error function.
    Erf,
    /// Logical NOT of booleans.
    Not,
    /// 1, 0 or −1 by the sign; also of integers.
    Sign,
    /// To the nearest whole number, ties to even.
    Round,
    /// Whether the element is infinite; gives booleans.
    IsInf,
    /// Whether the element is not a number; gives booleans.
    IsNan,
}

impl UnaryOperation {
    /// All operations, in TensorRT's order.
    pub const ALL: [Self; 25] = [
        Self::Exp,
        Self::Log,
        Self::Sqrt,
        Self::Recip,
        Self::Abs,
        Self::Neg,
        Self::Sin,
        Self::Cos,
        Self::Tan,
        Self::Sinh,
        Self::Cosh,
        Self::Asin,
        Self::Acos,
        Self::Atan,
        Self::Asinh,
        Self::Acosh,
        Self::Atanh,
        Self::Ceil,
        Self::Floor,
        Self::Erf,
        Self::Not,
        Self::Sign,
        Self::Round,
        Self::IsInf,
        Self::IsNan,
    ];
}

/// Arguments of a unary layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unary {
    /// The function.
    pub operation: UnaryOperation,
}

impl Unary {
    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(1)?;
        let input = infer.input(0, "input")?;
        input.type_in(match self.operation {
            UnaryOperation::Not => &[DataType::Bool],
            UnaryOperation::Abs | UnaryOperation::Neg | UnaryOperation::Sign => NUMBERS,
            _ => FLOATS,
        })?;
        let data_type = match self.operation {
            UnaryOperation::IsInf | UnaryOperation::IsNan => DataType::Bool,
            _ => input.data_type(),
        };
        Ok(Inferred::new(data_type, input.dims().clone()))
    }
}

impl Graph {
    /// Adds a function of each element.
    ///
    /// # Errors
    /// A type that the function does not take.
    #[track_caller]
    pub fn add_unary(
        &mut self,
        input: Tensor,
        operation: UnaryOperation,
    ) -> Result<Tensor, GraphError> {
        self.add_one(Unary { operation }, &[Some(input)])
    }
}
