//! Gather: the three modes, negative indices and those out of bounds, shared dimensions.

use super::joined;
use crate::Case;
use crate::case::{float, int64};
use tensoracle_graph::{ElementWiseOperation, Gather, Values};

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("gather", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![
        Case::new(
            "by hand/rows of a table",
            [
                float(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
                int64(&[2, 1], &[2, -3]),
            ],
            [float(&[2, 1, 2], &[5.0, 6.0, 1.0, 2.0])],
            |g, x| Ok(vec![g.add_gather(x[0], x[1], Gather::along(0))?]),
        ),
        Case::new(
            "by hand/indices that are computed",
            [float(&[4], &[10.0, 11.0, 12.0, 13.0]), int64(&[2], &[0, 1])],
            [float(&[2], &[11.0, 12.0])],
            |g, x| {
                let one = g.add_constant(Values::new([1], [1i64]))?;
                let next = g.add_elementwise(x[1], one, ElementWiseOperation::Sum)?;
                Ok(vec![g.add_gather(x[0], next, Gather::along(0))?])
            },
        ),
    ]
}
