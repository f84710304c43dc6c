//! MiniLM: sentences as points, near each other where they mean the same.
//!
//! This file is the model, a BERT encoder of six layers, as a graph over its safetensors weights.
//! Turning text into tokens, running batches and comparing the results is the [`Embedder`]'s part.

#![forbid(unsafe_code)]

mod embedder;

pub use embedder::{EmbedError, Embedder, NamedInputs, cosine};

use tensoracle::ElementWiseOperation::{self, Div, Prod, Sum};
use tensoracle::weights::Element;
use tensoracle::{
    ActivationType, Backend, DataType, DefineResult, Engine, EngineBuild, Error, Gather, Graph,
    InputShape, MatrixOperation, Normalization, OpenOptions, ReduceOperation, Shuffle, Slice,
    SliceInputs, Tensor, UnaryOperation, Values, Weights, dims,
};

/// Most tokens of a sentence: as many positions as the model has learnt.
pub const MAX_TOKENS: u64 = 512;

/// Most sentences that run at once.
pub const MAX_BATCH: u64 = 32;

/// Width of an embedding.
pub const WIDTH: u64 = 384;

/// Tokens that the model knows.
pub const VOCABULARY: u64 = 30_522;

/// Width between the two linear layers over each token.
const INTERMEDIATE: u64 = 4 * WIDTH;

const LAYERS: usize = 6;
const HEADS: i64 = 12;
const HEAD_WIDTH: i64 = WIDTH as i64 / HEADS;

/// Added to the variance in layer normalization.
const EPSILON: f32 = 1e-12;

/// Added to the scores of padding: softmax makes zeros of it. Half precision holds it too.
const NEVER: f32 = -32_768.0;

/// Opens the model's engine: reuses the saved one, or builds and saves it.
///
/// # Errors
/// Weights of another model, or whatever keeps the engine from being built, saved or loaded.
pub fn open(
    backend: &dyn Backend,
    weights: &Weights,
    options: OpenOptions<'_>,
) -> Result<Engine, Error> {
    Engine::open(backend, &sizes(), options, |graph| {
        minilm(graph, weights, DataType::Float)
    })
}

/// How many sentences and tokens an engine takes at once: least, usually, most.
#[must_use]
pub fn sizes() -> EngineBuild {
    let tokens = InputShape::ranged([1, 1], [1, 128], [MAX_BATCH, MAX_TOKENS]);
    EngineBuild::new()
        .input("input_ids", tokens.clone())
        .input("attention_mask", tokens)
}

/// Defines the model, computing in `float`: Float, Half or BFloat16.
///
/// Inputs: `input_ids` and `attention_mask` (1 for a token, 0 for padding), both Int64
/// `[batch, tokens]`. Output: `embeddings`, Float `[batch, 384]`, each of length 1.
///
/// # Errors
/// Weights that are missing or have other shapes than MiniLM-L6's.
pub fn minilm(graph: &mut Graph, weights: &Weights, float: DataType) -> DefineResult {
    let shape = dims!["batch", "tokens"];
    let input_ids = graph.add_input("input_ids", DataType::Int64, shape.clone())?;
    let attention_mask = graph.add_input("attention_mask", DataType::Int64, shape)?;

    let prefix = String::new();
    let mut model = Model {
        graph,
        weights,
        float,
        prefix,
    };
    let mut x = model.scope("embeddings", |model| model.embeddings(input_ids))?;
    let padding = model.padding_bias(attention_mask)?;
    for layer in 0..LAYERS {
        let layer = format!("encoder.layer.{layer}");
        x = model.scope(&layer, |model| model.encoder_layer(x, padding))?;
    }
    let embeddings = model.pool(x, attention_mask)?;
    graph.mark_output("embeddings", embeddings)?;
    Ok(())
}

/// The graph being defined over weights that are named as its scopes are.
struct Model<'a> {
    graph: &'a mut Graph,
    weights: &'a Weights,
    /// What the model computes in.
    float: DataType,
    /// The scope, with a dot behind each of its parts.
    prefix: String,
}

impl Model<'_> {
    /// Adds layers and takes weights under a common prefix.
    fn scope<R>(&mut self, name: &str, add: impl FnOnce(&mut Model<'_>) -> R) -> R {
        let (weights, float) = (self.weights, self.float);
        let prefix = format!("{}{name}.", self.prefix);
        self.graph.scope(name, |graph| {
            add(&mut Model {
                graph,
                weights,
                float,
                prefix,
            })
        })
    }

    /// A tensor of the weights file in the model's type, under another shape of as many elements.
    fn weight(&mut self, name: &str, dims: &[u64]) -> DefineResult<Tensor> {
        let element = match self.float {
            DataType::Half => Element::F16,
            DataType::BFloat16 => Element::BF16,
            _ => Element::F32,
        };
        let tensor = self.weights.tensor(&format!("{}{name}", self.prefix))?;
        let constant = tensor.cast(element)?.reshape(dims)?.into_constant()?;
        Ok(self.graph.named(name).add_constant(constant)?)
    }

    /// One number in the model's type, beside which any tensor with four axes can stand.
    fn number(&mut self, value: f32) -> DefineResult<Tensor> {
        let number = self.graph.add_constant(Values::new([1; 4], [value]))?;
        Ok(self.graph.add_cast(number, self.float)?)
    }

    // So marked, it is the caller's line where the oracle says that the layer was added.
    #[track_caller]
    fn combine(
        &mut self,
        first: Tensor,
        operation: ElementWiseOperation,
        second: Tensor,
    ) -> DefineResult<Tensor> {
        Ok(self.graph.add_elementwise(first, second, operation)?)
    }

    /// The sum of what a token is, where it stands, and of which of two sentences it is part,
    /// which here is always the first: `[batch, tokens, 384]`.
    fn embeddings(&mut self, input_ids: Tensor) -> DefineResult<Tensor> {
        let words = self.weight("word_embeddings.weight", &[VOCABULARY, WIDTH])?;
        let words = self.graph.add_gather(words, input_ids, Gather::along(0))?;

        // What does not depend on the input is added once, when the engine is built.
        let position = self.weight("position_embeddings.weight", &[1, MAX_TOKENS, WIDTH])?;
        let sentence = self.weight("token_type_embeddings.weight", &[1, 2, WIDTH])?;
        let first = Slice::new([0], [1], [1]).axes([1]);
        let first = self.graph.add_slice(sentence, first)?;
        let position = self.combine(position, Sum, first)?;

        // As many positions as there are tokens.
        let shape = self.graph.add_shape(input_ids)?;
        let tokens = self.graph.add_slice(shape, Slice::new([1], [1], [1]))?;
        let position = self.graph.add_slice_with(
            position,
            Slice::new([0], [], [1]).axes([1]),
            SliceInputs {
                size: Some(tokens),
                ..SliceInputs::default()
            },
        )?;
        let x = self.combine(words, Sum, position)?;
        self.layer_norm("LayerNorm", x)
    }

    /// What is added to attention scores `[batch, heads, to, from]`: nothing where `from` is a
    /// token, and where it is padding a number so low that nobody attends to it.
    fn padding_bias(&mut self, attention_mask: Tensor) -> DefineResult<Tensor> {
        let is_token = self.graph.add_cast(attention_mask, DataType::Bool)?;
        let shape = Shuffle::reshape([0, 1, 1, -1]);
        let is_token = self.graph.add_shuffle(is_token, shape)?;
        let token = self.number(0.0)?;
        let padding = self.number(NEVER)?;
        Ok(self.graph.add_select(is_token, token, padding)?)
    }

    /// Attention, then two linear layers over each token, each part added to what came in and then
    /// normalized.
    fn encoder_layer(&mut self, x: Tensor, padding: Tensor) -> DefineResult<Tensor> {
        let attended = self.scope("attention.self", |model| model.attention(x, padding))?;
        let attended = self.linear("attention.output.dense", attended, WIDTH, WIDTH)?;
        let x = self.combine(attended, Sum, x)?;
        let x = self.layer_norm("attention.output.LayerNorm", x)?;

        let wide = self.linear("intermediate.dense", x, WIDTH, INTERMEDIATE)?;
        self.graph.named("gelu");
        let wide = self.graph.add_activation(wide, ActivationType::GeluErf)?;
        let narrow = self.linear("output.dense", wide, INTERMEDIATE, WIDTH)?;
        let x = self.combine(narrow, Sum, x)?;
        self.layer_norm("output.LayerNorm", x)
    }

    /// Each token's mean of all tokens' values, weighted by how well their keys match its query:
    /// softmax(Q / √32 · Kᵀ) · V in each of twelve heads.
    fn attention(&mut self, x: Tensor, padding: Tensor) -> DefineResult<Tensor> {
        let query = self.heads("query", x)?;
        let key = self.heads("key", x)?;
        let value = self.heads("value", x)?;

        let width = self.number(HEAD_WIDTH as f32)?;
        let root = self.graph.add_unary(width, UnaryOperation::Sqrt)?;
        let scale = self.graph.add_unary(root, UnaryOperation::Recip)?;
        let query = self.combine(query, Prod, scale)?;
        self.graph.named("scores");
        let scores = self.product(query, key, MatrixOperation::Transpose)?;
        self.graph.named("masked_scores");
        let scores = self.combine(scores, Sum, padding)?;
        let attention = self.graph.named("softmax").add_softmax(scores, -1)?;

        self.graph.named("context");
        let context = self.product(attention, value, MatrixOperation::None)?;
        let side_by_side = Shuffle::transpose([0, 2, 1, 3]).then_reshape([0, 0, WIDTH as i64]);
        Ok(self.graph.add_shuffle(context, side_by_side)?)
    }

    /// A linear layer whose output is divided among the heads: `[batch, heads, tokens, 32]`.
    fn heads(&mut self, name: &str, x: Tensor) -> DefineResult<Tensor> {
        let x = self.linear(name, x, WIDTH, WIDTH)?;
        let heads = Shuffle::reshape([0, 0, HEADS, HEAD_WIDTH]).then_transpose([0, 2, 1, 3]);
        Ok(self.graph.add_shuffle(x, heads)?)
    }

    /// The sum over a sentence's tokens, padding left out, brought to length 1: the same as their
    /// mean brought to length 1. Always in single precision: the squares of sums over more than a
    /// hundred tokens can be beyond half precision.
    fn pool(&mut self, x: Tensor, attention_mask: Tensor) -> DefineResult<Tensor> {
        let x = self.graph.add_cast(x, DataType::Float)?;
        let mask = self.graph.add_cast(attention_mask, DataType::Float)?;
        let mask = self.graph.add_shuffle(mask, Shuffle::reshape([0, 1, -1]))?;
        let sum = self.product(mask, x, MatrixOperation::None)?;
        let sum = self.graph.add_shuffle(sum, Shuffle::reshape([0, -1]))?;
        let squares = self.combine(sum, Prod, sum)?;
        let length = self
            .graph
            .add_reduce(squares, ReduceOperation::Sum, &[-1], true)?;
        let length = self.graph.add_unary(length, UnaryOperation::Sqrt)?;
        self.graph.named("embeddings");
        self.combine(sum, Div, length)
    }

    /// `x` · weightᵀ + bias over the last axis, which is `from` wide and becomes `to` wide.
    fn linear(&mut self, name: &str, x: Tensor, from: u64, to: u64) -> DefineResult<Tensor> {
        self.scope(name, |model| {
            let weight = model.weight("weight", &[1, to, from])?;
            let bias = model.weight("bias", &[1, 1, to])?;
            model.graph.named("product");
            let product = model.product(x, weight, MatrixOperation::Transpose)?;
            model.graph.named("output");
            model.combine(product, Sum, bias)
        })
    }

    fn layer_norm(&mut self, name: &str, x: Tensor) -> DefineResult<Tensor> {
        self.scope(name, |model| {
            let scale = model.weight("weight", &[1, 1, WIDTH])?;
            let bias = model.weight("bias", &[1, 1, WIDTH])?;
            let over_width = Normalization::over([-1]).epsilon(EPSILON);
            let normalized = model.graph.named("normalized");
            Ok(normalized.add_normalization(x, scale, bias, over_width)?)
        })
    }

    #[track_caller]
    fn product(
        &mut self,
        left: Tensor,
        right: Tensor,
        operation: MatrixOperation,
    ) -> DefineResult<Tensor> {
        let left_operation = MatrixOperation::None;
        Ok(self
            .graph
            .add_matrix_multiply(left, left_operation, right, operation)?)
    }
}
