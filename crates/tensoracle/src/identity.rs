//! What decides whether a saved engine is the one wanted, spelled out field by field.
//!
//! Everything that can change a plan is a field here: the graph (layers, arguments, and type,
//! shape, digest and recipe of each constant), the optional graph version, input shapes, settings,
//! the backend with its version and device, the operating system and the architecture. What must
//! not matter is not: where weights lie, the workspace limit, the number of threads.

use crate::backend::Backend;
use crate::{EngineBuild, Error};
use tensoracle_graph::{Graph, InputShape, Layer, Node, Recipe, Tensor};
use tensoracle_store::{Conditions, Map, Value};

pub(crate) fn conditions(
    name: &str,
    graph: &Graph,
    graph_version: Option<&str>,
    build: &EngineBuild,
    backend: &dyn Backend,
) -> Result<Conditions, Error> {
    let mut conditions = Conditions::new(name)?;
    conditions.set(&["graph", "digest"], graph.digest()?.to_string());
    conditions.set(&["graph", "version"], graph_version);
    let inputs: Map = build
        .inputs
        .iter()
        .map(|(name, shape)| (name.clone(), profile(shape)))
        .collect();
    conditions.set(&["inputs"], inputs);
    let level = u32::from(build.settings.optimization_level);
    conditions.set(&["settings", "optimization_level"], level);
    conditions.set(&["settings", "tf32"], build.settings.tf32);
    for (field, value) in backend_conditions(backend) {
        conditions.set(&["backend", &field], value);
    }
    conditions.set(&["os"], std::env::consts::OS);
    conditions.set(&["architecture"], std::env::consts::ARCH);
    // Not in the identity, which has the digest: what the digest is of, for `explain`.
    conditions.describe(&["graph", "layers"], layers(graph)?);
    conditions.describe(&["tensors"], tensors(graph));
    Ok(conditions)
}

/// What is compared when an engine is opened without its graph.
pub(crate) fn backend_conditions(backend: &dyn Backend) -> Map {
    let mut fields = backend.conditions();
    fields.insert("name".into(), backend.name().into());
    fields
}

fn profile(shape: &InputShape) -> Value {
    let list = |sizes: &[u64]| -> Value { sizes.to_vec().into() };
    [
        ("min", list(&shape.min)),
        ("opt", list(&shape.opt)),
        ("max", list(&shape.max)),
    ]
    .into_iter()
    .collect()
}

/// Inputs and outputs with types and shapes, −1 for a dimension that is not fixed: what deploys an
/// engine elsewhere without loading it.
fn tensors(graph: &Graph) -> Vec<Value> {
    let tensor = |mode: &str, (name, tensor): &(String, Tensor)| -> Value {
        let shape = graph.dims(*tensor).iter();
        let shape: Vec<i64> = shape.map(|dim| dim.fixed().unwrap_or(-1)).collect();
        [
            ("name", name.as_str().into()),
            ("mode", mode.into()),
            ("type", graph.data_type(*tensor).name().into()),
            ("shape", Value::from(shape)),
        ]
        .into_iter()
        .collect()
    };
    let inputs = graph.inputs().iter().map(|input| tensor("input", input));
    let outputs = graph
        .outputs()
        .iter()
        .map(|output| tensor("output", output));
    inputs.chain(outputs).collect()
}

/// One line a layer, with the digest of what each constant is made of.
fn layers(graph: &Graph) -> Result<Vec<Value>, Error> {
    let live = graph.live_nodes();
    let lines = graph.nodes().iter().zip(live).filter(|(_, live)| *live);
    lines
        .map(|(node, _)| Ok(line(graph, node)?.into()))
        .collect()
}

fn line(graph: &Graph, node: &Node) -> Result<String, Error> {
    let output = node.outputs()[0];
    let (data_type, dims) = (graph.data_type(output), graph.dims(output));
    let inputs: Vec<String> = node
        .inputs()
        .iter()
        .flatten()
        .map(|input| graph.tensor_name(*input))
        .collect();
    let mut line = format!(
        "{} = {}({}) {} -> {data_type}{dims}",
        node.name(),
        node.layer().kind(),
        inputs.join(", "),
        graph.arguments(node),
    );
    if let Layer::Constant(constant) = node.layer() {
        let mut digests = Vec::new();
        stored(&graph.constants()[constant.index].recipe()?, &mut digests);
        line.push_str(&format!(" blake3 {}", digests.join(" ")));
    }
    Ok(line)
}

/// The first digits of the digests of the stored tensors in a recipe.
fn stored(recipe: &Recipe, digests: &mut Vec<String>) {
    match recipe {
        Recipe::Stored { digest, .. } => digests.push(digest.to_string()[..16].to_owned()),
        Recipe::Cast { of, .. }
        | Recipe::Transpose { of, .. }
        | Recipe::Reshape { of, .. }
        | Recipe::Slice { of, .. } => stored(of, digests),
        Recipe::Concat { of, .. } => of.iter().for_each(|part| stored(part, digests)),
        // Recipes of kinds that come later are in the graph's digest all the same.
        _ => {}
    }
}
