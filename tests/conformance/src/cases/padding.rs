//! Padding: in front, behind, cropping, of nothing.

use super::joined;
use crate::Case;
use crate::case::float;

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("padding", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![Case::new(
        "by hand/around one element",
        [float(&[1, 1], &[7.0])],
        [float(&[2, 3], &[0.0, 0.0, 0.0, 0.0, 7.0, 0.0])],
        |g, x| Ok(vec![g.add_padding(x[0], [1, 1], [0, 1])?]),
    )]
}
