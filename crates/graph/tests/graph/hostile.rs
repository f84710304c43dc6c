//! Definitions that no graph has: whatever stands in one, reading it ends with an error or a
//! graph, and soon.

use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tensoracle_graph::*;

/// Reads, and uses what was read in every way that reads it whole.
fn read(value: Value) -> Result<(), String> {
    let definition: GraphDefinition = serde_json::from_value(value).map_err(|e| e.to_string())?;
    let graph = definition.without_weights().map_err(|e| e.to_string())?;
    let bytes = graph.canonical_bytes().map_err(|e| e.to_string())?;
    // What was accepted once is accepted again as the same graph. (Not by way of the canonical
    // bytes, which lack the elements that give shapes.)
    let written = graph.definition().unwrap();
    let again = written.without_weights().unwrap();
    assert_eq!(again.canonical_bytes().unwrap(), bytes);
    let _ = (graph.to_string(), graph.to_graphviz(), graph.to_mermaid());
    for tensor in graph.nodes().iter().flat_map(Node::outputs) {
        let _ = graph.dims(*tensor).evaluate(&|_| Some(3));
    }
    Ok(())
}

/// A definition with one layer of every kind.
fn everything() -> Value {
    let digest = "0".repeat(64);
    let stored =
        |dims: Value| json!({"Stored": {"element": "F32", "dims": dims, "digest": digest}});
    let layer = |name: &str, layer: Value, inputs: Value| json!({"name": name, "layer": layer, "inputs": inputs});
    json!({
        "format": 1,
        "inputs": [
            {"name": "x", "data_type": "Float", "dims": ["n", 4, 6]},
            {"name": "b", "data_type": "Bool", "dims": [1, 4, 1]},
            {"name": "i", "data_type": "Int64", "dims": ["n", 4, 2]}
        ],
        "constants": [
            {"data_type": "Float", "dims": [8, 2, 3], "recipe": stored(json!([8, 2, 3]))},
            {"data_type": "Int64", "dims": [2], "elements": [0, -1], "recipe": {"Cast": {
                "element": "I64", "of": {"Slice": {"start": [0], "end": [2], "of": stored(json!([9]))}}}}},
            {"data_type": "Float", "dims": [1, 4, 1], "recipe": {"Concat": {"axis": 0, "of": [
                {"Transpose": {"permutation": [0], "of": stored(json!([4]))}},
                {"Reshape": {"dims": [4], "of": stored(json!([2, 2]))}}]}}}
        ],
        "layers": [
            layer("k", json!({"Constant": {"index": 0}}), json!([])),
            layer("ids", json!({"Constant": {"index": 1}}), json!([])),
            layer("scale", json!({"Constant": {"index": 2}}), json!([])),
            layer("conv", json!({"Convolution": {"stride": [2], "dilation": [1], "pre_padding": [1],
                "post_padding": [1], "padding_mode": "ExplicitRoundUp", "groups": 2}}), json!([0, 3, null])),
            layer("act", json!({"Activation": {"function": "Clip", "alpha": 0.0, "beta": 6.0}}), json!([6])),
            layer("norm", json!({"Normalization": {"axes": [2], "epsilon": 1e-5, "groups": 2}}), json!([0, 5, 5])),
            layer("shape", json!({"Shape": {}}), json!([7])),
            layer("pick", json!({"Gather": {"mode": "Default", "axis": 0, "elementwise_dims": 0}}), json!([9, 4])),
            layer("to", json!({"Concatenation": {"axis": 0}}), json!([10, 10])),
            layer("part", json!({"Slice": {"start": [0], "size": [2], "stride": [1], "axes": null,
                "mode": "StrictBounds"}}), json!([11, null, null, null, null, null])),
            layer("sum", json!({"ElementWise": {"operation": "Prod"}}), json!([12, 12])),
            layer("narrow", json!({"Cast": {"to_type": "Int32"}}), json!([13])),
            layer("all", json!({"Reduce": {"operation": "Prod", "axes": [0], "keep_dimensions": true}}), json!([14])),
            layer("flat", json!({"Shuffle": {"first_transpose": [0, 2, 1], "reshape": [-1],
                "second_transpose": null, "zero_is_placeholder": true}}), json!([7])),
            layer("mm", json!({"MatrixMultiply": {"left": "None", "right": "Transpose"}}), json!([8, 8])),
            layer("soft", json!({"SoftMax": {"axis": -1}}), json!([17])),
            layer("pad", json!({"Padding": {"pre_padding": [1, -1], "post_padding": [0, 2]}}), json!([18])),
            layer("sel", json!({"Select": {}}), json!([1, 8, 0])),
            layer("el", json!({"Gather": {"mode": "Element", "axis": 2, "elementwise_dims": 0}}), json!([0, 2])),
            layer("un", json!({"Unary": {"operation": "IsNan"}}), json!([20])),
            layer("id", json!({"Identity": {}}), json!([22]))
        ],
        "outputs": [
            {"name": "y", "tensor": 23}, {"name": "z", "tensor": 16}, {"name": "w", "tensor": 21},
            {"name": "v", "tensor": 15}, {"name": "u", "tensor": 19}
        ]
    })
}

#[test]
fn the_definition_that_the_tests_damage_is_good() {
    assert_eq!(read(everything()), Ok(()));
}

/// All values inside, by path.
fn pointers(value: &Value, path: &str, found: &mut Vec<String>) {
    found.push(path.to_owned());
    match value {
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                pointers(inner, &format!("{path}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, inner) in fields {
                pointers(inner, &format!("{path}/{name}"), found);
            }
        }
        _ => {}
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        Just(json!(i64::MIN)),
        Just(json!(i64::MAX)),
        Just(json!(u64::MAX)),
        Just(json!(i32::MAX)),
        Just(json!(1u64 << 40)),
        Just(json!(-1)),
        Just(json!(0)),
        Just(json!(1)),
        Just(json!(1e300)),
        Just(json!(-0.5)),
        (0u8..32).prop_map(|n| json!(n)),
    ];
    let leaf = prop_oneof![
        4 => number.clone(),
        1 => Just(json!(null)),
        1 => Just(json!(true)),
        1 => ".{0,6}".prop_map(|text| json!(text)),
        1 => prop_oneof![Just("n"), Just("Int64"), Just("Bool"), Just("Fill"), Just("Vector")]
            .prop_map(|text| json!(text)),
    ];
    let list = proptest::collection::vec(leaf.clone(), 0..10).prop_map(|list| json!(list));
    prop_oneof![4 => leaf, 2 => list]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    /// Values replaced, removed or moved about anywhere.
    #[test]
    fn damaged_definitions_are_refused_or_read(
        damages in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any_value(), 0u8..4), 1..4)
    ) {
        let mut value = everything();
        for (place, other, replacement, kind) in damages {
            let mut paths = Vec::new();
            pointers(&value, "", &mut paths);
            let path = &paths[place.index(paths.len())];
            let other = value.pointer(&paths[other.index(paths.len())]).cloned().unwrap();
            let target = value.pointer_mut(path).unwrap();
            match (kind, target) {
                (0, target) => *target = other,
                (1, Value::Array(list)) => { list.pop(); }
                (2, Value::Array(list)) => { let again = list.clone(); list.extend(again); }
                (_, target) => *target = replacement,
            }
        }
        let _ = read(value);
    }
}

#[test]
fn numbers_at_the_edges_in_every_place_are_refused_or_read() {
    let mut paths = Vec::new();
    pointers(&everything(), "", &mut paths);
    let edges = [
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(0),
        json!(-1),
        json!(1e39),
    ];
    for path in paths {
        for edge in &edges {
            let mut value = everything();
            let target = value.pointer_mut(&path).unwrap();
            if target.is_number() {
                *target = edge.clone();
                let _ = read(value);
            }
        }
    }
}

/// A definition of `count` layers, each over the one before.
fn chain(count: usize, layer: &Value, inputs: impl Fn(usize) -> Value) -> Value {
    let layers: Vec<_> = (0..count)
        .map(|index| json!({"name": format!("l{index}"), "layer": layer, "inputs": inputs(index)}))
        .collect();
    json!({
        "format": 1,
        "inputs": [{"name": "x", "data_type": "Int64", "dims": ["n"]}],
        "constants": [],
        "layers": layers,
        "outputs": [{"name": "y", "tensor": count}]
    })
}

/// Generous: a debug build beside others needs a second or two.
const SOON: Duration = Duration::from_secs(30);

#[test]
fn a_hundred_thousand_layers_are_read_soon() {
    let started = Instant::now();
    let one = |index: usize| json!([index]);
    assert_eq!(read(chain(100_000, &json!({"Identity": {}}), one)), Ok(()));
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
}

#[test]
fn a_hundred_thousand_inputs_and_outputs_are_read_soon() {
    let started = Instant::now();
    let count = 100_000;
    let inputs: Vec<_> = (0..count)
        .map(|index| json!({"name": format!("x{index}"), "data_type": "Float", "dims": [1]}))
        .collect();
    let outputs: Vec<_> = (0..count)
        .map(|index| json!({"name": format!("y{index}"), "tensor": index}))
        .collect();
    let wide: Vec<_> = (0..count).collect();
    let joined = json!({"name": "all", "layer": {"Concatenation": {"axis": 0}}, "inputs": wide});
    let value = json!({"format": 1, "inputs": inputs, "constants": [], "layers": [joined], "outputs": outputs});
    assert_eq!(read(value), Ok(()));
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
}

/// Expressions that double, deepen or multiply with every layer are refused before they fill the
/// memory or the stack.
#[test]
fn expressions_that_grow_are_refused_soon() {
    let started = Instant::now();
    let two = |index: usize| json!([index, index]);
    let refused = |value: Value| {
        let message = read(value).unwrap_err();
        assert!(message.contains("too large to write down"), "{message}");
    };
    refused(chain(100, &json!({"Concatenation": {"axis": 0}}), two));
    // The shape of a vector of n elements, picked apart and multiplied by itself.
    let shape = |count: usize, operation: &str| {
        let mut value = chain(
            count,
            &json!({"ElementWise": {"operation": operation}}),
            |index| json!([index, index]),
        );
        value["layers"][0]["layer"] = json!({"Shape": {}});
        value["layers"][0]["inputs"] = json!([0]);
        let last = json!({"name": "end", "layer": {"Shuffle": {"first_transpose": null, "reshape": null,
            "second_transpose": null, "zero_is_placeholder": true}}, "inputs": [0, count]});
        value["layers"].as_array_mut().unwrap().push(last);
        value
    };
    // n to the power of 2^20000: elements are no longer followed, and give no shape.
    let message = read(shape(20_000, "Prod")).unwrap_err();
    assert!(
        message.contains("must be computed from shapes"),
        "{message}"
    );
    let message = read(shape(20_000, "Sum")).unwrap_err();
    assert!(
        message.contains("must be computed from shapes"),
        "{message}"
    );
    // Windows over windows over an unknown size, deeper and deeper.
    let mut deep = chain(
        10_000,
        &json!({"Convolution": {"stride": [2], "dilation": [], "pre_padding": [2], "post_padding": [],
            "padding_mode": "ExplicitRoundDown", "groups": 1}}),
        |index| json!([if index < 2 { 0 } else { index }, 1]),
    );
    deep["inputs"][0] = json!({"name": "x", "data_type": "Float", "dims": [1, 1, "n"]});
    deep["constants"] = json!([{"data_type": "Float", "dims": [1, 1, 2], "recipe": {"Stored": {
        "element": "F32", "dims": [1, 1, 2], "digest": "0".repeat(64)}}}]);
    deep["layers"][0] = json!({"name": "k", "layer": {"Constant": {"index": 0}}, "inputs": []});
    refused(deep);
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
}

#[test]
fn recipes_nested_without_end_are_refused() {
    let mut text = String::new();
    for _ in 0..100_000 {
        text.push_str(r#"{"Cast":{"element":"F32","of":"#);
    }
    assert!(serde_json::from_str::<Recipe>(&text).is_err());
}
