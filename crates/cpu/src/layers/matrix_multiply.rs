//! Matrix multiply: collections, transposes and vectors put in the kernel's terms.

use super::strided::broadcast;
use super::{Call, Operand};
use tensoracle_graph::{MatrixMultiply, MatrixOperation};
use tensoracle_kernels::{
    BatchDim, Bias, Epilogue, MatMut, MatRef, Operand as Right, Packed, Real, gemm_batched,
};

/// How an operand's last dimensions are a matrix: rows, columns, and their strides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatrixView {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl MatrixView {
    pub(crate) fn left(dims: &[usize], operation: MatrixOperation) -> Self {
        match operation {
            MatrixOperation::Vector => {
                let columns = dims[dims.len() - 1];
                Self {
                    rows: 1,
                    columns,
                    row_stride: columns,
                    column_stride: 1,
                }
            }
            _ => Self::matrix(dims, operation),
        }
    }

    pub(crate) fn right(dims: &[usize], operation: MatrixOperation) -> Self {
        match operation {
            MatrixOperation::Vector => {
                let rows = dims[dims.len() - 1];
                Self {
                    rows,
                    columns: 1,
                    row_stride: 1,
                    column_stride: 1,
                }
            }
            _ => Self::matrix(dims, operation),
        }
    }

    fn matrix(dims: &[usize], operation: MatrixOperation) -> Self {
        let (rows, columns) = (dims[dims.len() - 2], dims[dims.len() - 1]);
        let plain = Self {
            rows,
            columns,
            row_stride: columns,
            column_stride: 1,
        };
        match operation {
            MatrixOperation::Transpose => Self {
                rows: columns,
                columns: rows,
                row_stride: plain.column_stride,
                column_stride: plain.row_stride,
            },
            _ => plain,
        }
    }

    /// The matrix that lies at the start of `elements`.
    pub(crate) fn of<T>(self, elements: &[T]) -> MatRef<'_, T> {
        MatRef::strided(
            elements,
            self.rows,
            self.columns,
            self.row_stride,
            self.column_stride,
        )
    }
}

/// The collection dimensions of an operand.
pub(crate) fn batch_dims(dims: &[usize], operation: MatrixOperation) -> &[usize] {
    let own = if operation == MatrixOperation::Vector {
        1
    } else {
        2
    };
    &dims[..dims.len() - own]
}

pub(super) fn run<T: Real>(layer: &MatrixMultiply, call: &mut Call<'_, T>) {
    let (left, right) = (call.input(0), call.input(1));
    let mut a = MatrixView::left(left.dims, layer.left);
    let b = MatrixView::right(right.dims, layer.right);
    let left_batch = batch_dims(left.dims, layer.left);
    let right_batch = batch_dims(right.dims, layer.right);
    let batch = &call.dims[..left_batch.len()];
    let epilogue = Epilogue {
        bias: call.bias.map_or(Bias::None, Bias::PerColumn),
        activation: call.activation,
    };
    let out = call.output.real();
    if out.is_empty() {
        return;
    }
    let mut nest = Vec::new();
    // With one right matrix for all, rows of a whole collection are rows of one product.
    let one_right = right_batch.iter().all(|&size| size == 1);
    let stacked = a.column_stride == 1 && a.row_stride == a.columns && one_right;
    if stacked {
        a.rows *= batch.iter().product::<usize>();
    } else {
        nest = batch_nest(batch, left_batch, right_batch, [a, b]);
    }
    let mut c = MatMut::new(out, a.rows, b.columns);
    let b = right_operand(&right, b);
    gemm_batched(&nest, a.of(left.elements.real()), b, &mut c, epilogue);
}

fn right_operand<'a, T: Real>(right: &Operand<'a, T>, view: MatrixView) -> Right<'a, T> {
    let elements = right.elements.real();
    if right.packed {
        Right::Packed(Packed::from_slice(view.rows, view.columns, elements))
    } else {
        Right::Matrix(view.of(elements))
    }
}

fn batch_nest(
    batch: &[usize],
    left: &[usize],
    right: &[usize],
    [a, b]: [MatrixView; 2],
) -> Vec<BatchDim> {
    // A step along a collection dimension passes over whole matrices; a packed right operand is
    // one for all, with steps of zero.
    let steps = |own: &[usize], matrix: usize| -> Vec<usize> {
        broadcast(own, batch)
            .iter()
            .map(|&step| step as usize * matrix)
            .collect()
    };
    let a_steps = steps(left, a.rows * a.columns);
    let b_steps = steps(right, b.rows * b.columns);
    let c_steps = steps(batch, a.rows * b.columns);
    (0..batch.len())
        .filter(|&axis| batch[axis] != 1)
        .map(|axis| BatchDim {
            count: batch[axis],
            a: a_steps[axis],
            b: b_steps[axis],
            c: c_steps[axis],
        })
        .collect()
}
