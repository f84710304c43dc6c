//! The drawings of a page: histogram and error along the index as SVG, the heat map's cells as
//! data that the page's script colours.

use super::text::{escape, grouped};
use crate::number::short;
use crate::{Bin, Drawing, FiniteMeasurements, Slice};
use std::fmt::Write;

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 260.0;
/// The area inside the axes.
const LEFT: f64 = 52.0;
const RIGHT: f64 = WIDTH - 8.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = HEIGHT - 24.0;

/// Height of a heat map in the page's letters.
const HEAT_HEIGHT: u32 = 15;

/// Most bars of a histogram; octaves are joined until they fit.
const BARS: usize = 40;

/// Orders of magnitude below the largest error that are told apart.
const DECADES: f64 = 9.0;

/// A histogram of the errors: bars over powers of two, counts on a logarithmic scale.
pub(super) fn histogram(finite: &FiniteMeasurements) -> String {
    let octaves = finite.histogram.octaves();
    let zero = octaves
        .first()
        .filter(|bin| bin.lower == 0.0)
        .map_or(0, |bin| bin.count);
    let bars = joined(octaves.iter().filter(|bin| bin.lower > 0.0));
    let most = bars
        .iter()
        .map(|bin| bin.count)
        .chain([zero, 1])
        .max()
        .unwrap_or(1) as f64;
    let height = |count: u64| {
        // One element is still a visible bar.
        (BOTTOM - TOP) * (0.04 + 0.96 * (count as f64).log10() / most.log10().max(1.0))
    };
    let mut svg = start(&format!(
        "Histogram of the error of {} elements, from {} to {}",
        grouped(finite.count),
        short(bars.first().map_or(0.0, |bin| bin.lower)),
        short(finite.max_absolute_error),
    ));
    let mut decade = 0;
    while 10f64.powi(decade) <= most {
        let count = 10u64.pow(decade.unsigned_abs());
        let y = BOTTOM - height(count);
        grid_line(&mut svg, y, &power_text(decade, count));
        decade += 1;
    }
    // The elements without an error have a bar of their own, apart from the scale.
    let slots = (bars.len() as f64 + 2.0).max(12.0);
    let slot = (RIGHT - LEFT) / slots;
    if zero > 0 {
        bar(
            &mut svg,
            "zero",
            LEFT,
            slot,
            height(zero),
            &format!("no error: {}", grouped(zero)),
        );
        label(&mut svg, LEFT + slot * 0.5, "0");
    }
    let x_of = |index: f64| LEFT + (index + 1.5) * slot;
    for (index, bin) in bars.iter().enumerate().filter(|(_, bin)| bin.count > 0) {
        let title = format!(
            "{} to {}: {}",
            short(bin.lower),
            short(bin.upper),
            grouped(bin.count)
        );
        bar(
            &mut svg,
            "bar",
            x_of(index as f64),
            slot,
            height(bin.count),
            &title,
        );
    }
    if let (Some(first), Some(last)) = (bars.first(), bars.last()) {
        let scale = bars.len() as f64 / (last.upper.log2() - first.lower.log2());
        let place = |value: f64| x_of((value.log2() - first.lower.log2()) * scale);
        for (exponent, text) in decades(first.lower, last.upper, 6) {
            label(&mut svg, place(10f64.powi(exponent)), &text);
        }
        if let Some(median) = finite.quantiles.first().filter(|q| q.error > 0.0) {
            mark(&mut svg, place(median.error), "median");
        }
    }
    svg.push_str("</svg>");
    figure(
        "Errors by size",
        "How many elements are off by how much, both logarithmic; a bar is a power of two.",
        &svg,
    )
}

/// The largest and the root-mean-square error along the index, on a logarithmic scale.
pub(super) fn profile(drawing: &Drawing) -> String {
    let pieces = &drawing.pieces;
    let highest = pieces.iter().map(|piece| piece.max).fold(0.0, f64::max);
    let positive = pieces
        .iter()
        .flat_map(|piece| [piece.max, piece.rms])
        .filter(|&e| e > 0.0);
    let lowest = positive
        .fold(highest, f64::min)
        .max(highest * 10f64.powf(-DECADES));
    let count = pieces.last().map_or(0, |piece| piece.range.end);
    let mut svg = start(&format!(
        "Error along the index, at most {}",
        short(highest)
    ));
    if highest > 0.0 && highest.is_finite() {
        let (low, high) = (lowest.log10().floor(), highest.log10().ceil());
        let span = (high - low).max(1.0);
        let y_of =
            |error: f64| BOTTOM - (BOTTOM - TOP) * ((error.log10() - low) / span).clamp(0.0, 1.0);
        for (exponent, text) in decades(10f64.powf(low), 10f64.powf(high), 6) {
            grid_line(&mut svg, y_of(10f64.powi(exponent)), &text);
        }
        let x_of = |index: u64| LEFT + (RIGHT - LEFT) * index as f64 / count as f64;
        // Steps: each piece holds its value from its first element to its last.
        let steps = |value: &dyn Fn(&crate::Piece) -> f64| {
            pieces.iter().fold(String::new(), |mut path, piece| {
                let error = value(piece);
                let y = if error > 0.0 { y_of(error) } else { BOTTOM };
                let _ = write!(
                    path,
                    "L{:.1} {y:.1}H{:.1}",
                    x_of(piece.range.start),
                    x_of(piece.range.end)
                );
                path
            })
        };
        let area = steps(&|piece| piece.max);
        let _ = write!(
            svg,
            r#"<path class="area" d="M{LEFT} {BOTTOM}{area}L{RIGHT} {BOTTOM}Z"/>"#
        );
        let line = steps(&|piece| piece.rms);
        let _ = write!(svg, r#"<path class="rms" d="M{LEFT} {BOTTOM}{line}"/>"#);
    }
    for piece in pieces.iter().filter(|piece| piece.nonfinite > 0) {
        let x = LEFT + (RIGHT - LEFT) * piece.range.start as f64 / count as f64;
        let width =
            ((RIGHT - LEFT) * (piece.range.end - piece.range.start) as f64 / count as f64).max(2.0);
        let _ = write!(
            svg,
            r#"<rect class="nonfinite" x="{x:.1}" y="2" width="{width:.1}" height="8"><title>{} not finite on one side</title></rect>"#,
            grouped(piece.nonfinite)
        );
    }
    label(&mut svg, LEFT, "0");
    let _ = write!(
        svg,
        r#"<text x="{RIGHT}" y="{:.1}" text-anchor="end">{}</text>"#,
        HEIGHT - 8.0,
        grouped(count)
    );
    svg.push_str("</svg>");
    let mut caption = "Largest error (area) and root mean square (line) along the row-major \
                       index; logarithmic."
        .to_owned();
    if pieces.iter().any(|piece| piece.nonfinite > 0) {
        caption.push_str(" Red above: not finite on one side.");
    }
    figure("Errors along the index", &caption, &svg)
}

/// The worst slice as a heat map.
pub(super) fn heat_map(slice: &Slice) -> String {
    let finite = || {
        slice
            .cells
            .iter()
            .copied()
            .filter(|cell| cell.is_finite() && *cell > 0.0)
    };
    let high = finite().fold(0.0, f64::max);
    let low = finite()
        .fold(high, f64::min)
        .max(high * 10f64.powf(-DECADES));
    let mut cells = String::with_capacity(slice.cells.len() * 2);
    for &cell in &slice.cells {
        let level = match cell {
            cell if !cell.is_finite() => 255,
            cell if cell <= 0.0 => 0,
            _ if high == low => 254,
            // 1 to 254, as the script reads them.
            cell => 1 + (((cell / low).ln() / (high / low).ln()).clamp(0.0, 1.0) * 253.0) as u8,
        };
        let _ = write!(cells, "{level:02x}");
    }
    let [rows, columns] = slice.dims;
    let title = if slice.position.is_empty() {
        "Errors by place".to_owned()
    } else {
        let outer: Vec<String> = slice.position.iter().map(u64::to_string).collect();
        format!("Errors in the worst slice, [{}, :, :]", outer.join(", "))
    };
    let gathered = if rows > slice.rows as u64 || columns > slice.columns as u64 {
        " A cell shows the largest error of the elements in it."
    } else {
        ""
    };
    let caption = format!(
        "{} rows, {} columns, logarithmic.{gathered}",
        grouped(rows),
        grouped(columns)
    );
    let content = format!(
        r#"<div class="heat"><canvas role="img" aria-label="{label}" width="{w}" height="{h}" style="aspect-ratio:{w}/{h};max-width:calc({HEAT_HEIGHT}rem*{w}/{h})" data-rows="{rows}" data-columns="{columns}" data-low="{low:e}" data-high="{high:e}" data-cells="{cells}"></canvas><div class="scale"><span class="number">{low_text}</span><span class="ramp"></span><span class="number">{high_text}</span></div><p class="readout"></p></div>"#,
        label = escape(&format!(
            "Heat map of the error over {rows} rows and {columns} columns, at most {}",
            short(high)
        )),
        w = slice.columns,
        h = slice.rows,
        low_text = short(low),
        high_text = short(high),
    );
    figure(&title, &caption, &content)
}

/// Joins neighbouring octaves until they fit.
fn joined<'a>(octaves: impl Iterator<Item = &'a Bin>) -> Vec<Bin> {
    let octaves: Vec<Bin> = octaves.copied().collect();
    let step = octaves.len().div_ceil(BARS).max(1);
    octaves
        .chunks(step)
        .filter_map(|run| {
            let (first, last) = (run.first()?, run.last()?);
            // The last run may be short: its bar is as wide as the others.
            let upper = first.lower * 2f64.powi(step as i32);
            Some(Bin {
                lower: first.lower,
                upper: if run.len() == step { last.upper } else { upper },
                count: run.iter().map(|bin| bin.count).sum(),
            })
        })
        .collect()
}

/// The powers of ten in a range, thinned to about `most` labels.
fn decades(low: f64, high: f64, most: i32) -> Vec<(i32, String)> {
    if !(low > 0.0 && high.is_finite()) {
        return Vec::new();
    }
    let (first, last) = (low.log10().ceil() as i32, high.log10().floor() as i32);
    let step = ((last - first) / most + 1).max(1);
    (first..=last)
        .filter(|exponent| exponent.rem_euclid(step) == 0)
        .map(|exponent| {
            let text = match exponent {
                -2..=3 => format!("{}", 10f64.powi(exponent)),
                _ => format!("1e{exponent}"),
            };
            (exponent, text)
        })
        .collect()
}

fn power_text(decade: i32, count: u64) -> String {
    if decade < 4 {
        count.to_string()
    } else {
        format!("1e{decade}")
    }
}

fn start(label: &str) -> String {
    format!(
        r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}"><line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{BOTTOM}" y2="{BOTTOM}"/>"#,
        escape(label)
    )
}

fn grid_line(svg: &mut String, y: f64, text: &str) {
    let _ = write!(
        svg,
        r#"<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1}" y2="{y:.1}"/><text x="{:.1}" y="{:.1}" text-anchor="end">{text}</text>"#,
        LEFT - 6.0,
        y + 4.0
    );
}

fn bar(svg: &mut String, class: &str, x: f64, slot: f64, height: f64, title: &str) {
    let _ = write!(
        svg,
        r#"<rect class="{class}" x="{x:.1}" y="{:.1}" width="{:.1}" height="{height:.1}"><title>{}</title></rect>"#,
        BOTTOM - height,
        slot * 0.9,
        escape(title)
    );
}

fn label(svg: &mut String, x: f64, text: &str) {
    let _ = write!(
        svg,
        r#"<text x="{x:.1}" y="{:.1}" text-anchor="middle">{text}</text>"#,
        HEIGHT - 8.0
    );
}

fn mark(svg: &mut String, x: f64, text: &str) {
    let _ = write!(
        svg,
        r#"<line class="mark" x1="{x:.1}" x2="{x:.1}" y1="{TOP}" y2="{BOTTOM}"/><text x="{x:.1}" y="10" text-anchor="middle">{text}</text>"#
    );
}

fn figure(title: &str, caption: &str, content: &str) -> String {
    format!("<figure><figcaption><strong>{title}</strong>{caption}</figcaption>{content}</figure>")
}
