//! Padding: zeros around, or cropping of, the last two dimensions.

use super::Call;
use crate::storage::{Elements, ElementsMut, moved};
use tensoracle_graph::Padding;
use tensoracle_kernels::Real;

pub(super) fn run<T: Real>(layer: &Padding, call: &mut Call<'_, T>) {
    let input = call.input(0);
    let rank = call.dims.len();
    let [height, width] = [call.dims[rank - 2], call.dims[rank - 1]];
    let [from_height, from_width] = [input.dims[rank - 2], input.dims[rank - 1]];
    let [top, left] = layer.pre_padding;
    moved!(input.elements, &mut call.output, |from, to| {
        to.fill(Default::default());
        let planes = to.len().checked_div(height * width).unwrap_or(0);
        // Columns that both sides have, counted in the output.
        let first = left.max(0) as usize;
        let end = (from_width as i64 + left).clamp(0, width as i64) as usize;
        for row in 0..planes * height {
            let source = (row % height) as i64 - top;
            if first >= end || !(0..from_height as i64).contains(&source) {
                continue;
            }
            let start = (row / height * from_height + source as usize) * from_width;
            let offset = start + (first as i64 - left) as usize;
            to[row * width + first..row * width + end]
                .copy_from_slice(&from[offset..][..end - first]);
        }
    });
}
