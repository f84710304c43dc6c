//! Activation: all functions with their parameters, special values, narrow types.

use super::joined;
use crate::Case;
use crate::case::float;
use tensoracle_graph::{Activation, ActivationType};

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("activation", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![
        Case::new(
            "by hand/relu",
            [float(&[3], &[-1.0, 0.0, 2.0])],
            [float(&[3], &[0.0, 0.0, 2.0])],
            |g, x| Ok(vec![g.add_activation(x[0], ActivationType::Relu)?]),
        ),
        Case::new(
            "by hand/clip below its own minimum",
            [float(&[2], &[-9.0, 9.0])],
            [float(&[2], &[3.0, 3.0])],
            |g, x| {
                // max(alpha, min(beta, x)): alpha wins where it is above beta.
                Ok(vec![g.add_activation(x[0], Activation::clip(3.0, 1.0))?])
            },
        ),
        Case::new(
            "by hand/fused and not",
            [float(&[2], &[-4.0, 4.0])],
            [float(&[2], &[0.0, 4.0]), float(&[2], &[-4.0, 4.0])],
            |g, x| {
                // The layer before is an output as well, so a backend cannot fold the two into one.
                let same = g.add_identity(x[0])?;
                Ok(vec![g.add_activation(same, ActivationType::Relu)?, same])
            },
        ),
    ]
}
