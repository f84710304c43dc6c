//! Reduce: all operations over all axes, kept or dropped, over nothing.

use super::joined;
use crate::Case;
use crate::case::float;
use tensoracle_graph::ReduceOperation;

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("reduce", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![Case::new(
        "by hand/rows and columns",
        [float(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])],
        [
            float(&[2], &[6.0, 15.0]),
            float(&[1, 3], &[2.5, 3.5, 4.5]),
            float(&[], &[720.0]),
        ],
        |g, x| {
            let rows = g.add_reduce(x[0], ReduceOperation::Sum, &[1], false)?;
            let columns = g.add_reduce(x[0], ReduceOperation::Avg, &[0], true)?;
            let all = g.add_reduce(x[0], ReduceOperation::Prod, &[0, 1], false)?;
            Ok(vec![rows, columns, all])
        },
    )]
}
