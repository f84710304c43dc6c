//! Concatenation: along every axis, with nothing among the parts, of every type.

use super::joined;
use crate::Case;
use crate::case::float;

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("concatenation", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![
        Case::new(
            "by hand/of itself",
            [float(&[1, 2], &[1.0, 2.0])],
            [float(&[1, 6], &[1.0, 2.0, 1.0, 2.0, 1.0, 2.0])],
            |g, x| Ok(vec![g.add_concatenation(&[x[0], x[0], x[0]], 1)?]),
        ),
        Case::new(
            "by hand/of another concatenation",
            [float(&[1], &[1.0]), float(&[2], &[2.0, 3.0])],
            [
                float(&[4], &[1.0, 2.0, 3.0, 1.0]),
                float(&[3], &[1.0, 2.0, 3.0]),
            ],
            |g, x| {
                let inner = g.add_concatenation(&[x[0], x[1]], 0)?;
                Ok(vec![g.add_concatenation(&[inner, x[0]], 0)?, inner])
            },
        ),
    ]
}
