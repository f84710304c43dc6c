//! Random graphs on the CPU engine: what a graph accepts runs in every mode, gives the shapes that
//! were inferred, and gives the same bits whether sizes are named or fixed and however many threads
//! run.

#[path = "../../../crates/graph/tests/graph/attempt.rs"]
mod attempt;

use attempt::{attempt, start};
use proptest::prelude::*;
use tensoracle_cpu::{Input, Mode, Output, Plan};
use tensoracle_graph::{Constraint, DataType, Dim, Graph, Tensor};

/// Elements of a tensor, at most; graphs accept far larger ones.
const MOST_ELEMENTS: u64 = 20_000;

/// Whether the layer can run with `n`, its output is small, and elements followed as a shape fit in
/// 64 bits.
fn can_run(graph: &Graph, tensor: Tensor, n: i64) -> bool {
    let value = |dim: &Dim| dim.evaluate(&|_| Some(n)).ok();
    let constraints = graph
        .producer(tensor)
        .map_or(&[][..], |node| node.constraints());
    let holds = |constraint: &Constraint| match constraint {
        Constraint::Equal(a, b) => value(a).is_some() && value(a) == value(b),
        Constraint::AtMost(a, b) => matches!((value(a), value(b)), (Some(a), Some(b)) if a <= b),
    };
    let dims = graph.dims(tensor).evaluate(&|_| Some(n));
    let elements = dims.ok().and_then(|dims| {
        let product = |all: u64, dim: &u64| all.checked_mul((*dim).max(1));
        dims.iter().try_fold(1, product)
    });
    let followed = graph.shape_value(tensor).unwrap_or_default();
    constraints.iter().all(holds)
        && followed.iter().all(|dim| value(dim).is_some())
        && elements.is_some_and(|elements| elements <= MOST_ELEMENTS)
}

/// Small numbers of either sign, a fraction among them.
fn bytes(data_type: DataType, dims: &[u64]) -> Vec<u8> {
    let count = dims.iter().product::<u64>();
    let number = |index: u64| (index * 7 % 11) as i64 - 4;
    (0..count)
        .flat_map(|index| match data_type {
            DataType::Float => (number(index) as f32 * 0.75).to_le_bytes().to_vec(),
            DataType::Int64 => number(index).to_le_bytes().to_vec(),
            DataType::Int32 => (number(index) as i32).to_le_bytes().to_vec(),
            _ => vec![u8::from(number(index) > 0)],
        })
        .collect()
}

fn run(graph: &Graph, mode: Mode, n: i64, threads: usize) -> Vec<Output> {
    let plan = Plan::compile(graph, mode).unwrap();
    let mut session = plan.session().with_threads(threads).unwrap();
    let shapes: Vec<(String, DataType, Vec<u64>)> = graph
        .inputs()
        .iter()
        .map(|(name, tensor)| {
            let dims = graph.dims(*tensor).evaluate(&|_| Some(n)).unwrap();
            (name.clone(), graph.data_type(*tensor), dims)
        })
        .collect();
    let sizes: Vec<(&str, &[u64])> = shapes
        .iter()
        .map(|(n, _, d)| (n.as_str(), &d[..]))
        .collect();
    session.set_input_shapes(&sizes).unwrap();
    let data: Vec<_> = shapes.iter().map(|(_, t, dims)| bytes(*t, dims)).collect();
    let inputs: Vec<_> = shapes
        .iter()
        .zip(&data)
        .map(|((name, data_type, _), bytes)| Input {
            name,
            data_type: *data_type,
            bytes,
        })
        .collect();
    let first = session.run(&inputs).unwrap();
    let second = session.run(&inputs).unwrap();
    assert_eq!(first, second, "a session gives the same twice");
    second
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_graph_accepts_runs(
        n in 2i64..7,
        attempts in proptest::collection::vec(attempt(), 1..48),
    ) {
        let (mut named, mut fixed) = (Graph::new(), Graph::new());
        let mut in_named = start(&mut named, Dim::named("n"));
        let mut in_fixed = start(&mut fixed, Dim::from(n));
        for attempt in attempts {
            let by_name = attempt.add(&mut named, &in_named);
            let by_number = attempt.add(&mut fixed, &in_fixed);
            // What cannot run with this size stays in the graph, unused.
            if let (Ok(by_name), Ok(by_number)) = (by_name, by_number)
                && can_run(&named, by_name, n)
                && can_run(&fixed, by_number, n)
            {
                in_named.push(by_name);
                in_fixed.push(by_number);
            }
        }
        for (index, (by_name, by_number)) in in_named.iter().zip(&in_fixed).enumerate() {
            named.mark_output(&format!("y{index}"), *by_name).unwrap();
            fixed.mark_output(&format!("y{index}"), *by_number).unwrap();
        }
        for mode in [Mode::Fast, Mode::Typed, Mode::Exact] {
            let outputs = run(&fixed, mode, n, 1);
            for (output, tensor) in outputs.iter().zip(&in_fixed) {
                prop_assert_eq!(&output.dims, &fixed.dims(*tensor).fixed().unwrap());
                prop_assert_eq!(output.data_type, fixed.data_type(*tensor));
            }
            prop_assert_eq!(&run(&named, mode, n, 1), &outputs, "named sizes, {}", mode);
            prop_assert_eq!(&run(&fixed, mode, n, 3), &outputs, "three threads, {}", mode);
        }
    }
}
