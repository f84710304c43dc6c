//! Select: broadcasting of all three inputs, of every type.

use super::joined;
use crate::Case;
use crate::case::float;
use tensoracle_graph::ElementWiseOperation;

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("select", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![Case::new(
        "by hand/the larger",
        [float(&[3], &[1.0, 5.0, 2.0]), float(&[3], &[4.0, 3.0, 2.0])],
        [float(&[3], &[4.0, 5.0, 2.0])],
        |g, x| {
            let above = g.add_elementwise(x[0], x[1], ElementWiseOperation::Greater)?;
            Ok(vec![g.add_select(above, x[0], x[1])?])
        },
    )]
}
