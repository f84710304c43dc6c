//! The CPU engine beside ONNX Runtime: the same models over the same weights, each program timing
//! itself, in turn.
//!
//! The peers' graphs are written by `python/onnx_twins.py`, which holds each against the golden
//! outputs. Ours are the example programs, which check themselves against the same goldens.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::measure::{Contestant, in_turn, run_self_timed};
use super::report::{Report, Row};
use crate::packages::{EFFICIENTNET_LITE0, MINILM, SILERO_VAD};
use crate::python::Venv;
use crate::{fetch, release, workspace};

/// Arguments of `cargo xtask bench cpu`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How often each case is measured on either side
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Only the cases whose name contains this
    #[arg(long)]
    only: Option<String>,
}

const VENV: Venv = Venv {
    name: "bench",
    requirements: &[
        "onnxruntime==1.32.0",
        "onnx==1.22.0",
        "numpy",
        "safetensors",
    ],
    alone: &[],
};

/// One model on one input.
struct Case {
    name: &'static str,
    threads: u16,
    /// The package whose program runs ours.
    program: &'static str,
    /// What its `bench` command is told beside weights and threads.
    arguments: &'static [&'static str],
    weights: PathBuf,
    /// The peer's graph and its inputs, by file name.
    twin: &'static str,
    inputs: &'static str,
    /// The promised ratio.
    at_most: Option<f64>,
}

fn cases(twins: &Path) -> Result<Vec<Case>> {
    let minilm = |name, arguments, inputs, at_most| -> Result<Case> {
        Ok(Case {
            name,
            threads: 2,
            program: "tensoracle-example-sentences",
            arguments,
            weights: fetch::member(&MINILM, "model.safetensors")?,
            twin: "minilm_l6.onnx",
            inputs,
            at_most,
        })
    };
    Ok(vec![
        Case {
            name: "Silero VAD, one chunk, 1 thread",
            threads: 1,
            program: "tensoracle-example-speech",
            arguments: &[],
            weights: fetch::member(&SILERO_VAD, "silero_vad_16k.safetensors")?,
            twin: "silero_vad.onnx",
            inputs: "silero_vad.npz",
            at_most: Some(2.0),
        },
        minilm(
            "MiniLM-L6, 8 tokens, 2 threads",
            &["--tokens", "8"],
            "minilm_l6_8.npz",
            None,
        )?,
        minilm(
            "MiniLM-L6, 128 tokens, 2 threads",
            &["--tokens", "128"],
            "minilm_l6_128.npz",
            Some(1.5),
        )?,
        Case {
            name: "EfficientNet-Lite0, 224×224, 2 threads",
            threads: 2,
            program: "tensoracle-example-images",
            arguments: &[],
            weights: twins.join("efficientnet_lite0.safetensors"),
            twin: "efficientnet_lite0.onnx",
            inputs: "efficientnet_lite0.npz",
            at_most: None,
        },
    ])
}

/// `cargo xtask bench cpu`.
pub(crate) fn run(args: &Args) -> Result<Report> {
    fetch::fetch(&[&SILERO_VAD, &MINILM, &EFFICIENTNET_LITE0])?;
    let python = VENV.python()?;
    let twins = workspace::target().join("bench/cpu");
    write_twins(&python, &twins)?;

    let wanted = |case: &Case| {
        args.only
            .as_ref()
            .is_none_or(|only| case.name.contains(only))
    };
    let cases: Vec<_> = cases(&twins)?.into_iter().filter(wanted).collect();
    ensure!(!cases.is_empty(), "no case has {:?} in its name", args.only);
    let mut rows = Vec::new();
    for case in &cases {
        let program = release::program(case.program)?;
        eprintln!("measuring {}, {} rounds", case.name, args.rounds);
        let ours: Contestant<'_> = Box::new(|| {
            let threads = case.threads.to_string();
            run_self_timed(
                Command::new(&program)
                    .args(["bench", "--json", "--threads", &threads, "--weights"])
                    .arg(&case.weights)
                    .args(case.arguments),
            )
        });
        let theirs: Contestant<'_> = Box::new(|| {
            run_self_timed(
                Command::new(&python)
                    .arg(workspace::scripts().join("time_onnxruntime.py"))
                    .args([twins.join(case.twin), twins.join(case.inputs)])
                    .arg(case.threads.to_string()),
            )
        });
        let samples = in_turn(args.rounds.into(), &mut [ours, theirs])
            .with_context(|| format!("cannot measure {}", case.name))?;
        rows.push(Row::new(
            case.name,
            samples[0],
            "ONNX Runtime 1.32.0",
            samples[1],
            case.at_most,
        ));
    }
    let notes = vec![
        "one iteration of a warm session: the median within a run, then the median of the runs, \
         which alternate"
            .to_owned(),
        "peaks are whole processes: ours with the mapped weights, theirs with Python and NumPy"
            .to_owned(),
    ];
    Ok(Report::new(rows, notes))
}

/// Writes the peers' graphs and inputs, and has each graph checked.
fn write_twins(python: &Path, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    eprintln!(
        "writing the ONNX twins to {} and checking them",
        workspace::shown(folder)
    );
    let status = Command::new(python)
        .arg(workspace::scripts().join("onnx_twins.py"))
        .arg(fetch::folder())
        .arg(workspace::root().join("tests/data/golden"))
        .arg(folder)
        .stdout(Stdio::from(std::io::stderr()))
        .status()?;
    ensure!(
        status.success(),
        "an ONNX twin does not do the same job: see the message above"
    );
    Ok(())
}
