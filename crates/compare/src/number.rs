//! Numbers as people and JSON read them.

use serde::Serializer;

/// A number in the fewest digits that tell it from its neighbours, in exponential notation where
/// that is shorter to read.
pub(crate) fn text(value: f64) -> String {
    let magnitude = value.abs();
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else if magnitude != 0.0 && !(1e-4..1e9).contains(&magnitude) {
        format!("{value:e}")
    } else {
        format!("{value}")
    }
}

/// Serialises a number; one that JSON has no notation for becomes a string.
pub(crate) fn plain<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        serializer.serialize_f64(*value)
    } else {
        serializer.serialize_str(&text(*value))
    }
}

/// Serialises a number that may be absent.
pub(crate) fn optional<S: Serializer>(
    value: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => plain(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// A measurement in three significant digits.
#[must_use]
pub fn short(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !value.is_finite() {
        text(value)
    } else if (1e-3..1e4).contains(&magnitude) {
        // Decimals such that three digits count.
        let decimals = (2 - magnitude.log10().floor() as i32).max(0) as usize;
        format!("{value:.decimals$}")
    } else {
        format!("{value:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_shown() {
        for (value, expected) in [
            (0.0, "0"),
            (0.001_234_5, "0.00123"),
            (-9.876, "-9.88"),
            (1234.5, "1234"),
            (12.0, "12.0"),
            (1e-9, "1.00e-9"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(short(value), expected);
        }
        assert_eq!(text(0.1), "0.1");
        assert_eq!(text(1.5e300), "1.5e300");
    }
}
