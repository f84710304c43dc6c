//! The report as text: a list of measurements for one tensor, a table for several.

use comfy_table::{Cell, CellAlignment, Table, presets};
use std::fmt::Write;
use tensoracle_compare::{Located, OutputComparison, Report, ReportEntry, short};

/// The report for a terminal.
pub(crate) fn text(report: &Report) -> String {
    let mut text = match &report.tensors[..] {
        [only] => single(only),
        tensors => several(tensors),
    };
    for (heading, names) in [
        ("only in the reference", &report.missing),
        ("only in the candidate", &report.extra),
    ] {
        if !names.is_empty() {
            let _ = write!(text, "\n{heading}: {}", names.join(", "));
        }
    }
    text
}

fn several(tensors: &[ReportEntry]) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "tensor",
        "verdict",
        "shape",
        "types",
        "max error",
        "max ULP",
        "relative L2",
        "cosine",
        "outside",
        "non-finite",
        "worst at",
    ]);
    for entry in tensors {
        let mut row = vec![Cell::new(&entry.name), Cell::new(verdict(entry))];
        match &entry.comparison {
            Some(comparison) => row.extend(cells(comparison)),
            None => row.push(Cell::new(entry.reason.as_deref().unwrap_or_default())),
        }
        table.add_row(row);
    }
    let failed = tensors.iter().filter(|entry| entry.failed).count();
    format!("{table}\n{failed} of {} tensors failed", tensors.len())
}

/// The verdict, marked where it is what was to be found.
fn verdict(entry: &ReportEntry) -> String {
    if entry.failed {
        format!("{} !", entry.verdict)
    } else {
        entry.verdict.to_string()
    }
}

fn cells(comparison: &OutputComparison) -> Vec<Cell> {
    let finite = comparison.finite.as_ref();
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let number = |value: Option<f64>| right(value.map_or_else(String::new, short));
    let cosine = finite.and_then(|finite| finite.cosine_similarity);
    let worst = finite
        .and_then(|finite| finite.worst_absolute.as_ref())
        .or(comparison.first_offending.as_ref());
    vec![
        Cell::new(list(&comparison.dims)),
        Cell::new(types(comparison)),
        number(finite.map(|finite| finite.max_absolute_error)),
        number(finite.and_then(|finite| finite.max_ulp_error)),
        number(finite.and_then(|finite| finite.relative_l2_error)),
        right(cosine.map_or_else(String::new, |cosine| format!("{cosine:.7}"))),
        right(offending(comparison).map_or_else(String::new, |count| count.to_string())),
        right(nonfinite(comparison)),
        Cell::new(worst.map_or_else(String::new, |at| list(&at.position))),
    ]
}

fn single(entry: &ReportEntry) -> String {
    let mut lines: Vec<(String, String)> = vec![
        ("tensor".into(), entry.name.clone()),
        ("verdict".into(), entry.verdict.to_string()),
    ];
    let mut line = |label: &str, text: String| lines.push((label.to_owned(), text));
    if let Some(reason) = &entry.reason {
        line("reason", reason.clone());
    }
    if let Some(comparison) = &entry.comparison {
        let total = comparison.element_count;
        let share = |count: u64| {
            let percent = 100.0 * count as f64 / total as f64;
            format!("{count} of {total} ({}%)", short(percent))
        };
        line("shape", list(&comparison.dims));
        line("types", types(comparison));
        if let Some(tolerance) = comparison.tolerance {
            let (atol, rtol) = (tolerance.absolute(), tolerance.relative());
            line(
                "tolerance",
                format!("{} + {} * |reference|", short(atol), short(rtol)),
            );
        }
        if let Some(mismatches) = comparison.mismatch_count {
            line("mismatches", share(mismatches));
        }
        if let Some(finite) = &comparison.finite {
            let optional = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), short);
            if let Some(outside) = finite.outside_tolerance_count {
                line("outside tolerance", share(outside));
            }
            line("max absolute error", short(finite.max_absolute_error));
            if let Some(ulps) = finite.max_ulp_error {
                line(
                    "max error in ULPs",
                    format!("{} of {}", short(ulps), comparison.candidate_element),
                );
            }
            line("relative L2 error", optional(finite.relative_l2_error));
            let cosine = finite.cosine_similarity;
            line(
                "cosine similarity",
                cosine.map_or_else(|| "none".to_owned(), |c| format!("{c:.9}")),
            );
            line("mean error", short(finite.mean_error));
            line("mean absolute error", short(finite.mean_absolute_error));
            line("RMS error", short(finite.rms_error));
            if let Some(decibels) = finite.signal_to_noise_db {
                line("signal to noise", format!("{decibels:.1} dB"));
            }
            let quantiles = finite
                .quantiles
                .iter()
                .map(|q| format!("{}%: {}", 100.0 * q.fraction, short(q.error)))
                .collect::<Vec<_>>();
            line("error quantiles", quantiles.join("  "));
            line_of(&mut line, "worst absolute", finite.worst_absolute.as_ref());
            line_of(&mut line, "worst relative", finite.worst_relative.as_ref());
        }
        line_of(
            &mut line,
            "first offending",
            comparison.first_offending.as_ref(),
        );
        if comparison.candidate_nonfinite_count + comparison.reference_nonfinite_count > 0 {
            line("non-finite", nonfinite(comparison));
        }
    }
    let width = lines
        .iter()
        .map(|(label, _)| label.len())
        .max()
        .unwrap_or(0);
    let lines = lines
        .iter()
        .map(|(label, text)| format!("{label:width$}  {text}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn line_of(line: &mut impl FnMut(&str, String), label: &str, at: Option<&Located>) {
    if let Some(at) = at {
        let relative = at.relative_error.map_or_else(String::new, |relative| {
            format!(", relative {}", short(relative))
        });
        line(
            label,
            format!(
                "{} candidate {} reference {} (error {}{relative})",
                list(&at.position),
                at.candidate,
                at.reference,
                short(at.error)
            ),
        );
    }
}

/// Elements beyond the tolerance, or unequal integers.
fn offending(comparison: &OutputComparison) -> Option<u64> {
    let finite = comparison.finite.as_ref();
    comparison
        .mismatch_count
        .or_else(|| finite.and_then(|finite| finite.outside_tolerance_count))
}

fn nonfinite(comparison: &OutputComparison) -> String {
    let Some(counts) = &comparison.nonfinite else {
        return String::new();
    };
    let same = counts.both_nan_count + counts.same_infinity_count;
    match (counts.differing_count, same) {
        (0, 0) => "0".to_owned(),
        (differing, 0) => differing.to_string(),
        (differing, same) => format!("{differing} (and {same} the same on both sides)"),
    }
}

fn types(comparison: &OutputComparison) -> String {
    if comparison.candidate_element == comparison.reference_element {
        comparison.candidate_element.to_string()
    } else {
        format!(
            "{} / {}",
            comparison.candidate_element, comparison.reference_element
        )
    }
}

fn list(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!("[{}]", numbers.join(", "))
}
