//! `IElementWiseLayer`: an operation between corresponding elements of two tensors.

use crate::infer::{Infer, Inferred, Input, NUMBERS};
use crate::{DataType, Dim, Dims, Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// The operation, with TensorRT's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ElementWiseOperation {
    /// Sum of the two elements.
    Sum,
    /// Product of the two elements.
    Prod,
    /// Maximum of the two elements.
    Max,
    /// Minimum of the two elements.
    Min,
    /// The second element subtracted from the first.
    Sub,
    /// The first element divided by the second; integers truncate towards zero.
    Div,
    /// The first element to the power of the second.
    Pow,
    /// The floor of the first element divided by the second.
    FloorDiv,
    /// Logical AND of two booleans.
    And,
    /// Logical OR of two booleans.
    Or,
    /// Logical XOR of two booleans.
    Xor,
    /// Whether the elements are equal.
    Equal,
    /// Whether the first element is greater.
    Greater,
    /// Whether the first element is less.
    Less,
}

impl ElementWiseOperation {
    /// All operations, in TensorRT's order.
    pub const ALL: [Self; 14] = [
        Self::Sum,
        Self::Prod,
        Self::Max,
        Self::Min,
        Self::Sub,
        Self::Div,
        Self::Pow,
        Self::FloorDiv,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::Equal,
        Self::Greater,
        Self::Less,
    ];

    fn takes(self) -> &'static [DataType] {
        const WITH_BOOL: &[DataType] = &[
            DataType::Float,
            DataType::Half,
            DataType::BFloat16,
            DataType::Int32,
            DataType::Int64,
            DataType::Bool,
        ];
        match self {
            Self::And | Self::Or | Self::Xor => &[DataType::Bool],
            Self::Equal => WITH_BOOL,
            _ => NUMBERS,
        }
    }

    fn gives(self, input: DataType) -> DataType {
        match self {
            Self::Equal | Self::Greater | Self::Less => DataType::Bool,
            _ => input,
        }
    }

    /// The operation on sizes, where the result is again a size that can be written down.
    fn on_sizes(self, a: &Dim, b: &Dim) -> Option<Dim> {
        match self {
            Self::Sum => a.add(b),
            Self::Sub => a.sub(b),
            Self::Prod => a.mul(b),
            Self::Max => a.larger(b),
            Self::Min => a.smaller(b),
            Self::FloorDiv => a.floor_div(b),
            // Truncation is the floor only where neither is negative, which is known of numbers.
            Self::Div => a.fixed()?.checked_div(b.fixed()?).map(Dim::from),
            _ => None,
        }
    }
}

/// Arguments of an element-wise layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ElementWise {
    /// The operation.
    pub operation: ElementWiseOperation,
}

impl ElementWise {
    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(2)?;
        let first = infer.input(0, "first input")?;
        let second = infer.input(1, "second input")?;
        first.type_in(self.operation.takes())?;
        second.same_type_as(&first)?;
        let dims = infer.broadcast(&first, &second)?;
        let value = self.value(&first, &second, &dims);
        Ok(Inferred::new(self.operation.gives(first.data_type()), dims).with_value(value))
    }

    fn value(&self, first: &Input, second: &Input, dims: &Dims) -> Option<Vec<Dim>> {
        let (a, b) = (first.value()?, second.value()?);
        let count = usize::try_from(dims.volume()?.fixed()?).ok()?;
        // Elements pair up one to one, or one of the sides is a single element.
        let at = |side: &'_ [Dim], index: usize| match side.len() {
            1 => Some(side[0].clone()),
            len if len == count => Some(side[index].clone()),
            _ => None,
        };
        (0..count)
            .map(|i| self.operation.on_sizes(&at(a, i)?, &at(b, i)?))
            .collect()
    }
}

impl Graph {
    /// Combines two tensors of one type and rank element by element. A dimension fixed at 1 is
    /// broadcast to the other tensor's.
    ///
    /// Comparisons give booleans; AND, OR and XOR take them.
    ///
    /// # Errors
    /// Types that differ or that the operation does not take, ranks that differ, or dimensions
    /// that neither agree nor broadcast.
    #[track_caller]
    pub fn add_elementwise(
        &mut self,
        first: Tensor,
        second: Tensor,
        operation: ElementWiseOperation,
    ) -> Result<Tensor, GraphError> {
        self.add_one(ElementWise { operation }, &[Some(first), Some(second)])
    }
}
