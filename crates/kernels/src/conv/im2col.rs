//! Input patches laid out as a product's operand: output elements ("pixels") as the columns of a
//! right operand's panel, or as the rows of a left operand.
//!
//! A patch holds channels, then kernel elements ("taps") in order. Where a tap falls into the
//! padding is worked out once for all channels.

use super::shape::{ConvAxis, ConvShape};
use crate::Real;
use std::ops::Range;

/// The input coordinate that `tap` of the pixel at `output` reads, if it is not padding.
#[inline(always)]
fn source(axis: &ConvAxis, output: usize, tap: usize) -> Option<usize> {
    (output * axis.stride + tap * axis.dilation)
        .checked_sub(axis.pad_begin)
        .filter(|input| *input < axis.input)
}

/// Of `count` steps of `step` from `first` on, those that land in `pad .. pad + len`.
#[inline(always)]
fn landing(first: usize, step: usize, count: usize, pad: usize, len: usize) -> Range<usize> {
    let begin = pad.saturating_sub(first).div_ceil(step).min(count);
    let end = (pad + len).saturating_sub(first).div_ceil(step).min(count);
    begin..end.max(begin)
}

/// Copies `to.len()` elements of `from`, `step` apart.
#[inline(always)]
pub(super) fn copy<T: Copy>(from: &[T], step: usize, to: &mut [T]) {
    match step {
        1 => to.copy_from_slice(&from[..to.len()]),
        2 => {
            // Pairs become vector shuffles; the last element may be without its neighbour.
            let (pairs, rest) = from.as_chunks::<2>();
            let whole = to.len().min(pairs.len());
            let (to, last) = to.split_at_mut(whole);
            to.iter_mut()
                .zip(pairs)
                .for_each(|(to, pair)| *to = pair[0]);
            last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        }
        _ => to
            .iter_mut()
            .zip(from.iter().step_by(step))
            .for_each(|(to, from)| *to = *from),
    }
}

/// Lays the `pixels` of a group's input `x` (`[channels, depth, height, width]`) out as the columns
/// of panels of `width` columns: `[panels, patch, width]`, filled up with zeros.
pub(super) fn fill_panels<T: Real>(
    shape: &ConvShape,
    x: &[T],
    pixels: Range<usize>,
    width: usize,
    panels: &mut [T],
) {
    let size = shape.patch() * width;
    for (i, panel) in panels.chunks_exact_mut(size).enumerate() {
        let start = pixels.start + i * width;
        fill_panel(
            shape,
            x,
            start..(start + width).min(pixels.end),
            width,
            panel,
        );
    }
}

fn fill_panel<T: Real>(
    shape: &ConvShape,
    x: &[T],
    pixels: Range<usize>,
    width: usize,
    panel: &mut [T],
) {
    let volume = shape.input_volume();
    let count = pixels.len();
    if shape.is_pointwise() {
        for (c, to) in panel.chunks_exact_mut(width).enumerate() {
            to[..count].copy_from_slice(&x[c * volume..][pixels.clone()]);
            to[count..].fill(T::ZERO);
        }
        return;
    }
    if count < width {
        panel.fill(T::ZERO);
    }
    let [_, height, row] = shape.output_dims();
    let [depth_axis, height_axis, row_axis] = &shape.axes;
    let taps = shape.taps();
    let mut pixel = pixels.start;
    // A stretch of pixels on the same line of the output at a time.
    while pixel < pixels.end {
        let start = [pixel / row / height, pixel / row % height, pixel % row];
        let len = (row - start[2]).min(pixels.end - pixel);
        let at = pixel - pixels.start;
        pixel += len;
        for tap in 0..taps {
            let [kz, ky, kx] = tap_coordinates(shape, tap);
            let line = source(depth_axis, start[0], kz)
                .zip(source(height_axis, start[1], ky))
                .map(|(z, y)| (z * height_axis.input + y) * row_axis.input);
            let first = start[2] * row_axis.stride + kx * row_axis.dilation;
            let inside = match line {
                Some(_) => landing(
                    first,
                    row_axis.stride,
                    len,
                    row_axis.pad_begin,
                    row_axis.input,
                ),
                None => 0..0,
            };
            let from = line.unwrap_or(0)
                + (first + inside.start * row_axis.stride).saturating_sub(row_axis.pad_begin);
            for c in 0..shape.group_in() {
                let to = &mut panel[(c * taps + tap) * width + at..][..len];
                to[..inside.start].fill(T::ZERO);
                to[inside.end..].fill(T::ZERO);
                if !inside.is_empty() {
                    copy(
                        &x[c * volume + from..],
                        row_axis.stride,
                        &mut to[inside.clone()],
                    );
                }
            }
        }
    }
}

/// Lays the `pixels` of a group's input out as rows: `[pixels, patch]`.
pub(super) fn fill_rows<T: Real>(shape: &ConvShape, x: &[T], pixels: Range<usize>, rows: &mut [T]) {
    let volume = shape.input_volume();
    let [_, height, row] = shape.output_dims();
    let [depth_axis, height_axis, row_axis] = &shape.axes;
    let taps = shape.taps();
    for (pixel, to) in pixels.zip(rows.chunks_exact_mut(shape.patch())) {
        let at = [pixel / row / height, pixel / row % height, pixel % row];
        let first = at[2] * row_axis.stride;
        let inside = landing(
            first,
            row_axis.dilation,
            row_axis.kernel,
            row_axis.pad_begin,
            row_axis.input,
        );
        for lead in 0..depth_axis.kernel * height_axis.kernel {
            let line = source(depth_axis, at[0], lead / height_axis.kernel)
                .zip(source(height_axis, at[1], lead % height_axis.kernel))
                .map(|(z, y)| (z * height_axis.input + y) * row_axis.input);
            let inside = if line.is_some() { inside.clone() } else { 0..0 };
            let from = line.unwrap_or(0)
                + (first + inside.start * row_axis.dilation).saturating_sub(row_axis.pad_begin);
            for c in 0..shape.group_in() {
                let to = &mut to[c * taps + lead * row_axis.kernel..][..row_axis.kernel];
                to[..inside.start].fill(T::ZERO);
                to[inside.end..].fill(T::ZERO);
                if !inside.is_empty() {
                    copy(
                        &x[c * volume + from..],
                        row_axis.dilation,
                        &mut to[inside.clone()],
                    );
                }
            }
        }
    }
}

/// Depth, height and width of a kernel element.
pub(super) fn tap_coordinates(shape: &ConvShape, tap: usize) -> [usize; 3] {
    let [_, height, width] = shape.axes.map(|a| a.kernel);
    [tap / width / height, tap / width % height, tap % width]
}
