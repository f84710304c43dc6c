//! Convolution: sizes and padding put in the kernel's terms.

use super::Call;
use tensoracle_graph::Convolution;
use tensoracle_kernels::{ConvAxis, ConvShape, ConvShapeError, ConvWeights, Real, conv};

/// The kernel's description of a convolution with these sizes; `None` where the output is empty.
///
/// # Errors
/// Padding so large that the padded input cannot be counted.
pub(crate) fn shape(
    layer: &Convolution,
    input: &[usize],
    kernel: &[usize],
    output: &[usize],
) -> Result<Option<ConvShape>, ConvShapeError> {
    let at = |list: &[u64], axis: usize| list.get(axis).map_or(1, |&size| size as usize);
    let axes: Vec<ConvAxis> = (0..input.len() - 2)
        .map(|axis| {
            let (from, window, to) = (input[axis + 2], kernel[axis + 2], output[axis + 2]);
            let (pre, post) = layer.effective_padding(axis, from as i64, to as i64, window as i64);
            ConvAxis {
                input: from,
                kernel: window,
                stride: at(&layer.stride, axis),
                dilation: at(&layer.dilation, axis),
                pad_begin: usize::try_from(pre).unwrap_or(0),
                // Elements that no window reaches need no padding behind them.
                pad_end: usize::try_from(post).unwrap_or(0),
            }
        })
        .collect();
    if output.contains(&0) {
        return Ok(None);
    }
    ConvShape::new(input[0], input[1], kernel[0], layer.groups as usize, &axes).map(Some)
}

pub(super) fn run<T: Real>(layer: &Convolution, call: &mut Call<'_, T>) {
    let (input, kernel) = (call.input(0), call.input(1));
    // Sizes that the kernel does not take are refused when they are bound.
    let Ok(Some(shape)) = shape(layer, input.dims, kernel.dims, call.dims) else {
        return;
    };
    let weights = kernel.elements.real();
    let weights = if kernel.packed {
        ConvWeights::Packed(weights)
    } else {
        ConvWeights::Plain(weights)
    };
    let bias = call.optional(2).map(|bias| bias.elements.real());
    conv(
        &shape,
        input.elements.real(),
        weights,
        bias,
        call.activation,
        call.output.real(),
    );
}
