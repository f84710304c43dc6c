//! `tensoracle run` and `tensoracle graph` on an engine that is really built.

mod common;

use common::{Cache, settings};
use insta::assert_snapshot;
use std::path::Path;
use tensoracle::{
    CpuBackend, DataType, DefineResult, ElementWiseOperation, Engine, EngineBuild, Graph,
    InputShape, OpenOptions, Values, dims, export_graph,
};
use tensoracle_tensorfile::{Element, TensorData, TensorFile, write};

fn define(graph: &mut Graph) -> DefineResult {
    let features = graph.add_input("features", DataType::Float, dims![1, "n", 2])?;
    let scale = graph.add_input("scale", DataType::Float, dims![1, 1, 1])?;
    let bias = graph.add_constant(Values::new([1, 1, 2], [0.5f32, -0.5]))?;
    let product = graph.add_elementwise(features, scale, ElementWiseOperation::Prod)?;
    let sum = graph
        .named("shift")
        .add_elementwise(product, bias, ElementWiseOperation::Sum)?;
    graph.mark_output("result", sum)?;
    Ok(())
}

fn saved(cache: &Cache) {
    let build = EngineBuild::new()
        .input(
            "features",
            InputShape::ranged([1, 1, 2], [1, 2, 2], [1, 4, 2]),
        )
        .input("scale", InputShape::fixed([1, 1, 1]));
    let options = OpenOptions::named("example").store(cache.store());
    Engine::open(&CpuBackend::new(), &build, options, define).unwrap();
}

fn file(path: &Path, tensors: &[(&str, &[u64], &[f32])]) {
    let bytes: Vec<Vec<u8>> = tensors
        .iter()
        .map(|(_, _, elements)| elements.iter().flat_map(|e| e.to_le_bytes()).collect())
        .collect();
    let tensors: Vec<_> = tensors
        .iter()
        .zip(&bytes)
        .map(|((name, dims, _), bytes)| TensorData {
            name,
            element: Element::F32,
            dims,
            bytes,
        })
        .collect();
    write(path, &tensors).unwrap();
}

/// Times differ from run to run, identities from machine to machine.
fn filtered(cache: &Cache) -> insta::Settings {
    let mut settings = settings(cache);
    settings.add_filter(r"\d+\.\d+ ms", "[TIME] ms");
    settings.add_filter(r#"_ms": [\d.]+"#, r#"_ms": "[TIME]""#);
    settings.add_filter(r"example-[0-9a-f]{32}", "example-[IDENTITY]");
    settings
}

#[test]
fn inputs_and_outputs_are_shown() {
    let cache = Cache::new();
    saved(&cache);
    filtered(&cache).bind(|| {
        assert_snapshot!("described", cache.run(&["run", "example"]));
        assert_snapshot!("described_json", cache.run(&["run", "example", "--json"]));
    });
}

#[test]
fn outputs_are_computed_and_written() {
    let cache = Cache::new();
    saved(&cache);
    file(
        &cache.path().join("x.npz"),
        &[
            ("features", &[1, 2, 2], &[1.0, 2.0, 3.0, 4.0]),
            ("scale", &[1, 1, 1], &[2.0]),
        ],
    );
    for output in ["y.npz", "y.safetensors", "y.npy"] {
        let shown = cache.run(&["run", "example", "--input", "x.npz", "--output", output]);
        assert!(shown.starts_with("exit status 0"), "{shown}");
        let file = TensorFile::open(&cache.path().join(output)).unwrap();
        let tensor = file.tensor(file.entries()[0].name()).unwrap();
        assert_eq!(tensor.dims, [1, 2, 2]);
        let (values, _) = tensor.bytes.as_chunks::<4>();
        let values: Vec<f32> = values
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect();
        assert_eq!(values, [2.5, 3.5, 6.5, 7.5], "x · 2 + [0.5, -0.5]");
    }
    file(
        &cache.path().join("f.npy"),
        &[("", &[1, 1, 2], &[1.0, 2.0])],
    );
    file(&cache.path().join("s.npy"), &[("", &[1, 1, 1], &[2.0])]);
    let words = [
        "run",
        "example",
        "-i",
        "features=f.npy",
        "-i",
        "scale=s.npy",
        "--repeat",
        "3",
        "--json",
    ];
    filtered(&cache).bind(|| assert_snapshot!("run_json", cache.run(&words)));
}

#[test]
fn what_does_not_fit_is_refused() {
    let cache = Cache::new();
    saved(&cache);
    let path = |name: &str| cache.path().join(name);
    file(&path("one.npy"), &[("", &[1, 1, 2], &[1.0, 2.0])]);
    file(
        &path("misspelt.npz"),
        &[("feature", &[1, 1, 2], &[1.0, 2.0])],
    );
    file(&path("part.npz"), &[("features", &[1, 1, 2], &[1.0, 2.0])]);
    let scale: (&str, &[u64], &[f32]) = ("scale", &[1, 1, 1], &[2.0]);
    file(
        &path("large.npz"),
        &[("features", &[1, 5, 2], &[0.0; 10]), scale],
    );
    file(&path("rank.npz"), &[("features", &[2], &[0.0; 2]), scale]);
    let refused = |input: &str| cache.run(&["run", "example", "--input", input]);
    let all = [
        refused("one.npy"),
        refused("misspelt.npz"),
        refused("part.npz"),
        refused("large.npz"),
        refused("rank.npz"),
        refused("absent.npz"),
        refused("other=one.npy"),
        cache.run(&["run", "example", "--output", "y.npz"]),
        cache.run(&["run", "absent"]),
        cache.run(&["run", "example", "--repeat", "0"]),
    ];
    filtered(&cache).bind(|| assert_snapshot!("refused", all.join("\n")));
}

#[test]
fn a_graph_is_printed_and_drawn() {
    let cache = Cache::new();
    saved(&cache);
    let mut graph = Graph::new();
    define(&mut graph).unwrap();
    export_graph(&graph, cache.path().join("graph.json")).unwrap();
    let of_file = cache.run(&["graph", "graph.json"]);
    std::fs::copy(
        cache.path().join("graph.json"),
        cache.path().join("graph.txt"),
    )
    .unwrap();
    assert_eq!(
        of_file,
        cache.run(&["graph", "graph.txt"]),
        "whatever the file is called"
    );
    assert_eq!(
        of_file,
        cache.run(&["graph", "example"]),
        "an engine shows the same graph"
    );
    filtered(&cache).bind(|| {
        assert_snapshot!("graph", of_file);
        let drawn = |format| cache.run(&["graph", "graph.json", "--format", format]);
        assert_snapshot!("graph_graphviz", drawn("graphviz"));
        assert_snapshot!("graph_mermaid", drawn("mermaid"));
        std::fs::write(cache.path().join("broken.json"), "{").unwrap();
        assert_snapshot!("graph_broken", cache.run(&["graph", "broken.json"]));
    });
}
