//! Convolutions over 1 to 3 spatial axes: tensors are `[batch, channels, depth, height, width]`,
//! the last axis contiguous.
//!
//! Groups of one channel go to `depthwise`. Everything else is a matrix product with patches of the
//! input (`im2col`), a tile of output elements at a time: weights times patches, or, for few output
//! elements, patches times packed weights.

mod depthwise;
mod im2col;
mod shape;

pub use shape::{ConvAxis, ConvShape, ConvShapeError};

use crate::gemm::{
    Bias, Epilogue, MatRef, Product, pack_into, packed_len, panel_width, part, tile_rows,
};
use crate::parallel::{self, PARALLEL_WORK, SharedMut};
use crate::{Activation, Real, scratch};

/// A convolution's weights.
#[derive(Debug, Clone, Copy)]
pub enum ConvWeights<'a, T> {
    /// `[out_channels, in_channels / groups, kernel…]`, used where they lie.
    Plain(&'a [T]),
    /// From [`pack_conv_weights`]: faster where [`ConvShape::prefers_packed`] says so, right
    /// everywhere.
    Packed(&'a [T]),
}

/// What follows the sum of products.
#[derive(Clone, Copy)]
struct Finish<'a, T> {
    bias: Option<&'a [T]>,
    activation: Option<Activation<T>>,
}

/// Output elements of a channel below which packed weights are faster: panels of that many columns
/// would be largely empty.
const FEW_PIXELS: usize = 64;

/// Bytes of a tile of patches, to stay in the second cache.
const TILE_BYTES: usize = 128 << 10;

impl ConvShape {
    /// Whether constant weights should be packed for this shape: few output elements per channel.
    pub fn prefers_packed(&self) -> bool {
        self.pixels() < FEW_PIXELS && !self.is_depthwise()
    }

    /// Elements of packed weights on the current [`crate::cpu_level`].
    pub fn packed_weight_len<T: Real>(&self) -> usize {
        self.groups * packed_len::<T>(self.patch(), self.group_out())
    }
}

/// Packs `[out_channels, in_channels / groups, kernel…]` for [`ConvWeights::Packed`]. The result
/// depends on channels, groups and kernel, not on the input's size.
///
/// # Panics
/// If `weights` has not [`ConvShape::weight_len`] elements.
pub fn pack_conv_weights<T: Real>(shape: &ConvShape, weights: &[T]) -> Vec<T> {
    assert_eq!(
        weights.len(),
        shape.weight_len(),
        "convolution: weights' length"
    );
    let mut packed = vec![T::ZERO; shape.packed_weight_len::<T>()];
    let (patch, group_out) = (shape.patch(), shape.group_out());
    let size = packed_len::<T>(patch, group_out);
    for g in 0..shape.groups {
        let weights = &weights[g * group_out * patch..][..group_out * patch];
        let right = MatRef::new(weights, group_out, patch).transposed();
        pack_into(right, &mut packed[g * size..][..size]);
    }
    packed
}

/// Convolves `x` into `out`, then adds `bias` (one value per output channel) and applies the
/// activation. (A cross-correlation, as everywhere in this field: kernels are not flipped.)
///
/// # Panics
/// If a slice has not the length that the shape gives it.
pub fn conv<T: Real>(
    shape: &ConvShape,
    x: &[T],
    weights: ConvWeights<'_, T>,
    bias: Option<&[T]>,
    activation: Option<Activation<T>>,
    out: &mut [T],
) {
    assert_eq!(x.len(), shape.input_len(), "convolution: input length");
    assert_eq!(out.len(), shape.output_len(), "convolution: output length");
    if let Some(bias) = bias {
        assert_eq!(bias.len(), shape.out_channels, "convolution: bias length");
    }
    let finish = Finish { bias, activation };
    match weights {
        ConvWeights::Plain(weights) => {
            assert_eq!(
                weights.len(),
                shape.weight_len(),
                "convolution: weights' length"
            );
            if out.is_empty() {
            } else if shape.is_depthwise() {
                depthwise::conv(shape, x, weights, finish, out);
            } else {
                weights_times_patches(shape, x, weights, finish, out);
            }
        }
        ConvWeights::Packed(weights) => {
            let len = shape.packed_weight_len::<T>();
            assert_eq!(weights.len(), len, "convolution: packed weights' length");
            if !out.is_empty() {
                patches_times_weights(shape, x, weights, finish, out);
            }
        }
    }
}

impl<'a, T: Real> Finish<'a, T> {
    /// The part for the output channels of a group.
    fn of_group(&self, shape: &ConvShape, group: usize) -> Option<&'a [T]> {
        let channels = shape.group_out();
        self.bias.map(|bias| &bias[group * channels..][..channels])
    }
}

/// Each group's output `[channels, pixels]` as weights `[channels, patch]` times patches.
fn weights_times_patches<T: Real>(
    shape: &ConvShape,
    x: &[T],
    weights: &[T],
    finish: Finish<'_, T>,
    out: &mut [T],
) {
    let (pixels, patch, channels) = (shape.pixels(), shape.patch(), shape.group_out());
    let width = panel_width::<T>();
    let panels = pixels.div_ceil(width);
    let images = shape.batch * shape.groups;
    let work = shape.output_len().saturating_mul(2 * patch.max(1));

    let most = (TILE_BYTES / size_of::<T>() / (patch.max(1) * width)).max(1);
    let (mut tiles, mut row_parts) = (panels.div_ceil(most), 1);
    if parallel::worth_dividing(work) {
        // Smaller tiles if there are too few for the threads; then each several times, for some of
        // the channels.
        let wanted = (work / PARALLEL_WORK).clamp(1, 4 * rayon::current_num_threads());
        tiles = tiles.max(wanted.div_ceil(images)).min(panels);
        let blocks = channels.div_ceil(2 * tile_rows::<T>());
        row_parts = wanted.div_ceil(images * tiles).clamp(1, blocks);
    }

    let group_in = shape.group_in() * shape.input_volume();
    let to = SharedMut(out.as_mut_ptr());
    parallel::for_each(images * tiles * row_parts, work, |task| {
        let (image, tile) = (task / row_parts / tiles, task / row_parts % tiles);
        let group = image % shape.groups;
        let panels = part(&(0..panels), tile, tiles);
        let columns = panels.start * width..(panels.end * width).min(pixels);
        scratch::with(panels.len() * patch * width, |patches| {
            if patch > 0 {
                let x = &x[image * group_in..][..group_in];
                im2col::fill_panels(shape, x, columns.clone(), width, patches);
            }
            let product = Product {
                a: weights[group * channels * patch..].as_ptr(),
                a_row: patch,
                a_col: 1,
                b: patches.as_ptr(),
                b_row: width,
                b_panel: patch * width,
                b_tail: std::ptr::null(),
                c: to
                    .get()
                    .wrapping_add(image * channels * pixels + columns.start),
                c_row: pixels,
                c_col: 1,
                k: patch,
                n: columns.len(),
                epilogue: Epilogue {
                    bias: finish
                        .of_group(shape, group)
                        .map_or(Bias::None, Bias::PerRow),
                    activation: finish.activation,
                },
            };
            let rows = part(&(0..channels), task % row_parts, row_parts);
            // SAFETY: the weights have `channels` rows of `patch` for every group, `patches` a
            // panel for every one named, `out` `channels` rows of `pixels` for every image; tasks
            // have rows or columns of their own.
            unsafe { product.run(rows, 0..panels.len()) };
        });
    });
}

/// Each group's output, transposed, as patches `[pixels, patch]` times weights `[patch, channels]`.
fn patches_times_weights<T: Real>(
    shape: &ConvShape,
    x: &[T],
    weights: &[T],
    finish: Finish<'_, T>,
    out: &mut [T],
) {
    let (pixels, patch, channels) = (shape.pixels(), shape.patch(), shape.group_out());
    let width = panel_width::<T>();
    let panels = channels.div_ceil(width);
    let images = shape.batch * shape.groups;
    let image_work = pixels
        .saturating_mul(channels)
        .saturating_mul(2 * patch.max(1));
    let work = images.saturating_mul(image_work);
    let weights_len = packed_len::<T>(patch, channels);
    let group_in = shape.group_in() * shape.input_volume();

    let most = (TILE_BYTES / size_of::<T>() / patch.max(1)).max(tile_rows::<T>());
    let tiles = pixels.div_ceil(most);
    let parts = if parallel::worth_dividing(work) {
        (image_work / tiles / (PARALLEL_WORK / 2)).clamp(1, panels)
    } else {
        1
    };

    let to = SharedMut(out.as_mut_ptr());
    parallel::for_each(images * tiles, work, |task| {
        let (image, tile) = (task / tiles, task % tiles);
        let group = image % shape.groups;
        let rows = part(&(0..pixels), tile, tiles);
        let x = &x[image * group_in..][..group_in];
        let direct = direct_strides(shape);
        let copied = if direct.is_none() {
            rows.len() * patch
        } else {
            0
        };
        scratch::with(copied, |patches| {
            let (a, a_row, a_col) = match direct {
                Some((a_row, a_col)) => (x[rows.start * a_row..].as_ptr(), a_row, a_col),
                None => {
                    if patch > 0 {
                        im2col::fill_rows(shape, x, rows.clone(), patches);
                    }
                    (patches.as_ptr(), patch, 1)
                }
            };
            let product = Product {
                a,
                a_row,
                a_col,
                b: weights[group * weights_len..].as_ptr(),
                b_row: width,
                b_panel: patch * width,
                b_tail: std::ptr::null(),
                c: to
                    .get()
                    .wrapping_add(image * channels * pixels + rows.start),
                c_row: 1,
                c_col: pixels,
                k: patch,
                n: channels,
                epilogue: Epilogue {
                    bias: finish
                        .of_group(shape, group)
                        .map_or(Bias::None, Bias::PerColumn),
                    activation: finish.activation,
                },
            };
            parallel::for_each(parts, image_work / tiles, |i| {
                // SAFETY: patches have `rows` rows of `patch` (those read in place: see
                // `direct_strides`), the weights a packed matrix for every group, `out` `channels`
                // rows of `pixels` for every image; tasks have rows or columns of their own.
                unsafe { product.run(0..rows.len(), part(&(0..panels), i, parts)) };
            });
        });
    });
}

/// Strides (pixel to pixel, element to element of the patch) with which patches can be read from
/// the input where it lies: of pointwise convolutions, and of one channel's unpadded line.
fn direct_strides(shape: &ConvShape) -> Option<(usize, usize)> {
    let [depth, height, width] = &shape.axes;
    if shape.is_pointwise() {
        Some((1, shape.input_volume()))
    } else if shape.group_in() == 1
        && depth.is_pointwise()
        && height.is_pointwise()
        && depth.input * height.input == 1
        && width.pad_begin + width.pad_end == 0
    {
        Some((width.stride, width.dilation))
    } else {
        None
    }
}
