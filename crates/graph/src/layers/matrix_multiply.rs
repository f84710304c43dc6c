//! `IMatrixMultiplyLayer`: products of matrices and vectors, and of collections of them.

use crate::infer::{FLOATS, Infer, Inferred, Input};
use crate::{Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// How an input is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MatrixOperation {
    /// The last two dimensions are a matrix.
    None,
    /// The last two dimensions are a matrix, transposed.
    Transpose,
    /// The last dimension is a vector: a row on the left, a column on the right.
    Vector,
}

/// Arguments of a matrix multiply layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatrixMultiply {
    /// How the left input is read.
    pub left: MatrixOperation,
    /// How the right input is read.
    pub right: MatrixOperation,
}

impl MatrixMultiply {
    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(2)?;
        let left = infer.input(0, "left input")?;
        let right = infer.input(1, "right input")?;
        left.type_in(FLOATS)?;
        right.same_type_as(&left)?;
        let (left_batch, rows, inner) = split(&left, self.left)?;
        let (right_batch, columns, right_inner) = split(&right, self.right)?;
        if left_batch != right_batch {
            let own = right.rank() - right_batch;
            return Err(right.rank_fault(format!(
                "{} ({left_batch} collection dimensions as the left input has)",
                left_batch + own
            )));
        }
        let mut dims = Vec::new();
        for axis in 0..left_batch {
            let (a, b) = (&left.dims()[axis], &right.dims()[axis]);
            dims.push(infer.broadcast_dim(a, b, &right, axis)?);
        }
        let inner_size = &left.dims()[inner];
        infer
            .equal(inner_size, &right.dims()[right_inner])
            .ok_or_else(|| right.dim_fault(right_inner, inner_size.to_string()))?;
        dims.extend(rows.map(|axis| left.dims()[axis].clone()));
        dims.extend(columns.map(|axis| right.dims()[axis].clone()));
        Ok(Inferred::new(left.data_type(), dims.into()))
    }
}

/// The number of collection dimensions, the axis that the output keeps, and the axis summed over.
/// On the left a matrix keeps its rows; on the right, its columns.
fn split(
    input: &Input,
    operation: MatrixOperation,
) -> Result<(usize, Option<usize>, usize), Fault> {
    let rank = input.rank();
    let is_left = input.role() == "left input";
    match operation {
        MatrixOperation::Vector => {
            input.rank_at_least(1)?;
            Ok((rank - 1, None, rank - 1))
        }
        MatrixOperation::None | MatrixOperation::Transpose => {
            input.rank_at_least(2)?;
            let transposed = operation == MatrixOperation::Transpose;
            let (row, column) = if transposed {
                (rank - 1, rank - 2)
            } else {
                (rank - 2, rank - 1)
            };
            Ok(if is_left {
                (rank - 2, Some(row), column)
            } else {
                (rank - 2, Some(column), row)
            })
        }
    }
}

impl Graph {
    /// Multiplies `left` by `right`, each read as its operation says. Leading dimensions are
    /// collections: as many on both sides, equal or broadcast from 1.
    ///
    /// # Errors
    /// Types that differ or are not floating point, or dimensions that do not fit.
    #[track_caller]
    pub fn add_matrix_multiply(
        &mut self,
        left: Tensor,
        left_operation: MatrixOperation,
        right: Tensor,
        right_operation: MatrixOperation,
    ) -> Result<Tensor, GraphError> {
        let layer = MatrixMultiply {
            left: left_operation,
            right: right_operation,
        };
        self.add_one(layer, &[Some(left), Some(right)])
    }
}
