//! Cast: between all types, with ties, overflow, saturation and wrapping.

use super::joined;
use crate::Case;
use crate::case::float;
use tensoracle_graph::DataType;

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("cast", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![
        Case::new(
            "by hand/twice",
            [float(&[3], &[1.9, -1.9, 300.0])],
            [float(&[3], &[1.0, -1.0, 300.0])],
            |g, x| {
                let whole = g.add_cast(x[0], DataType::Int32)?;
                Ok(vec![g.add_cast(whole, DataType::Float)?])
            },
        ),
        Case::new(
            "by hand/narrow and wide again",
            [float(&[2], &[0.1, 3.0])],
            [float(&[2], &[0.0999755859375, 3.0])],
            |g, x| {
                // In the exact precision nothing is rounded in between, so the tenth stays one.
                let half = g.add_cast(x[0], DataType::Half)?;
                Ok(vec![g.add_cast(half, DataType::Float)?])
            },
        )
        .within(1e-4, 0.0),
    ]
}
