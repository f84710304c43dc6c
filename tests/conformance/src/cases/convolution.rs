//! Convolution: one to three spatial dimensions, strides, dilation, groups, all padding modes.

use super::joined;
use crate::Case;
use crate::case::float;
use tensoracle_graph::{ActivationType, Convolution, Values};

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("convolution", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![
        Case::new(
            "by hand/correlation, not convolution",
            [
                float(&[1, 1, 4], &[1.0, 2.0, 3.0, 4.0]),
                float(&[1, 1, 2], &[10.0, 1.0]),
            ],
            [float(&[1, 1, 3], &[12.0, 23.0, 34.0])],
            |g, x| {
                Ok(vec![g.add_convolution(
                    x[0],
                    x[1],
                    None,
                    Convolution::new(),
                )?])
            },
        ),
        Case::new(
            "by hand/followed by an activation and a bias",
            [float(&[1, 1, 3], &[1.0, -2.0, 3.0])],
            [float(&[1, 2, 3], &[2.0, 0.0, 4.0, 0.0, 1.0, 0.0])],
            |g, x| {
                // relu(x + 1) and relu(-x - 1).
                let kernel = g.add_constant(Values::new([2, 1, 1], [1.0f32, -1.0]))?;
                let bias = g.add_constant(Values::new([2], [1.0f32, -1.0]))?;
                let sum = g.add_convolution(x[0], kernel, Some(bias), Convolution::new())?;
                Ok(vec![g.add_activation(sum, ActivationType::Relu)?])
            },
        ),
    ]
}
