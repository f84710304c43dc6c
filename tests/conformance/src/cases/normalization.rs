//! Normalization: layer, instance and group, parameters that broadcast.

use super::joined;
use crate::Case;
use crate::case::float;
use tensoracle_graph::{Normalization, Values};

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("normalization", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![
        Case::new(
            "by hand/two elements",
            [float(&[1, 2], &[1.0, 3.0])],
            // Mean 2, variance 1: -1 and 1, scaled by 2 and 3, shifted by 10 and 20.
            [float(&[1, 2], &[8.0, 23.0])],
            |g, x| {
                let scale = g.add_constant(Values::new([1, 2], [2.0f32, 3.0]))?;
                let bias = g.add_constant(Values::new([1, 2], [10.0f32, 20.0]))?;
                let layer = Normalization::over([1]).epsilon(0.0);
                Ok(vec![g.add_normalization(x[0], scale, bias, layer)?])
            },
        )
        .within(1e-5, 0.0),
    ]
}
