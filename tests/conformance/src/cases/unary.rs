//! Unary: all functions, special values, narrow types.

use super::joined;
use crate::Case;
use crate::case::float;
use tensoracle_graph::UnaryOperation;

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("unary", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![Case::new(
        "by hand/signs and roundings",
        [float(&[4], &[-2.5, -0.5, 0.5, 1.5])],
        [
            float(&[4], &[-1.0, -1.0, 1.0, 1.0]),
            float(&[4], &[-2.0, 0.0, 0.0, 2.0]),
            float(&[4], &[-3.0, -1.0, 0.0, 1.0]),
            float(&[4], &[-2.0, 0.0, 1.0, 2.0]),
        ],
        |g, x| {
            use UnaryOperation::{Ceil, Floor, Round, Sign};
            [Sign, Round, Floor, Ceil]
                .iter()
                .map(|operation| g.add_unary(x[0], *operation))
                .collect()
        },
    )]
}
