//! Operators that sum: reductions, softmax, products, convolutions, normalizations.

use super::Node;
use super::compose::{Piece, arranged, combined, to_rank, with_number};
use tensoracle_graph::{
    Convolution, ElementWiseOperation, Graph, GraphError, MatrixOperation, Normalization,
    PaddingMode, ReduceOperation, Tensor, UnaryOperation,
};

pub(super) fn reduce(node: &Node, g: &mut Graph, x: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
    let all: Vec<i64> = (0..node.rank() as i64).collect();
    let axes = match node.argument(1) {
        Some(axes) if !axes.is_empty() => axes.to_vec(),
        _ if node.int("noop_with_empty_axes", 0) != 0 => return Ok(vec![g.add_identity(x[0])?]),
        _ => all,
    };
    let x = match node.op.as_str() {
        "ReduceL1" => g.add_unary(x[0], UnaryOperation::Abs)?,
        "ReduceL2" | "ReduceSumSquare" => {
            g.add_elementwise(x[0], x[0], ElementWiseOperation::Prod)?
        }
        "ReduceLogSumExp" => g.add_unary(x[0], UnaryOperation::Exp)?,
        _ => x[0],
    };
    let operation = match node.op.as_str() {
        "ReduceMax" => ReduceOperation::Max,
        "ReduceMean" => ReduceOperation::Avg,
        "ReduceMin" => ReduceOperation::Min,
        "ReduceProd" => ReduceOperation::Prod,
        _ => ReduceOperation::Sum,
    };
    let y = g.add_reduce(x, operation, &axes, node.int("keepdims", 1) != 0)?;
    Ok(vec![match node.op.as_str() {
        "ReduceL2" => g.add_unary(y, UnaryOperation::Sqrt)?,
        "ReduceLogSum" | "ReduceLogSumExp" => g.add_unary(y, UnaryOperation::Log)?,
        _ => y,
    }])
}

pub(super) fn softmax(node: &Node, g: &mut Graph, x: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
    let y = g.add_softmax(x[0], node.int("axis", -1))?;
    Ok(vec![match node.op.as_str() {
        "LogSoftmax" => g.add_unary(y, UnaryOperation::Log)?,
        _ => y,
    }])
}

pub(super) fn gemm(node: &Node, g: &mut Graph, x: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
    use ElementWiseOperation::{Prod, Sum};
    let read = |attribute| match node.int(attribute, 0) {
        0 => MatrixOperation::None,
        _ => MatrixOperation::Transpose,
    };
    let mut y = g.add_matrix_multiply(x[0], read("transA"), x[1], read("transB"))?;
    y = with_number(g, y, node.float("alpha", 1.0), Prod)?;
    if let Some(c) = x.get(2) {
        let scaled = with_number(g, *c, node.float("beta", 1.0), Prod)?;
        y = combined(g, y, scaled, Sum)?;
    }
    Ok(vec![y])
}

pub(super) fn matmul(_: &Node, g: &mut Graph, x: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
    let ranks = [g.dims(x[0]).len(), g.dims(x[1]).len()];
    let read = |rank| match rank {
        1 => MatrixOperation::Vector,
        _ => MatrixOperation::None,
    };
    // Collections have as many dimensions on both sides; a vector is one dimension, a matrix two.
    let own = |rank: usize| rank.min(2);
    let collections = (ranks[0] - own(ranks[0])).max(ranks[1] - own(ranks[1]));
    let left = to_rank(g, x[0], collections + own(ranks[0]))?;
    let right = to_rank(g, x[1], collections + own(ranks[1]))?;
    Ok(vec![g.add_matrix_multiply(
        left,
        read(ranks[0]),
        right,
        read(ranks[1]),
    )?])
}

pub(super) fn conv(node: &Node, g: &mut Graph, x: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
    let sizes = |name| -> Vec<u64> {
        let list = node.ints(name).unwrap_or_default();
        list.iter().map(|size| size.unsigned_abs()).collect()
    };
    let pads = sizes("pads");
    let (pre, post) = pads.split_at(pads.len() / 2);
    let mode = match node.text("auto_pad") {
        "SAME_UPPER" => PaddingMode::SameUpper,
        "SAME_LOWER" => PaddingMode::SameLower,
        _ => PaddingMode::ExplicitRoundDown,
    };
    let layer = Convolution::new()
        .stride(sizes("strides"))
        .dilation(sizes("dilations"))
        .pre_padding(pre)
        .post_padding(post)
        .padding_mode(mode)
        .groups(node.int("group", 1).unsigned_abs());
    Ok(vec![g.add_convolution(
        x[0],
        x[1],
        x.get(2).copied(),
        layer,
    )?])
}

pub(super) fn layer_normalization(
    node: &Node,
    g: &mut Graph,
    x: &[Tensor],
) -> Result<Vec<Tensor>, GraphError> {
    let rank = node.rank();
    let axes: Vec<i64> = (node.axis(node.int("axis", -1)) as i64..rank as i64).collect();
    let (scale, bias) = (to_rank(g, x[1], rank)?, to_rank(g, x[2], rank)?);
    let layer = Normalization::over(axes).epsilon(node.float("epsilon", 1e-5) as f32);
    Ok(vec![g.add_normalization(x[0], scale, bias, layer)?])
}

/// Instance and group normalization, with a scale and a bias for each channel.
pub(super) fn channel_normalization(
    node: &Node,
    g: &mut Graph,
    x: &[Tensor],
) -> Result<Vec<Tensor>, GraphError> {
    let rank = node.rank();
    let mut pieces = vec![Piece::One; rank];
    pieces[1] = Piece::Axis(0);
    let (scale, bias) = (arranged(g, x[1], &pieces)?, arranged(g, x[2], &pieces)?);
    let layer = Normalization::over((2..rank as i64).collect::<Vec<_>>())
        .epsilon(node.float("epsilon", 1e-5) as f32)
        .groups(node.int("num_groups", 1).unsigned_abs());
    Ok(vec![g.add_normalization(x[0], scale, bias, layer)?])
}

/// `x / sqrt(mean(x²) + epsilon) · scale`, for which TensorRT has no layer of its own.
pub(super) fn rms_normalization(
    node: &Node,
    g: &mut Graph,
    x: &[Tensor],
) -> Result<Vec<Tensor>, GraphError> {
    use ElementWiseOperation::{Div, Prod, Sum};
    let axes: Vec<i64> = (node.axis(node.int("axis", -1)) as i64..node.rank() as i64).collect();
    let square = g.add_elementwise(x[0], x[0], Prod)?;
    let mean = g.add_reduce(square, ReduceOperation::Avg, &axes, true)?;
    let shifted = with_number(g, mean, node.float("epsilon", 1e-5), Sum)?;
    let root = g.add_unary(shifted, UnaryOperation::Sqrt)?;
    let normalized = g.add_elementwise(x[0], root, Div)?;
    Ok(vec![combined(g, normalized, x[1], Prod)?])
}
