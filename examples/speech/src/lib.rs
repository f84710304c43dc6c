//! Silero VAD: finds the speech in a recording, 32 ms at a time.
//!
//! This file is the model as a graph over its safetensors weights. Running it over a recording,
//! with its state carried from chunk to chunk, is the [`Detector`].

#![forbid(unsafe_code)]

mod audio;
mod detector;

pub use audio::{AudioError, read_audio};
pub use detector::{Detector, Segment, segments};

use tensoracle::{
    ActivationType, Backend, Convolution, DataType, DefineResult, ElementWiseOperation, Engine,
    EngineBuild, Error, Graph, InputShape, MatrixOperation, OpenOptions, SampleMode, Shuffle,
    Slice, Tensor, UnaryOperation, Weights, dims, weights::WeightTensor,
};

/// Samples a second that the model was trained on.
pub const SAMPLE_RATE: u32 = 16_000;

/// New samples in a chunk.
pub const CHUNK: usize = 512;

/// Samples of the chunk before, which the model sees again.
pub const CONTEXT: usize = 64;

/// Samples that the model sees at once.
const WINDOW: usize = CONTEXT + CHUNK;

/// Samples repeated backwards behind the window, so that the last frame is a whole one.
const REFLECTED: usize = 64;

/// Frequencies of the spectrum.
const FREQUENCIES: i64 = 129;

/// Values that remember what was heard: the width of each half of the state.
const HIDDEN: usize = 128;

/// Opens the model's engine: reuses the saved one, or builds and saves it.
///
/// # Errors
/// Weights of another model, or whatever keeps the engine from being built, saved or loaded.
pub fn open(
    backend: &dyn Backend,
    weights: &Weights,
    options: OpenOptions<'_>,
) -> Result<Engine, Error> {
    let row = |width: usize| InputShape::fixed([1, width as u64]);
    let build = EngineBuild::new()
        .input("samples", row(WINDOW))
        .input("h", row(HIDDEN))
        .input("c", row(HIDDEN));
    Engine::open(backend, &build, options, |graph| silero_vad(graph, weights))
}

/// Defines the model for one chunk.
///
/// Inputs: `samples` `[1, 576]`, 64 of the chunk before and 512 new ones, from −1 to 1; `h` and `c`
/// `[1, 128]`, the state, zeros at first. Outputs: `probability` `[1, 1]` that somebody speaks, and
/// the state for the next chunk, `next_h` and `next_c`. All are Float.
///
/// # Errors
/// Weights that are missing or have other shapes than Silero VAD's.
pub fn silero_vad(graph: &mut Graph, weights: &Weights) -> DefineResult {
    let samples = graph.add_input("samples", DataType::Float, dims![1, WINDOW])?;
    let h = graph.add_input("h", DataType::Float, dims![1, HIDDEN])?;
    let c = graph.add_input("c", DataType::Float, dims![1, HIDDEN])?;

    let heard = chunk(graph, weights, samples, State { h, c })?;

    graph.mark_output("probability", heard.probability)?;
    graph.mark_output("next_h", heard.state.h)?;
    graph.mark_output("next_c", heard.state.c)?;
    Ok(())
}

/// What the model remembers between chunks: the hidden and the cell state of an LSTM, `[1, 128]`.
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// The hidden state, from −1 to 1.
    pub h: Tensor,
    /// The cell state, which accumulates.
    pub c: Tensor,
}

/// What comes of a chunk.
#[derive(Debug, Clone, Copy)]
pub struct Heard {
    /// The probability that somebody speaks, `[1, 1]`.
    pub probability: Tensor,
    /// The state after the chunk.
    pub state: State,
}

/// The model on tensors of a graph: `samples` `[1, 576]` heard in `state`.
///
/// # Errors
/// As [`silero_vad`].
pub fn chunk(
    graph: &mut Graph,
    weights: &Weights,
    samples: Tensor,
    state: State,
) -> DefineResult<Heard> {
    let spectrum = spectrum(graph, weights, samples)?;
    let x = encoder_block(graph, weights, "conv1", spectrum, 1)?;
    let x = encoder_block(graph, weights, "conv2", x, 2)?;
    let x = encoder_block(graph, weights, "conv3", x, 2)?;
    let x = encoder_block(graph, weights, "conv4", x, 1)?; // [1, 128, 1]
    let features = graph.add_shuffle(x, Shuffle::reshape([0, -1]))?;
    let state = graph.scope("lstm", |graph| lstm_cell(graph, weights, features, state))?;
    let x = graph.add_activation(state.h, ActivationType::Relu)?;
    let weight = weights.tensor("final_conv.weight")?;
    let weight = weight.reshape(&[1, HIDDEN as u64])?;
    let bias = weights.tensor("final_conv.bias")?.reshape(&[1, 1])?;
    let bias = graph.add_constant(bias.into_constant()?)?;
    let logit = linear(graph, x, weight, bias)?;
    let probability = graph
        .named("probability")
        .add_activation(logit, ActivationType::Sigmoid)?;
    Ok(Heard { probability, state })
}

/// Magnitudes `[1, 129, 4]` of the short-time Fourier transform of four frames: a convolution whose
/// kernels are windowed cosines (the real parts) and then sines (the imaginary parts).
fn spectrum(graph: &mut Graph, weights: &Weights, samples: Tensor) -> DefineResult<Tensor> {
    use ElementWiseOperation::{Prod, Sum};
    let window = graph.add_shuffle(samples, Shuffle::reshape([1, 1, -1]))?;
    let reflected = Slice::new([0, 0, 0], [1, 1, (WINDOW + REFLECTED) as i64], [1, 1, 1])
        .mode(SampleMode::Reflect);
    let window = graph.add_slice(window, reflected)?;
    let kernel = graph.add_constant(weights.constant("stft_conv.weight")?)?;
    let transform = Convolution::new().stride([128]);
    let transform = graph
        .named("stft")
        .add_convolution(window, kernel, None, transform)?;

    let mut squared = |first: i64| -> DefineResult<Tensor> {
        let half = Slice::new([first], [FREQUENCIES], [1]).axes([1]);
        let half = graph.add_slice(transform, half)?;
        Ok(graph.add_elementwise(half, half, Prod)?)
    };
    let real = squared(0)?;
    let imaginary = squared(FREQUENCIES)?;
    let power = graph.add_elementwise(real, imaginary, Sum)?;
    Ok(graph
        .named("magnitude")
        .add_unary(power, UnaryOperation::Sqrt)?)
}

/// A convolution over time with a window of three frames, and ReLU.
fn encoder_block(
    graph: &mut Graph,
    weights: &Weights,
    name: &str,
    input: Tensor,
    stride: u64,
) -> DefineResult<Tensor> {
    graph.scope(name, |graph| {
        let kernel = graph.add_constant(weights.constant(&format!("{name}.weight"))?)?;
        let bias = graph.add_constant(weights.constant(&format!("{name}.bias"))?)?;
        let convolution = Convolution::new().stride([stride]).padding([1]);
        let x = graph.add_convolution(input, kernel, Some(bias), convolution)?;
        Ok(graph
            .named("relu")
            .add_activation(x, ActivationType::Relu)?)
    })
}

/// One step of an LSTM, from the layers it is made of. Its four gates, each of the width of the
/// state, come out of one product in PyTorch's order: input, forget, cell, output.
fn lstm_cell(
    graph: &mut Graph,
    weights: &Weights,
    features: Tensor,
    State { h, c }: State,
) -> DefineResult<State> {
    use ActivationType::{Sigmoid, Tanh};
    use ElementWiseOperation::{Prod, Sum};
    // W·x + R·h is one product of both matrices side by side with x and h one after the other.
    let sides = ["weight_ih", "weight_hh"].map(|side| weights.tensor(&format!("lstm_cell.{side}")));
    let [of_features, of_state] = sides;
    let weight = WeightTensor::concat(1, &[of_features?, of_state?])?;
    let mut bias = |side: &str| -> DefineResult<Tensor> {
        let bias = weights.tensor(&format!("lstm_cell.{side}"))?;
        Ok(graph.add_constant(bias.reshape(&[1, 4 * HIDDEN as u64])?.into_constant()?)?)
    };
    let (of_features, of_state) = (bias("bias_ih")?, bias("bias_hh")?);
    let bias = graph.add_elementwise(of_features, of_state, Sum)?;
    let both = graph.add_concatenation(&[features, h], 1)?;
    let gates = linear(graph, both, weight, bias)?;

    let mut gate = |number: usize, name: &str, function: ActivationType| -> DefineResult<Tensor> {
        let start = (number * HIDDEN) as i64;
        let gate = Slice::new([start], [HIDDEN as i64], [1]).axes([1]);
        let gate = graph.add_slice(gates, gate)?;
        Ok(graph.named(name).add_activation(gate, function)?)
    };
    let input = gate(0, "input_gate", Sigmoid)?;
    let forget = gate(1, "forget_gate", Sigmoid)?;
    let cell = gate(2, "cell_gate", Tanh)?;
    let output = gate(3, "output_gate", Sigmoid)?;

    let kept = graph.add_elementwise(forget, c, Prod)?;
    let learnt = graph.add_elementwise(input, cell, Prod)?;
    let c = graph.named("c").add_elementwise(kept, learnt, Sum)?;
    let seen = graph.add_activation(c, Tanh)?;
    let h = graph.named("h").add_elementwise(output, seen, Prod)?;
    Ok(State { h, c })
}

/// `input` `[1, n]` · `weight` `[m, n]` transposed + `bias` `[1, m]`.
fn linear(
    graph: &mut Graph,
    input: Tensor,
    weight: WeightTensor,
    bias: Tensor,
) -> DefineResult<Tensor> {
    let weight = graph.add_constant(weight.into_constant()?)?;
    let product = graph.add_matrix_multiply(
        input,
        MatrixOperation::None,
        weight,
        MatrixOperation::Transpose,
    )?;
    Ok(graph.add_elementwise(product, bias, ElementWiseOperation::Sum)?)
}
