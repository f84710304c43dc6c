//! Comparison of two mapped `.npy` files beside the Python original, and beside the least that
//! can be done with them: summing all their bytes as 64-bit words on two threads.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::measure::{self, Contestant, Sample, in_turn, run_self_timed};
use super::report::{Report, Row};
use crate::python::Venv;
use crate::{release, workspace};

/// Arguments of `cargo xtask bench compare`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How often each case is measured on either side
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Elements in each file
    #[arg(long, default_value_t = 100_000_000)]
    elements: u64,
}

const VENV: Venv = Venv {
    name: "compare",
    requirements: &["numpy"],
    alone: &["tensoracle==1.3.0"],
};

/// Our time over the original's, and over that of the sum.
const AT_MOST_ORIGINAL: f64 = 1.0 / 40.0;
const AT_MOST_SUM: f64 = 3.0;

/// Memory that is not the files', in MiB.
const MEMORY_PROMISE: f64 = 32.0;

const CASES: [(&str, &str); 2] = [
    ("float32 against float32", "candidate.npy"),
    ("float16 against float32", "rounded.npy"),
];

/// `cargo xtask bench compare`.
pub(crate) fn run(args: &Args) -> Result<Report> {
    let timing = release::example("tensoracle-compare", "compare_timing")?;
    let python = VENV.python()?;
    let script = workspace::scripts().join("time_compare_outputs.py");
    let folder = workspace::target().join(format!("bench/compare-{}", args.elements));
    let reference = folder.join("reference.npy");
    // Written last, so its presence says that all are there.
    if !folder.join("rounded.npy").exists() {
        eprintln!("writing files to {}", workspace::shown(&folder));
        measure::run(
            Command::new(&timing)
                .arg("make")
                .arg(&folder)
                .arg(args.elements.to_string()),
        )?;
    }
    let mut rows = Vec::new();
    for (case, file) in CASES {
        let candidate = folder.join(file);
        for path in [&candidate, &reference] {
            warm(path)?;
        }
        eprintln!("measuring {case}, {} rounds", args.rounds);
        let command = |program: &Path, words: &[&Path]| {
            let mut command = Command::new(program);
            command.args(words).arg(&candidate).arg(&reference);
            command
        };
        let ours: Contestant<'_> =
            Box::new(|| run_watched(&mut command(&timing, &[Path::new("compare")])));
        let sum: Contestant<'_> =
            Box::new(|| run_self_timed(&mut command(&timing, &[Path::new("sum")])));
        let original: Contestant<'_> =
            Box::new(|| run_self_timed(&mut command(&python, &[&script])));
        let samples = in_turn(args.rounds.into(), &mut [ours, sum, original])
            .with_context(|| format!("cannot measure {case}"))?;
        let sum = "sum as u64, two threads";
        rows.push(Row::new(
            case,
            samples[0],
            sum,
            samples[1],
            Some(AT_MOST_SUM),
        ));
        let original = "tensoracle 1.3.0 (Python)";
        rows.push(Row::new(
            case,
            samples[0],
            original,
            samples[2],
            Some(AT_MOST_ORIGINAL),
        ));
    }
    let most = rows
        .iter()
        .filter_map(|row| row.ours_peak_mib)
        .fold(0.0, f64::max);
    let kept = if most <= MEMORY_PROMISE {
        "kept"
    } else {
        "MISSED"
    };
    let notes = vec![
        format!(
            "{} elements in each file, in the page cache; every run maps them anew",
            args.elements
        ),
        format!(
            "our peak is the memory that no file is behind, {most:.1} MiB (promised at most \
             {MEMORY_PROMISE}, {kept}); the peers' peaks count mapped pages"
        ),
        "ours measures all that the original does and quantiles, histogram, units in the last \
         place, worst and first elements besides"
            .to_owned(),
    ];
    Ok(Report::new(rows, notes))
}

/// Like `run_self_timed`, with the peak that the program says it had.
fn run_watched(command: &mut Command) -> Result<Sample> {
    #[derive(Deserialize)]
    struct Watched {
        median_s: f64,
        anonymous_mib: f64,
    }
    let finished = measure::run(command)?;
    let watched: Watched =
        serde_json::from_slice(&finished.stdout).context("the program printed no measurements")?;
    Ok(Sample {
        seconds: watched.median_s,
        peak_mib: Some(watched.anonymous_mib),
    })
}

fn warm(path: &Path) -> Result<()> {
    std::io::copy(&mut std::fs::File::open(path)?, &mut std::io::sink())?;
    Ok(())
}
