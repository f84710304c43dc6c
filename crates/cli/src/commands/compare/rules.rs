//! Which tolerance a tensor has, and what counts as a failure.

use clap::ValueEnum;
use tensoracle_compare::{CompareError, Report, ReportEntry, Tolerance, Verdict};

/// A tolerance, for all tensors or for those whose names match.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limit {
    pattern: Option<String>,
    value: f64,
}

/// Reads `NUMBER` or `PATTERN=NUMBER`.
pub(crate) fn parse_limit(text: &str) -> Result<Limit, String> {
    let (pattern, number) = match text.rsplit_once('=') {
        Some((pattern, number)) => (Some(pattern.to_owned()), number),
        None => (None, text),
    };
    let value: f64 = number
        .trim()
        .parse()
        .map_err(|_| format!("expected a number such as 1e-3, found {number:?}"))?;
    if !(value.is_finite() && value >= 0.0) {
        return Err(format!(
            "expected a finite number of at least 0, found {number}"
        ));
    }
    Ok(Limit { pattern, value })
}

/// What can make a comparison fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// An element beyond its tolerance, or an integer or boolean that is not equal
    Outside,
    /// A NaN or infinity that has no equal on the other side
    Nonfinite,
    /// Any NaN or infinity, even where both sides have it
    AnyNonfinite,
    /// Any element that is not equal, whatever the tolerance
    Different,
    /// A tensor that only one file has, or that cannot be compared
    Unmatched,
    /// Nothing: the exit status is 0 unless the files cannot be read
    Nothing,
}

/// The rules of one run.
pub(crate) struct Rules<'a> {
    atol: &'a [Limit],
    rtol: &'a [Limit],
    fail_on: &'a [FailOn],
}

impl<'a> Rules<'a> {
    pub(crate) fn new(atol: &'a [Limit], rtol: &'a [Limit], fail_on: &'a [FailOn]) -> Self {
        Self {
            atol,
            rtol,
            fail_on,
        }
    }

    /// The tolerance of a tensor, if any was given for it.
    pub(crate) fn tolerance(&self, name: &str) -> Result<Option<Tolerance>, CompareError> {
        let last = |limits: &[Limit]| {
            let matching = |limit: &&Limit| {
                limit
                    .pattern
                    .as_ref()
                    .is_none_or(|pattern| is_match(pattern, name))
            };
            limits.iter().rev().find(matching).map(|limit| limit.value)
        };
        match (last(self.atol), last(self.rtol)) {
            (None, None) => Ok(None),
            (atol, rtol) => Tolerance::new(atol.unwrap_or(0.0), rtol.unwrap_or(0.0)).map(Some),
        }
    }

    /// Whether an entry is what the run was to fail on.
    pub(crate) fn fails(&self, entry: &ReportEntry) -> bool {
        let Some(found) = &entry.comparison else {
            return entry.verdict == Verdict::Incomparable && self.asks_for(FailOn::Unmatched);
        };
        let differing = found
            .nonfinite
            .as_ref()
            .map_or(0, |counts| counts.differing_count);
        let outside = found
            .finite
            .as_ref()
            .and_then(|finite| finite.outside_tolerance_count);
        let default = |what| {
            // Integers and booleans need no tolerance to be wrong.
            let has_limit = found.tolerance.is_some() || found.mismatch_count.is_some();
            match what {
                FailOn::Outside | FailOn::Nonfinite => has_limit,
                FailOn::Different => !has_limit,
                _ => false,
            }
        };
        let wanted = |what| match self.fail_on {
            [] => default(what),
            asked => asked.contains(&what),
        };
        wanted(FailOn::Outside) && found.mismatch_count.or(outside).unwrap_or(0) > 0
            || wanted(FailOn::Nonfinite) && differing > 0
            || wanted(FailOn::AnyNonfinite)
                && found.candidate_nonfinite_count + found.reference_nonfinite_count > 0
            || wanted(FailOn::Different) && entry.verdict != Verdict::Equal
    }

    /// Whether the exit status is that of success.
    pub(crate) fn passes(&self, report: &Report) -> bool {
        let unmatched = report.missing.len() + report.extra.len();
        !report.tensors.iter().any(|entry| entry.failed)
            && (unmatched == 0 || !self.asks_for(FailOn::Unmatched))
    }

    fn asks_for(&self, what: FailOn) -> bool {
        self.fail_on.is_empty() || self.fail_on.contains(&what)
    }
}

/// Whether a name matches a pattern of `*` (any text) and `?` (any character).
fn is_match(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where to go on if what follows the last star does not fit.
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match retry {
                Some((star, from)) => {
                    p = star + 1;
                    n = from + 1;
                    retry = Some((star, n));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("encoder.*", "encoder.layer.0", true),
            ("*.weight", "a.weight.weight", true),
            ("*.weight", "a.weights", false),
            ("layer.?", "layer.7", true),
            ("layer.?", "layer.77", false),
            ("a*b*c", "a__b_b__c", true),
            ("*", "", true),
            ("", "a", false),
        ] {
            assert_eq!(is_match(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn the_last_limit_that_matches_counts_and_the_other_is_zero() {
        let limits = |texts: &[&str]| -> Vec<Limit> {
            texts
                .iter()
                .map(|text| parse_limit(text).unwrap())
                .collect()
        };
        let atol = limits(&["1e-3", "logits=0.5", "log*=0.25"]);
        let rtol = limits(&["hidden=0.1"]);
        let rules = Rules::new(&atol, &rtol, &[]);
        let of = |name| rules.tolerance(name).unwrap().unwrap();
        assert_eq!(
            (of("logits").absolute(), of("logits").relative()),
            (0.25, 0.0)
        );
        assert_eq!(
            (of("hidden").absolute(), of("hidden").relative()),
            (1e-3, 0.1)
        );
        let none = Rules::new(&rtol, &[], &[]);
        assert_eq!(none.tolerance("logits").unwrap(), None);
    }

    #[test]
    fn limits_that_are_none_are_refused() {
        assert!(parse_limit("x=-1").unwrap_err().contains("at least 0"));
        assert!(parse_limit("inf").is_err());
        assert!(parse_limit("x=").unwrap_err().contains("1e-3"));
    }
}
