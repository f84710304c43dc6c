//! Identity: of every type, of scalars and of nothing.

use super::joined;
use crate::Case;
use crate::case::float;

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("identity", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![
        Case::new(
            "by hand/of an input that is an output",
            [float(&[1], &[5.0])],
            [float(&[1], &[5.0]), float(&[1], &[5.0])],
            |g, x| Ok(vec![g.add_identity(x[0])?, x[0]]),
        ),
        Case::new(
            "by hand/twice the same output",
            [float(&[1], &[5.0])],
            [float(&[1], &[5.0]), float(&[1], &[5.0])],
            |g, x| {
                let same = g.add_identity(x[0])?;
                let same = g.add_identity(same)?;
                Ok(vec![same, same])
            },
        ),
    ]
}
