//! How each kind of fault reads: message, hint and place.

use crate::common::{float, int, with_inputs};
use tensoracle_graph::*;

/// Message, and the hint where there is one.
fn report(error: &GraphError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

/// Compares with the snapshot, whatever the line of this file.
macro_rules! assert_report {
    ($error:expr, @$snapshot:literal) => {
        insta::with_settings!({filters => vec![
            (r"\(at \S*faults\.rs:\d+:\d+\)", "(at faults.rs:LINE:COLUMN)"),
        ]}, {
            insta::assert_snapshot!(report(&$error), @$snapshot);
        });
    };
}

#[test]
fn data_type() {
    let (mut g, t) = with_inputs(&[float(dims![2]), int(dims![2])]);
    let error = g
        .named("add")
        .add_elementwise(t[0], t[1], ElementWiseOperation::Sum);
    assert_report!(error.unwrap_err(), @r"
    elementwise layer `add`: second input `input1` int64[2] has type int64, expected float as first input has (at faults.rs:LINE:COLUMN)
    hint: networks are strongly typed: convert with a cast layer first
    ");
    let error = g.add_gather(t[0], t[0], Gather::along(0));
    assert_report!(error.unwrap_err(), @r"
    gather layer `gather_0`: indices `input0` float[2] has type float, expected int32 or int64 (at faults.rs:LINE:COLUMN)
    hint: networks are strongly typed: convert with a cast layer first
    ");
}

#[test]
fn rank() {
    let (mut g, t) = with_inputs(&[float(dims![2, "n"]), float(dims![2])]);
    let error = g.add_elementwise(t[0], t[1], ElementWiseOperation::Sum);
    assert_report!(error.unwrap_err(), @r"
    elementwise layer `elementwise_0`: second input `input1` float[2] has 1 dimensions, expected 2 (at faults.rs:LINE:COLUMN)
    hint: add a shuffle layer whose reshape inserts or removes dimensions of 1
    ");
}

#[test]
fn dim() {
    let (mut g, t) = with_inputs(&[
        float(dims![2, 3]),
        float(dims![2, 4]),
        float(dims![1, "c", 9]),
    ]);
    let error = g.add_elementwise(t[0], t[1], ElementWiseOperation::Sum);
    assert_report!(error.unwrap_err(), @"elementwise layer `elementwise_0`: second input `input1` float[2, 4] is 4 along axis 1, expected 3 or 1 (at faults.rs:LINE:COLUMN)");
    let kernel = g.add_constant(Values::new([1, 1, 1], [1.0f32])).unwrap();
    let error = g.add_convolution(t[2], kernel, None, Convolution::new());
    assert_report!(error.unwrap_err(), @r"
    convolution layer `convolution_0`: input `input2` float[1, c, 9] is c along axis 1, expected a fixed size (at faults.rs:LINE:COLUMN)
    hint: give dimensions that are equal at run time the same name; one that is to be broadcast must be fixed at 1
    ");
}

#[test]
fn argument() {
    let (mut g, t) = with_inputs(&[float(dims![2, 3])]);
    let error = g.scope("head", |g| g.add_softmax(t[0], 2));
    assert_report!(error.unwrap_err(), @"softmax layer `head.softmax_0`: argument `axis` is 2, expected an axis from -2 to 1 (at faults.rs:LINE:COLUMN)");
    let error = g.add_input("deep", DataType::Half, dims![1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_report!(error.unwrap_err(), @"input 1 `deep`: argument `dims` is [1, 2, 3, 4, 5, 6, 7, 8, 9], 9 dimensions, expected at most 8 dimensions (at faults.rs:LINE:COLUMN)");
}

#[test]
fn reshape() {
    let (mut g, t) = with_inputs(&[float(dims![2, 3])]);
    let error = g.add_shuffle(t[0], Shuffle::reshape([4, 4]));
    assert_report!(error.unwrap_err(), @"shuffle layer `shuffle_0`: cannot reshape `input0` float[2, 3] to [4, 4] (16 elements): expected 6 elements (at faults.rs:LINE:COLUMN)");
}

#[test]
fn out_of_bounds() {
    let (mut g, t) = with_inputs(&[float(dims![4])]);
    let error = g.add_slice(t[0], Slice::new([2], [3], [1]));
    assert_report!(error.unwrap_err(), @r"
    slice layer `slice_0`: axis 0 of `input0` float[4]: the slice reads index 4, expected 0 to below 4 in strict mode (at faults.rs:LINE:COLUMN)
    hint: use the mode clamp, wrap, reflect or fill to read outside the input
    ");
}

#[test]
fn not_a_shape() {
    let (mut g, t) = with_inputs(&[float(dims![4]), int(dims![2])]);
    let error = g.add_shuffle_to(t[0], t[1], Shuffle::default());
    assert_report!(error.unwrap_err(), @r"
    shuffle layer `shuffle_0`: reshape dimensions `input1` int64[2] must be computed from shapes and constants alone, but is not (at faults.rs:LINE:COLUMN)
    hint: start from a shape layer or a constant, or reshape with fixed numbers
    ");
}

#[test]
fn overflow() {
    let (mut g, t) = with_inputs(&[float(dims![1, 1, "n"])]);
    let error = g.add_padding(t[0], [0, i64::MAX], [0, i64::MAX]);
    assert_report!(error.unwrap_err(), @"padding layer `padding_0`: the padded size along axis 2 is too large to write down: beyond 64 bits, or thousands of terms (at faults.rs:LINE:COLUMN)");
}

#[test]
fn foreign_tensor() {
    let (_, foreign) = with_inputs(&[float(dims![4])]);
    let (mut g, _) = with_inputs(&[]);
    assert_report!(g.add_identity(foreign[0]).unwrap_err(), @"identity layer `identity_0`: an input is a tensor of another graph (at faults.rs:LINE:COLUMN)");
    assert_report!(g.mark_output("y", foreign[0]).unwrap_err(), @"output 0 `y`: output is a tensor of another graph (at faults.rs:LINE:COLUMN)");
}

#[test]
fn missing_tensor_and_input_count() {
    let (mut g, t) = with_inputs(&[float(dims![4])]);
    let error = g.add_layer(Select {}, &[None, Some(t[0])]);
    assert_report!(error.unwrap_err(), @"select layer `select_0`: condition is missing (at faults.rs:LINE:COLUMN)");
    let error = g.add_layer(Identity {}, &[Some(t[0]), Some(t[0])]);
    assert_report!(error.unwrap_err(), @"identity layer `identity_0`: 2 input tensors were given, expected at most 1 (at faults.rs:LINE:COLUMN)");
    assert_report!(g.add_concatenation(&[], 0).unwrap_err(), @"concatenation layer `concatenation_0`: 0 input tensors were given, expected at least 1 (at faults.rs:LINE:COLUMN)");
}

#[test]
fn name_and_name_taken() {
    let (mut g, t) = with_inputs(&[float(dims![4])]);
    g.named("a").add_identity(t[0]).unwrap();
    assert_report!(g.named("a").add_identity(t[0]).unwrap_err(), @r"
    identity layer `a`: the name `a` is already taken by another layer (at faults.rs:LINE:COLUMN)
    hint: give each a name of its own; name repeated blocks with `Graph::scope`
    ");
    assert_report!(g.mark_output("input0", t[0]).unwrap_err(), @r"
    output 0 `input0`: the name `input0` is already taken by an input (at faults.rs:LINE:COLUMN)
    hint: give each a name of its own; name repeated blocks with `Graph::scope`
    ");
    assert_report!(g.named("").add_identity(t[0]).unwrap_err(), @"identity layer ``: the name `` is empty (at faults.rs:LINE:COLUMN)");
}

#[test]
fn definitions() {
    let definition = |text: &str| {
        let definition: GraphDefinition = serde_json::from_str(text).unwrap();
        definition.without_weights().unwrap_err().to_string()
    };
    insta::assert_snapshot!(definition(
        r#"{"format": 2, "inputs": [], "constants": [], "layers": [], "outputs": []}"#
    ), @"the graph has format 2, expected 1");
    insta::assert_snapshot!(definition(
        r#"{"format": 1, "inputs": [], "constants": [], "layers": [
            {"name": "a", "layer": {"Identity": {}}, "inputs": [0]}], "outputs": []}"#
    ), @"layer `a` refers to tensor 0, expected below 0");
    insta::assert_snapshot!(definition(
        r#"{"format": 1, "inputs": [], "constants": [], "layers": [],
            "outputs": [{"name": "y", "tensor": 3}]}"#
    ), @"output `y` refers to tensor 3, expected below 0");
    insta::assert_snapshot!(definition(
        r#"{"format": 1, "inputs": [], "constants": [], "layers": [
            {"name": "a", "layer": {"Constant": {"index": 0}}, "inputs": []}], "outputs": []}"#
    ), @"constant layer `a`: argument `index` is 0, expected below 0");
    insta::assert_snapshot!(definition(
        r#"{"format": 1, "inputs": [{"name": "x", "data_type": "Float", "dims": [2, "n"]}],
            "constants": [], "outputs": [], "layers": [
            {"name": "a", "layer": {"SoftMax": {"axis": 2}}, "inputs": [0],
             "location": {"file": "model.rs", "line": 7, "column": 5}}]}"#
    ), @"softmax layer `a`: argument `axis` is 2, expected an axis from -2 to 1 (at model.rs:7:5)");
    let empty: GraphDefinition = serde_json::from_str(
        r#"{"format": 1, "inputs": [], "layers": [], "outputs": [], "constants": [
            {"data_type": "Float", "dims": [2], "recipe": {"Stored": {"element": "F32",
             "dims": [2], "digest":
             "0000000000000000000000000000000000000000000000000000000000000000"}}}]}"#,
    )
    .unwrap();
    let error = Graph::from_definition(&empty, vec![]).unwrap_err();
    insta::assert_snapshot!(error, @"0 constants were supplied, expected 1");
    let other = std::sync::Arc::new(Values::scalar(1i8));
    let error = Graph::from_definition(&empty, vec![other]).unwrap_err();
    insta::assert_snapshot!(error, @"constant 0 is int8[], expected float[2]");
}
