//! `IReduceLayer`: one value in place of all along some axes.

use crate::infer::{FLOATS, Infer, Inferred, Input, NUMBERS};
use crate::{Dim, Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// The operation, with TensorRT's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReduceOperation {
    /// Sum; 0 over nothing.
    Sum,
    /// Product; 1 over nothing.
    Prod,
    /// Maximum; the type's lowest value (minus infinity) over nothing.
    Max,
    /// Minimum; the type's highest value (infinity) over nothing.
    Min,
    /// Average, of floating point; NaN over nothing.
    Avg,
}

impl ReduceOperation {
    /// All operations, in TensorRT's order.
    pub const ALL: [Self; 5] = [Self::Sum, Self::Prod, Self::Max, Self::Min, Self::Avg];

    fn on_sizes(self, a: &Dim, b: &Dim) -> Option<Dim> {
        match self {
            Self::Sum => a.add(b),
            Self::Prod => a.mul(b),
            Self::Max => a.larger(b),
            Self::Min => a.smaller(b),
            Self::Avg => None,
        }
    }
}

/// Arguments of a reduce layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reduce {
    /// The operation.
    pub operation: ReduceOperation,
    /// The axes reduced over; negative counts from the end.
    pub axes: Vec<i64>,
    /// Whether reduced dimensions stay with size 1.
    pub keep_dimensions: bool,
}

impl Reduce {
    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(1)?;
        let input = infer.input(0, "input")?;
        let average = self.operation == ReduceOperation::Avg;
        input.type_in(if average { FLOATS } else { NUMBERS })?;
        let mut axes = input.axes("axes", &self.axes)?;
        axes.sort_unstable();
        if axes.is_empty() {
            return Err(Fault::Argument {
                argument: "axes",
                found: "[]".into(),
                expected: "at least one axis".into(),
            });
        }
        self.axes = axes.iter().map(|&axis| axis as i64).collect();
        let dims: Vec<Dim> = input
            .dims()
            .iter()
            .enumerate()
            .filter_map(
                |(axis, dim)| match (axes.contains(&axis), self.keep_dimensions) {
                    (false, _) => Some(dim.clone()),
                    (true, true) => Some(Dim::from(1)),
                    (true, false) => None,
                },
            )
            .collect();
        Ok(Inferred::new(input.data_type(), dims.into()).with_value(self.value(&input)))
    }

    /// Reducing a shape, which is a vector, to one size.
    fn value(&self, input: &Input) -> Option<Vec<Dim>> {
        let sizes = input.value().filter(|_| input.rank() == 1)?;
        let Some((first, rest)) = sizes.split_first() else {
            // The shape of a scalar.
            let neutral = match self.operation {
                ReduceOperation::Sum => 0,
                ReduceOperation::Prod => 1,
                _ => return None,
            };
            return Some(vec![Dim::from(neutral)]);
        };
        let result = rest.iter().try_fold(first.clone(), |result, dim| {
            self.operation.on_sizes(&result, dim)
        })?;
        Some(vec![result])
    }
}

impl Graph {
    /// Reduces over `axes`; `keep_dimensions` leaves them with size 1.
    ///
    /// # Errors
    /// An input that is not numeric (averages: not floating point), no axes, or axes outside the
    /// rank or given twice.
    #[track_caller]
    pub fn add_reduce(
        &mut self,
        input: Tensor,
        operation: ReduceOperation,
        axes: &[i64],
        keep_dimensions: bool,
    ) -> Result<Tensor, GraphError> {
        self.add_one(
            Reduce {
                operation,
                axes: axes.to_vec(),
                keep_dimensions,
            },
            &[Some(input)],
        )
    }
}
