//! `f32` functions as straight-line arithmetic, which the compiler turns into vector code inside
//! the loops that call them: no branches on values, selections instead.
//!
//! Errors in units in the last place, held by the tests against `f64`: sine and cosine 0.51, `exp`,
//! `ln` and `erf` 1.5, `tanh` 2, what is built on `exp_m1` and `ln_1p` (elu, softplus) 3 to 4.
//! Polynomials are near-minimax (Chebyshev) fits made for this file;
//! each states what it approximates and where. `f64` functions and the rarely used `f32` ones are
//! the `libm` crate's.

/// Adding and subtracting 1.5·2²³ rounds an `f32` of magnitude below 2²² to an integer (ties to
/// even), and leaves that integer in the low bits of the sum.
const ROUNDER: f32 = 12_582_912.0;

/// ln 2 in two parts: the first has 9 significant bits, so that its product with an exponent is
/// exact, the second is the rest (Cody and Waite's reduction).
const LN_2_HIGH: f32 = 355.0 / 512.0;
const LN_2_LOW: f32 = -2.121_944_4e-4;

#[inline(always)]
fn madd<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Horner's rule, highest coefficient first.
#[inline(always)]
fn horner<const FMA: bool, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[0];
    for c in &coefficients[1..] {
        sum = madd::<FMA>(sum, x, *c);
    }
    sum
}

/// 2ⁿ for n in -126 ..= 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// x = n·ln 2 + r with |r| ≤ ln 2 / 2: returns n and eʳ - 1. `x` is NaN or within ±105.
#[inline(always)]
fn reduced_exp_m1<const FMA: bool>(x: f32) -> (i32, f32) {
    let shifted = madd::<FMA>(x, std::f32::consts::LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let r = madd::<FMA>(n, -LN_2_LOW, madd::<FMA>(n, -LN_2_HIGH, x));
    // (eʳ - 1 - r) / r² on |r| ≤ 0.347.
    let p = horner::<FMA, 5>(
        r,
        [
            0.001_392_625,
            0.008_363_233,
            0.041_666_552,
            0.166_665_76,
            0.5,
        ],
    );
    let count = (shifted.to_bits() as i32).wrapping_sub(ROUNDER.to_bits() as i32);
    (count, madd::<FMA>(p * r, r, r))
}

/// eˣ, with gradual underflow.
#[inline(always)]
pub(crate) fn exp<const FMA: bool>(x: f32) -> f32 {
    // Beyond these the result is infinity or zero; NaN passes both comparisons unchanged.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.5 { -104.5 } else { x };
    let (n, m) = reduced_exp_m1::<FMA>(x);
    // 2ⁿ itself need not be a normal number, so it is applied in two factors.
    let half = n >> 1;
    (1.0 + m) * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// eˣ - 1 without cancellation near 0.
#[inline(always)]
pub(crate) fn exp_m1<const FMA: bool>(x: f32) -> f32 {
    let clamped = if x > 88.0 { 88.0 } else { x };
    let clamped = if clamped < -20.0 { -20.0 } else { clamped };
    let (n, m) = reduced_exp_m1::<FMA>(clamped);
    let scale = power_of_two(n);
    let near = madd::<FMA>(m, scale, scale - 1.0);
    if x > 88.0 { exp::<FMA>(x) } else { near }
}

/// The natural logarithm; NaN below 0, -∞ at 0.
#[inline(always)]
pub(crate) fn ln<const FMA: bool>(x: f32) -> f32 {
    let tiny = x < f32::MIN_POSITIVE;
    let scaled = if tiny { x * 8_388_608.0 } else { x };
    // x = m·2ᵉ with m in [√½, √2): the offset moves the split from 1 to √½.
    let bits = scaled.to_bits().wrapping_sub(0x3f35_04f3);
    let e = (bits as i32) >> 23;
    let m = f32::from_bits((bits & 0x007f_ffff).wrapping_add(0x3f35_04f3));
    let e = (e - if tiny { 23 } else { 0 }) as f32;
    let f = m - 1.0;
    // (ln(1 + f) - f + f²/2) / f³ on √½ - 1 ≤ f ≤ √2 - 1.
    let q = horner::<FMA, 9>(
        f,
        [
            0.069_716_12,
            -0.114_797_34,
            0.116_854_2,
            -0.124_256_87,
            0.142_490_58,
            -0.166_678_03,
            0.200_007_16,
            -0.249_999_97,
            0.333_333_3,
        ],
    );
    let square = f * f;
    let low = madd::<FMA>(e, LN_2_LOW, q * f * square);
    let sum = madd::<FMA>(-0.5, square, low) + f;
    let result = madd::<FMA>(e, LN_2_HIGH, sum);
    let result = if x == f32::INFINITY { x } else { result };
    let result = if x == 0.0 { f32::NEG_INFINITY } else { result };
    // Also true of NaN, which the bit arithmetic above would have turned into a number.
    if x >= 0.0 { result } else { f32::NAN }
}

/// ln(1 + x), accurate near 0 (Kahan's correction of the rounding of 1 + x).
#[inline(always)]
pub(crate) fn ln_1p<const FMA: bool>(x: f32) -> f32 {
    let sum = 1.0 + x;
    let rounded = sum - 1.0;
    let log = ln::<FMA>(sum);
    let corrected = log * (x / rounded);
    let result = if rounded == 0.0 { x } else { corrected };
    if x == f32::INFINITY { x } else { result }
}

/// The hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh<const FMA: bool>(x: f32) -> f32 {
    let t = x.abs();
    let s = x * x;
    // (tanh(x)/x - 1) / x² in s = x² on |x| ≤ 0.625.
    let p = horner::<FMA, 5>(
        s,
        [
            -0.006_096_714,
            0.020_997_18,
            -0.053_850_908,
            0.133_327_7,
            -0.333_333_28,
        ],
    );
    let near = madd::<FMA>(p * s, x, x);
    let far = 1.0 - 2.0 / (exp::<FMA>(2.0 * t) + 1.0);
    if t < 0.625 { near } else { far.copysign(x) }
}

/// The error function.
#[inline(always)]
pub(crate) fn erf<const FMA: bool>(x: f32) -> f32 {
    let t = x.abs();
    let s = x * x;
    // erf(x)/x - 1 in s = x² on |x| ≤ 0.9375.
    let p = horner::<FMA, 6>(
        s,
        [
            -5.933_306e-4,
            0.004_982_215,
            -0.026_759_44,
            0.112_816_3,
            -0.376_124_77,
            0.128_379_15,
        ],
    );
    let near = madd::<FMA>(p, x, x);
    // -ln(erfc(t))/t on 0.9375 ≤ t ≤ 3.95, where erfc falls below half a unit of 1.
    let u = if t > 3.95 { 3.95 } else { t };
    let q = horner::<FMA, 7>(
        u,
        [
            1.670_372_9e-5,
            -3.749_228_8e-4,
            0.003_839_045_3,
            -0.024_135_08,
            0.106_608_585,
            0.634_969_7,
            1.128_681_5,
        ],
    );
    let far = 1.0 - exp::<FMA>(-u * q);
    if t < 0.9375 { near } else { far.copysign(x) }
}

/// Largest magnitude for which the reduction below is exact enough.
const TRIGONOMETRIC_LIMIT: f32 = 1.0e6;

/// sin(x + quarter·π/2), computed in `f64`, for |x| ≤ [`TRIGONOMETRIC_LIMIT`].
#[inline(always)]
fn sin_quarter<const FMA: bool>(x: f32, quarter: u64) -> f32 {
    // 1.5·2⁵² rounds an f64 as `ROUNDER` does an f32.
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    // π/2 in two parts, the first of 33 bits.
    const HALF_PI_HIGH: f64 = 1.570_796_326_734_125_6;
    const HALF_PI_LOW: f64 = 6.077_100_506_506_192e-11;
    #[inline(always)]
    fn step<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
        if FMA { a.mul_add(b, c) } else { a * b + c }
    }
    let x = f64::from(x);
    let shifted = x * std::f64::consts::FRAC_2_PI + ROUNDER;
    let n = shifted - ROUNDER;
    let r = (x - n * HALF_PI_HIGH) - n * HALF_PI_LOW;
    let s = r * r;
    // Taylor's series: on |r| ≤ π/4 what is left out is below 1e-9.
    let mut sin = -1.0 / 39_916_800.0;
    for c in [1.0 / 362_880.0, -1.0 / 5_040.0, 1.0 / 120.0, -1.0 / 6.0] {
        sin = step::<FMA>(sin, s, c);
    }
    let sin = step::<FMA>(sin * s, r, r);
    let mut cos = 1.0 / 479_001_600.0;
    for c in [
        -1.0 / 3_628_800.0,
        1.0 / 40_320.0,
        -1.0 / 720.0,
        1.0 / 24.0,
        -0.5,
        1.0,
    ] {
        cos = step::<FMA>(cos, s, c);
    }
    let quadrant = shifted.to_bits().wrapping_add(quarter);
    let value = if quadrant & 1 == 0 { sin } else { cos };
    f64::from_bits(value.to_bits() ^ ((quadrant & 2) << 62)) as f32
}

#[inline(always)]
fn trigonometric_slice<const FMA: bool>(values: &mut [f32], quarter: u64, exact: fn(f64) -> f64) {
    // The original is needed for large arguments; a block at a time keeps it on the stack.
    for block in values.chunks_mut(64) {
        let mut original = [0.0; 64];
        original[..block.len()].copy_from_slice(block);
        for v in block.iter_mut() {
            *v = sin_quarter::<FMA>(*v, quarter);
        }
        for (v, x) in block.iter_mut().zip(original) {
            if x.abs() > TRIGONOMETRIC_LIMIT || x.is_nan() {
                *v = exact(f64::from(x)) as f32;
            }
        }
    }
}

/// The sine of each value.
#[inline(always)]
pub(crate) fn sin_slice<const FMA: bool>(values: &mut [f32]) {
    trigonometric_slice::<FMA>(values, 0, libm::sin);
}

/// The cosine of each value.
#[inline(always)]
pub(crate) fn cos_slice<const FMA: bool>(values: &mut [f32]) {
    trigonometric_slice::<FMA>(values, 1, libm::cos);
}
