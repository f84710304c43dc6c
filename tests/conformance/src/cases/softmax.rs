//! Softmax: along every axis, large values, masks.

use super::joined;
use crate::Case;
use crate::case::float;

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("softmax", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![
        Case::new(
            "by hand/thirds and a fifth",
            // exp(ln 4) to exp(0): 4/5 and 1/5; equal elements: a third each.
            [
                float(&[2], &[4f64.ln(), 0.0]),
                float(&[3, 1], &[7.0, 7.0, 7.0]),
            ],
            [float(&[2], &[0.8, 0.2]), float(&[3, 1], &[1.0 / 3.0; 3])],
            |g, x| Ok(vec![g.add_softmax(x[0], 0)?, g.add_softmax(x[1], 0)?]),
        )
        .within(1e-6, 0.0),
    ]
}
