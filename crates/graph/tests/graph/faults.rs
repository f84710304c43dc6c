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
    assert_report!(error.unwrap_err(), @"");
    let error = g.add_gather(t[0], t[0], Gather::along(0));
    assert_report!(error.unwrap_err(), @"");
}

#[test]
fn rank() {
    let (mut g, t) = with_inputs(&[float(dims![2, "n"]), float(dims![2])]);
    let error = g.add_elementwise(t[0], t[1], ElementWiseOperation::Sum);
    assert_report!(error.unwrap_err(), @"");
}

#[test]
fn dim() {
    let (mut g, t) = with_inputs(&[
        float(dims![2, 3]),
        float(dims![2, 4]),
        float(dims![1, "c", 9]),
    ]);
    let error = g.add_elementwise(t[0], t[1], ElementWiseOperation::Sum);
    assert_report!(error.unwrap_err(), @"");
    let kernel = g.add_constant(Values::new([1, 1, 1], [1.0f32])).unwrap();
    let error = g.add_convolution(t[2], kernel, None, Convolution::new());
    assert_report!(error.unwrap_err(), @"");
}

#[test]
fn argument() {
    let (mut g, t) = with_inputs(&[float(dims![2, 3])]);
    let error = g.scope("head", |g| g.add_softmax(t[0], 2));
    assert_report!(error.unwrap_err(), @"");
    let error = g.add_input("deep", DataType::Half, dims![1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_report!(error.unwrap_err(), @"");
}

#[test]
fn reshape() {
    let (mut g, t) = with_inputs(&[float(dims!["b", 3])]);
    let error = g.add_shuffle(t[0], Shuffle::reshape([0, 4]));
    assert_report!(error.unwrap_err(), @"");
    let (mut g, t) = with_inputs(&[float(dims![2, 3])]);
    let error = g.add_shuffle(t[0], Shuffle::reshape([4, 4]));
    assert_report!(error.unwrap_err(), @"");
}

#[test]
fn out_of_bounds() {
    let (mut g, t) = with_inputs(&[float(dims![4])]);
    let error = g.add_slice(t[0], Slice::new([2], [3], [1]));
    assert_report!(error.unwrap_err(), @"");
}

#[test]
fn not_a_shape() {
    let (mut g, t) = with_inputs(&[float(dims![4]), int(dims![2])]);
    let error = g.add_shuffle_to(t[0], t[1], Shuffle::default());
    assert_report!(error.unwrap_err(), @"");
}

#[test]
fn overflow() {
    let (mut g, t) = with_inputs(&[float(dims![1, 1, "n"])]);
    let error = g.add_padding(t[0], [0, i64::MAX], [0, i64::MAX]);
    assert_report!(error.unwrap_err(), @"");
}

#[test]
fn foreign_tensor() {
    let (_, foreign) = with_inputs(&[float(dims![4])]);
    let (mut g, _) = with_inputs(&[]);
    assert_report!(g.add_identity(foreign[0]).unwrap_err(), @"");
    assert_report!(g.mark_output("y", foreign[0]).unwrap_err(), @"");
}

#[test]
fn missing_tensor_and_input_count() {
    let (mut g, t) = with_inputs(&[float(dims![4])]);
    let error = g.add_layer(Select {}, &[None, Some(t[0])]);
    assert_report!(error.unwrap_err(), @"");
    let error = g.add_layer(Identity {}, &[Some(t[0]), Some(t[0])]);
    assert_report!(error.unwrap_err(), @"");
    assert_report!(g.add_concatenation(&[], 0).unwrap_err(), @"");
}

#[test]
fn name_and_name_taken() {
    let (mut g, t) = with_inputs(&[float(dims![4])]);
    g.named("a").add_identity(t[0]).unwrap();
    assert_report!(g.named("a").add_identity(t[0]).unwrap_err(), @"");
    assert_report!(g.mark_output("input0", t[0]).unwrap_err(), @"");
    assert_report!(g.named("").add_identity(t[0]).unwrap_err(), @"");
}

#[test]
fn definitions() {
    let definition = |text: &str| {
        let definition: GraphDefinition = serde_json::from_str(text).unwrap();
        definition.without_weights().unwrap_err().to_string()
    };
    insta::assert_snapshot!(definition(
        r#"{"format": 2, "inputs": [], "constants": [], "layers": [], "outputs": []}"#
    ), @"");
    insta::assert_snapshot!(definition(
        r#"{"format": 1, "inputs": [], "constants": [], "layers": [
            {"name": "a", "layer": {"Identity": {}}, "inputs": [0]}], "outputs": []}"#
    ), @"");
    insta::assert_snapshot!(definition(
        r#"{"format": 1, "inputs": [], "constants": [], "layers": [],
            "outputs": [{"name": "y", "tensor": 3}]}"#
    ), @"");
    insta::assert_snapshot!(definition(
        r#"{"format": 1, "inputs": [], "constants": [], "layers": [
            {"name": "a", "layer": {"Constant": {"index": 0}}, "inputs": []}], "outputs": []}"#
    ), @"");
    insta::assert_snapshot!(definition(
        r#"{"format": 1, "inputs": [{"name": "x", "data_type": "Float", "dims": [2, "n"]}],
            "constants": [], "outputs": [], "layers": [
            {"name": "a", "layer": {"SoftMax": {"axis": 2}}, "inputs": [0],
             "location": {"file": "model.rs", "line": 7, "column": 5}}]}"#
    ), @"");
    let empty: GraphDefinition = serde_json::from_str(
        r#"{"format": 1, "inputs": [], "layers": [], "outputs": [], "constants": [
            {"data_type": "Float", "dims": [2], "recipe": {"Stored": {"element": "F32",
             "dims": [2], "digest":
             "0000000000000000000000000000000000000000000000000000000000000000"}}}]}"#,
    )
    .unwrap();
    let error = Graph::from_definition(&empty, vec![]).unwrap_err();
    insta::assert_snapshot!(error, @"");
    let other = std::sync::Arc::new(Values::scalar(1i8));
    let error = Graph::from_definition(&empty, vec![other]).unwrap_err();
    insta::assert_snapshot!(error, @"");
}
