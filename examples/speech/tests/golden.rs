//! The model on a recording against NumPy's and ONNX Runtime's answers.

use std::collections::BTreeMap;
use tensoracle::{
    CpuBackend, DataType, DefineResult, ElementWiseOperation, Engine, Graph, HostTensor, Mode,
    OpenOptions, Store, Tensor, Weights, dims,
};
use tensoracle_cpu::{Input, Plan, Values};
use tensoracle_example_speech::{CHUNK, CONTEXT, Detector, State, chunk, open, segments};
use tensoracle_example_terminal::Golden;
use tensoracle_test_support::{fetched, golden};

const WEIGHTS: &str = "silero-vad/silero_vad_16k.safetensors";
const HIDDEN: u64 = 128;

fn silero_golden() -> Golden {
    Golden::open(&golden("silero_vad")).unwrap()
}

fn samples(golden: &Golden) -> Vec<f32> {
    let samples = golden.numbers("pcm_i16").unwrap();
    samples
        .iter()
        .map(|sample| (sample / 32768.0) as f32)
        .collect()
}

fn opened(folder: &tempfile::TempDir, weights: &Weights, mode: Mode) -> Engine {
    let options = OpenOptions::named("silero-vad").store(Store::at(folder.path()));
    open(&CpuBackend::new().mode(mode), weights, options).unwrap()
}

/// Largest difference, relative to `expected` where that is above 1.
fn off(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let pairs = found.iter().zip(expected);
    let differences =
        pairs.map(|(found, expected)| (found - expected).abs() / expected.abs().max(1.0));
    differences.fold(0.0, |most, difference| {
        assert!(difference.is_finite(), "not a number among the results");
        difference.max(most)
    })
}

fn wide(tensor: &HostTensor) -> Vec<f64> {
    let values = tensor.to_vec::<f32>().unwrap();
    values.into_iter().map(f64::from).collect()
}

#[test]
fn probabilities_agree_in_single_precision() {
    let weights = Weights::open(fetched!(WEIGHTS)).unwrap();
    let golden = silero_golden();
    let samples = samples(&golden);
    for mode in [Mode::Fast, Mode::Typed] {
        let folder = tempfile::tempdir().unwrap();
        let mut detector = Detector::new(&opened(&folder, &weights, mode)).unwrap();
        let found = detector.push_all(&samples).unwrap();
        for peer in ["prob_ort_f32", "prob_numpy_f64"] {
            let error = golden.max_abs_error(peer, &found).unwrap();
            assert!(error <= 2e-5, "{mode}: {error:e} off {peer}");
        }
        let (h, c) = detector.state();
        for (state, name) in [(h, "final_h_f64"), (c, "final_c_f64")] {
            let error = off(&wide(state), &golden.numbers(name).unwrap());
            assert!(error <= 2e-5, "{mode}: {error:e} off {name}");
        }
        let speech = segments(&found, 0.5);
        let speech: Vec<_> = speech
            .iter()
            .map(|speech| (speech.start, speech.end))
            .collect();
        assert_eq!(speech, [(1.024, 2.752)], "{mode}");
    }
}

/// A state goes in and out of an engine as 32-bit floating point. To carry it in 64 bits, this graph
/// takes it in two parts whose sum it is.
fn in_two_parts(graph: &mut Graph, weights: &Weights) -> DefineResult {
    let samples = graph.add_input("samples", DataType::Float, dims![1, CONTEXT + CHUNK])?;
    let mut sum = |name: &str| -> DefineResult<Tensor> {
        let mut part = |part: &str| {
            graph.add_input(&format!("{name}_{part}"), DataType::Float, dims![1, HIDDEN])
        };
        let (high, low) = (part("high")?, part("low")?);
        Ok(graph.add_elementwise(high, low, ElementWiseOperation::Sum)?)
    };
    let (h, c) = (sum("h")?, sum("c")?);
    let heard = chunk(graph, weights, samples, State { h, c })?;
    graph.mark_output("probability", heard.probability)?;
    graph.mark_output("next_h", heard.state.h)?;
    graph.mark_output("next_c", heard.state.c)?;
    Ok(())
}

fn bytes(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// Runs one chunk in the exact mode and gives what each layer computed, by name.
fn observed(
    session: &mut tensoracle_cpu::Session,
    window: &[f32],
    h: &[f64],
    c: &[f64],
) -> BTreeMap<String, Vec<f64>> {
    let high = |state: &[f64]| bytes(state.iter().map(|value| *value as f32));
    let rest = |value: &f64| (value - f64::from(*value as f32)) as f32;
    let low = |state: &[f64]| bytes(state.iter().map(rest));
    let inputs = [
        ("samples", bytes(window.iter().copied())),
        ("h_high", high(h)),
        ("h_low", low(h)),
        ("c_high", high(c)),
        ("c_low", low(c)),
    ];
    let inputs: Vec<_> = inputs
        .iter()
        .map(|(name, bytes)| Input {
            name,
            data_type: DataType::Float,
            bytes,
        })
        .collect();
    let mut layers = BTreeMap::new();
    let mut observe = |seen: tensoracle_cpu::Observation<'_>| {
        if let Values::Real(values) = seen.values {
            layers.insert(seen.node.name().to_owned(), values.to_vec());
        }
    };
    session.run_observed(&inputs, &mut observe).unwrap();
    layers
}

#[test]
fn every_chunk_agrees_in_double_precision() {
    let weights = Weights::open(fetched!(WEIGHTS)).unwrap();
    let golden = silero_golden();
    let mut padded = vec![0.0; CONTEXT];
    padded.extend(samples(&golden));
    let expected = golden.numbers("prob_numpy_f64").unwrap();

    let mut graph = Graph::new();
    in_two_parts(&mut graph, &weights).unwrap();
    let mut session = Plan::compile(&graph, Mode::Exact).unwrap().session();
    let (mut h, mut c) = (vec![0.0; HIDDEN as usize], vec![0.0; HIDDEN as usize]);
    let mut found = Vec::new();
    for number in 0..expected.len() {
        let window = &padded[number * CHUNK..][..CONTEXT + CHUNK];
        let mut layers = observed(&mut session, window, &h, &c);
        found.extend_from_slice(&layers["probability"]);
        if number == 40 {
            for (layer, name) in [
                ("stft", "stft"),
                ("magnitude", "mag"),
                ("conv1.relu", "conv1"),
                ("conv2.relu", "conv2"),
                ("conv3.relu", "conv3"),
                ("conv4.relu", "conv4"),
                ("lstm.h", "lstm_h"),
                ("lstm.c", "lstm_c"),
                ("probability", "prob"),
            ] {
                let right = golden.numbers(&format!("step40_{name}")).unwrap();
                let error = off(&layers[layer], &right);
                assert!(error <= 1e-9, "{layer} in chunk 40: {error:e} off");
            }
        }
        h = layers.remove("lstm.h").unwrap();
        c = layers.remove("lstm.c").unwrap();
    }
    let error = off(&found, &expected);
    assert!(error <= 1e-9, "probabilities: {error:e} off");
    for (state, name) in [(h, "final_h_f64"), (c, "final_c_f64")] {
        let error = off(&state, &golden.numbers(name).unwrap());
        assert!(error <= 1e-9, "{name}: {error:e} off");
    }
}

#[test]
fn a_recording_pushed_in_pieces_is_heard_as_a_whole() {
    let weights = Weights::open(fetched!(WEIGHTS)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let engine = opened(&folder, &weights, Mode::Fast);
    let samples = samples(&silero_golden());
    // The end of this one is filled up with silence.
    let samples = &samples[16_000..16_000 + 10 * CHUNK + 100];
    let whole = Detector::new(&engine).unwrap().push_all(samples).unwrap();
    assert_eq!(whole.len(), 11);

    let mut detector = Detector::new(&engine).unwrap();
    let mut pieces = detector.push_all(&samples[..4 * CHUNK]).unwrap();
    pieces.extend(detector.push_all(&samples[4 * CHUNK..]).unwrap());
    assert_eq!(pieces, whole);
}

#[test]
fn weights_of_another_model_are_refused_by_name() {
    let weights = Weights::open(golden("minilm_l6")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = OpenOptions::named("silero-vad").store(Store::at(folder.path()));
    let error = open(&CpuBackend::new(), &weights, options).unwrap_err();
    let tensoracle::Error::Define(cause) = error else {
        panic!("another error: {error}");
    };
    assert!(cause.to_string().contains("stft_conv.weight"), "{cause}");
}
