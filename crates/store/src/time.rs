//! Points in time as nanoseconds since 1970 and as UTC text. No time zones, no parsing.

use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970, negative before; saturating at what 64 bits hold (the year 2262).
pub(crate) fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    }
}

/// `2026-11-29T14:03:07Z`.
#[must_use]
pub fn utc_text(nanoseconds: i64) -> String {
    let seconds = nanoseconds.div_euclid(1_000_000_000);
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil_date(day);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// Year, month and day of the `day`-th day after 1970-01-01 in the Gregorian calendar.
///
/// Counts from 1 March of year 0, so that the leap day is the last day of its year.
fn civil_date(day: i64) -> (i64, i64, i64) {
    const DAYS_IN_400_YEARS: i64 = 146_097;
    let day = day + 719_468;
    let era = day.div_euclid(DAYS_IN_400_YEARS);
    let day_of_era = day.rem_euclid(DAYS_IN_400_YEARS);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    // The seconds are those that `date -u -d TEXT +%s` prints.
    #[test]
    fn utc_text_matches_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(utc_text(seconds * 1_000_000_000), text);
        }
    }

    #[test]
    fn nanoseconds_count_from_1970_both_ways() {
        let second = Duration::from_secs(1);
        assert_eq!(nanoseconds(UNIX_EPOCH + second), 1_000_000_000);
        assert_eq!(nanoseconds(UNIX_EPOCH - second), -1_000_000_000);
    }
}
