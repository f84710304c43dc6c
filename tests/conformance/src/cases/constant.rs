//! Constant: of every type, used and as an output.

use super::joined;
use crate::Case;
use crate::case::float;
use tensoracle_graph::{ElementWiseOperation, ReduceOperation, Values, SampleMode, Shuffle, Slice};

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("constant", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![
        Case::new(
            "by hand/reshaped to a size known at run time",
            [float(&[5], &[0.0; 5])],
            [float(&[7], &[1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 5.0])],
            |g, x| {
                let size = g.add_shape(x[0])?;
                let c = g.add_constant(Values::new([5], [1.0f32, 2.0, 3.0, 4.0, 5.0]))?;
                let reshaped = g.add_shuffle_to(c, size, Shuffle::default())?;
                let slice = Slice::new([-1], [7], [1]).mode(SampleMode::Clamp);
                Ok(vec![g.add_slice(reshaped, slice)?])
            },
        ),
        Case::new(
            "by hand/an output itself",
            [],
            [float(&[2], &[1.5, -2.0])],
            |g, _| Ok(vec![g.add_constant(Values::new([2], [1.5f32, -2.0]))?]),
        ),
        Case::new(
            "by hand/used twice",
            [float(&[2], &[1.0, 2.0])],
            [float(&[2], &[3.0, 6.0])],
            |g, x| {
                // x·c + c with c = [1.5, 2].
                let c = g.add_constant(Values::new([2], [1.5f32, 2.0]))?;
                let product = g.add_elementwise(x[0], c, ElementWiseOperation::Prod)?;
                Ok(vec![g.add_elementwise(
                    product,
                    c,
                    ElementWiseOperation::Sum,
                )?])
            },
        ),
        Case::new(
            "by hand/of constants alone",
            [],
            [float(&[], &[10.0])],
            |g, _| {
                let c = g.add_constant(Values::new([4], [1.0f32, 2.0, 3.0, 4.0]))?;
                Ok(vec![g.add_reduce(c, ReduceOperation::Sum, &[0], false)?])
            },
        ),
    ]
}
