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
