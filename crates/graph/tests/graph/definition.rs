//! Definitions: a graph written as JSON and read back is the same graph.

use std::sync::Arc;
use tensoracle_graph::*;

fn network() -> Graph {
    let mut g = Graph::new();
    let build = |g: &mut Graph| -> Result<(), GraphError> {
        let x = g.add_input("x", DataType::Float, dims!["b", 3, "t"])?;
        let unused = g.add_input("unused", DataType::Int8, dims![])?;
        let kernel = g
            .named("kernel")
            .add_constant(Values::new([4, 3, 3], [0.1f32; 36]))?;
        let convolution = Convolution::new().stride([2]).padding([1]);
        let y = g.add_convolution(x, kernel, None, convolution)?;
        let shape = g.add_shape(y)?;
        let ids = g.add_constant(Values::new([2], [0i32, -1]))?;
        let picked = g.add_gather(shape, ids, Gather::along(0))?;
        let minus = g.add_constant(Values::new([1], [-1i64]))?;
        let to = g.add_concatenation(&[picked, minus], 0)?;
        let y = g.add_shuffle_to(y, to, Shuffle::transpose([0, 2, 1]))?;
        let y = g.add_activation(y, Activation::clip(-1.0e-7, f32::MAX))?;
        let fill = g.add_constant(Values::scalar(1.5f32))?;
        let slice = Slice::new([-1, 0, 0], [2, 2, 2], [1, 1, 1]).mode(SampleMode::Fill);
        let y = g.add_slice_with(
            y,
            slice,
            SliceInputs {
                fill: Some(fill),
                ..Default::default()
            },
        )?;
        g.mark_output("y \"quoted\" \u{1f600}", y)?;
        g.mark_output("passed on", unused)
    };
    build(&mut g).unwrap();
    g
}

fn through_json(definition: &GraphDefinition) -> GraphDefinition {
    serde_json::from_str(&serde_json::to_string(definition).unwrap()).unwrap()
}

#[test]
fn a_graph_read_back_without_its_weights_is_the_same_graph() {
    let graph = network();
    let definition = graph.definition().unwrap();
    let read = through_json(&definition);
    assert_eq!(read, definition);
    let rebuilt = read.without_weights().unwrap();
    assert_eq!(
        rebuilt.canonical_bytes().unwrap(),
        graph.canonical_bytes().unwrap()
    );
    assert_eq!(rebuilt.digest().unwrap(), graph.digest().unwrap());
    assert_eq!(rebuilt.definition().unwrap(), definition);
    // Listings, types, shapes and what must hold at run time too.
    assert_eq!(rebuilt.to_string(), graph.to_string());
    for (a, b) in rebuilt.nodes().iter().zip(graph.nodes()) {
        assert_eq!(a.constraints(), b.constraints());
        assert_eq!(a.location(), b.location());
    }
    let mut out = [0; 144];
    let error = rebuilt.constants()[0].read(&mut out).unwrap_err();
    assert_eq!(
        error.to_string(),
        "values float[4, 3, 3]: the graph was exported without its weights"
    );
}

#[test]
fn a_graph_read_back_with_its_weights_is_the_same_graph() {
    let graph = network();
    let definition = through_json(&graph.definition().unwrap());
    let rebuilt = Graph::from_definition(&definition, graph.constants().to_vec()).unwrap();
    assert_eq!(rebuilt.digest().unwrap(), graph.digest().unwrap());
    assert_eq!(rebuilt.constants()[0].bytes(), graph.constants()[0].bytes());
}

#[test]
fn supplied_constants_are_those_described() {
    let graph = network();
    let definition = graph.definition().unwrap();
    let mut constants = graph.constants().to_vec();
    constants.swap(0, 1);
    let error = Graph::from_definition(&definition, constants).unwrap_err();
    assert_eq!(
        error.to_string(),
        "constant 0 is int32[2], expected float[4, 3, 3]"
    );
    let constants: Vec<Arc<dyn ConstantSource>> = graph.constants()[1..].to_vec();
    assert!(Graph::from_definition(&definition, constants).is_err());
}

#[test]
fn floats_survive_json() {
    let mut bits = 1u32;
    for _ in 0..20_000 {
        // Knuth's multiplicative generator walks over all exponents.
        bits = bits.wrapping_mul(2_654_435_769).wrapping_add(12_345);
        let value = f32::from_bits(bits);
        if !value.is_finite() {
            continue;
        }
        let layer = Layer::from(Activation::clip(value, -value));
        let text = serde_json::to_string(&layer).unwrap();
        let Layer::Activation(read) = serde_json::from_str(&text).unwrap() else {
            panic!("{text} is another layer")
        };
        assert_eq!(read.alpha.to_bits(), value.to_bits(), "{text}");
        assert_eq!(read.beta.to_bits(), (-value).to_bits(), "{text}");
    }
}

#[test]
fn unknown_fields_are_refused() {
    let mut value = serde_json::to_value(network().definition().unwrap()).unwrap();
    value["comment"] = "mine".into();
    let error = serde_json::from_value::<GraphDefinition>(value).unwrap_err();
    assert!(
        error.to_string().contains("unknown field `comment`"),
        "{error}"
    );
}

#[test]
fn an_unknown_argument_of_a_layer_is_refused() {
    for text in [
        r#"{"SoftMax": {"axis": 1, "axes": [1]}}"#,
        r#"{"Identity": {"mode": "fast"}}"#,
        r#"{"Convolution": {"stride": [], "dilation": [], "pre_padding": [], "post_padding": [],
            "padding_mode": "ExplicitRoundDown", "groups": 1, "transposed": true}}"#,
        r#"{"Pooling": {}}"#,
    ] {
        assert!(serde_json::from_str::<Layer>(text).is_err(), "{text}");
    }
}
