//! `cargo xtask demo`: fetches a real model, builds the example that runs it, and runs it. What is
//! shown is the example's own doing, and its exit status is passed on.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

use crate::packages::{MINILM, SILERO_VAD};
use crate::{fetch, release, workspace};

/// Arguments of `cargo xtask demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which model to show
    #[arg(value_enum, default_value_t = Model::Speech)]
    model: Model,
    /// Print one JSON object instead of a picture
    #[arg(long)]
    json: bool,
    /// Write what each layer of the sentences' model loses, as a page (.html) or as .json
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// What the model that is reported on computes in: float, half or bfloat16
    #[arg(long, requires = "report")]
    precision: Option<String>,
    /// More arguments for the example, after `--`
    #[arg(last = true)]
    more: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Model {
    /// Silero VAD finds the speech in a recording
    Speech,
    /// MiniLM tells how close in meaning sentences are
    Sentences,
}

/// `cargo xtask demo`.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    ensure!(
        args.report.is_none() || args.model == Model::Sentences,
        "there is a report of the sentences' model only: `cargo xtask demo sentences --report FILE`"
    );
    let (package, inputs) = example(args.model)?;
    let mut command = Command::new(release::program(package)?);
    command.arg("demo");
    for (option, path) in inputs {
        command.arg(option).arg(path);
    }
    if args.json {
        command.arg("--json");
    }
    if let Some(report) = &args.report {
        command.arg("--report").arg(report);
    }
    if let Some(precision) = &args.precision {
        command.args(["--precision", precision]);
    }
    let status = command
        .args(&args.more)
        .status()
        .context("cannot run the example")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// The example's package and what it reads.
fn example(model: Model) -> Result<(&'static str, Vec<(&'static str, PathBuf)>)> {
    let golden = |name: &str| workspace::root().join("tests/data/golden").join(name);
    Ok(match model {
        Model::Speech => (
            "tensoracle-example-speech",
            vec![
                (
                    "--weights",
                    fetch::member(&SILERO_VAD, "silero_vad_16k.safetensors")?,
                ),
                ("--golden", golden("silero_vad.safetensors")),
            ],
        ),
        Model::Sentences => (
            "tensoracle-example-sentences",
            vec![
                ("--weights", fetch::member(&MINILM, "model.safetensors")?),
                ("--tokenizer", fetch::member(&MINILM, "tokenizer.json")?),
                ("--golden", golden("minilm_l6.safetensors")),
            ],
        ),
    })
}
