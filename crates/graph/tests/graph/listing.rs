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
    insta::assert_snapshot!(network(), @r#"
    input tokens: float[b, t, 4]
    constant_0      = constant() values float[1, 4, 6] -> float[1, 4, 6]
    encoder.0.query = matrix_multiply(tokens, constant_0) left=None right=None -> float[b, t, 6]
    scores          = matrix_multiply(encoder.0.query, encoder.0.query) left=None right=Transpose -> float[b, t, t]
    <"odd" & name>  = softmax(scores) axis=2 -> float[b, t, t]
    activation_0    = activation(<"odd" & name>) alpha=0.0 beta=0.5 function=Clip -> float[b, t, t]
    slice_0         = slice(activation_0) axes=[2] mode=StrictBounds size=[1] start=[0] stride=[1] -> float[b, t, 1]
    shape_0         = shape(slice_0) -> int64[3]
    output first: float[b, t, 1] = slice_0
    output again: float[b, t, 1] = slice_0
    "#);
}

#[test]
fn graphviz() {
    insta::assert_snapshot!(network().to_graphviz(), @r#"
    digraph {
      node [shape=box fontname="sans-serif"]
      t0 [label="tokens\nfloat[b, t, 4]" style=rounded]
      t2 [label="encoder.0.query\nmatrix_multiply\nleft=None right=None\nvalues float[1, 4, 6]"]
      t3 [label="scores\nmatrix_multiply\nleft=None right=Transpose"]
      t4 [label="<\"odd\" & name>\nsoftmax\naxis=2"]
      t5 [label="activation_0\nactivation\nalpha=0.0 beta=0.5 function=Clip"]
      t6 [label="slice_0\nslice\naxes=[2] mode=StrictBounds size=[1] start=[0] stride=[1]"]
      t7 [label="shape_0\nshape"]
      out0 [label="first" style=rounded]
      out1 [label="again" style=rounded]
      t0 -> t2 [label="float[b, t, 4]"]
      t2 -> t3 [label="float[b, t, 6]"]
      t2 -> t3 [label="float[b, t, 6]"]
      t3 -> t4 [label="float[b, t, t]"]
      t4 -> t5 [label="float[b, t, t]"]
      t5 -> t6 [label="float[b, t, t]"]
      t6 -> t7 [label="float[b, t, 1]"]
      t6 -> out0 [label="float[b, t, 1]"]
      t6 -> out1 [label="float[b, t, 1]"]
    }
    "#);
}

#[test]
fn mermaid() {
    insta::assert_snapshot!(network().to_mermaid(), @r#"
    flowchart TD
      t0(["tokens<br/>float[b, t, 4]"])
      t2["encoder.0.query<br/>matrix_multiply<br/>left=None right=None<br/>values float[1, 4, 6]"]
      t3["scores<br/>matrix_multiply<br/>left=None right=Transpose"]
      t4["&lt;&quot;odd&quot; &amp; name&gt;<br/>softmax<br/>axis=2"]
      t5["activation_0<br/>activation<br/>alpha=0.0 beta=0.5 function=Clip"]
      t6["slice_0<br/>slice<br/>axes=[2] mode=StrictBounds size=[1] start=[0] stride=[1]"]
      t7["shape_0<br/>shape"]
      out0(["first"])
      out1(["again"])
      t0 -- "float[b, t, 4]" --> t2
      t2 -- "float[b, t, 6]" --> t3
      t2 -- "float[b, t, 6]" --> t3
      t3 -- "float[b, t, t]" --> t4
      t4 -- "float[b, t, t]" --> t5
      t5 -- "float[b, t, t]" --> t6
      t6 -- "float[b, t, 1]" --> t7
      t6 -- "float[b, t, 1]" --> out0
      t6 -- "float[b, t, 1]" --> out1
    "#);
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
    insta::assert_snapshot!(g, @r"
    input x: float[2, 4, 6, 6]
    constant_0      = constant() values float[8, 2, 3, 3] -> float[8, 2, 3, 3]
    convolution_0   = convolution(x, constant_0, -) groups=2 padding_mode=ExplicitRoundDown post_padding=[1,1] pre_padding=[1,1] stride=[2,1] -> float[2, 8, 3, 6]
    constant_1      = constant() values float[1, 8, 1, 1] -> float[1, 8, 1, 1]
    normalization_0 = normalization(convolution_0, constant_1, constant_1) axes=[2,3] epsilon=0.00001 groups=4 -> float[2, 8, 3, 6]
    padding_0       = padding(normalization_0) post_padding=[0,-1] pre_padding=[0,1] -> float[2, 8, 3, 6]
    reduce_0        = reduce(padding_0) axes=[3] keep_dimensions=true operation=Avg -> float[2, 8, 3, 1]
    shuffle_0       = shuffle(reduce_0) reshape=[0,-1] second_transpose=[1,0] zero_is_placeholder=true -> float[24, 2]
    unary_0         = unary(shuffle_0) operation=Abs -> float[24, 2]
    constant_2      = constant() values int32[3] -> int32[3]
    gather_0        = gather(unary_0, constant_2) axis=0 elementwise_dims=0 mode=Default -> float[3, 2]
    elementwise_0   = elementwise(gather_0, gather_0) operation=Greater -> bool[3, 2]
    select_0        = select(elementwise_0, gather_0, gather_0) -> float[3, 2]
    concatenation_0 = concatenation(select_0, select_0) axis=0 -> float[6, 2]
    cast_0          = cast(concatenation_0) to_type=BFloat16 -> bfloat16[6, 2]
    identity_0      = identity(cast_0) -> bfloat16[6, 2]
    output y: bfloat16[6, 2] = identity_0
    ");
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
