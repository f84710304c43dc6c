//! Why a saved engine is or is not reused: the fields in which its conditions differ from those
//! wanted.
//!
//! Compares stored and wanted conditions field by field, lists of text line by line. What is left
//! out: what a field means.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::conditions::{Conditions, Identity};
use crate::container::Detail;
use crate::error::StoreError;
use crate::store::Store;
use crate::value::{Map, Value};

/// One field that differs between a saved engine and what is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The field's path, names joined by `.`; items of a list as `[index]`, counted from 0 in
    /// the list that has them (in the wanted one where both do).
    pub field: String,
    /// The saved engine's value, `None` where it has none.
    pub saved: Option<Value>,
    /// The wanted value, `None` where there is none.
    pub wanted: Option<Value>,
}

/// `settings.optimization_level: saved 3, wanted 5`
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |value: &Option<Value>| {
            value
                .as_ref()
                .map_or_else(|| "nothing".to_owned(), Value::to_string)
        };
        write!(
            f,
            "{}: saved {}, wanted {}",
            self.field,
            side(&self.saved),
            side(&self.wanted)
        )
    }
}

/// All differences between the conditions of a saved engine and those wanted, explanations
/// included, sorted by field. Empty exactly when all are equal.
#[must_use]
pub fn differences(saved: &Conditions, wanted: &Conditions) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(
        "name",
        Some(&Value::from(saved.name())),
        Some(&Value::from(wanted.name())),
        &mut found,
    );
    compare_maps("", saved.fields(), wanted.fields(), &mut found);
    compare_maps("", saved.described(), wanted.described(), &mut found);
    found
}

fn compare(
    field: &str,
    saved: Option<&Value>,
    wanted: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (saved, wanted) {
        (Some(a), Some(b)) if a == b => {}
        (Some(Value::Map(a)), Some(Value::Map(b))) => compare_maps(field, a, b, found),
        (Some(Value::List(a)), Some(Value::List(b))) => compare_lists(field, a, b, found),
        _ => found.push(Difference {
            field: field.to_owned(),
            saved: saved.cloned(),
            wanted: wanted.cloned(),
        }),
    }
}

fn compare_maps(prefix: &str, saved: &Map, wanted: &Map, found: &mut Vec<Difference>) {
    let names: BTreeSet<&String> = saved.keys().chain(wanted.keys()).collect();
    for name in names {
        let field = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}.{name}")
        };
        compare(&field, saved.get(name), wanted.get(name), found);
    }
}

/// Beyond this many pairs, items between the common beginning and end are not aligned but
/// compared in order.
const MAX_ALIGNED_PAIRS: usize = 4_000_000;

fn compare_lists(field: &str, saved: &[Value], wanted: &[Value], found: &mut Vec<Difference>) {
    let start = saved.iter().zip(wanted).take_while(|(a, b)| a == b).count();
    let end = saved[start..]
        .iter()
        .rev()
        .zip(wanted[start..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (a, b) = (
        &saved[start..saved.len() - end],
        &wanted[start..wanted.len() - end],
    );
    let kept = if a.len() != b.len() && a.len().saturating_mul(b.len()) <= MAX_ALIGNED_PAIRS {
        common_items(a, b)
    } else {
        Vec::new()
    };
    let (mut i, mut j) = (0, 0);
    for (next_i, next_j) in kept.into_iter().chain([(a.len(), b.len())]) {
        while i < next_i || j < next_j {
            let at = |index: usize| format!("{field}[{}]", start + index);
            let old = (i < next_i).then(|| &a[i]);
            let new = (j < next_j).then(|| &b[j]);
            compare(&at(if new.is_some() { j } else { i }), old, new, found);
            i += usize::from(old.is_some());
            j += usize::from(new.is_some());
        }
        (i, j) = (next_i + 1, next_j + 1);
    }
}

/// The index pairs of a longest common subsequence, by the table of its lengths.
fn common_items(a: &[Value], b: &[Value]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    let mut lengths = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            lengths[i * width + j] = if a[i] == b[j] {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((i, j));
            i += 1;
            j += 1;
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// A saved engine of the wanted name that is not the wanted one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Near {
    /// Its file name.
    pub file: String,
    /// Its identity.
    pub identity: Identity,
    /// In what it differs.
    pub differences: Vec<Difference>,
}

/// Why an engine will or will not be reused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The wanted identity.
    pub identity: Identity,
    /// The file name under which it is or would be saved.
    pub file: String,
    /// Whether it is saved and its header intact: then it will be reused.
    pub saved: bool,
    /// What is wrong with the saved file of that name, if anything.
    pub problem: Option<String>,
    /// Saved engines of the same name, those with the fewest differing fields first.
    pub nearest: Vec<Near>,
}

/// As many neighbours as a person reads.
const MAX_NEAREST: usize = 3;

impl Store {
    /// Says whether an engine with these conditions is saved, and if not, in what the nearest
    /// saved engines of that name differ. Only headers are read.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the folder cannot be read.
    pub fn explain(&self, wanted: &Conditions) -> Result<Explanation, StoreError> {
        let paths = self.paths(wanted);
        let identity = wanted.identity();
        let (saved, problem) = match crate::open::read_header(&paths.engine, Detail::Conditions) {
            Ok(None) => (false, None),
            Ok(Some(header)) if header.identity() == identity => (true, None),
            Ok(Some(header)) => (
                false,
                Some(format!(
                    "its header has the conditions of {}",
                    header.identity()
                )),
            ),
            Err(error) => (false, Some(error.to_string())),
        };
        let mut nearest: Vec<(i64, Near)> = self
            .headers_named(wanted.name(), Detail::Whole)?
            .into_iter()
            .filter(|(_, header)| header.identity() != identity)
            .map(|(file, header)| {
                let near = Near {
                    file,
                    identity: header.identity(),
                    differences: differences(&header.conditions, wanted),
                };
                (header.created_at_ns, near)
            })
            .collect();
        nearest.sort_by(|(a_time, a), (b_time, b)| {
            (a.differences.len(), b_time, &a.file).cmp(&(b.differences.len(), a_time, &b.file))
        });
        Ok(Explanation {
            identity,
            file: paths.file_name(),
            saved,
            problem,
            nearest: nearest
                .into_iter()
                .map(|(_, near)| near)
                .take(MAX_NEAREST)
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(saved: &Conditions, wanted: &Conditions) -> Vec<String> {
        differences(saved, wanted)
            .iter()
            .map(Difference::to_string)
            .collect()
    }

    #[test]
    fn fields_that_differ_are_named_with_both_values() {
        let mut saved = Conditions::new("x").unwrap();
        saved
            .set(&["backend", "device"], "A6000")
            .set(&["settings", "level"], 3)
            .set(&["graph", "digest"], "aa");
        let mut wanted = Conditions::new("x").unwrap();
        wanted
            .set(&["backend", "device"], "H200")
            .set(&["settings", "level"], 3)
            .set(&["graph", "digest"], "aa")
            .set(&["graph_version"], "2");
        assert_eq!(
            shown(&saved, &wanted),
            [
                r#"backend.device: saved "A6000", wanted "H200""#,
                r#"graph_version: saved nothing, wanted "2""#,
            ]
        );
        assert!(shown(&saved, &saved).is_empty());
    }

    fn with_lines(lines: &[&str]) -> Conditions {
        let mut conditions = Conditions::new("x").unwrap();
        conditions.describe(&["layers"], lines.to_vec());
        conditions
    }

    #[test]
    fn an_inserted_line_does_not_make_its_followers_differ() {
        assert_eq!(
            shown(
                &with_lines(&["a", "b", "c", "d"]),
                &with_lines(&["a", "new", "b", "changed", "d"])
            ),
            [
                r#"layers[1]: saved nothing, wanted "new""#,
                r#"layers[3]: saved "c", wanted "changed""#,
            ]
        );
        assert_eq!(
            shown(&with_lines(&["a", "b"]), &with_lines(&["b"])),
            [r#"layers[0]: saved "a", wanted nothing"#]
        );
    }

    #[test]
    fn a_changed_line_is_paired_with_what_it_was() {
        assert_eq!(
            shown(
                &with_lines(&["conv1: stride 1", "relu", "conv2: stride 1"]),
                &with_lines(&["conv1: stride 2", "relu", "conv2: stride 2"])
            ),
            [
                r#"layers[0]: saved "conv1: stride 1", wanted "conv1: stride 2""#,
                r#"layers[2]: saved "conv2: stride 1", wanted "conv2: stride 2""#,
            ]
        );
    }
}
