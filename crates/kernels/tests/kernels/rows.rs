//! Softmax, normalisation and reductions against plain loops in `f64`.

use crate::support::{Values, assert_near, epsilon};
use proptest::prelude::*;
use tensoracle_kernels::*;

const REDUCTIONS: [Reduce; 5] = [
    Reduce::Sum,
    Reduce::Prod,
    Reduce::Max,
    Reduce::Min,
    Reduce::Mean,
];

fn lines<T: Real>(x: &[T], [outer, axis, inner]: [usize; 3]) -> Vec<Vec<f64>> {
    (0..outer * inner)
        .map(|o| {
            let (o, i) = (o / inner, o % inner);
            (0..axis)
                .map(|a| x[(o * axis + a) * inner + i].to_f64())
                .collect()
        })
        .collect()
}

fn expected_reduction(op: Reduce, line: &[f64]) -> f64 {
    let nan = line.iter().any(|v| v.is_nan());
    match op {
        Reduce::Sum => line.iter().sum(),
        Reduce::Mean => line.iter().sum::<f64>() / line.len() as f64,
        Reduce::Prod => line.iter().product(),
        _ if nan => f64::NAN,
        Reduce::Max => line.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Reduce::Min => line.iter().copied().fold(f64::INFINITY, f64::min),
    }
}

fn check_all<T: Real>(dims: [usize; 3], seed: u64) {
    let mut values = Values::new(seed);
    let x: Vec<T> = values.vec(dims.iter().product());
    let lines = lines(&x, dims);
    for op in REDUCTIONS {
        let mut out = vec![T::ZERO; dims[0] * dims[2]];
        reduce(op, &x, dims, &mut out);
        let expected: Vec<f64> = lines
            .iter()
            .map(|line| expected_reduction(op, line))
            .collect();
        assert_near(&out, &expected, epsilon::<T>() * (8.0 + dims[1] as f64));
    }
    let mut out = x.clone();
    softmax(&mut out, dims);
    let mut expected = vec![0.0; x.len()];
    for (l, line) in lines.iter().enumerate() {
        let (o, i) = (l / dims[2], l % dims[2]);
        let sum: f64 = line.iter().map(|v| v.exp()).sum();
        for (a, v) in line.iter().enumerate() {
            expected[(o * dims[1] + a) * dims[2] + i] = v.exp() / sum;
        }
    }
    assert_near(&out, &expected, 4.0 * epsilon::<T>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_axis(outer in 0..4usize, axis in 0..300usize, inner in 0..80usize, seed: u64) {
        check_all::<f32>([outer, axis, inner], seed);
        check_all::<f64>([outer, axis, inner], seed);
    }

    #[test]
    fn contiguous_rows(rows in 0..5usize, columns in 0..700usize, seed: u64) {
        check_all::<f32>([rows, columns, 1], seed);
        check_normalisation::<f32>(rows, columns, seed);
        check_normalisation::<f64>(rows, columns, seed);
    }
}

fn check_normalisation<T: Real>(rows: usize, columns: usize, seed: u64) {
    let mut values = Values::new(seed);
    // Far from zero: where a one-pass variance would lose everything.
    let x: Vec<T> = (0..rows * columns)
        .map(|_| T::from_f64(values.next() * 0.5 + 20.0))
        .collect();
    let (scale, bias): (Vec<T>, Vec<T>) = (values.vec(columns), values.vec(columns));
    for (s, b) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut out = vec![T::ZERO; x.len()];
        let scale_given = s.then_some(scale.as_slice());
        let bias_given = b.then_some(bias.as_slice());
        layer_norm(&x, [rows, columns], 1e-5, scale_given, bias_given, &mut out);
        let mut expected = Vec::new();
        for row in x.chunks_exact(columns.max(1)) {
            let row: Vec<f64> = row.iter().map(|v| v.to_f64()).collect();
            let mean = row.iter().sum::<f64>() / columns as f64;
            let variance =
                row.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / columns as f64;
            for (j, v) in row.iter().enumerate() {
                let scale = if s { scale[j].to_f64() } else { 1.0 };
                let bias = if b { bias[j].to_f64() } else { 0.0 };
                expected.push((v - mean) / (variance + 1e-5).sqrt() * scale + bias);
            }
        }
        // The values' own rounding, magnified by the division.
        let tolerance = if columns < 4 {
            0.2
        } else {
            400.0 * epsilon::<T>()
        };
        assert_near(&out, &expected, tolerance);
    }
}

#[test]
fn long_sums_are_accurate() {
    let mut values = Values::new(12);
    let x: Vec<f32> = (0..1_000_000)
        .map(|_| values.next() as f32 * 0.5 + 0.5)
        .collect();
    let exact: f64 = x.iter().map(|v| f64::from(*v)).sum();
    let mut out = [0.0f32];
    reduce(Reduce::Sum, &x, [1, x.len(), 1], &mut out);
    assert!(
        (f64::from(out[0]) - exact).abs() <= exact * 1e-7,
        "{} {exact}",
        out[0]
    );
    reduce(Reduce::Mean, &x, [1, x.len(), 1], &mut out);
    assert!((f64::from(out[0]) - exact / 1e6).abs() <= 1e-7);
    let mut out = [0.0f32; 2];
    reduce(Reduce::Sum, &x, [1, x.len() / 2, 2], &mut out);
    let even: f64 = x.iter().step_by(2).map(|v| f64::from(*v)).sum();
    assert!((f64::from(out[0]) - even).abs() <= even * 1e-6);
}

#[test]
fn nan_and_infinity_in_rows() {
    let x = [1.0f32, f32::NAN, 3.0, f32::INFINITY, 5.0, f32::NEG_INFINITY];
    for (op, expected) in [
        (Reduce::Max, [f32::NAN, f32::INFINITY]),
        (Reduce::Min, [f32::NAN, f32::NEG_INFINITY]),
    ] {
        let mut out = [0.0; 2];
        reduce(op, &x, [2, 3, 1], &mut out);
        assert!(out[0].is_nan());
        assert_eq!(out[1], expected[1]);
        // The same values along a strided axis.
        let strided = [1.0f32, f32::INFINITY, f32::NAN, 5.0, 3.0, f32::NEG_INFINITY];
        reduce(op, &strided, [1, 3, 2], &mut out);
        assert!(out[0].is_nan());
        assert_eq!(out[1], expected[1]);
    }
    let mut row = [0.0f32, f32::NEG_INFINITY, 0.0];
    softmax(&mut row, [1, 3, 1]);
    assert_eq!(row, [0.5, 0.0, 0.5]);
    let mut row = [f32::NEG_INFINITY; 3];
    softmax(&mut row, [1, 3, 1]);
    assert!(row.iter().all(|v| v.is_nan()));
    let mut row = [1e30f64, -1e30];
    softmax(&mut row, [1, 2, 1]);
    assert_eq!(row, [1.0, 0.0]);
}

#[test]
fn moments_of_a_run() {
    let m = moments(&[1.0f32, 2.0, 3.0, 6.0]);
    assert_eq!(
        m,
        Moments {
            mean: 3.0,
            variance: 3.5
        }
    );
    assert_eq!(
        moments(&[5.0f64; 1000]),
        Moments {
            mean: 5.0,
            variance: 0.0
        }
    );
    assert!(moments::<f32>(&[]).mean.is_nan());
}
