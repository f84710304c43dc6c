//! Measurements against values computed outside: exact sums and 60-digit roots in Python, and the
//! original's own answers (see `scripts/make_goldens.py`).

use serde_json::Value as Json;
use std::path::Path;
use tensoracle_compare::{OutputComparison, TensorRef, Tolerance, compare_outputs};
use tensoracle_tensorfile::TensorFile;

/// Sums of a few thousand terms, rounded each time.
const ROUNDING: f64 = 1e-13;

/// What serde_json may lose of a number's last bit.
const PARSING: f64 = 3e-16;

/// Cases whose norms or differences the original could not hold in `f64`, or lost to subnormal
/// rounding; its answers there are NaN, zero or wrong.
const BEYOND_THE_ORIGINAL: [&str; 3] = [
    "float64_subnormal",
    "float64_differences_overflow",
    "float64_norms_overflow",
];

fn data(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// A number as the script and the product write it.
fn number(json: &Json) -> Option<f64> {
    match json {
        Json::Null => None,
        Json::String(text) => Some(text.parse().unwrap()),
        other => Some(other.as_f64().unwrap()),
    }
}

fn close(found: f64, expected: f64, relative: f64) -> bool {
    found == expected || (found - expected).abs() <= relative * expected.abs()
}

struct Case<'a> {
    name: &'a str,
    found: OutputComparison,
    measured: &'a Json,
    original: &'a Json,
}

fn each_case(mut check: impl FnMut(Case<'_>)) {
    let cases: Json =
        serde_json::from_slice(&std::fs::read(data("expected.json")).unwrap()).unwrap();
    let tensors = TensorFile::open(&data("tensors.npz")).unwrap();
    let cases = cases.as_array().unwrap();
    assert_eq!(cases.len(), 60);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let dims: Vec<u64> = serde_json::from_value(case["dims"].clone()).unwrap();
        let sides = ["candidate", "reference"].map(|side| {
            let element = case[format!("{side}_element")]
                .as_str()
                .unwrap()
                .parse()
                .unwrap();
            (
                element,
                tensors
                    .tensor(&format!("{name}.{side}"))
                    .unwrap()
                    .bytes
                    .to_vec(),
            )
        });
        let [candidate, reference] =
            [0, 1].map(|side| TensorRef::new(sides[side].0, &dims, &sides[side].1).unwrap());
        let tolerance = number(&case["atol"])
            .map(|atol| Tolerance::new(atol, number(&case["rtol"]).unwrap()).unwrap());
        check(Case {
            name,
            found: compare_outputs(candidate, reference, tolerance).unwrap(),
            measured: &case["measured"],
            original: &case["original"],
        });
    }
}

#[test]
fn every_measurement_has_its_independent_value() {
    let mut checked = 0;
    each_case(
        |Case {
             name,
             found,
             measured,
             ..
         }| {
            let finite = found.finite.as_ref();
            let is_float = found.mismatch_count.is_none();
            assert_eq!(
                found.first_offending.as_ref().map(|at| at.index),
                measured["first_offending"].as_u64(),
                "{name}: first_offending"
            );
            let of = if is_float {
                &measured["finite"]
            } else {
                measured
            };
            if of.is_null() {
                assert!(finite.is_none(), "{name}");
                return;
            }
            if !is_float {
                assert_eq!(
                    found.mismatch_count,
                    measured["mismatch_count"].as_u64(),
                    "{name}"
                );
            }
            let Some(finite) = finite else {
                assert!(name.starts_with("bool"), "{name} lacks finite measurements");
                return;
            };
            let mean_absolute = number(&of["mean_absolute_error"]).unwrap();
            for (what, value, slack) in [
                (
                    "max_absolute_error",
                    Some(finite.max_absolute_error),
                    PARSING,
                ),
                ("relative_l2_error", finite.relative_l2_error, ROUNDING),
                ("cosine_similarity", finite.cosine_similarity, ROUNDING),
                (
                    "mean_absolute_error",
                    Some(finite.mean_absolute_error),
                    ROUNDING,
                ),
                ("rms_error", Some(finite.rms_error), ROUNDING),
                ("signal_to_noise_db", finite.signal_to_noise_db, ROUNDING),
                ("max_ulp_error", finite.max_ulp_error, ROUNDING),
            ] {
                let Some(expected) = of.get(what).map(number) else {
                    continue; // What integers are not measured by.
                };
                let agree = match (value, expected) {
                    (Some(value), Some(expected)) => close(value, expected, slack),
                    (value, expected) => value.is_none() && expected.is_none(),
                };
                assert!(agree, "{name}: {what} is {value:?} instead of {expected:?}");
                checked += 1;
            }
            // A sum of opposite errors is as exact as its terms, not as its result.
            let mean = number(&of["mean_error"]).unwrap();
            assert!(
                (finite.mean_error - mean).abs() <= ROUNDING * mean_absolute,
                "{name}: mean_error is {} instead of {mean}",
                finite.mean_error
            );
            assert_eq!(
                finite.worst_absolute.as_ref().map(|at| at.index),
                of["worst_absolute"].as_u64(),
                "{name}: worst_absolute"
            );
            if is_float {
                let worst = finite.worst_relative.as_ref();
                assert_eq!(
                    worst.is_some(),
                    !of["worst_relative"].is_null(),
                    "{name}: worst_relative"
                );
                if let Some(worst) = worst {
                    let expected = number(&of["worst_relative_error"]).unwrap();
                    let error = worst.relative_error.unwrap();
                    assert!(
                        close(error, expected, ROUNDING),
                        "{name}: {error} for {expected}"
                    );
                }
                assert_eq!(Some(finite.count), of["count"].as_u64(), "{name}");
                assert_eq!(
                    finite.outside_tolerance_count,
                    of["outside_tolerance_count"].as_u64(),
                    "{name}: outside"
                );
                for (quantile, expected) in finite
                    .quantiles
                    .iter()
                    .zip(of["quantiles"].as_array().unwrap())
                {
                    let expected = number(expected).unwrap();
                    // Subnormal errors have no more than their own digits.
                    let slack = if expected < f64::MIN_POSITIVE {
                        2f64.powi(-1028)
                    } else {
                        0.0
                    };
                    assert!(
                        close(quantile.error, expected, 0.01)
                            || (quantile.error - expected).abs() <= slack,
                        "{name}: {quantile:?} instead of {expected}"
                    );
                    checked += 1;
                }
            }
        },
    );
    assert!(checked > 450, "{checked} values checked");
}

#[test]
fn positions_that_are_not_finite_are_told_apart() {
    let mut with_some = 0;
    each_case(
        |Case {
             name,
             found,
             measured,
             ..
         }| {
            let Some(nonfinite) = &found.nonfinite else {
                assert!(found.mismatch_count.is_some(), "{name}");
                return;
            };
            for (what, value) in [
                ("candidate_nonfinite_count", found.candidate_nonfinite_count),
                ("reference_nonfinite_count", found.reference_nonfinite_count),
                ("both_nan_count", nonfinite.both_nan_count),
                ("same_infinity_count", nonfinite.same_infinity_count),
                ("differing_count", nonfinite.differing_count),
            ] {
                assert_eq!(Some(value), measured[what].as_u64(), "{name}: {what}");
            }
            assert_eq!(
                nonfinite.first_differing.as_ref().map(|at| at.index),
                measured["first_differing"].as_u64(),
                "{name}"
            );
            with_some += u32::from(found.candidate_nonfinite_count > 0);
        },
    );
    assert_eq!(with_some, 5);
}

#[test]
fn strict_fields_are_those_of_the_original() {
    let mut compared = 0;
    each_case(
        |Case {
             name,
             found,
             original,
             ..
         }| {
            if original.is_null() || BEYOND_THE_ORIGINAL.contains(&name) {
                return;
            }
            for (what, value) in [
                (
                    "candidate_nonfinite_count",
                    Some(found.candidate_nonfinite_count),
                ),
                (
                    "reference_nonfinite_count",
                    Some(found.reference_nonfinite_count),
                ),
                ("outside_tolerance_count", found.outside_tolerance_count),
                ("mismatch_count", found.mismatch_count),
            ] {
                assert_eq!(value, original[what].as_u64(), "{name}: {what}");
            }
            for (what, value, slack) in [
                ("max_absolute_error", found.max_absolute_error, PARSING),
                ("relative_l2_error", found.relative_l2_error, 1e-12),
                ("cosine_similarity", found.cosine_similarity, 1e-12),
                (
                    "outside_tolerance_fraction",
                    found.outside_tolerance_fraction,
                    PARSING,
                ),
                ("mismatch_fraction", found.mismatch_fraction, PARSING),
            ] {
                match (value, number(&original[what])) {
                    (Some(value), Some(expected)) => assert!(
                        close(value, expected, slack),
                        "{name}: {what} is {value}, the original says {expected}"
                    ),
                    (value, expected) => assert_eq!(value, expected, "{name}: {what}"),
                }
            }
            compared += 1;
        },
    );
    assert_eq!(compared, 60 - 6 - BEYOND_THE_ORIGINAL.len());
}

#[test]
fn a_tensor_rounded_correctly_is_off_by_half_a_unit_at_most() {
    each_case(|Case { name, found, .. }| {
        if name.ends_with("rounded_correctly") {
            let ulps = found.finite.unwrap().max_ulp_error.unwrap();
            assert!(ulps > 0.4 && ulps <= 0.5, "{name}: {ulps}");
        }
    });
}
