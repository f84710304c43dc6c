//! Sizes and ages as people type and read them.

use std::time::Duration;

/// Reads a size: bytes, or a number with `B`, `KiB`, `MiB`, `GiB` or `TiB` (powers of 1024, in
/// any case). Fractions are allowed; of a fractional number of bytes the whole part counts.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    parse_with(text, &[], "B, KiB, MiB, GiB or TiB")
}

/// Like [`parse_size`], and also with `kB`, `MB`, `GB` or `TB` (powers of 1000), in which the
/// sizes of model shards are commonly given.
pub(crate) fn parse_any_size(text: &str) -> Result<u64, String> {
    const DECIMAL: [(&str, u128); 4] = [
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("tb", 1_000_000_000_000),
    ];
    parse_with(text, &DECIMAL, "B, KiB, MiB, GiB, TiB, kB, MB, GB or TB")
}

/// Reads a size whose unit is binary or one of `decimal`; `units` names them all.
fn parse_with(text: &str, decimal: &[(&str, u128)], units: &str) -> Result<u64, String> {
    let wrong =
        || format!("expected bytes or a number with {units}, such as 1.5GiB; found {text:?}");
    let text = text.trim();
    let unit_start = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_start);
    let unit: u128 = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        unit => match decimal.iter().find(|(name, _)| *name == unit) {
            Some((_, bytes)) => *bytes,
            None => return Err(wrong()),
        },
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // More digits cannot matter: a thousandth of a nanobyte of a TiB is none.
    let fraction = &fraction[..fraction.len().min(18)];
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || digits.contains('.') || whole.len() > 20 {
        return Err(wrong());
    }
    let number: u128 = digits.parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(unit).ok_or_else(wrong)? / 10_u128.pow(fraction.len() as u32);
    u64::try_from(bytes).map_err(|_| format!("{text} is more than 2^64 bytes"))
}

/// Reads a number of days of 24 hours: finite, not negative, fractions allowed.
pub(crate) fn parse_days(text: &str) -> Result<Duration, String> {
    let days: f64 = text
        .trim()
        .parse()
        .map_err(|_| format!("expected a number of days, such as 30 or 0.5; found {text:?}"))?;
    if !days.is_finite() || days < 0.0 {
        return Err(format!(
            "expected a finite number of days that is not negative; found {text:?}"
        ));
    }
    Duration::try_from_secs_f64(days * 86_400.0)
        .map_err(|_| format!("{text} days are longer than any clock counts"))
}

/// A size as people read it: `97.6 MiB`.
pub(crate) fn size_text(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1023.95 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_exactly_and_rounded_down() {
        for (text, bytes) in [
            ("0", 0),
            ("1023", 1023),
            ("1.9", 1),
            ("1.5GiB", 1_610_612_736),
            ("0.1KiB", 102),
            (".5kib", 512),
            ("2.MIB", 2 << 20),
            ("10 GiB", 10 << 30),
            ("3tib", 3 << 40),
            ("7B", 7),
            ("18446744073709551615", u64::MAX),
            ("0.3333333333333333333333333GiB", 357_913_941),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in [
            "",
            ".",
            "GiB",
            "-1",
            "+1",
            "1e3",
            "1.2.3",
            "1 GB",
            "nan",
            "inf",
            "1,5GiB",
            "18446744073709551616",
            "99999999999999999999999",
            "16777216TiB",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn powers_of_1000_are_read_where_they_are_common() {
        for (text, bytes) in [
            ("5GB", 5_000_000_000),
            ("1.5 mb", 1_500_000),
            ("2kB", 2_000),
            ("1TB", 1_000_000_000_000),
            ("5GiB", 5 << 30),
            ("7", 7),
        ] {
            assert_eq!(parse_any_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "GB", "5G", "5GBB", "-5GB"] {
            assert!(parse_any_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn days_are_24_hours() {
        assert_eq!(parse_days("30"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(parse_days("0.5"), Ok(Duration::from_secs(43_200)));
        assert_eq!(parse_days("0"), Ok(Duration::ZERO));
        for text in ["", "-1", "nan", "inf", "1e300", "a week"] {
            assert!(parse_days(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_written_with_one_digit() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1_048_575, "1.0 MiB"),
            (102_400_000, "97.7 MiB"),
            (1 << 50, "1024.0 TiB"),
        ] {
            assert_eq!(size_text(bytes), text);
        }
    }
}
