//! The oracle on small graphs with planted faults.

use tensoracle::compare::html;
use tensoracle::oracle::{OracleReport, report};
use tensoracle::{
    ActivationType, DataType, ElementWiseOperation, Engine, EngineBuild, Graph, HostTensor,
    InputShape, MatrixOperation, Tensor, Values, build_plan, dims,
};

fn run(define: impl FnOnce(&mut Graph, Tensor) -> Tensor) -> OracleReport {
    let mut graph = Graph::new();
    let x = graph
        .add_input("x", DataType::Float, dims!["n", 4])
        .unwrap();
    let y = define(&mut graph, x);
    graph.mark_output("y", y).unwrap();
    report(&graph, &[("x", &input())]).unwrap()
}

fn input() -> HostTensor {
    let elements: Vec<f32> = (0..32).map(|i| (i as f32 * 0.37).sin()).collect();
    HostTensor::new([8, 4], elements).unwrap()
}

fn add(graph: &mut Graph, name: &str, x: Tensor, value: f32) -> Tensor {
    let value = graph.add_constant(Values::new([1, 1], [value])).unwrap();
    graph
        .named(name)
        .add_elementwise(x, value, ElementWiseOperation::Sum)
        .unwrap()
}

#[test]
fn a_cancellation_comes_first_at_the_layer_where_it_happens() {
    let found = run(|graph, x| {
        let x = graph
            .named("harmless")
            .add_activation(x, ActivationType::Tanh)
            .unwrap();
        let x = add(graph, "up", x, 1e6);
        let x = add(graph, "down", x, -1e6);
        graph
            .named("after")
            .add_activation(x, ActivationType::Sigmoid)
            .unwrap()
    });
    assert_eq!(found.layers[0].name, "down");
    // x is lost but for what 1e6 + x keeps: the spacing of f32 there is 1/16.
    assert!(
        (1e-3..1.0).contains(&found.layers[0].introduced),
        "{:?}",
        found.layers[0].introduced
    );
    assert!(found.layers[1].introduced < 1e-6, "the others round once");
    let location = found.layers[0].location.as_ref().unwrap();
    assert!(location.file.ends_with("oracle.rs") && location.line > 0);
}

#[test]
fn what_a_mask_hides_is_not_lost_behind_it() {
    let found = run(|graph, x| {
        let x = graph
            .named("narrow")
            .add_cast(x, DataType::BFloat16)
            .unwrap();
        let x = graph.named("wide").add_cast(x, DataType::Float).unwrap();
        // The last of each four elements is masked.
        let mask = Values::new([1, 4], [0.0, 0.0, 0.0, -32_768.0f32]);
        let mask = graph.add_constant(mask).unwrap();
        let masked = graph
            .named("masked")
            .add_elementwise(x, mask, ElementWiseOperation::Sum)
            .unwrap();
        graph.named("softmax").add_softmax(masked, -1).unwrap()
    });
    let layer = |name: &str| {
        found
            .layers
            .iter()
            .find(|layer| layer.name == name)
            .unwrap()
    };
    assert_eq!(found.layers[0].name, "narrow");
    assert!(layer("masked").accumulated < 1e-6, "out of sight");
    assert!(layer("softmax").accumulated > 1e-4, "in sight again");
    let introduced = layer("softmax").introduced;
    assert!(introduced < 1e-6, "{introduced:e} blamed on the softmax");
}

#[test]
fn an_overflow_of_half_comes_first_and_is_infinite() {
    let found = run(|graph, x| {
        let x = graph.named("narrow").add_cast(x, DataType::Half).unwrap();
        let large = half::f16::from_f32(60_000.0);
        let large = graph.add_constant(Values::new([1, 1], [large])).unwrap();
        let product = ElementWiseOperation::Prod;
        let x = graph
            .named("large")
            .add_elementwise(x, large, product)
            .unwrap();
        let x = graph
            .named("beyond")
            .add_elementwise(x, large, product)
            .unwrap();
        graph
            .named("after")
            .add_activation(x, ActivationType::Relu)
            .unwrap()
    });
    let names: Vec<_> = found.layers.iter().map(|layer| &layer.name[..]).collect();
    assert_eq!(names[0], "beyond");
    assert!(found.layers[0].introduced.is_infinite());
    let after = found
        .layers
        .iter()
        .find(|layer| layer.name == "after")
        .unwrap();
    assert_eq!(after.introduced, 0.0, "it inherits");
    assert!(found.outputs[0].failed);
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["layers"][0]["introduced"], "inf");
}

#[test]
fn a_graph_without_loss_has_none() {
    let found = run(|graph, x| {
        let x = graph.add_activation(x, ActivationType::Relu).unwrap();
        graph
            .add_elementwise(x, x, ElementWiseOperation::Max)
            .unwrap()
    });
    assert!(
        found
            .layers
            .iter()
            .all(|layer| layer.introduced == 0.0 && layer.accumulated == 0.0)
    );
    assert!(!found.outputs[0].failed);
}

#[test]
fn constants_that_are_not_finite_are_reported() {
    let found = run(|graph, x| {
        let bad = graph.add_constant(Values::new([1, 4], [1.0, f32::NAN, 2.0, f32::INFINITY]));
        graph
            .add_elementwise(x, bad.unwrap(), ElementWiseOperation::Prod)
            .unwrap()
    });
    assert_eq!(found.nonfinite_constants.len(), 1);
    assert_eq!(found.nonfinite_constants[0].1, 2);
    assert!(!found.outputs[0].failed, "both sides are the same NaN");
}

#[test]
fn a_backend_is_held_against_the_right_answer() {
    let define = |graph: &mut Graph| -> tensoracle::DefineResult {
        let x = graph.add_input("x", DataType::Float, dims!["n", 4])?;
        let weight = graph.add_constant(Values::new([4, 4], [0.1f32; 16]))?;
        let none = MatrixOperation::None;
        let y = graph
            .named("product")
            .add_matrix_multiply(x, none, weight, none)?;
        graph.mark_output("y", y)?;
        Ok(())
    };
    let mut graph = Graph::new();
    define(&mut graph).unwrap();
    let mut found = report(&graph, &[("x", &input())]).unwrap();
    let build = EngineBuild::new().input("x", InputShape::ranged([1, 4], [8, 4], [8, 4]));
    let backend = tensoracle::CpuBackend::new();
    let plan = build_plan(&backend, &build, define).unwrap();
    let engine = Engine::load(&backend, std::sync::Arc::new(plan)).unwrap();
    let outputs = engine.session().unwrap().run(&[("x", &input())]).unwrap();
    found.add_backend("cpu", &outputs);
    let comparison = found.backends[0].comparison.as_ref().unwrap();
    let error = comparison.relative_l2_error.unwrap();
    assert!(error < 1e-6, "f32 products of four terms: {error}");

    let page = html(&found.to_comparisons(), "oracle");
    for text in ["cpu: y", "product", "matrix_multiply", "oracle.rs"] {
        assert!(page.contains(text), "{text} is on the page");
    }
    let right = found.exact_output("y").unwrap().to_vec::<f32>().unwrap();
    let ours = outputs.get("y").unwrap().to_vec::<f32>().unwrap();
    assert!(
        right
            .iter()
            .zip(ours)
            .all(|(right, ours)| (right - ours).abs() < 1e-6)
    );
}
