//! What a benchmark found, as a table for people and as JSON for programs.

use std::fmt;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, CellAlignment, Table};
use serde::Serialize;

use super::measure::Sample;

/// The results of one benchmark.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The machine in one line.
    pub(crate) machine: String,
    /// One row for each case and peer.
    pub(crate) rows: Vec<Row>,
    /// What a reader must know to judge the rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// Ours beside one peer in one case.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// What was done.
    pub(crate) case: String,
    /// Our time in seconds.
    pub(crate) ours: f64,
    /// Who did the same job.
    pub(crate) peer: String,
    /// The peer's time in seconds.
    pub(crate) theirs: f64,
    /// Our time divided by the peer's.
    pub(crate) ratio: f64,
    /// The ratio that we promise not to exceed, where we promise one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at_most: Option<f64>,
    /// Our peak memory in MiB, where it was measured.
    pub(crate) ours_peak_mib: Option<f64>,
    /// The peer's peak memory in MiB, where it was measured.
    pub(crate) theirs_peak_mib: Option<f64>,
}

impl Report {
    /// A report of this machine.
    pub(crate) fn new(rows: Vec<Row>, notes: Vec<String>) -> Self {
        Self {
            machine: machine(),
            rows,
            notes,
        }
    }
}

impl Row {
    /// A row of two samples; `at_most` is the promised ratio.
    pub(crate) fn new(
        case: impl Into<String>,
        ours: Sample,
        peer: impl Into<String>,
        theirs: Sample,
        at_most: Option<f64>,
    ) -> Self {
        Self {
            case: case.into(),
            ours: ours.seconds,
            peer: peer.into(),
            theirs: theirs.seconds,
            ratio: ours.seconds / theirs.seconds,
            at_most,
            ours_peak_mib: ours.peak_mib,
            theirs_peak_mib: theirs.peak_mib,
        }
    }

    fn promise(&self) -> String {
        match self.at_most {
            None => String::new(),
            Some(bar) if self.ratio <= bar => format!("≤ {bar}, kept"),
            Some(bar) => format!("≤ {bar}, MISSED"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header([
            "case",
            "ours",
            "peer",
            "theirs",
            "ours/theirs",
            "promise",
            "our peak",
            "their peak",
        ]);
        for row in &self.rows {
            let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
            table.add_row([
                Cell::new(&row.case),
                right(duration(row.ours)),
                Cell::new(&row.peer),
                right(duration(row.theirs)),
                right(format!("{:.2}", row.ratio)),
                Cell::new(row.promise()),
                right(memory(row.ours_peak_mib)),
                right(memory(row.theirs_peak_mib)),
            ]);
        }
        write!(f, "{}\n{table}", self.machine)?;
        for note in &self.notes {
            write!(f, "\n- {note}")?;
        }
        Ok(())
    }
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.1} µs", s * 1e6),
    }
}

fn memory(mib: Option<f64>) -> String {
    mib.map_or_else(String::new, |mib| format!("{mib:.0} MiB"))
}

/// Processor, cores, memory and system, as far as the system tells.
fn machine() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let processor = field(&read("/proc/cpuinfo"), "model name")
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = field(&read("/proc/meminfo"), "MemTotal")
        .and_then(|total| total.trim_end_matches(" kB").parse::<f64>().ok())
        .map_or_else(String::new, |kib| {
            format!(", {:.0} GiB", kib / f64::from(1 << 20))
        });
    let release = read("/proc/sys/kernel/osrelease");
    format!(
        "{processor}, {cores} cores{memory}, {} {}",
        std::env::consts::OS,
        release.trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let sample = |seconds, peak_mib| Sample { seconds, peak_mib };
        let rows = vec![
            Row::new(
                "a",
                sample(0.003, Some(12.4)),
                "p",
                sample(0.002, Some(99.6)),
                Some(1.5),
            ),
            Row::new(
                "b",
                sample(2.0, None),
                "q",
                sample(0.000_5, None),
                Some(3.0),
            ),
            Row::new("c", sample(1.0, None), "q", sample(1.0, None), None),
        ];
        Report {
            machine: "a machine".into(),
            rows,
            notes: vec!["a note".into()],
        }
    }

    #[test]
    fn the_json_has_the_promised_keys() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(json["machine"], "a machine");
        assert_eq!(
            json["rows"][0],
            serde_json::json!({
                "case": "a", "ours": 0.003, "peer": "p", "theirs": 0.002, "ratio": 1.5,
                "at_most": 1.5, "ours_peak_mib": 12.4, "theirs_peak_mib": 99.6,
            })
        );
        let absent = &json["rows"][2];
        assert!(absent["ours_peak_mib"].is_null() && absent.get("at_most").is_none());
    }

    #[test]
    fn the_table_shows_units_and_broken_promises() {
        let text = report().to_string();
        for expected in [
            "3.00 ms",
            "500.0 µs",
            "2.00 s",
            "12 MiB",
            "1.50",
            "- a note",
        ] {
            assert!(text.contains(expected), "no {expected} in\n{text}");
        }
        assert!(
            text.contains("≤ 1.5, kept") && text.contains("≤ 3, MISSED"),
            "{text}"
        );
    }

    #[test]
    fn the_machine_is_described() {
        assert!(machine().contains("cores"), "{}", machine());
    }
}
