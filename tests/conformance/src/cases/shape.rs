//! Shape: of all ranks, and shapes that other layers compute with and take.

use super::{count, joined};
use crate::Case;
use crate::case::{float, int64};
use tensoracle_graph::{
    DataType, ElementWiseOperation, Gather, ReduceOperation, Shuffle, Slice, SliceInputs, Values,
};

/// The layer's cases.
#[must_use]
pub fn cases() -> Vec<Case> {
    joined("shape", by_hand())
}

fn by_hand() -> Vec<Case> {
    vec![
        Case::new(
            "by hand/picked, joined and reshaped to",
            [float(&[2, 3, 4], &count(24))],
            [float(&[2, 12], &count(24)), int64(&[2], &[2, -1])],
            |g, x| {
                let shape = g.add_shape(x[0])?;
                let zero = g.add_constant(Values::new([1], [0i32]))?;
                let rows = g.add_gather(shape, zero, Gather::along(0))?;
                let rest = g.add_constant(Values::new([1], [-1i64]))?;
                let wanted = g.add_concatenation(&[rows, rest], 0)?;
                Ok(vec![
                    g.add_shuffle_to(x[0], wanted, Shuffle::default())?,
                    wanted,
                ])
            },
        ),
        Case::new(
            "by hand/arithmetic on sizes",
            [float(&[6, 4], &count(24))],
            [
                float(&[3, 8], &count(24)),
                int64(&[], &[24]),
                int64(&[2], &[2, 1]),
            ],
            |g, x| {
                let shape = g.add_shape(x[0])?;
                let two = g.add_constant(Values::new([2], [2i64, 1]))?;
                let halved = g.add_elementwise(shape, two, ElementWiseOperation::FloorDiv)?;
                let doubled = g.add_constant(Values::new([2], [1i64, 2]))?;
                let wanted = g.add_elementwise(halved, doubled, ElementWiseOperation::Prod)?;
                let volume = g.add_reduce(shape, ReduceOperation::Prod, &[0], false)?;
                let reshaped = g.add_shuffle_to(x[0], wanted, Shuffle::default())?;
                let same = g.add_identity(two)?;
                Ok(vec![reshaped, volume, same])
            },
        ),
        Case::new(
            "by hand/the first half of the rows",
            [float(&[4, 2], &count(8))],
            [float(&[2, 2], &count(4))],
            |g, x| {
                let shape = g.add_shape(x[0])?;
                let narrow = g.add_cast(shape, DataType::Int32)?;
                let divisor = g.add_constant(Values::new([2], [2i32, 1]))?;
                let size = g.add_elementwise(narrow, divisor, ElementWiseOperation::FloorDiv)?;
                let slice = Slice {
                    start: vec![0, 0],
                    stride: vec![1, 1],
                    ..Slice::default()
                };
                let inputs = SliceInputs {
                    size: Some(size),
                    ..SliceInputs::default()
                };
                Ok(vec![g.add_slice_with(x[0], slice, inputs)?])
            },
        ),
        Case::new(
            "by hand/as data",
            [float(&[3, 5], &count(15))],
            [float(&[2], &[1.5, 2.5])],
            |g, x| {
                // Sizes halved as floating point: no longer a shape, but numbers all the same.
                let shape = g.add_shape(x[0])?;
                let real = g.add_cast(shape, DataType::Float)?;
                let half = g.add_constant(Values::new([1], [0.5f32]))?;
                Ok(vec![g.add_elementwise(
                    real,
                    half,
                    ElementWiseOperation::Prod,
                )?])
            },
        ),
    ]
}
