//! EfficientNet-Lite0 as a graph over its checkpoint's tensors.
//!
//! The checkpoint is PyTorch's, converted to safetensors; tensors keep the names they have there.
//! Batch normalization is arithmetic on constants: folded into the convolutions when the engine is
//! built, at no cost when it runs.

#![forbid(unsafe_code)]

use tensoracle_graph::{
    Activation, Convolution, DataType, Dims, ElementWiseOperation, Graph, GraphError,
    MatrixOperation, PaddingMode, ReduceOperation, Shuffle, Tensor, UnaryOperation, Values,
};
use tensoracle_weights::{Weights, WeightsError};

/// Side of the square input image in pixels.
pub const SIDE: u64 = 224;

/// Classes told apart: those of ImageNet.
pub const CLASSES: u64 = 1000;

/// What is added to the variance in batch normalization.
const EPSILON: f32 = 1e-3;

/// A row of blocks that differ only in the first one's stride and input channels. The kernels'
/// sizes are those of the weights.
struct Stage {
    repeats: usize,
    stride: u64,
    expansion: u64,
    channels: u64,
}

const fn stage(repeats: usize, stride: u64, expansion: u64, channels: u64) -> Stage {
    Stage {
        repeats,
        stride,
        expansion,
        channels,
    }
}

/// Table 1 of "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks"
/// (Tan and Le, 2019), without squeeze and excitation in the Lite models.
const STAGES: [Stage; 7] = [
    stage(1, 1, 1, 16),
    stage(2, 2, 6, 24),
    stage(2, 2, 6, 40),
    stage(3, 2, 6, 80),
    stage(3, 1, 6, 112),
    stage(4, 2, 6, 192),
    stage(1, 1, 6, 320),
];

/// Why the graph could not be defined.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A tensor is missing in the file, or is not what the model expects.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A layer does not fit its inputs.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// Defines the model: input `image` Float `[batch, 3, 224, 224]` with pixels as [`scale`] makes
/// them, output `logits` Float `[batch, 1000]`.
///
/// # Errors
/// Weights that are missing or have other shapes than EfficientNet-Lite0's.
pub fn efficientnet_lite0(graph: &mut Graph, weights: &Weights) -> Result<(), ModelError> {
    let mut model = Model { graph, weights };
    let shape: Dims = tensoracle_graph::dims!["batch", 3, SIDE, SIDE];
    let image = model.graph.add_input("image", DataType::Float, shape)?;

    let stem = Filter {
        stride: 2,
        ..Filter::new("_conv_stem", "_bn0")
    };
    let mut x = model.convolution(image, &stem)?;
    let mut channels = 32;
    let mut block = 0;
    for stage in &STAGES {
        for repeat in 0..stage.repeats {
            let stride = if repeat == 0 { stage.stride } else { 1 };
            x = model.block(x, &format!("_blocks.{block}"), channels, stride, stage)?;
            channels = stage.channels;
            block += 1;
        }
    }
    let features = model.convolution(x, &Filter::new("_conv_head", "_bn1"))?;
    let logits = model.classifier(features)?;
    model.graph.mark_output("logits", logits)?;
    Ok(())
}

/// Scales 8-bit pixels `[n, 224, 224, 3]` as the model was trained to see them, and puts channels
/// first.
#[must_use]
pub fn scale(pixels: &[u8]) -> Vec<f32> {
    let plane = (SIDE * SIDE) as usize;
    let image = |image: &[u8]| -> Vec<f32> {
        let at = |channel: usize, pixel: usize| f32::from(image[3 * pixel + channel]);
        let order = (0..3).flat_map(|channel| (0..plane).map(move |pixel| (channel, pixel)));
        order
            .map(|(channel, pixel)| (at(channel, pixel) - 127.0) / 128.0)
            .collect()
    };
    pixels.chunks_exact(3 * plane).flat_map(image).collect()
}

/// A convolution with the batch normalization that follows it.
struct Filter<'a> {
    convolution: &'a str,
    norm: &'a str,
    stride: u64,
    groups: u64,
    relu6: bool,
}

impl<'a> Filter<'a> {
    fn new(convolution: &'a str, norm: &'a str) -> Self {
        Self {
            convolution,
            norm,
            stride: 1,
            groups: 1,
            relu6: true,
        }
    }
}

struct Model<'a> {
    graph: &'a mut Graph,
    weights: &'a Weights,
}

impl Model<'_> {
    fn constant(&mut self, name: &str) -> Result<Tensor, ModelError> {
        Ok(self
            .graph
            .named(name)
            .add_constant(self.weights.constant(name)?)?)
    }

    fn combine(
        &mut self,
        first: Tensor,
        operation: ElementWiseOperation,
        second: Tensor,
    ) -> Result<Tensor, ModelError> {
        Ok(self.graph.add_elementwise(first, second, operation)?)
    }

    /// Expansion to more channels, a filter a channel, projection to fewer; the input is added
    /// where it has the shape of the output.
    fn block(
        &mut self,
        input: Tensor,
        name: &str,
        channels: u64,
        stride: u64,
        stage: &Stage,
    ) -> Result<Tensor, ModelError> {
        let part = |part: &str| format!("{name}.{part}");
        let mut x = input;
        if stage.expansion != 1 {
            x = self.convolution(x, &Filter::new(&part("_expand_conv"), &part("_bn0")))?;
        }
        let (depthwise, norm) = (part("_depthwise_conv"), part("_bn1"));
        let groups = channels * stage.expansion;
        x = self.convolution(
            x,
            &Filter {
                stride,
                groups,
                ..Filter::new(&depthwise, &norm)
            },
        )?;
        let (project, norm) = (part("_project_conv"), part("_bn2"));
        x = self.convolution(
            x,
            &Filter {
                relu6: false,
                ..Filter::new(&project, &norm)
            },
        )?;
        if stride == 1 && channels == stage.channels {
            x = self.combine(x, ElementWiseOperation::Sum, input)?;
        }
        Ok(x)
    }

    /// Convolution, batch normalization and ReLU6. With scale = γ / √(variance + ε), normalizing
    /// the output is convolving with kernel · scale and adding β − mean · scale.
    fn convolution(&mut self, input: Tensor, filter: &Filter<'_>) -> Result<Tensor, ModelError> {
        use ElementWiseOperation::{Div, Prod, Sub, Sum};
        let norm = |part: &str| format!("{}.{part}", filter.norm);
        let kernel = self.constant(&format!("{}.weight", filter.convolution))?;
        let gamma = self.constant(&norm("weight"))?;
        let beta = self.constant(&norm("bias"))?;
        let mean = self.constant(&norm("running_mean"))?;
        let variance = self.constant(&norm("running_var"))?;

        let epsilon = self.graph.add_constant(Values::new([1], [EPSILON]))?;
        let variance = self.combine(variance, Sum, epsilon)?;
        let deviation = self.graph.add_unary(variance, UnaryOperation::Sqrt)?;
        let scale = self.combine(gamma, Div, deviation)?;
        let shift = self.combine(mean, Prod, scale)?;
        let bias = self.combine(beta, Sub, shift)?;
        let scale = self
            .graph
            .add_shuffle(scale, Shuffle::reshape([-1, 1, 1, 1]))?;
        let kernel = self.combine(kernel, Prod, scale)?;

        let convolution = Convolution::new()
            .stride([filter.stride; 2])
            .groups(filter.groups)
            .padding_mode(PaddingMode::SameUpper);
        self.graph.named(filter.convolution);
        let x = self
            .graph
            .add_convolution(input, kernel, Some(bias), convolution)?;
        Ok(if filter.relu6 {
            self.graph.add_activation(x, Activation::clip(0.0, 6.0))?
        } else {
            x
        })
    }

    /// The mean over each channel, then one linear layer.
    fn classifier(&mut self, features: Tensor) -> Result<Tensor, ModelError> {
        let kernel = self.constant("_fc.weight")?;
        let bias = self.constant("_fc.bias")?;
        let pooled = self
            .graph
            .add_reduce(features, ReduceOperation::Avg, &[2, 3], false)?;
        let product = self.graph.named("_fc").add_matrix_multiply(
            pooled,
            MatrixOperation::None,
            kernel,
            MatrixOperation::Transpose,
        )?;
        let bias = self
            .graph
            .add_shuffle(bias, Shuffle::reshape([1, CLASSES as i64]))?;
        self.combine(product, ElementWiseOperation::Sum, bias)
    }
}
