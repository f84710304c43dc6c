//! Matrix multiply: matrices and vectors, transposes, broadcast collections, empty sums.

use super::joined;
use crate::Case;
use crate::case::float;
use tensoracle_graph::{ActivationType, ElementWiseOperation, MatrixOperation, Values};

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("matrix_multiply", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![
        Case::new(
            "by hand/two by two",
            [
                float(&[2, 2], &[1.0, 2.0, 3.0, 4.0]),
                float(&[2, 2], &[5.0, 6.0, 7.0, 8.0]),
            ],
            [
                float(&[2, 2], &[19.0, 22.0, 43.0, 50.0]),
                float(&[2, 2], &[26.0, 30.0, 38.0, 44.0]),
            ],
            |g, x| {
                let (n, t) = (MatrixOperation::None, MatrixOperation::Transpose);
                let plain = g.add_matrix_multiply(x[0], n, x[1], n)?;
                // [1 3; 2 4]·[5 6; 7 8]
                let transposed = g.add_matrix_multiply(x[0], t, x[1], n)?;
                Ok(vec![plain, transposed])
            },
        ),
        Case::new(
            "by hand/with a bias and an activation",
            [float(&[1, 2], &[1.0, 2.0])],
            [float(&[1, 3], &[0.0, 7.0, 0.0])],
            |g, x| {
                // [1 2]·[1 2 -3; 1 2 -1] = [3 6 -5], plus [-4 1 1], cut at zero.
                let weight =
                    g.add_constant(Values::new([2, 3], [1.0f32, 2.0, -3.0, 1.0, 2.0, -1.0]))?;
                let bias = g.add_constant(Values::new([1, 3], [-4.0f32, 1.0, 1.0]))?;
                let (n, sum) = (MatrixOperation::None, ElementWiseOperation::Sum);
                let product = g.add_matrix_multiply(x[0], n, weight, n)?;
                let shifted = g.add_elementwise(product, bias, sum)?;
                Ok(vec![g.add_activation(shifted, ActivationType::Relu)?])
            },
        ),
    ]
}
