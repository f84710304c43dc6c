//! A set of comparisons as it is reported: each with its name and verdict, as JSON and as a page.

use crate::{Drawing, OutputComparison};
use serde::Serialize;
use std::fmt;

/// What a comparison comes to, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Verdict {
    /// Not comparable: shapes or kinds of number differ, or the file could not be read.
    Incomparable,
    /// A NaN or infinity on one side has no equal on the other.
    Nonfinite,
    /// Elements are beyond the tolerance.
    Outside,
    /// Elements differ, and no tolerance was given or none applies.
    Different,
    /// Elements differ, all within the tolerance.
    Within,
    /// No element differs.
    Equal,
}

impl Verdict {
    /// The verdict on a comparison.
    #[must_use]
    pub fn of(comparison: &OutputComparison) -> Self {
        let differing = comparison
            .nonfinite
            .as_ref()
            .map_or(0, |counts| counts.differing_count);
        let differs = comparison.mismatch_count.map_or_else(
            || {
                comparison
                    .finite
                    .as_ref()
                    .is_some_and(|finite| finite.worst_absolute.is_some())
            },
            |mismatches| mismatches > 0,
        );
        let outside = comparison
            .finite
            .as_ref()
            .and_then(|finite| finite.outside_tolerance_count);
        match (outside, differs) {
            _ if differing > 0 => Self::Nonfinite,
            (Some(outside), _) if outside > 0 => Self::Outside,
            (Some(_), true) => Self::Within,
            (None, true) => Self::Different,
            (_, false) => Self::Equal,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Incomparable => "incomparable",
            Self::Nonfinite => "nonfinite",
            Self::Outside => "outside",
            Self::Different => "different",
            Self::Within => "within",
            Self::Equal => "equal",
        })
    }
}

/// Comparisons that belong together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Where the candidates come from, for people.
    pub candidate: String,
    /// Where the references come from.
    pub reference: String,
    /// The tensors that both sides have, in the order they are to be read in.
    pub tensors: Vec<ReportEntry>,
    /// Names that only the reference has.
    pub missing: Vec<String>,
    /// Names that only the candidate has.
    pub extra: Vec<String>,
}

/// One tensor of a [`Report`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportEntry {
    /// Its name.
    pub name: String,
    /// What the comparison comes to.
    pub verdict: Verdict,
    /// Whether this is what the caller wanted to be told of.
    pub failed: bool,
    /// What else is known of it, as pairs of a label and a text: a layer's kind, the source line
    /// that added it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(String, String)>,
    /// Why it could not be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The measurements; absent where it could not be compared.
    #[serde(flatten)]
    pub comparison: Option<OutputComparison>,
    /// What is drawn of it on a page.
    #[serde(skip)]
    pub drawing: Option<Drawing>,
}

impl ReportEntry {
    /// An entry for a comparison that was made.
    #[must_use]
    pub fn compared(name: impl Into<String>, comparison: OutputComparison) -> Self {
        Self {
            name: name.into(),
            verdict: Verdict::of(&comparison),
            failed: false,
            facts: Vec::new(),
            reason: None,
            comparison: Some(comparison),
            drawing: None,
        }
    }

    /// An entry for a comparison that could not be made.
    #[must_use]
    pub fn incomparable(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            verdict: Verdict::Incomparable,
            failed: false,
            facts: Vec::new(),
            reason: Some(reason.into()),
            comparison: None,
            drawing: None,
        }
    }
}
