//! Any bytes as the JSON of a graph's definition: an error or a graph, and what is read must
//! digest, print and draw, and read the same once more.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tensoracle_graph::GraphDefinition;

fuzz_target!(|data: &[u8]| {
    let Ok(definition) = serde_json::from_slice::<GraphDefinition>(data) else {
        return;
    };
    let Ok(graph) = definition.without_weights() else {
        return;
    };
    let written = graph.definition().expect("described constants have recipes");
    let again = written.without_weights().expect("what was accepted once is accepted again");
    assert_eq!(graph.canonical_bytes().unwrap(), again.canonical_bytes().unwrap());
    let _ = (graph.to_string(), graph.to_graphviz(), graph.to_mermaid());
    for node in graph.nodes() {
        let _ = graph.dims(node.outputs()[0]).evaluate(&|_| Some(3));
    }
});
