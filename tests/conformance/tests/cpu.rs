//! All cases on the CPU engine, in each of its modes, with sizes fixed and named.

use std::slice::from_ref;
use tensoracle_conformance::{
    Array, Backend, Bound, Case, Precision, Sizes, Values, cases, failures,
};
use tensoracle_cpu::{Input, Mode, Observation, Plan, Values as Observed};
use tensoracle_graph::Graph;

struct Cpu;

impl Backend for Cpu {
    fn run(
        &self,
        precision: Precision,
        graph: &Graph,
        inputs: &[(String, Array)],
    ) -> Result<Vec<(String, Array)>, String> {
        let mode = match precision {
            Precision::Fast => Mode::Fast,
            Precision::Typed => Mode::Typed,
            Precision::Exact => Mode::Exact,
        };
        let plan = Plan::compile(graph, mode).map_err(|error| error.to_string())?;
        let mut session = plan.session();
        let shapes: Vec<(&str, &[u64])> = inputs
            .iter()
            .map(|(name, array)| (name.as_str(), array.dims.as_slice()))
            .collect();
        session
            .set_input_shapes(&shapes)
            .map_err(|error| error.to_string())?;
        let bytes: Vec<_> = inputs.iter().map(|(_, array)| array.to_bytes()).collect();
        let given: Vec<_> = inputs
            .iter()
            .zip(&bytes)
            .map(|((name, array), bytes)| Input {
                name,
                data_type: array.data_type,
                bytes,
            })
            .collect();
        // Twice: what a run leaves behind must not change the next.
        session.run(&given).map_err(|error| error.to_string())?;
        let outputs = session.run(&given).map_err(|error| error.to_string())?;
        outputs
            .into_iter()
            .map(|output| {
                let array = Array::from_bytes(output.data_type, &output.dims, &output.bytes);
                let array = array.ok_or_else(|| format!("`{}` has too few bytes", output.name))?;
                Ok((output.name, array))
            })
            .collect()
    }
}

/// The CPU engine with a wrong last element in every output.
struct Wrong;

impl Backend for Wrong {
    fn run(
        &self,
        precision: Precision,
        graph: &Graph,
        inputs: &[(String, Array)],
    ) -> Result<Vec<(String, Array)>, String> {
        let mut outputs = Cpu.run(precision, graph, inputs)?;
        for (_, array) in &mut outputs {
            match &mut array.values {
                Values::Real(values) => values.iter_mut().next_back().map(|last| {
                    *last = if last.is_finite() {
                        *last * 1.1 + 0.1f64.copysign(*last)
                    } else {
                        0.0
                    };
                }),
                Values::Integer(values) => values.iter_mut().next_back().map(|last| *last ^= 1),
                Values::Boolean(values) => values.iter_mut().next_back().map(|last| *last ^= true),
            };
        }
        Ok(outputs)
    }
}

/// The bounds of all cases are tight enough to see that.
#[test]
fn a_wrong_element_fails_every_case() {
    for (layer, cases) in cases::all() {
        for precision in [Precision::Fast, Precision::Typed, Precision::Exact] {
            let passing = |case: &Case| {
                let has_elements = case.expected.iter().any(|output| !output.is_empty());
                has_elements && failures(&Wrong, precision, Sizes::Fixed, from_ref(case)).is_empty()
            };
            let passing: Vec<_> = cases.iter().filter(|case| passing(case)).collect();
            let names: Vec<_> = passing.iter().map(|case| &case.name).collect();
            assert!(names.is_empty(), "{layer}: {names:?}");
        }
    }
}

/// What the layer behind the first output computed in the exact mode, before anything is rounded.
fn unrounded(case: &Case) -> Option<Vec<f64>> {
    let graph = case.graph(Sizes::Fixed).unwrap()?;
    let (_, output) = graph.outputs()[0];
    let producer = graph.producer(output)?.name().to_owned();
    let plan = Plan::compile(&graph, Mode::Exact).unwrap();
    let bytes: Vec<_> = case.inputs.iter().map(Array::to_bytes).collect();
    let given: Vec<_> = graph
        .inputs()
        .iter()
        .zip(&bytes)
        .map(|((name, tensor), bytes)| Input {
            name,
            data_type: graph.data_type(*tensor),
            bytes,
        })
        .collect();
    let mut seen = None;
    let mut observe = |observation: Observation<'_>| {
        if let (true, Observed::Real(values)) =
            (observation.node.name() == producer, observation.values)
        {
            seen = Some(values.to_vec());
        }
    };
    plan.session().run_observed(&given, &mut observe).unwrap();
    seen
}

/// The exact mode is NumPy's float64 to twelve digits, which packing to f32 would hide.
#[test]
fn the_exact_mode_is_exact() {
    let mut compared = 0;
    for (layer, cases) in cases::all() {
        for case in &cases {
            let Bound::Layer { absolute, .. } = case.bound else {
                continue;
            };
            let (Some(found), Values::Real(expected)) = (unrounded(case), &case.expected[0].values)
            else {
                continue;
            };
            assert_eq!(found.len(), expected.len(), "{layer}: {}", case.name);
            let differs = |(found, expected): (&f64, &f64)| {
                let bound = absolute * 1e-6 + expected.abs() * 1e-12;
                let both_nan = found.is_nan() && expected.is_nan();
                !(both_nan || found == expected || (found - expected).abs() <= bound)
            };
            if let Some((found, expected)) = found.iter().zip(expected).find(|pair| differs(*pair))
            {
                panic!(
                    "{layer}: {}: found {found:e}, expected {expected:e}",
                    case.name
                );
            }
            compared += 1;
        }
    }
    assert!(compared > 800, "{compared} cases compared");
}

fn check(precision: Precision, sizes: Sizes, cases: &[Case]) {
    let failures = failures(&Cpu, precision, sizes, cases);
    assert!(
        failures.is_empty(),
        "{} of {} cases fail with {sizes:?} sizes:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

/// A module for each layer with a test for each precision.
macro_rules! layers {
    ($($layer:ident,)*) => {
        $(mod $layer {
            use super::*;

            fn check_all(precision: Precision) {
                let cases = cases::$layer::cases();
                check(precision, Sizes::Fixed, &cases);
                check(precision, Sizes::Named, &cases);
            }

            #[test]
            fn fast() {
                check_all(Precision::Fast);
            }

            #[test]
            fn typed() {
                check_all(Precision::Typed);
            }

            #[test]
            fn exact() {
                check_all(Precision::Exact);
            }
        })*
    };
}

tensoracle_conformance::for_each_layer!(layers);
