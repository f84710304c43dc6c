//! Shuffle: both transposes, reshapes with placeholders, shapes given by tensors.

use super::{count, joined};
use crate::Case;
use crate::case::float;
use tensoracle_graph::{ElementWiseOperation, Shuffle};

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("shuffle", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![
        Case::new(
            "by hand/transpose, reshape, transpose",
            [float(&[2, 3], &count(6))],
            // Transposed: 0 3 1 4 2 5; as 2 by 3: [0 3 1; 4 2 5]; transposed: [0 4; 3 2; 1 5].
            [float(&[3, 2], &[0.0, 4.0, 3.0, 2.0, 1.0, 5.0])],
            |g, x| {
                let layer = Shuffle::transpose([1, 0])
                    .then_reshape([2, 3])
                    .then_transpose([1, 0]);
                Ok(vec![g.add_shuffle(x[0], layer)?])
            },
        ),
        Case::new(
            "by hand/a view that is read twice",
            [float(&[2, 2], &count(4))],
            [
                float(&[2, 2], &[0.0, 3.0, 3.0, 6.0]),
                float(&[4], &[0.0, 1.0, 2.0, 3.0]),
            ],
            |g, x| {
                let transposed = g.add_shuffle(x[0], Shuffle::transpose([1, 0]))?;
                let sum = g.add_elementwise(x[0], transposed, ElementWiseOperation::Sum)?;
                Ok(vec![sum, g.add_shuffle(x[0], Shuffle::reshape([-1]))?])
            },
        ),
    ]
}
