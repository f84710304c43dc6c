//! What several operators need: constants, ranks made equal, shapes put together from parts.

use crate::Array;
use crate::numpy::constant;
use tensoracle_graph::{
    DataType, ElementWiseOperation, Gather, Graph, GraphError, Shuffle, Tensor, Values,
};

/// A dimension of a new shape: one of the tensor's own, or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Axis(usize),
    One,
}

/// Gives a tensor a shape made of its own dimensions and ones, whatever the former are at run time.
pub(super) fn arranged(g: &mut Graph, x: Tensor, pieces: &[Piece]) -> Result<Tensor, GraphError> {
    let shape = g.add_shape(x)?;
    let mut parts = Vec::new();
    for piece in pieces {
        parts.push(match piece {
            Piece::One => g.add_constant(Values::new([1], [1i64]))?,
            Piece::Axis(axis) => {
                let axis = g.add_constant(Values::new([1], [*axis as i64]))?;
                g.add_gather(shape, axis, Gather::along(0))?
            }
        });
    }
    let wanted = match parts[..] {
        [] => return g.add_shuffle(x, Shuffle::reshape([])),
        _ => g.add_concatenation(&parts, 0)?,
    };
    g.add_shuffle_to(x, wanted, Shuffle::default().zero_is_size())
}

/// Leading ones up to a rank, as ONNX broadcasts.
pub(super) fn to_rank(g: &mut Graph, x: Tensor, rank: usize) -> Result<Tensor, GraphError> {
    let own = g.dims(x).len();
    if own >= rank {
        return Ok(x);
    }
    let mut pieces = vec![Piece::One; rank - own];
    pieces.extend((0..own).map(Piece::Axis));
    arranged(g, x, &pieces)
}

/// All tensors at the largest of their ranks.
pub(super) fn aligned(g: &mut Graph, tensors: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
    let ranks = tensors.iter().map(|tensor| g.dims(*tensor).len());
    let rank = ranks.max().unwrap_or(0);
    tensors
        .iter()
        .map(|tensor| to_rank(g, *tensor, rank))
        .collect()
}

/// An operation between tensors of any ranks.
pub(super) fn combined(
    g: &mut Graph,
    a: Tensor,
    b: Tensor,
    operation: ElementWiseOperation,
) -> Result<Tensor, GraphError> {
    let both = aligned(g, &[a, b])?;
    g.add_elementwise(both[0], both[1], operation)
}

/// An operation between a tensor and a number of its type.
pub(super) fn with_number(
    g: &mut Graph,
    x: Tensor,
    number: f64,
    operation: ElementWiseOperation,
) -> Result<Tensor, GraphError> {
    let data_type = g.data_type(x);
    let array = match data_type {
        DataType::Int32 | DataType::Int64 => Array::integer(data_type, &[], &[number as i64]),
        _ => Array::real(DataType::Float, &[], &[number]),
    };
    let number = g.add_constant(constant(&array))?;
    let number = g.add_cast(number, data_type)?;
    combined(g, x, number, operation)
}
