//! Whether an output is what was expected, and where it first is not.

use crate::{Array, Bound, Precision, Values};
use tensoracle_graph::DataType;

/// The first difference, in words; `None` when there is none.
pub(crate) fn difference(
    found: &Array,
    expected: &Array,
    bound: Bound,
    precision: Precision,
) -> Option<String> {
    let kind = |array: &Array| format!("{}{:?}", array.data_type, array.dims);
    if (found.data_type, &found.dims) != (expected.data_type, &expected.dims) {
        return Some(format!(
            "found {}, expected {}",
            kind(found),
            kind(expected)
        ));
    }
    let first = match (&found.values, &expected.values) {
        (Values::Integer(a), Values::Integer(b)) => first_unequal(a, b),
        (Values::Boolean(a), Values::Boolean(b)) => first_unequal(a, b),
        (Values::Real(a), Values::Real(b)) => a
            .iter()
            .zip(b)
            .enumerate()
            .find(|(_, (a, b))| !agrees(**a, **b, expected.data_type, bound, precision))
            .map(|(index, (a, b))| (index, format!("{a:e}"), format!("{b:e}"))),
        _ => return Some("found and expected are of different kinds".into()),
    };
    let (index, found_value, expected_value) = first?;
    Some(format!(
        "{}: found {found_value} at {:?}, expected {expected_value}",
        kind(expected),
        position(index, &expected.dims)
    ))
}

fn first_unequal<T: PartialEq + std::fmt::Debug>(
    a: &[T],
    b: &[T],
) -> Option<(usize, String, String)> {
    let pairs = a.iter().zip(b).enumerate();
    let (index, (a, b)) = pairs.into_iter().find(|(_, (a, b))| a != b)?;
    Some((index, format!("{a:?}"), format!("{b:?}")))
}

fn agrees(
    found: f64,
    expected: f64,
    data_type: DataType,
    bound: Bound,
    precision: Precision,
) -> bool {
    if expected.is_nan() || found.is_nan() {
        return expected.is_nan() && found.is_nan();
    }
    if found == expected {
        return true;
    }
    let (absolute, relative, rounding) = match (bound, precision) {
        (Bound::Same, _) => return false,
        // What float64 itself is off by, NumPy's and the backend's.
        (Bound::Layer { absolute, .. }, Precision::Typed | Precision::Exact) => {
            (absolute * 1e-6, 1e-12, true)
        }
        (Bound::Layer { absolute, relative } | Bound::Layers { absolute, relative }, _) => {
            (absolute, relative, data_type != DataType::Float)
        }
    };
    let format = Format::of(data_type);
    if found.is_infinite() {
        // Beyond the largest value by half a step or more.
        let overflows =
            expected.abs() * (1.0 + 1e-6) >= format.largest + format.step(format.largest) / 2.0;
        return overflows && found.is_sign_positive() == expected.is_sign_positive();
    }
    if expected.is_infinite() {
        return false;
    }
    let half_step = if rounding {
        format.step(expected) / 2.0
    } else {
        0.0
    };
    (found - expected).abs() <= absolute + relative * expected.abs() + half_step * (1.0 + 1e-9)
}

/// What of a floating-point format decides its rounding.
struct Format {
    mantissa_bits: i32,
    lowest_exponent: i32,
    largest: f64,
}

impl Format {
    fn of(data_type: DataType) -> Self {
        let (mantissa_bits, lowest_exponent, largest) = match data_type {
            DataType::Half => (10, -14, 65504.0),
            DataType::BFloat16 => (7, -126, f64::from(half::bf16::MAX)),
            DataType::Fp8 => (3, -6, 448.0),
            DataType::Fp4 => (1, 0, 6.0),
            _ => (23, -126, f64::from(f32::MAX)),
        };
        Self {
            mantissa_bits,
            lowest_exponent,
            largest,
        }
    }

    /// The distance between neighbours around a value.
    fn step(&self, value: f64) -> f64 {
        let exponent = value.abs().max(f64::MIN_POSITIVE).log2().floor() as i32;
        2f64.powi(exponent.max(self.lowest_exponent) - self.mantissa_bits)
    }
}

fn position(index: usize, dims: &[u64]) -> Vec<usize> {
    let mut rest = index;
    let mut position: Vec<usize> = dims
        .iter()
        .rev()
        .map(|&dim| {
            let dim = usize::try_from(dim).unwrap_or(usize::MAX).max(1);
            let place = rest % dim;
            rest /= dim;
            place
        })
        .collect();
    position.reverse();
    position
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYER: Bound = Bound::Layer {
        absolute: 1e-6,
        relative: 1e-6,
    };

    fn half(value: f64) -> Array {
        Array::real(DataType::Half, &[1], &[value])
    }

    #[test]
    fn one_rounding_is_told_from_two() {
        // Neighbours of 1 in half precision lie 2^-10 apart.
        let step = 2f64.powi(-10);
        let differs = |found, expected| {
            difference(&half(found), &half(expected), LAYER, Precision::Typed).is_some()
        };
        assert!(!differs(1.0, 1.0 + step / 2.0));
        assert!(!differs(1.0, 1.0 + step * 0.49));
        assert!(differs(1.0, 1.0 + step * 0.51));
        assert!(differs(f64::NAN, 1.0));
        assert!(!differs(f64::INFINITY, 65521.0));
        assert!(differs(f64::NEG_INFINITY, 65521.0));
        assert!(differs(f64::INFINITY, 65000.0));
    }

    #[test]
    fn a_difference_names_its_place() {
        let found = Array::float(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.5]);
        let expected = Array::float(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let text = difference(&found, &expected, Bound::Same, Precision::Fast).unwrap();
        assert_eq!(text, "float[2, 3]: found 5.5e0 at [1, 2], expected 5e0");
        let other = expected.reshaped(&[3, 2]);
        let text = difference(&found, &other, Bound::Same, Precision::Fast).unwrap();
        assert_eq!(text, "found float[2, 3], expected float[3, 2]");
        assert_eq!(
            difference(&found, &found, Bound::Same, Precision::Fast),
            None
        );
    }
}
