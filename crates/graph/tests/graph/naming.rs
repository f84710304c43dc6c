//! Names of layers, inputs and outputs; scopes; tensors of other graphs.

use tensoracle_graph::*;

fn names(graph: &Graph) -> Vec<&str> {
    graph.nodes().iter().map(Node::name).collect()
}

fn with_input() -> (Graph, Tensor) {
    let mut graph = Graph::new();
    let x = graph.add_input("x", DataType::Float, dims![2]).unwrap();
    (graph, x)
}

#[test]
fn layers_are_numbered_by_kind_unless_named() {
    let (mut graph, x) = with_input();
    graph.named("identity_1").add_identity(x).unwrap();
    graph.add_identity(x).unwrap();
    graph.add_unary(x, UnaryOperation::Exp).unwrap();
    graph.add_identity(x).unwrap();
    // The second identity would be the first of its number, which is taken.
    assert_eq!(
        names(&graph),
        ["identity_1", "identity_2", "unary_0", "identity_3"]
    );
}

#[test]
fn scopes_nest_and_end() {
    let (mut graph, x) = with_input();
    graph
        .scope("encoder", |graph| {
            graph.scope("0", |graph| graph.named("query").add_identity(x))?;
            graph.scope("1", |graph| graph.named("query").add_identity(x))?;
            graph.add_identity(x)
        })
        .unwrap();
    graph.named("query").add_identity(x).unwrap();
    assert_eq!(
        names(&graph),
        [
            "encoder.0.query",
            "encoder.1.query",
            "encoder.identity_2",
            "query"
        ]
    );
}

#[test]
fn a_refused_layer_gives_its_name_back() {
    let (mut graph, x) = with_input();
    let error = graph.named("head").add_softmax(x, 7).unwrap_err();
    assert_eq!(error.subject, "softmax layer `head`");
    graph.add_softmax(x, 0).unwrap();
    graph.named("head").add_softmax(x, 0).unwrap();
    assert_eq!(names(&graph), ["softmax_0", "head"]);
    // A refused constant is not kept either.
    graph
        .add_constant(Values::new([1; 9], [1.0f32]))
        .unwrap_err();
    assert_eq!(graph.constants().len(), 0);
}

#[test]
fn names_are_unique_and_usable() {
    let (mut graph, x) = with_input();
    graph.named("a").add_identity(x).unwrap();
    let mut layer = |name: &str| {
        graph
            .named(name)
            .add_identity(x)
            .map(|_| ())
            .map_err(|e| e.fault.to_string())
    };
    assert_eq!(
        layer("a"),
        Err("the name `a` is already taken by another layer".into())
    );
    assert_eq!(layer(""), Err("the name `` is empty".into()));
    assert_eq!(
        layer("a\0b"),
        Err("the name `a\0b` contains a zero byte".into())
    );
    assert_eq!(layer(&"é".repeat(2047)), Ok(()));
    assert_eq!(
        layer(&"é".repeat(2048)),
        Err(format!(
            "the name `{}` is longer than 4095 bytes",
            "é".repeat(64)
        ))
    );
    for odd in [
        "日本語",
        "a b",
        "\"quoted\"",
        "new\nline",
        "\u{202e}",
        "n + 1",
        "a.b[0]",
    ] {
        assert_eq!(layer(odd), Ok(()), "{odd:?}");
    }
    // Layers and network tensors are named apart.
    assert_eq!(layer("x"), Ok(()));
    graph.mark_output("y", x).unwrap();
    graph.mark_output("z", x).unwrap();
    let output =
        |graph: &mut Graph, name| graph.mark_output(name, x).unwrap_err().fault.to_string();
    assert_eq!(
        output(&mut graph, "y"),
        "the name `y` is already taken by an output"
    );
    assert_eq!(
        output(&mut graph, "x"),
        "the name `x` is already taken by an input"
    );
    assert_eq!(output(&mut graph, ""), "the name `` is empty");
    let input = |graph: &mut Graph, name| {
        let added = graph.add_input(name, DataType::Float, dims![1]);
        added.unwrap_err().fault.to_string()
    };
    assert_eq!(
        input(&mut graph, "x"),
        "the name `x` is already taken by an input"
    );
    assert_eq!(
        input(&mut graph, "y"),
        "the name `y` is already taken by an output"
    );
    assert_eq!(graph.inputs().len(), 1);
    assert_eq!(graph.outputs().len(), 2);
}

#[test]
fn inputs_take_sizes_and_names_alone() {
    let input = |dims: Dims| {
        let added = Graph::new().add_input("x", DataType::Float, dims);
        added.map(|_| ()).map_err(|error| error.fault.to_string())
    };
    assert_eq!(input(dims![0, "n", 3]), Ok(()));
    assert_eq!(input(dims![1, 1, 1, 1, 1, 1, 1, 1]), Ok(()));
    let n = Dim::named("n");
    for bad in [
        dims![-1],
        dims![n.add(&n).unwrap()],
        dims![""],
        dims!["a\0"],
    ] {
        let found = bad.to_string();
        assert_eq!(
            input(bad),
            Err(format!(
                "argument `dims` is {found}, expected sizes of at least 0, and names for \
                 dimensions that vary"
            ))
        );
    }
    let too_large = |dims: Dims| {
        input(dims)
            .unwrap_err()
            .contains("is too large to write down")
    };
    assert!(too_large(dims![i64::MAX, 3]));
    assert!(too_large(dims![0, i64::MAX, 3]));
    // Elements that 64 bits count, whose bits they do not.
    assert!(too_large(dims![u64::MAX]));
    assert!(input(dims![1, 1, 1, 1, 1, 1, 1, 1, 1]).is_err());
}

#[test]
fn tensors_of_other_graphs_are_refused() {
    let (_, foreign) = with_input();
    let (mut graph, x) = with_input();
    let error = graph.add_concatenation(&[x, foreign], 0).unwrap_err();
    assert_eq!(*error.fault, Fault::ForeignTensor { role: "an input" });
    let error = graph.mark_output("y", foreign).unwrap_err();
    assert_eq!(*error.fault, Fault::ForeignTensor { role: "output" });
    // A clone is the same graph: its tensors are interchangeable as far as both have them.
    let clone = graph.clone();
    let later = graph.add_identity(x).unwrap();
    assert_eq!(clone.dims(x), graph.dims(x));
    let error = clone.clone().mark_output("y", later).unwrap_err();
    assert_eq!(*error.fault, Fault::ForeignTensor { role: "output" });
}

#[test]
fn locations_are_those_of_the_caller() {
    let (mut graph, x) = with_input();
    let line = line!() + 1;
    let y = graph.add_softmax(x, 0).unwrap();
    let location = graph.producer(y).unwrap().location().unwrap();
    assert!(location.file.ends_with("naming.rs"), "{location}");
    assert_eq!(location.line, line);
    let error = graph.add_softmax(x, 1).unwrap_err();
    assert_eq!(error.location.unwrap().line, line!() - 1);
    let error = graph.mark_output("", x).unwrap_err();
    assert_eq!(error.location.unwrap().line, line!() - 1);
    let error = graph.add_input("x", DataType::Float, dims![]).unwrap_err();
    assert_eq!(error.location.unwrap().line, line!() - 1);
}

#[test]
fn dead_layers_are_told_apart() {
    let (mut graph, x) = with_input();
    let a = graph.named("a").add_identity(x).unwrap();
    graph.named("dead").add_identity(a).unwrap();
    let b = graph.named("b").add_identity(a).unwrap();
    graph.mark_output("y", b).unwrap();
    assert_eq!(graph.live_nodes(), [true, false, true]);
    assert_eq!(graph.dim_names().len(), 0);
}
