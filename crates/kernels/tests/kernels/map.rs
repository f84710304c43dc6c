//! Element-wise maps against `libm` in `f64`, special values included.

use crate::support::{Values, ulps};
use tensoracle_kernels::*;

const SPECIAL: [f32; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1e-45,
    -1e-45,
    1e-39,
    f32::MIN_POSITIVE,
    1e-20,
    -1e-20,
    88.7,
    -88.7,
    -103.9,
    89.5,
    1e6,
    -1.5e9,
    f32::MAX,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// Special values, then magnitudes of all sizes with both signs, then evenly spaced ones.
fn samples() -> Vec<f32> {
    let mut values = Values::new(10);
    let mut all = SPECIAL.to_vec();
    all.extend((0..40_000).map(|_| (values.next() * 30.0).exp2() as f32 * values.next() as f32));
    all.extend((-110_000..110_000).map(|i| i as f32 * 0.001));
    all
}

/// The worst error in units in the last place, with the argument that has it.
fn worst(found: &[f32], x: &[f32], expected: impl Fn(f64) -> f64) -> (f64, f32) {
    found
        .iter()
        .zip(x)
        .map(|(f, x)| (ulps(*f, expected(f64::from(*x))), *x))
        .fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
}

#[track_caller]
fn check_unary(op: Unary, limit: f64, expected: impl Fn(f64) -> f64) {
    let x = samples();
    let mut out = vec![0.0; x.len()];
    unary(op, &x, &mut out);
    let (error, at) = worst(&out, &x, &expected);
    assert!(error <= limit, "{op:?}: {error:.2} ulp at {at:e}");

    // In f64, against the same functions of another implementation (the C library's).
    let wide: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
    let mut out = vec![0.0; wide.len()];
    unary(op, &wide, &mut out);
    for (f, x) in out.iter().zip(&wide) {
        let e = expected(*x);
        let same = *f == e || (f.is_nan() && e.is_nan()) || (f - e).abs() <= 4e-15 * e.abs();
        assert!(same, "{op:?} of {x:e} in f64: found {f:e}, expected {e:e}");
    }
}

#[test]
fn unary_operations() {
    check_unary(Unary::Exp, 1.5, f64::exp);
    check_unary(Unary::Log, 1.5, f64::ln);
    check_unary(Unary::Sqrt, 0.5, f64::sqrt);
    check_unary(Unary::Recip, 0.5, f64::recip);
    check_unary(Unary::Abs, 0.0, f64::abs);
    check_unary(Unary::Neg, 0.0, |x| -x);
    check_unary(Unary::Sin, 0.51, f64::sin);
    check_unary(Unary::Cos, 0.51, f64::cos);
    check_unary(Unary::Tan, 0.51, f64::tan);
    check_unary(Unary::Sinh, 0.51, f64::sinh);
    check_unary(Unary::Cosh, 0.51, f64::cosh);
    check_unary(Unary::Asin, 0.51, f64::asin);
    check_unary(Unary::Acos, 0.51, f64::acos);
    check_unary(Unary::Atan, 0.51, f64::atan);
    check_unary(Unary::Asinh, 0.51, libm::asinh);
    check_unary(Unary::Acosh, 0.51, libm::acosh);
    check_unary(Unary::Atanh, 0.51, libm::atanh);
    check_unary(Unary::Ceil, 0.0, f64::ceil);
    check_unary(Unary::Floor, 0.0, f64::floor);
    check_unary(Unary::Erf, 1.5, libm::erf);
    check_unary(Unary::Round, 0.0, f64::round_ties_even);
    check_unary(Unary::IsNan, 0.0, |x| f64::from(u8::from(x.is_nan())));
    check_unary(Unary::IsInf, 0.0, |x| f64::from(u8::from(x.is_infinite())));
    check_unary(Unary::Sign, 0.0, |x| {
        if x == 0.0 || x.is_nan() {
            x
        } else {
            x.signum()
        }
    });
}

#[test]
fn ties_round_to_even() {
    let mut x = [0.5f32, 1.5, 2.5, -0.5, -1.5, -2.5, 8_388_609.0, 1e10];
    unary_in_place(Unary::Round, &mut x);
    assert_eq!(x, [0.0, 2.0, 2.0, 0.0, -2.0, -2.0, 8_388_609.0, 1e10]);
}

/// `limit` in ulps, plus `slack` as an absolute error where the formula itself cancels.
#[track_caller]
fn check_activation(
    op: Activation<f32>,
    wide: Activation<f64>,
    limit: f64,
    slack: f64,
    expected: impl Fn(f64) -> f64,
) {
    let x = samples();
    let mut out = x.clone();
    activate(op, &mut out);
    for (f, x) in out.iter().zip(&x) {
        let e = expected(f64::from(*x));
        let error = ulps(*f, e);
        let near = (f64::from(*f) - e).abs() <= slack;
        assert!(
            error <= limit || near,
            "{op:?} of {x:e}: found {f:e}, expected {e:e}"
        );
    }
    let x: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
    let mut out = x.clone();
    activate(wide, &mut out);
    for (f, x) in out.iter().zip(&x) {
        let e = expected(*x);
        let same = *f == e
            || (f.is_nan() && e.is_nan())
            || (f - e).abs() <= 1e-14 * e.abs() + slack * 1e-8;
        assert!(same, "{op:?} of {x:e} in f64: found {f:e}, expected {e:e}");
    }
}

#[test]
fn activations() {
    use Activation::*;
    let sigmoid = |x: f64| {
        if x < 0.0 {
            x.exp() / (1.0 + x.exp())
        } else {
            1.0 / (1.0 + (-x).exp())
        }
    };
    check_activation(Relu, Relu, 0.0, 0.0, |x| if x < 0.0 { 0.0 } else { x });
    check_activation(Sigmoid, Sigmoid, 3.0, 0.0, sigmoid);
    check_activation(Tanh, Tanh, 2.0, 0.0, f64::tanh);
    check_activation(
        LeakyRelu { alpha: 0.25 },
        LeakyRelu { alpha: 0.25 },
        0.5,
        0.0,
        |x| {
            if x < 0.0 { 0.25 * x } else { x }
        },
    );
    check_activation(Elu { alpha: 1.5 }, Elu { alpha: 1.5 }, 3.0, 0.0, |x| {
        if x < 0.0 { 1.5 * x.exp_m1() } else { x }
    });
    let selu = Selu {
        alpha: 1.75,
        beta: 1.0625,
    };
    check_activation(
        selu,
        Selu {
            alpha: 1.75,
            beta: 1.0625,
        },
        3.5,
        0.0,
        |x| {
            1.0625
                * if x > 0.0 || x.is_nan() {
                    x
                } else {
                    1.75 * x.exp_m1()
                }
        },
    );
    check_activation(Softsign, Softsign, 1.5, 0.0, |x| x / (1.0 + x.abs()));
    let softplus = Softplus {
        alpha: 2.0,
        beta: 0.5,
    };
    check_activation(
        softplus,
        Softplus {
            alpha: 2.0,
            beta: 0.5,
        },
        4.0,
        0.0,
        |x| {
            let wanted = 2.0 * ((0.5 * x).max(0.0) + (-(0.5 * x).abs()).exp().ln_1p());
            if x.is_nan() { x } else { wanted }
        },
    );
    let clip = Clip {
        alpha: -1.0,
        beta: 6.0,
    };
    check_activation(
        clip,
        Clip {
            alpha: -1.0,
            beta: 6.0,
        },
        0.0,
        0.0,
        |x| {
            if x.is_nan() { x } else { x.clamp(-1.0, 6.0) }
        },
    );
    let hard = HardSigmoid {
        alpha: 0.25,
        beta: 0.5,
    };
    check_activation(
        hard,
        HardSigmoid {
            alpha: 0.25,
            beta: 0.5,
        },
        1.0,
        1e-7,
        |x| {
            if x.is_nan() {
                x
            } else {
                (0.25 * x + 0.5).clamp(0.0, 1.0)
            }
        },
    );
    let scaled = ScaledTanh {
        alpha: 1.5,
        beta: 0.5,
    };
    check_activation(
        scaled,
        ScaledTanh {
            alpha: 1.5,
            beta: 0.5,
        },
        3.0,
        0.0,
        |x| 1.5 * (0.5 * x).tanh(),
    );
    let threshold = ThresholdedRelu { alpha: 0.5 };
    check_activation(threshold, ThresholdedRelu { alpha: 0.5 }, 0.0, 0.0, |x| {
        if x > 0.5 { x } else { 0.0 }
    });
    check_activation(GeluErf, GeluErf, 3.0, 4e-7, |x| {
        0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2))
    });
    check_activation(GeluTanh, GeluTanh, 3.0, 4e-7, |x| {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
        0.5 * x * (1.0 + inner.tanh())
    });
    // Below the normal numbers the sigmoid is coarse before it is multiplied.
    check_activation(Silu, Silu, 4.0, 1e-42, |x| x * sigmoid(x));
}

#[test]
fn a_clip_with_crossed_limits_returns_the_lower() {
    let mut x = [-3.0f32, 0.0, 3.0];
    activate(
        Activation::Clip {
            alpha: 1.0,
            beta: -1.0,
        },
        &mut x,
    );
    assert_eq!(x, [1.0; 3]);
}

const BINARY: [Binary; 8] = [
    Binary::Sum,
    Binary::Prod,
    Binary::Sub,
    Binary::Div,
    Binary::Min,
    Binary::Max,
    Binary::Pow,
    Binary::FloorDiv,
];

/// Rounded once from `f64`, which holds the exact sum, product or quotient closely enough that
/// rounding twice is rounding once.
fn expected_binary(op: Binary, a: f32, b: f32) -> f32 {
    let (x, y) = (f64::from(a), f64::from(b));
    let wide = match op {
        Binary::Sum => x + y,
        Binary::Prod => x * y,
        Binary::Sub => x - y,
        Binary::Div => x / y,
        Binary::Min | Binary::Max if x.is_nan() || y.is_nan() => f64::NAN,
        Binary::Min => x.min(y),
        Binary::Max => x.max(y),
        Binary::Pow => x.powf(y),
        Binary::FloorDiv => f64::from((x / y) as f32).floor(),
    };
    wide as f32
}

#[test]
fn binary_operations() {
    let same = |f: f32, e: f32| f == e || (f.is_nan() && e.is_nan());
    let mut values = Values::new(11);
    let mut a: Vec<f32> = (0..3000).map(|_| (values.next() * 4.0) as f32).collect();
    let mut b: Vec<f32> = (0..3000).map(|_| (values.next() * 4.0) as f32).collect();
    for x in SPECIAL {
        for y in SPECIAL {
            a.push(x);
            b.push(y);
        }
    }
    for op in BINARY {
        let check = |out: &[f32], expected: &dyn Fn(usize) -> f32| {
            for (i, f) in out.iter().enumerate() {
                let e = expected(i);
                let (x, y) = (a[i], b[i]);
                assert!(
                    same(*f, e),
                    "{op:?} of {x:e} and {y:e}: found {f:e}, expected {e:e}"
                );
            }
        };
        let mut out = vec![0.0; a.len()];
        binary(op, &a, &b, &mut out);
        check(&out, &|i| expected_binary(op, a[i], b[i]));
        let mut out = a.clone();
        binary_in_place(op, &mut out, &b, false);
        check(&out, &|i| expected_binary(op, a[i], b[i]));
        let mut out = a.clone();
        binary_in_place(op, &mut out, &b, true);
        check(&out, &|i| expected_binary(op, b[i], a[i]));
        for s in [2.0, 0.75, f32::NAN, 0.0] {
            let mut out = vec![0.0; a.len()];
            binary_scalar(op, &a, s, &mut out);
            check(&out, &|i| expected_binary(op, a[i], s));
            scalar_binary(op, s, &b, &mut out);
            check(&out, &|i| expected_binary(op, s, b[i]));
        }
    }
}

#[test]
fn results_do_not_depend_on_the_position() {
    let x = samples();
    for op in [Unary::Exp, Unary::Log, Unary::Sin, Unary::Erf, Unary::Sqrt] {
        let mut all = x.clone();
        unary_in_place(op, &mut all);
        for (start, len) in [(0, 1), (1, 31), (5, 33), (7, 64), (11, 100)] {
            let mut part = x[start..start + len].to_vec();
            unary_in_place(op, &mut part);
            let bits = |v: &[f32]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&part), bits(&all[start..start + len]), "{op:?}");
        }
    }
}

#[test]
fn scale_and_shift() {
    let mut x: Vec<f64> = (0..100).map(f64::from).collect();
    scale_shift(&mut x, 0.5, 3.0);
    assert!(
        x.iter()
            .enumerate()
            .all(|(i, v)| *v == i as f64 * 0.5 + 3.0)
    );
}

#[test]
#[should_panic(expected = "first operand and output lengths differ")]
fn lengths_are_checked() {
    binary(Binary::Sum, &[1.0f32], &[1.0, 2.0], &mut [0.0, 0.0]);
}
