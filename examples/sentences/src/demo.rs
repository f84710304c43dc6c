//! `demo`: the golden's sentences, compared, and held against the golden's embeddings.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use console::style;
use serde::Serialize;
use tensoracle::{CpuBackend, Mode, OpenOptions, Weights};
use tensoracle_example_sentences::{Embedder, open};
use tensoracle_example_terminal::{Bars, Golden, ModeArgument, Opening};

use crate::matrix::Matrix;
use crate::report::{self, Precision, ReportFile};

/// Print how close in meaning some sentences are, and compare with the right answer
///
/// The exit status is 0 when all embeddings agree with the golden file's, 1 when they do not; with
/// `--report` it is 0 when no layer made a NaN or infinity that does not belong there, else 1.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The model: model.safetensors
    #[arg(long)]
    pub(crate) weights: PathBuf,
    /// The model's tokenizer.json
    #[arg(long)]
    pub(crate) tokenizer: PathBuf,
    /// The sentences and the right answer
    #[arg(long)]
    pub(crate) golden: PathBuf,
    /// How exactly to compute
    #[arg(long, value_enum, default_value_t = ModeArgument::Fast)]
    mode: ModeArgument,
    /// Write what each layer loses, as a page (.html) or as .json, and print the worst
    #[arg(long, value_name = "FILE", conflicts_with = "mode", value_parser = ReportFile::parse)]
    report: Option<ReportFile>,
    /// What the model that is reported on computes in
    #[arg(long, value_enum, default_value_t = Precision::Float, requires = "report")]
    precision: Precision,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Most that an embedding's numbers may differ; 32-bit floating point leaves 1.4e-7.
const TOLERANCE: f64 = 1e-6;

/// The golden's first two sentences mean nearly the same: their similarity, and what it may differ.
const PAIR: f64 = 0.689;
const PAIR_TOLERANCE: f64 = 1e-3;

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    opening: Opening,
    mode: &'static str,
    /// All sentences, from text to embeddings.
    run_ms: f64,
    sentences: usize,
    pair_cosine: f64,
    max_abs_error: f64,
    tolerance: f64,
    agrees: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let golden = Golden::open(&args.golden)?;
    let sentences: Vec<String> = serde_json::from_str(golden.text("sentences")?)
        .context("the golden file's sentences are not a list")?;
    if let Some(file) = &args.report {
        return report::run(args, file, args.precision, &golden, &sentences);
    }

    let mode = Mode::from(args.mode);
    let bars = Bars::default();
    let started = Instant::now();
    let weights = Weights::open(&args.weights)?;
    let options = OpenOptions::named(crate::NAME).progress(&bars);
    let engine = open(&CpuBackend::new().mode(mode), &weights, options)?;
    let opening = Opening::new(&engine, started.elapsed());

    let mut embedder = Embedder::new(&engine, &args.tokenizer)?;
    let started = Instant::now();
    let embeddings = embedder.embed(&sentences)?;
    let run_ms = started.elapsed().as_secs_f64() * 1e3;

    let matrix = Matrix::new(&sentences, &embeddings);
    let pair = matrix.similarity().first().and_then(|row| row.get(1));
    let pair_cosine = *pair.context("the golden file has fewer than two sentences")?;
    let max_abs_error = golden.max_abs_error("embeddings_f64", &embeddings.concat())?;
    let report = Report {
        opening,
        mode: mode.name(),
        run_ms,
        sentences: sentences.len(),
        pair_cosine,
        max_abs_error,
        tolerance: TOLERANCE,
        agrees: max_abs_error <= TOLERANCE && (pair_cosine - PAIR).abs() <= PAIR_TOLERANCE,
    };
    if args.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        report.print(&matrix);
    }
    Ok(report.agrees)
}

impl Report {
    fn print(&self, matrix: &Matrix<'_>) {
        let label = |label: &str| style(format!("{label:<9}")).dim();
        println!("{}", style("MiniLM: which sentences mean the same?").bold());
        println!();
        println!("{}{}", label("engine"), self.opening);
        println!(
            "{}{:.1} ms for {} sentences: {:.1} ms each",
            label("run"),
            self.run_ms,
            self.sentences,
            self.run_ms / self.sentences as f64,
        );
        println!();
        println!("{matrix}");
        println!();
        println!(
            "{}sentences 1 and 2: {:.4}",
            label("pair"),
            self.pair_cosine
        );
        let verdict = match self.agrees {
            true => style("agrees").green(),
            false => style("DIFFERS").red().bold(),
        };
        println!(
            "{}{verdict} with the golden: largest difference {:.1e}, {:.0e} allowed",
            label("check"),
            self.max_abs_error,
            self.tolerance
        );
    }
}
