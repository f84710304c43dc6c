//! How a graph reads in listings and drawings.

use tensoracle_graph::*;

/// A small network with a constant, a scope, named sizes and an odd name.
fn network() -> Graph {
    let mut g = Graph::new();
    let build = |g: &mut Graph| -> Result<(), GraphError> {
        let x = g.add_input("tokens", DataType::Float, dims!["b", "t", 4])?;
        let weight = g.add_constant(Values::new([1, 4, 6], [0.5f32; 24]))?;
        let (none, transpose) = (MatrixOperation::None, MatrixOperation::Transpose);
        let q = g.scope("encoder.0", |g| {
            g.named("query").add_matrix_multiply(x, none, weight, none)
        })?;
        let scores = g
            .named("scores")
            .add_matrix_multiply(q, none, q, transpose)?;
        let weights = g.named("<\"odd\" & name>").add_softmax(scores, -1)?;
        let clipped = g.add_activation(weights, Activation::clip(0.0, 0.5))?;
        let strided = Slice::new([0], [1], [1]).axes([-1]);
        let first = g.add_slice(clipped, strided)?;
        g.add_shape(first)?;
        g.mark_output("first", first)?;
        g.mark_output("again", first)
    };
    build(&mut g).unwrap();
    g
}

#[test]
fn one_line_a_layer() {
    insta::assert_snapshot!(network(), @"");
}

#[test]
fn graphviz() {
    insta::assert_snapshot!(network().to_graphviz(), @"");
}

#[test]
fn mermaid() {
    insta::assert_snapshot!(network().to_mermaid(), @"");
}

#[test]
fn every_layer_lists_its_arguments() {
    let mut g = Graph::new();
    let build = |g: &mut Graph| -> Result<(), GraphError> {
        let x = g.add_input("x", DataType::Float, dims![2, 4, 6, 6])?;
        let kernel = g.add_constant(Values::new([8, 2, 3, 3], [0.25f32; 144]))?;
        let convolution = Convolution::new().stride([2, 1]).padding([1, 1]).groups(2);
        let x = g.add_convolution(x, kernel, None, convolution)?;
        let scale = g.add_constant(Values::new([1, 8, 1, 1], [1.0f32; 8]))?;
        let x = g.add_normalization(x, scale, scale, Normalization::over([2, 3]).groups(4))?;
        let x = g.add_padding(x, [0, 1], [0, -1])?;
        let x = g.add_reduce(x, ReduceOperation::Avg, &[-1], true)?;
        let x = g.add_shuffle(x, Shuffle::reshape([0, -1]).then_transpose([1, 0]))?;
        let x = g.add_unary(x, UnaryOperation::Abs)?;
        let ids = g.add_constant(Values::new([3], [0i32, 5, 7]))?;
        let x = g.add_gather(x, ids, Gather::along(0))?;
        let above = g.add_elementwise(x, x, ElementWiseOperation::Greater)?;
        let x = g.add_select(above, x, x)?;
        let x = g.add_concatenation(&[x, x], 0)?;
        let x = g.add_cast(x, DataType::BFloat16)?;
        let x = g.add_identity(x)?;
        g.mark_output("y", x)
    };
    build(&mut g).unwrap();
    insta::assert_snapshot!(g, @"");
}

#[test]
fn a_name_keeps_to_its_line() {
    let mut g = Graph::new();
    let x = g.add_input("line\none", DataType::Float, dims![1]).unwrap();
    let y = g.named("two\nlines\r").add_identity(x).unwrap();
    g.mark_output("out\nput", y).unwrap();
    assert_eq!(g.to_string().lines().count(), 3);
    assert!(!g.to_string().contains('\r'));
    assert_eq!(g.to_mermaid().lines().count(), 1 + 3 + 2);
    assert_eq!(g.to_graphviz().lines().count(), 2 + 3 + 2 + 1);
}
