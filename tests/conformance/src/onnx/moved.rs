//! Operators that move elements about.

use super::Node;
use super::compose::{Piece, aligned, arranged};
use crate::numpy::constant;
use tensoracle_graph::{
    Gather, GatherMode, Graph, GraphError, SampleMode, Shuffle, Slice, SliceInputs, Tensor, Values,
};

pub(super) fn concat(node: &Node, g: &mut Graph, x: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
    Ok(vec![g.add_concatenation(x, node.int("axis", 0))?])
}

pub(super) fn gather(node: &Node, g: &mut Graph, x: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
    let axis = node.int("axis", 0);
    let layer = match node.op.as_str() {
        "Gather" => Gather::along(axis),
        "GatherElements" => Gather::element(axis),
        _ => Gather {
            mode: GatherMode::Nd,
            axis: 0,
            elementwise_dims: node.int("batch_dims", 0) as usize,
        },
    };
    Ok(vec![g.add_gather(x[0], x[1], layer)?])
}

pub(super) fn select(_: &Node, g: &mut Graph, x: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
    let x = aligned(g, x)?;
    Ok(vec![g.add_select(x[0], x[1], x[2])?])
}

pub(super) fn shape(node: &Node, g: &mut Graph, x: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
    let rank = node.rank() as i64;
    let place = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank);
    let (start, end) = (place(node.int("start", 0)), place(node.int("end", rank)));
    let shape = g.add_shape(x[0])?;
    Ok(vec![g.add_slice(
        shape,
        Slice::new([start], [(end - start).max(0)], [1]),
    )?])
}

pub(super) fn transpose(
    node: &Node,
    g: &mut Graph,
    x: &[Tensor],
) -> Result<Vec<Tensor>, GraphError> {
    let block = node.int("blocksize", 1);
    let layer = match (node.op.as_str(), &node.dims()[..]) {
        ("DepthToSpace", [n, c, h, w]) => {
            Shuffle::reshape([*n, block, block, c / block / block, *h, *w])
        }
        ("SpaceToDepth", [n, c, h, w]) => {
            Shuffle::reshape([*n, *c, h / block, block, w / block, block])
        }
        _ => {
            let reversed = (0..node.rank() as i64).rev().collect();
            let permutation = node.ints("perm").unwrap_or(reversed);
            let permutation: Vec<_> = permutation.iter().map(|&axis| axis as usize).collect();
            return Ok(vec![g.add_shuffle(x[0], Shuffle::transpose(permutation))?]);
        }
    };
    // Both spread blocks over six dimensions, move them, and fold them into four.
    let permutation = match node.op.as_str() {
        "DepthToSpace" => [0, 3, 4, 1, 5, 2],
        _ => [0, 3, 5, 1, 2, 4],
    };
    let spread = g.add_shuffle(x[0], layer.then_transpose(permutation))?;
    let to: Vec<i64> = node.outputs[0].dims.iter().map(|&dim| dim as i64).collect();
    Ok(vec![g.add_shuffle(spread, Shuffle::reshape(to))?])
}

pub(super) fn reshape(node: &Node, g: &mut Graph, x: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
    let axes = || node.argument(1).unwrap_or_default();
    match node.op.as_str() {
        "Reshape" => {
            let to = node.inputs[1].as_ref().expect("a reshape has a shape");
            let to = g.add_constant(constant(to))?;
            let layer = match node.int("allowzero", 0) {
                0 => Shuffle::default(),
                _ => Shuffle::default().zero_is_size(),
            };
            Ok(vec![g.add_shuffle_to(x[0], to, layer)?])
        }
        "Flatten" => {
            let axis = node.axis(node.int("axis", 1));
            let rows: i64 = node.dims()[..axis].iter().product();
            Ok(vec![g.add_shuffle(x[0], Shuffle::reshape([rows, -1]))?])
        }
        "Squeeze" => {
            let gone: Vec<_> = axes().iter().map(|&axis| node.axis(axis)).collect();
            let kept = (0..node.rank()).filter(|axis| !gone.contains(axis));
            let pieces: Vec<_> = kept.map(Piece::Axis).collect();
            Ok(vec![arranged(g, x[0], &pieces)?])
        }
        _ => {
            let rank = node.rank() + axes().len();
            let mut own = (0..node.rank()).map(Piece::Axis);
            let pieces: Vec<_> = (0..rank)
                .map(|axis| match axes().contains(&(axis as i64)) {
                    true => Piece::One,
                    false => own.next().unwrap_or(Piece::One),
                })
                .collect();
            Ok(vec![arranged(g, x[0], &pieces)?])
        }
    }
}

pub(super) fn slice(node: &Node, g: &mut Graph, x: &[Tensor]) -> Result<Vec<Tensor>, GraphError> {
    let dims = node.dims();
    let rank = dims.len();
    let (mut start, mut stride) = (vec![0; rank], vec![1; rank]);
    let size = super::signed(&node.outputs[0].dims);
    match node.op.as_str() {
        "Slice" => {
            let all: Vec<i64> = (0..rank as i64).collect();
            let axes = node.argument(3).unwrap_or(&all);
            let starts = node.argument(1).unwrap_or_default();
            for (position, &from) in starts.iter().enumerate() {
                let axis = node.axis(axes[position]);
                let step = node.argument(4).map_or(1, |steps| steps[position]);
                // NumPy's rules: counted from the end, then cut to what there is.
                let from = if from < 0 { from + dims[axis] } else { from };
                let last = if step < 0 { dims[axis] - 1 } else { dims[axis] };
                (start[axis], stride[axis]) = (from.clamp(0, last), step);
            }
            Ok(vec![g.add_slice(x[0], Slice::new(start, size, stride))?])
        }
        "Split" => {
            let axis = node.axis(node.int("axis", 0));
            let mut outputs = Vec::new();
            for part in &node.outputs {
                let slice = Slice::new(start.clone(), super::signed(&part.dims), stride.clone());
                outputs.push(g.add_slice(x[0], slice)?);
                start[axis] += part.dims[axis] as i64;
            }
            Ok(outputs)
        }
        "Pad" => {
            let all: Vec<i64> = (0..rank as i64).collect();
            let pads = node.argument(1).unwrap_or_default();
            let axes = node.argument(3).unwrap_or(&all);
            for (position, &axis) in axes.iter().enumerate() {
                start[node.axis(axis)] = -pads[position];
            }
            let (mode, fill) = match node.text("mode") {
                "edge" => (SampleMode::Clamp, None),
                _ => (SampleMode::Fill, node.real_argument(2)),
            };
            let fill = fill.map(|fill| g.add_constant(Values::scalar(fill as f32)));
            let inputs = SliceInputs {
                fill: fill.transpose()?,
                ..SliceInputs::default()
            };
            let slice = Slice::new(start, size, stride).mode(mode);
            Ok(vec![g.add_slice_with(x[0], slice, inputs)?])
        }
        "Tile" => {
            let slice = Slice::new(start, size, stride).mode(SampleMode::Wrap);
            Ok(vec![g.add_slice(x[0], slice)?])
        }
        _ => {
            // Expand: the same element again where there is one.
            let stride: Vec<_> = dims.iter().map(|&dim| i64::from(dim != 1)).collect();
            Ok(vec![g.add_slice(x[0], Slice::new(start, size, stride))?])
        }
    }
}
