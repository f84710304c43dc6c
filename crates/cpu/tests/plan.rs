//! Plans from outside: whatever their bytes are, loading and running answers and never panics.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use tensoracle_cpu::{BuildOptions, CpuError, Input, Mode, Plan, build};
use tensoracle_graph::{
    ActivationType, Convolution, DataType, ElementWiseOperation, Graph, InputShape,
    MatrixOperation, Shuffle, Values, dims,
};
use tensoracle_progress::Silent;

/// Products, a convolution with packed weights, a folded constant and a shape: every form that a
/// plan can hold.
fn graph() -> Graph {
    let mut graph = Graph::new();
    let x = graph
        .add_input("x", DataType::Float, dims!["n", 2, 4])
        .unwrap();
    let kernel = graph
        .add_constant(Values::new([3, 2, 3], [0.25f32; 18]))
        .unwrap();
    let padded = Convolution::new().padding([1]);
    let y = graph.add_convolution(x, kernel, None, padded).unwrap();
    let weight = graph
        .add_constant(Values::new([1, 4, 4], [0.5f32; 16]))
        .unwrap();
    let twice = graph
        .add_elementwise(weight, weight, ElementWiseOperation::Sum)
        .unwrap();
    let none = MatrixOperation::None;
    let y = graph.add_matrix_multiply(y, none, twice, none).unwrap();
    let bias = graph
        .add_constant(Values::new([1, 1, 4], [1.0f32; 4]))
        .unwrap();
    let y = graph
        .add_elementwise(y, bias, ElementWiseOperation::Sum)
        .unwrap();
    let y = graph.add_activation(y, ActivationType::Relu).unwrap();
    let shape = graph.add_shape(y).unwrap();
    let y = graph.add_shuffle_to(y, shape, Shuffle::default()).unwrap();
    graph.mark_output("y", y).unwrap();
    graph.mark_output("shape", shape).unwrap();
    graph
}

fn plan(mode: Mode) -> Vec<u8> {
    let inputs = BTreeMap::from([(
        "x".to_owned(),
        InputShape::ranged([1, 2, 4], [2, 2, 4], [3, 2, 4]),
    )]);
    let mut bytes = Vec::new();
    build(
        &graph(),
        &BuildOptions { mode, inputs },
        &Silent,
        &mut bytes,
    )
    .unwrap();
    bytes
}

fn floats(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// The input `x`, of Float.
fn x_input(bytes: &[u8]) -> Input<'_> {
    Input {
        name: "x",
        data_type: DataType::Float,
        bytes,
    }
}

/// Loads and, where that works, runs on two rows of ones.
fn try_out(bytes: Vec<u8>) -> Result<Vec<u8>, CpuError> {
    let mut session = Plan::load(Arc::new(bytes))?.session();
    session.set_input_shapes(&[("x", &[2, 2, 4])])?;
    let ones = floats(&[1.0; 16]);
    let input = x_input(&ones);
    Ok(session.run(&[input])?.swap_remove(0).bytes)
}

#[test]
fn a_plan_computes_what_its_graph_says() {
    // A window of ones over three places of two channels at 0.25: 1.0 at the edges, 1.5 inside;
    // rows sum to 5; the doubled weights are ones; plus a bias of 1.
    for mode in [Mode::Fast, Mode::Typed, Mode::Exact] {
        let bytes = try_out(plan(mode)).unwrap();
        let (values, _) = bytes.as_chunks::<4>();
        assert_eq!(values.len(), 24);
        assert!(
            values.iter().all(|value| f32::from_le_bytes(*value) == 6.0),
            "{mode}"
        );
    }
}

/// What follows from sizes is written once, when shapes are set, and must outlive every run.
#[test]
fn a_session_gives_the_same_again() {
    let mut graph = Graph::new();
    let x = graph.add_input("x", DataType::Int64, dims!["n"]).unwrap();
    let sum = ElementWiseOperation::Sum;
    let size = graph.add_shape(x).unwrap();
    let y = graph.add_elementwise(x, size, sum).unwrap();
    let z = graph
        .add_elementwise(y, y, ElementWiseOperation::Prod)
        .unwrap();
    let z = graph.add_elementwise(z, x, sum).unwrap();
    graph.mark_output("z", z).unwrap();
    let mut session = Plan::compile(&graph, Mode::Fast).unwrap().session();
    session.set_input_shapes(&[("x", &[3])]).unwrap();
    let x: Vec<u8> = [1i64, 2, 3]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let input = Input {
        name: "x",
        data_type: DataType::Int64,
        bytes: &x,
    };
    // (x + 3)² + x.
    let expected: Vec<u8> = [17i64, 27, 39]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    for run in 0..3 {
        assert_eq!(
            session.run(&[input]).unwrap()[0].bytes,
            expected,
            "run {run}"
        );
    }
}

#[test]
fn a_step_of_any_size_is_not_taken_by_a_single_element() {
    let mut graph = Graph::new();
    let x = graph.add_input("x", DataType::Float, dims![2, 4]).unwrap();
    let slice = tensoracle_graph::Slice::new([1, 0], [1, 4], [i64::MAX, 1]);
    let y = graph.add_slice(x, slice).unwrap();
    graph.mark_output("y", y).unwrap();
    let x: Vec<u8> = (0..8)
        .flat_map(|value| (value as f32).to_le_bytes())
        .collect();
    let input = x_input(&x);
    let mut session = Plan::compile(&graph, Mode::Fast).unwrap().session();
    assert_eq!(session.run(&[input]).unwrap()[0].bytes, x[16..]);
}

#[test]
fn padding_that_cannot_be_counted_is_refused() {
    let mut graph = Graph::new();
    let x = graph
        .add_input("x", DataType::Float, dims![1, 1, 1, 1, 1])
        .unwrap();
    let kernel = graph
        .add_constant(Values::new([1, 1, 1, 1, 1], [1.0f32]))
        .unwrap();
    let far = i32::MAX as u64;
    let convolution = Convolution::new().padding([far; 3]).stride([far; 3]);
    let y = graph.add_convolution(x, kernel, None, convolution).unwrap();
    graph.mark_output("y", y).unwrap();
    let refused = Plan::compile(&graph, Mode::Fast)
        .unwrap()
        .session()
        .set_input_shapes(&[]);
    assert!(
        matches!(refused, Err(CpuError::Constraint { .. })),
        "{refused:?}"
    );
}

#[test]
fn long_chains_of_constants_and_of_aliases_are_built() {
    let mut graph = Graph::new();
    let x = graph.add_input("x", DataType::Float, dims![2]).unwrap();
    let mut constant = graph
        .add_constant(Values::new([2], [1.0f32, -2.0]))
        .unwrap();
    let mut alias = x;
    for _ in 0..20_000 {
        constant = graph
            .add_unary(constant, tensoracle_graph::UnaryOperation::Abs)
            .unwrap();
        alias = graph.add_identity(alias).unwrap();
    }
    let y = graph
        .add_elementwise(constant, alias, ElementWiseOperation::Sum)
        .unwrap();
    graph.mark_output("y", y).unwrap();
    let x = floats(&[0.5, 0.5]);
    let input = x_input(&x);
    let outputs = Plan::compile(&graph, Mode::Fast)
        .unwrap()
        .session()
        .run(&[input])
        .unwrap();
    let expected = floats(&[1.5, 2.5]);
    assert_eq!(outputs[0].bytes, expected);
}

#[test]
fn a_plan_lies_anywhere_in_memory() {
    let plan = plan(Mode::Fast);
    let expected = try_out(plan.clone()).unwrap();
    struct Shifted(Vec<u8>);
    impl AsRef<[u8]> for Shifted {
        fn as_ref(&self) -> &[u8] {
            &self.0[1..]
        }
    }
    let mut shifted = vec![0];
    shifted.extend_from_slice(&plan);
    let mut session = Plan::load(Arc::new(Shifted(shifted))).unwrap().session();
    session.set_input_shapes(&[("x", &[2, 2, 4])]).unwrap();
    let ones = floats(&[1.0; 16]);
    let input = x_input(&ones);
    assert_eq!(session.run(&[input]).unwrap()[0].bytes, expected);
}

#[test]
fn a_truncated_plan_is_refused_at_every_length() {
    let plan = plan(Mode::Fast);
    for length in 0..plan.len() {
        let refused = Plan::load(Arc::new(plan[..length].to_vec()));
        assert!(
            matches!(refused, Err(CpuError::Plan { .. })),
            "{length} of {}",
            plan.len()
        );
    }
}

#[test]
fn a_plan_of_another_processor_is_refused_by_name() {
    let plan = plan(Mode::Fast);
    let level = tensoracle_cpu::cpu_level().name();
    let found = format!("\"level\":\"{level}\"");
    let other = format!("\"level\":\"{}\"", "z".repeat(level.len()));
    let at = plan
        .windows(found.len())
        .position(|window| window == found.as_bytes())
        .unwrap();
    let mut changed = plan.clone();
    changed[at..at + other.len()].copy_from_slice(other.as_bytes());
    let error = Plan::load(Arc::new(changed)).unwrap_err();
    assert!(
        matches!(error, CpuError::Level { .. }) && error.hint().is_some(),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_bytes_are_answered(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        digits in any::<bool>(),
    ) {
        let mut plan = plan(Mode::Fast);
        for (place, byte) in changes {
            let place = place.index(plan.len());
            // Digits change sizes and numbers of tensors and leave the header readable.
            plan[place] = if digits { b'0' + byte % 10 } else { byte };
        }
        let _ = try_out(plan);
    }

    #[test]
    fn random_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Plan::load(Arc::new(bytes)).is_err());
    }
}
