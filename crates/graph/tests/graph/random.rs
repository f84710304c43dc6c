//! Random graphs: whatever arguments layers get, adding them ends in a tensor or an error; and
//! shapes inferred over named sizes are those inferred over the numbers themselves.

use crate::attempt::{attempt, start};
use proptest::prelude::*;
use tensoracle_graph::*;

/// Whether what a layer needs of the named sizes holds for `n`.
fn holds(constraint: &Constraint, n: i64) -> bool {
    let value = |dim: &Dim| dim.evaluate(&|_| Some(n));
    match constraint {
        Constraint::Equal(a, b) => value(a).is_ok_and(|a| Ok(a) == value(b)),
        Constraint::AtMost(a, b) => match (value(a), value(b)) {
            (Ok(a), Ok(b)) => a <= b,
            _ => false,
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn named_sizes_infer_what_fixed_sizes_infer(
        // Not 1, which broadcasts only where it is fixed.
        n in 2i64..8,
        attempts in proptest::collection::vec(attempt(), 1..24),
    ) {
        let (mut named, mut fixed) = (Graph::new(), Graph::new());
        let mut in_named = start(&mut named, Dim::named("n"));
        let mut in_fixed = start(&mut fixed, Dim::from(n));
        for attempt in attempts {
            let before = named.nodes().len();
            let by_name = attempt.add(&mut named, &in_named);
            let by_number = attempt.add(&mut fixed, &in_fixed);
            let Ok(by_name) = by_name else {
                // A kernel added before the refusal stays, on one side or on both.
                prop_assert!(named.nodes().len() <= before + 1);
                continue;
            };
            let node = named.producer(by_name).unwrap();
            let all_hold = node.constraints().iter().all(|constraint| holds(constraint, n));
            let evaluated = named.dims(by_name).evaluate(&|_| Some(n));
            match by_number {
                Ok(by_number) => {
                    prop_assert!(all_hold, "{attempt:?}: fixed sizes are taken, but {:?}", node.constraints());
                    let numbers = fixed.dims(by_number).fixed();
                    prop_assert_eq!(evaluated.ok(), numbers, "{:?}", attempt);
                    prop_assert_eq!(named.data_type(by_name), fixed.data_type(by_number));
                    if let (Some(a), Some(b)) = (named.shape_value(by_name), fixed.shape_value(by_number)) {
                        let a: Vec<_> = a.iter().map(|dim| dim.evaluate(&|_| Some(n)).unwrap()).collect();
                        let b: Vec<_> = b.iter().map(|dim| dim.fixed().unwrap()).collect();
                        prop_assert_eq!(a, b, "{:?}", attempt);
                    }
                    in_named.push(by_name);
                    in_fixed.push(by_number);
                }
                Err(error) => {
                    prop_assert!(
                        !all_hold || evaluated.is_err() || is_too_large(&error),
                        "{attempt:?}: named sizes are taken, fixed ones not: {error}"
                    );
                    // The graphs differ from here on.
                    break;
                }
            }
        }
        // Reading a definition infers everything once more.
        for (index, tensor) in in_named.into_iter().enumerate() {
            named.mark_output(&format!("y{index}"), tensor).unwrap();
        }
        let definition = named.definition().unwrap();
        let again = definition.without_weights().unwrap();
        prop_assert_eq!(again.canonical_bytes().unwrap(), named.canonical_bytes().unwrap());
        let _ = (named.to_string(), named.to_graphviz(), named.to_mermaid());
    }
}

/// Sizes that multiply to more than 64 bits only once they are known.
fn is_too_large(error: &GraphError) -> bool {
    matches!(*error.fault, Fault::Overflow { .. })
}
