//! `tensoracle convert` beside copying the file and syncing the copy, and, when asked, beside the
//! Python original with torch.
//!
//! The checkpoints are written by `python/large_checkpoints.py`, without torch. Sources are read
//! once before each run, so that none is measured reading a cold disk, and outputs are removed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::measure::{self, Contestant, Sample, in_turn};
use super::report::{Report, Row};
use crate::python::{SYSTEM, Venv};
use crate::{release, workspace};

/// Arguments of `cargo xtask bench convert`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How often each case is measured on either side
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Measure the Python original, too, which installs torch (5 GB)
    #[arg(long)]
    torch: bool,
}

/// PyTorch and the Python original.
pub(super) const VENV: Venv = Venv {
    name: "convert",
    requirements: &["torch==2.15.0", "numpy", "safetensors==0.8.0"],
    alone: &["tensoracle==1.3.0"],
};

/// The promise on memory that does not belong to the mapped source.
const MOST_BEYOND_MAPPING_MIB: f64 = 64.0;

/// A checkpoint to convert.
struct Case {
    name: &'static str,
    file: &'static str,
    tensors: u32,
    /// Elements of each, 4 bytes apiece.
    elements: u32,
    /// The promised ratio to copying and syncing.
    at_most_copy: f64,
    /// The promised ratio to the original.
    at_most_original: Option<f64>,
}

const CASES: [Case; 2] = [
    Case {
        name: "1 GiB in 16 tensors",
        file: "large.pt",
        tensors: 16,
        elements: 1 << 24,
        at_most_copy: 1.3,
        at_most_original: Some(0.2),
    },
    Case {
        name: "20000 tensors of 16 KiB",
        file: "many.pt",
        tensors: 20_000,
        elements: 1 << 12,
        at_most_copy: 2.0,
        at_most_original: None,
    },
];

/// `cargo xtask bench convert`.
pub(crate) fn run(args: &Args) -> Result<Report> {
    let folder = workspace::target().join("bench/convert");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let program = release::program_named("tensoracle-cli", "tensoracle")?;
    let python = args.torch.then(|| VENV.python()).transpose()?;
    let mut rows = Vec::new();
    let mut notes = vec![
        "whole processes, the source in the page cache; ours and the copy are synced to disk, the \
         original syncs nothing"
            .to_owned(),
    ];
    for case in &CASES {
        let source = folder.join(case.file);
        write_checkpoint(case, &source)?;
        eprintln!("measuring {}, {} rounds", case.name, args.rounds);
        let output = folder.join("out");
        let ours: Contestant<'_> = Box::new(|| {
            measured(
                &source,
                &output,
                Command::new(&program)
                    .args(["convert", "--quiet"])
                    .args([&source, &output]),
            )
        });
        let copy: Contestant<'_> = Box::new(|| {
            measured(
                &source,
                &output,
                Command::new("sh")
                    .args(["-c", "cp -- \"$1\" \"$2\" && sync -- \"$2\"", "sh"])
                    .args([&source, &output]),
            )
        });
        let mut contestants = vec![ours, copy];
        if let Some(python) = &python {
            let (source, output) = (&source, &output);
            contestants.push(Box::new(move || {
                measured(
                    source,
                    output,
                    Command::new(python)
                        .args(["-m", "tensoracle.convert"])
                        .args([source, output]),
                )
            }));
        }
        let samples = in_turn(args.rounds.into(), &mut contestants)
            .with_context(|| format!("cannot measure {}", case.name))?;
        drop(contestants);
        rows.push(Row::new(
            case.name,
            samples[0],
            "cp+sync",
            samples[1],
            Some(case.at_most_copy),
        ));
        if let Some(original) = samples.get(2) {
            rows.push(Row::new(
                case.name,
                samples[0],
                "tensoracle 1.3.0 with torch 2.15.0",
                *original,
                case.at_most_original,
            ));
        }
        notes.push(memory_note(case, &source, samples[0])?);
        remove(&output)?;
    }
    Ok(Report::new(rows, notes))
}

/// Runs a converter or a copy, with its source read and its output gone.
fn measured(source: &Path, output: &Path, command: &mut Command) -> Result<Sample> {
    remove(output)?;
    // What earlier runs left to write would be written during this one.
    let status = Command::new("sync").status().context("cannot run sync")?;
    ensure!(status.success(), "sync failed ({status})");
    let mut file = std::fs::File::open(source)?;
    std::io::copy(&mut file, &mut std::io::sink())?;
    Ok(measure::run(command)?.sample)
}

/// How much memory ours took besides the pages of the source.
fn memory_note(case: &Case, source: &Path, ours: Sample) -> Result<String> {
    let mapped = std::fs::metadata(source)?.len() as f64 / f64::from(1 << 20);
    Ok(match ours.peak_mib {
        Some(peak) => {
            let beyond = (peak - mapped).max(0.0);
            let verdict = if beyond < MOST_BEYOND_MAPPING_MIB {
                "kept"
            } else {
                "MISSED"
            };
            format!(
                "{}: our peak is {beyond:.0} MiB beyond the mapped source (< \
                 {MOST_BEYOND_MAPPING_MIB} MiB, {verdict})",
                case.name
            )
        }
        None => format!("{}: our peak was not measured", case.name),
    })
}

fn write_checkpoint(case: &Case, path: &PathBuf) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    eprintln!("writing {}", workspace::shown(path));
    let status = Command::new(SYSTEM)
        .arg(workspace::scripts().join("large_checkpoints.py"))
        .arg(path)
        .args([case.tensors, case.elements].map(|number| number.to_string()))
        .stdout(Stdio::from(std::io::stderr()))
        .status()?;
    ensure!(
        status.success(),
        "writing {} failed ({status})",
        path.display()
    );
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
