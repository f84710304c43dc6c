//! A report as one self-contained page: styles, script and drawings inside, nothing fetched.
//!
//! `plots` draws, `text` formats; `style.css` and `script.js` are put in as they are. Without a
//! script the page still shows everything but the colours of heat maps.

mod plots;
mod text;

use crate::number::short;
use crate::{Located, OutputComparison, Report, ReportEntry, Verdict};
use std::fmt::Write;
use text::{escape, grouped};

/// Tensors up to this number are all shown opened.
const OPENED: usize = 4;

/// A page that a person reads: the verdict of each tensor in a table that can be sorted, then
/// every tensor's measurements, histogram, error along the index and worst slice. Drawings appear
/// for entries that carry one.
#[must_use]
pub fn html(report: &Report, title: &str) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title>\n<style>\n{style}</style></head><body>\n<header><h1>{title}</h1>\
         <dl class=\"sides\"><dt>Candidate</dt><dd><code>{candidate}</code></dd>\
         <dt>Reference</dt><dd><code>{reference}</code></dd></dl>\n<p class=\"summary\">{summary}</p>\
         </header><main>\n",
        title = escape(title),
        style = include_str!("style.css"),
        candidate = escape(&report.candidate),
        reference = escape(&report.reference),
        summary = summary(report),
    );
    if !report.tensors.is_empty() {
        table(&mut page, report);
    }
    names(&mut page, "Only in the reference", &report.missing);
    names(&mut page, "Only in the candidate", &report.extra);
    if !report.tensors.is_empty() {
        page.push_str("<h2>Tensors</h2>\n");
        for (index, entry) in report.tensors.iter().enumerate() {
            let opened = report.tensors.len() <= OPENED || entry.failed && index < OPENED;
            section(&mut page, index, entry, opened);
        }
    }
    let _ = write!(
        page,
        "</main>\n<script>\n{}</script></body></html>\n",
        include_str!("script.js")
    );
    page
}

fn summary(report: &Report) -> String {
    let failed = report.tensors.iter().filter(|entry| entry.failed).count();
    let unmatched = report.missing.len() + report.extra.len();
    let (class, word) = if failed > 0 {
        ("bad", "differ")
    } else {
        ("good", "agree")
    };
    let count = if failed > 0 {
        failed
    } else {
        report.tensors.len()
    };
    let mut text = format!(
        "<span class=\"verdict {class}\">{}</span> {count} of {} tensors {}",
        word,
        report.tensors.len(),
        if failed > 0 { "do not pass" } else { "pass" },
    );
    if unmatched > 0 {
        let _ = write!(text, "; {unmatched} on one side only");
    }
    text
}

fn names(page: &mut String, heading: &str, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let _ = write!(page, "<h2>{heading}</h2><p class=\"names\">");
    let names: Vec<String> = names
        .iter()
        .map(|name| format!("<code>{}</code>", escape(name)))
        .collect();
    let _ = writeln!(page, "{}</p>", names.join(", "));
}

/// The facts' labels that any entry has, in the order of their first appearance.
fn fact_labels(report: &Report) -> Vec<&str> {
    let mut labels: Vec<&str> = Vec::new();
    for (label, _) in report.tensors.iter().flat_map(|entry| &entry.facts) {
        if !labels.contains(&label.as_str()) {
            labels.push(label);
        }
    }
    labels
}

fn table(page: &mut String, report: &Report) {
    let labels = fact_labels(report);
    page.push_str("<h2>Overview</h2><div class=\"scroll\"><table class=\"sortable\"><thead><tr>");
    let header = |page: &mut String, text: &str, class: &str| {
        let _ = write!(
            page,
            "<th scope=\"col\"{class}><button type=\"button\">{}</button></th>",
            escape(text)
        );
    };
    header(page, "#", " class=\"number\"");
    header(page, "Tensor", "");
    for label in &labels {
        header(page, label, "");
    }
    header(page, "Verdict", "");
    header(page, "Elements", " class=\"number\"");
    header(page, "Types", "");
    for text in [
        "Max error",
        "Max ULP",
        "Relative L2",
        "Cosine",
        "Outside",
        "Non-finite",
    ] {
        header(page, text, " class=\"number\"");
    }
    page.push_str("</tr></thead><tbody>\n");
    for (index, entry) in report.tensors.iter().enumerate() {
        let _ = write!(
            page,
            "<tr><td class=\"number\" data-value=\"{index}\">{}</td>\
             <th scope=\"row\"><a href=\"#tensor-{index}\">{}</a></th>",
            index + 1,
            // Long names are best broken between their parts.
            escape(&entry.name).replace('.', ".<wbr>")
        );
        for label in &labels {
            let fact = entry.facts.iter().find(|(found, _)| found == label);
            let _ = write!(
                page,
                "<td>{}</td>",
                fact.map_or(String::new(), |(_, text)| escape(text))
            );
        }
        let _ = write!(
            page,
            "<td data-value=\"{}\">{}</td>",
            entry.verdict as u8,
            verdict(entry)
        );
        match &entry.comparison {
            Some(comparison) => measured_cells(page, comparison),
            None => {
                let reason = entry.reason.as_deref().unwrap_or_default();
                let _ = write!(page, "<td colspan=\"8\">{}</td>", escape(reason));
            }
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

fn measured_cells(page: &mut String, comparison: &OutputComparison) {
    let finite = comparison.finite.as_ref();
    let mut number = |value: Option<f64>, text: String| {
        let value = value.map_or(String::new(), |value| value.to_string());
        let _ = write!(
            page,
            "<td class=\"number\" data-value=\"{value}\">{text}</td>"
        );
    };
    number(
        Some(comparison.element_count as f64),
        grouped(comparison.element_count),
    );
    let _ = write!(page, "<td class=\"types\">{}</td>", types(comparison));
    let mut number = |value: Option<f64>, text: fn(f64) -> String| {
        let (value, text) = value.map_or_else(
            || (String::new(), "—".to_owned()),
            |value| (value.to_string(), text(value)),
        );
        let _ = write!(
            page,
            "<td class=\"number\" data-value=\"{value}\">{text}</td>"
        );
    };
    number(finite.map(|finite| finite.max_absolute_error), short);
    number(finite.and_then(|finite| finite.max_ulp_error), short);
    number(finite.and_then(|finite| finite.relative_l2_error), short);
    number(
        finite.and_then(|finite| finite.cosine_similarity),
        |cosine| format!("{cosine:.7}"),
    );
    number(offending(comparison).map(|count| count as f64), |count| {
        grouped(count as u64)
    });
    let nonfinite = comparison
        .nonfinite
        .as_ref()
        .map(|counts| counts.differing_count as f64);
    number(nonfinite, |count| grouped(count as u64));
}

/// Elements beyond the tolerance, or unequal integers.
fn offending(comparison: &OutputComparison) -> Option<u64> {
    let finite = comparison.finite.as_ref();
    comparison
        .mismatch_count
        .or_else(|| finite.and_then(|finite| finite.outside_tolerance_count))
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

fn verdict(entry: &ReportEntry) -> String {
    let class = match (entry.failed, entry.verdict) {
        (true, _) => "bad",
        (false, Verdict::Equal | Verdict::Within) => "good",
        (false, _) => "mild",
    };
    format!("<span class=\"verdict {class}\">{}</span>", entry.verdict)
}

fn section(page: &mut String, index: usize, entry: &ReportEntry, opened: bool) {
    let _ = write!(
        page,
        "<details class=\"tensor\" id=\"tensor-{index}\"{}><summary><span class=\"name\">{}</span>{}",
        if opened { " open" } else { "" },
        escape(&entry.name),
        verdict(entry)
    );
    if let Some(comparison) = &entry.comparison {
        let dims: Vec<String> = comparison.dims.iter().map(u64::to_string).collect();
        let _ = write!(
            page,
            "<span class=\"shape\">{} [{}]</span>",
            types(comparison),
            dims.join(", ")
        );
    }
    page.push_str("</summary><div class=\"body\">");
    if let Some(reason) = &entry.reason {
        let _ = write!(page, "<p>{}</p>", escape(reason));
    }
    if !entry.facts.is_empty() {
        page.push_str("<dl class=\"measures\">");
        for (label, text) in &entry.facts {
            measure(page, label, text);
        }
        page.push_str("</dl>");
    }
    if let Some(comparison) = &entry.comparison {
        measures(page, comparison);
        located(page, comparison);
        page.push_str("<div class=\"plots\">");
        if let Some(finite) = &comparison.finite {
            page.push_str(&plots::histogram(finite));
        }
        if let Some(drawing) = &entry.drawing {
            page.push_str(&plots::profile(drawing));
            if let Some(slice) = &drawing.slice {
                page.push_str(&plots::heat_map(slice));
            }
        }
        page.push_str("</div>");
    }
    page.push_str("</div></details>\n");
}

fn measure(page: &mut String, label: &str, text: &str) {
    let _ = write!(
        page,
        "<div><dt>{}</dt><dd class=\"number\">{}</dd></div>",
        escape(label),
        escape(text)
    );
}

fn measures(page: &mut String, comparison: &OutputComparison) {
    page.push_str("<dl class=\"measures\">");
    let share = |count: u64| {
        let percent = 100.0 * count as f64 / comparison.element_count as f64;
        if count == 0 {
            "none".to_owned()
        } else {
            format!("{} ({}%)", grouped(count), short(percent))
        }
    };
    if let Some(tolerance) = comparison.tolerance {
        let text = format!(
            "{} + {} · |r|",
            short(tolerance.absolute()),
            short(tolerance.relative())
        );
        measure(page, "Tolerance", &text);
    }
    if let Some(count) = comparison.mismatch_count {
        measure(page, "Mismatches", &share(count));
    }
    if let Some(finite) = &comparison.finite {
        let optional = |value: Option<f64>| value.map_or_else(|| "—".to_owned(), short);
        if let Some(count) = finite.outside_tolerance_count {
            measure(page, "Outside the tolerance", &share(count));
        }
        measure(
            page,
            "Max absolute error",
            &short(finite.max_absolute_error),
        );
        if let Some(ulps) = finite.max_ulp_error {
            let unit = format!("Max error in ULPs of {}", comparison.candidate_element);
            measure(page, &unit, &short(ulps));
        }
        measure(
            page,
            "Relative L2 error",
            &optional(finite.relative_l2_error),
        );
        let cosine = finite.cosine_similarity;
        measure(
            page,
            "Cosine similarity",
            &cosine.map_or_else(|| "—".to_owned(), |c| format!("{c:.9}")),
        );
        measure(page, "Mean error (bias)", &short(finite.mean_error));
        measure(
            page,
            "Mean absolute error",
            &short(finite.mean_absolute_error),
        );
        measure(page, "RMS error", &short(finite.rms_error));
        if let Some(decibels) = finite.signal_to_noise_db {
            measure(page, "Signal to noise", &format!("{decibels:.1} dB"));
        }
        for quantile in &finite.quantiles {
            let label = format!("{}% of errors at most", 100.0 * quantile.fraction);
            measure(page, &label, &short(quantile.error));
        }
    }
    if let Some(counts) = &comparison.nonfinite
        && comparison.candidate_nonfinite_count + comparison.reference_nonfinite_count > 0
    {
        measure(
            page,
            "Non-finite in the candidate",
            &share(comparison.candidate_nonfinite_count),
        );
        measure(
            page,
            "Non-finite in the reference",
            &share(comparison.reference_nonfinite_count),
        );
        measure(page, "NaN on both sides", &share(counts.both_nan_count));
        measure(page, "Same infinity", &share(counts.same_infinity_count));
        measure(
            page,
            "Non-finite and different",
            &share(counts.differing_count),
        );
    }
    page.push_str("</dl>");
}

fn located(page: &mut String, comparison: &OutputComparison) {
    let finite = comparison.finite.as_ref();
    let rows: [(&str, Option<&Located>); 4] = [
        (
            "Worst absolute",
            finite.and_then(|finite| finite.worst_absolute.as_ref()),
        ),
        (
            "Worst relative",
            finite.and_then(|finite| finite.worst_relative.as_ref()),
        ),
        ("First offending", comparison.first_offending.as_ref()),
        (
            "First non-finite and different",
            comparison
                .nonfinite
                .as_ref()
                .and_then(|counts| counts.first_differing.as_ref()),
        ),
    ];
    if rows.iter().all(|(_, at)| at.is_none()) {
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Element</th>\
         <th scope=\"col\">Position</th><th scope=\"col\" class=\"number\">Candidate</th>\
         <th scope=\"col\" class=\"number\">Reference</th><th scope=\"col\" class=\"number\">Error</th>\
         <th scope=\"col\" class=\"number\">Relative</th></tr></thead><tbody>",
    );
    for (label, at) in rows {
        let Some(at) = at else { continue };
        let position: Vec<String> = at.position.iter().map(u64::to_string).collect();
        let _ = write!(
            page,
            "<tr><th scope=\"row\">{label}</th><td>[{}]</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            position.join(", "),
            at.candidate,
            at.reference,
            short(at.error),
            at.relative_error.map_or_else(|| "—".to_owned(), short),
        );
    }
    page.push_str("</tbody></table></div>");
}
