//! What must hold of every pair: no matter the threads, the alignment, the place in the tensor.

use proptest::prelude::*;
use tensoracle_compare::{
    CompareError, Element, OutputComparison, TensorRef, Tolerance, Value, compare_outputs,
};

fn tolerance(absolute: f64, relative: f64) -> Option<Tolerance> {
    Some(Tolerance::new(absolute, relative).unwrap())
}

/// A reproducible sequence of numbers in [-1, 1).
fn noise(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}

fn compare_f32(candidate: &[f32], reference: &[f32]) -> OutputComparison {
    let dims = [candidate.len() as u64];
    compare_outputs(
        TensorRef::of(&dims, candidate).unwrap(),
        TensorRef::of(&dims, reference).unwrap(),
        tolerance(1e-3, 1e-3),
    )
    .unwrap()
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    // Several chunks and a part of one, with everything that takes another way.
    let count = 300_001;
    let reference: Vec<f64> = noise(7).take(count).collect();
    let mut candidate: Vec<f64> = reference
        .iter()
        .zip(noise(8))
        .map(|(r, n)| r * (1.0 + 1e-3 * n))
        .collect();
    candidate[70_000] = f64::NAN;
    candidate[150_000] = 1e300;
    candidate[299_999] = -1e300;
    let dims = [count as u64];
    let run = |threads| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap()
            .install(|| {
                compare_outputs(
                    TensorRef::of(&dims, &candidate).unwrap(),
                    TensorRef::of(&dims, &reference).unwrap(),
                    tolerance(1e-4, 0.0),
                )
                .unwrap()
            })
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        // Debug output shows every bit of a number but the sign of NaN.
        assert_eq!(
            format!("{:?}", run(threads)),
            format!("{one:?}"),
            "{threads} threads"
        );
    }
    let finite = one.finite.unwrap();
    assert_eq!(finite.count, count as u64 - 1);
    assert_eq!(
        finite.worst_absolute.unwrap().index,
        150_000,
        "the first of two equals"
    );
    assert_eq!(
        one.nonfinite.unwrap().first_differing.unwrap().index,
        70_000
    );
}

#[test]
fn sums_over_many_chunks_are_those_of_compensated_addition() {
    let count = 1_000_003;
    let reference: Vec<f32> = noise(3).take(count).map(|v| v as f32).collect();
    let candidate: Vec<f32> = reference
        .iter()
        .zip(noise(4))
        .map(|(r, n)| r + 1e-4 * n as f32)
        .collect();
    let found = compare_f32(&candidate, &reference).finite.unwrap();
    // Knuth's exact two-term sum, all errors kept.
    let exact = |term: &dyn Fn(f64, f64) -> f64| {
        let (mut sum, mut lost) = (0.0f64, 0.0f64);
        for (c, r) in candidate.iter().zip(&reference) {
            let value = term(f64::from(*c), f64::from(*r));
            let total = sum + value;
            let virtual_value = total - sum;
            lost += (sum - (total - virtual_value)) + (value - virtual_value);
            sum = total;
        }
        sum + lost
    };
    let squares = exact(&|c, r| (c - r) * (c - r));
    let norm = exact(&|_, r| r * r);
    let mean = exact(&|c, r| c - r) / count as f64;
    assert!((found.relative_l2_error.unwrap() / (squares / norm).sqrt() - 1.0).abs() < 1e-13);
    assert!((found.mean_error - mean).abs() < 1e-13 * found.mean_absolute_error);
    assert_eq!(
        found
            .histogram
            .bins()
            .iter()
            .map(|bin| bin.count)
            .sum::<u64>(),
        count as u64
    );
}

#[test]
fn bytes_at_odd_addresses_measure_the_same() {
    let reference: Vec<f32> = noise(5).take(2000).map(|v| v as f32).collect();
    let candidate: Vec<f32> = noise(6).take(2000).map(|v| v as f32).collect();
    let dims = [2000];
    let shifted = |values: &[f32], by: usize| {
        let mut bytes = vec![0u8; by];
        values.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
        bytes
    };
    let aligned = compare_f32(&candidate, &reference);
    for by in 1..4 {
        let (c, r) = (shifted(&candidate, by), shifted(&reference, 4 - by));
        let found = compare_outputs(
            TensorRef::new(Element::F32, &dims, &c[by..]).unwrap(),
            TensorRef::new(Element::F32, &dims, &r[4 - by..]).unwrap(),
            tolerance(1e-3, 1e-3),
        )
        .unwrap();
        assert_eq!(found, aligned);
    }
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reason() {
    let floats = TensorRef::of(&[2], &[1.0f32, 2.0]).unwrap();
    let message = |candidate, reference| {
        compare_outputs(candidate, reference, None)
            .unwrap_err()
            .to_string()
    };
    let matrix = TensorRef::of(&[1, 2], &[1.0f32, 2.0]).unwrap();
    assert_eq!(
        message(floats, matrix),
        "the candidate has shape [2], the reference [1, 2]"
    );
    let integers = TensorRef::of(&[2], &[1i32, 2]).unwrap();
    assert_eq!(
        message(floats, integers),
        "the candidate's elements are floating point (F32), the reference's integer (I32)"
    );
    let booleans = TensorRef::of(&[2], &[true, false]).unwrap();
    assert!(message(integers, booleans).contains("boolean (BOOL)"));
    let empty = TensorRef::of::<f32>(&[3, 0], &[]).unwrap();
    assert_eq!(
        message(empty, empty),
        "tensors of shape [3, 0] have no elements"
    );
    let error = TensorRef::new(Element::F16, &[3], &[0; 5]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a tensor of F16 and shape [3] was given 5 bytes"
    );
    for (absolute, relative, which) in [
        (-1.0, 0.0, "absolute"),
        (0.0, f64::NAN, "relative"),
        (f64::INFINITY, 0.0, "absolute"),
    ] {
        let error = Tolerance::new(absolute, relative).unwrap_err();
        assert!(matches!(error, CompareError::Tolerance { which: found, .. } if found == which));
    }
}

#[test]
fn located_elements_carry_exact_values() {
    let candidate = [u64::MAX, 1, 5];
    let reference = [u64::MAX - 1, 1, 5];
    let found = compare_outputs(
        TensorRef::of(&[3, 1], &candidate).unwrap(),
        TensorRef::of(&[3, 1], &reference).unwrap(),
        None,
    )
    .unwrap();
    let first = found.first_offending.as_ref().unwrap();
    assert_eq!(first.position, [0, 0]);
    assert_eq!(first.candidate, Value::Unsigned(u64::MAX));
    assert_eq!(first.error, 1.0);
    let json = serde_json::to_string(&found).unwrap();
    assert!(
        json.contains("\"candidate\":18446744073709551615"),
        "{json}"
    );
}

#[test]
fn json_writes_what_is_not_finite_as_words() {
    let found = compare_f32(&[f32::NAN, 1.0, 2.5], &[f32::INFINITY, 1.0, 2.0]);
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["nonfinite"]["first_differing"]["candidate"], "NaN");
    assert_eq!(
        json["nonfinite"]["first_differing"]["reference"],
        "Infinity"
    );
    assert_eq!(json["max_absolute_error"], serde_json::Value::Null);
    assert_eq!(json["finite"]["max_absolute_error"], 0.5);
    assert_eq!(json["atol"], 1e-3);
    let octaves = json["finite"]["histogram"].as_array().unwrap();
    assert_eq!(
        octaves
            .iter()
            .map(|bin| bin["count"].as_u64().unwrap())
            .sum::<u64>(),
        2
    );
}

/// One of the values that break arithmetic, or any other.
fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        prop::sample::select(vec![
            0.0,
            -0.0,
            1.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            5e-324,
            1e-200,
            1e200,
        ]),
        -10.0..10.0f64,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_pair_is_measured_within_bounds(
        pairs in prop::collection::vec((any_value(), any_value()), 1..600),
        absolute in 0.0..10.0f64,
        relative in 0.0..1.0f64,
    ) {
        let (candidate, reference): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let dims = [pairs.len() as u64];
        let found = compare_outputs(
            TensorRef::of(&dims, &candidate).unwrap(),
            TensorRef::of(&dims, &reference).unwrap(),
            tolerance(absolute, relative),
        ).unwrap();
        let finite: Vec<(usize, f64, f64)> = pairs.iter().enumerate()
            .filter(|(_, (c, r))| c.is_finite() && r.is_finite())
            .map(|(i, &(c, r))| (i, c, r))
            .collect();
        let nonfinite = found.nonfinite.as_ref().unwrap();
        prop_assert_eq!(
            nonfinite.both_nan_count + nonfinite.same_infinity_count + nonfinite.differing_count
                + found.finite.as_ref().map_or(0, |finite| finite.count),
            pairs.len() as u64
        );
        let Some(measured) = &found.finite else {
            prop_assert!(finite.is_empty());
            return Ok(());
        };
        let mut worst = 0.0f64;
        let mut outside = 0;
        for &(_, c, r) in &finite {
            worst = worst.max((c - r).abs());
            outside += u64::from((c - r).abs() > absolute + relative * r.abs());
        }
        prop_assert_eq!(measured.max_absolute_error, worst);
        prop_assert_eq!(measured.outside_tolerance_count, Some(outside));
        if let Some(at) = &measured.worst_absolute {
            let first = finite.iter().find(|(_, c, r)| (c - r).abs() == worst).unwrap();
            prop_assert_eq!(at.index, first.0 as u64);
        }
        prop_assert!(!measured.rms_error.is_nan() && !measured.mean_error.is_nan());
        prop_assert!(measured.cosine_similarity.is_none_or(|c| (-1.0..=1.0).contains(&c)));
        prop_assert!(measured.relative_l2_error.is_none_or(|e| e >= 0.0));
        // Rounding aside, a mean is below the root of the mean square, and that below the largest.
        prop_assert!(measured.mean_absolute_error <= measured.rms_error * (1.0 + 1e-12) + 1e-323);
        prop_assert!(measured.rms_error <= worst * (1.0 + 1e-12) || worst.is_infinite());
        let mut last = 0.0;
        for quantile in &measured.quantiles {
            prop_assert!(quantile.error >= last && quantile.error <= worst);
            last = quantile.error;
        }
        let octaves = measured.histogram.octaves();
        prop_assert_eq!(octaves.iter().map(|bin| bin.count).sum::<u64>(), finite.len() as u64);
        prop_assert!(octaves.windows(2).all(|pair| pair[0].upper <= pair[1].lower));
        prop_assert!(serde_json::to_string(&found).is_ok());
    }

    #[test]
    fn integers_count_their_mismatches_exactly(
        pairs in prop::collection::vec((any::<i64>(), any::<u64>(), any::<bool>()), 1..600),
    ) {
        // Half of the pairs are equal as numbers, most of the others are next to each other.
        let reference: Vec<u64> = pairs.iter().map(|p| p.1 >> 1).collect();
        let candidate: Vec<i64> = pairs.iter().zip(&reference)
            .map(|(p, &r)| if p.2 { r as i64 } else { (r as i64).wrapping_add(p.0 % 2) })
            .collect();
        let dims = [pairs.len() as u64];
        let found = compare_outputs(
            TensorRef::of(&dims, &candidate).unwrap(),
            TensorRef::of(&dims, &reference).unwrap(),
            None,
        ).unwrap();
        let unequal = |(&c, &r): (&i64, &u64)| i128::from(c) != i128::from(r);
        let expected = candidate.iter().zip(&reference).filter(|&pair| unequal(pair)).count();
        prop_assert_eq!(found.mismatch_count, Some(expected as u64));
        let first = candidate.iter().zip(&reference).position(unequal);
        prop_assert_eq!(found.first_offending.map(|at| at.index), first.map(|i| i as u64));
    }
}
