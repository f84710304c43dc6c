//! Element-wise: all operations, broadcasting, integers, special values.

use super::joined;
use crate::Case;
use crate::case::{float, int64};
use tensoracle_graph::{ElementWiseOperation, Values};

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("elementwise", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![
        Case::new(
            "by hand/of itself",
            [float(&[2], &[3.0, -4.0])],
            [float(&[2], &[9.0, 16.0])],
            |g, x| {
                Ok(vec![g.add_elementwise(
                    x[0],
                    x[0],
                    ElementWiseOperation::Prod,
                )?])
            },
        ),
        Case::new(
            "by hand/a chain over one input",
            [float(&[2], &[3.0, -4.0])],
            [float(&[2], &[15.0, 8.0])],
            |g, x| {
                // (x + 2)·x: the input is still needed after it was first read.
                let two = g.add_constant(Values::new([1], [2.0f32]))?;
                let sum = g.add_elementwise(x[0], two, ElementWiseOperation::Sum)?;
                Ok(vec![g.add_elementwise(
                    sum,
                    x[0],
                    ElementWiseOperation::Prod,
                )?])
            },
        ),
        Case::new(
            "by hand/integer division by itself",
            [int64(&[4], &[7, -7, 7, -7]), int64(&[4], &[2, 2, -2, -2])],
            [int64(&[4], &[3, -3, -3, 3]), int64(&[4], &[3, -4, -4, 3])],
            |g, x| {
                let truncated = g.add_elementwise(x[0], x[1], ElementWiseOperation::Div)?;
                let floor = g.add_elementwise(x[0], x[1], ElementWiseOperation::FloorDiv)?;
                Ok(vec![truncated, floor])
            },
        ),
    ]
}
