//! Reproducible values and comparisons.

use tensoracle_kernels::Real;

/// A small linear congruential generator: tests need variety, not quality.
pub(crate) struct Values(u64);

impl Values {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// In -1 ..= 1, exact in both types.
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963);
        (self.0 >> 40) as f64 / f64::from(1 << 23) - 1.0
    }

    pub(crate) fn vec<T: Real>(&mut self, len: usize) -> Vec<T> {
        (0..len).map(|_| T::from_f64(self.next())).collect()
    }
}

/// The relative rounding of a type.
pub(crate) fn epsilon<T: Real>() -> f64 {
    if size_of::<T>() == 4 {
        f64::from(f32::EPSILON)
    } else {
        f64::EPSILON
    }
}

/// Asserts that `found` is within `tolerance` (absolute) of `expected`; NaN equals NaN.
#[track_caller]
pub(crate) fn assert_near<T: Real>(found: &[T], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        let f = f.to_f64();
        let same = f == *e || (f.is_nan() && e.is_nan()) || (f - e).abs() <= tolerance;
        assert!(
            same,
            "element {i}: found {f:e}, expected {e:e}, tolerance {tolerance:e}"
        );
    }
}

/// Distance in units in the last place of `expected` as an `f32` (those of the smallest normal
/// number below it).
pub(crate) fn ulps(found: f32, expected: f64) -> f64 {
    let target = expected as f32;
    if found == target || (found.is_nan() && expected.is_nan()) {
        return 0.0;
    }
    if !target.is_finite() || !found.is_finite() {
        return f64::INFINITY;
    }
    let exponent = expected
        .abs()
        .max(f64::from(f32::MIN_POSITIVE))
        .log2()
        .floor();
    (f64::from(found) - expected).abs() / (exponent - 23.0).exp2()
}
