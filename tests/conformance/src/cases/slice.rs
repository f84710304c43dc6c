//! Slice: all modes, strides of either sign and zero, arguments given by tensors.

use super::{count, joined};
use crate::Case;
use crate::case::float;
use tensoracle_graph::{ReduceOperation, SampleMode, Slice};

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("slice", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![
        Case::new(
            "by hand/outside",
            [float(&[3], &[1.0, 2.0, 3.0])],
            [
                float(&[7], &[2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0]),
                float(&[7], &[1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0]),
                float(&[7], &[3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0]),
                float(&[7], &[0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0]),
            ],
            |g, x| {
                let modes = [
                    SampleMode::Wrap,
                    SampleMode::Clamp,
                    SampleMode::Reflect,
                    SampleMode::Fill,
                ];
                let slice = |mode| Slice::new([-2], [7], [1]).mode(mode);
                modes
                    .iter()
                    .map(|mode| g.add_slice(x[0], slice(*mode)))
                    .collect()
            },
        ),
        Case::new(
            "by hand/a window into the middle that is summed",
            [float(&[4, 4], &count(16))],
            // 5 + 6 + 9 + 10.
            [float(&[], &[30.0])],
            |g, x| {
                let middle = g.add_slice(x[0], Slice::new([1, 1], [2, 2], [1, 1]))?;
                Ok(vec![g.add_reduce(
                    middle,
                    ReduceOperation::Sum,
                    &[0, 1],
                    false,
                )?])
            },
        ),
    ]
}
