//! `demo`: the golden's recording, drawn, and held against the golden's probabilities.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use console::style;
use serde::Serialize;
use tensoracle::{CpuBackend, Mode, OpenOptions, Weights};
use tensoracle_example_speech::{Detector, SAMPLE_RATE, Segment, open, segments};
use tensoracle_example_terminal::{Bars, Golden, ModeArgument, Opening};

use crate::timeline::Timeline;

/// Draw when somebody speaks in a recording, and compare with the right answer
///
/// The exit status is 0 when all probabilities agree with the golden file's, 1 when they do not.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The model: silero_vad_16k.safetensors
    #[arg(long)]
    weights: PathBuf,
    /// The recording and the right answer
    #[arg(long)]
    golden: PathBuf,
    /// How exactly to compute
    #[arg(long, value_enum, default_value_t = ModeArgument::Fast)]
    mode: ModeArgument,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Most that probabilities may differ. 32-bit floating point leaves 1e-6 on this recording; the
/// state, which accumulates over all chunks, leaves room for other orders of summation.
const TOLERANCE: f64 = 2e-5;

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    opening: Opening,
    mode: &'static str,
    /// The whole recording.
    run_ms: f64,
    chunks: usize,
    recording_s: f64,
    segments: Vec<Segment>,
    max_abs_error: f64,
    tolerance: f64,
    agrees: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let golden = Golden::open(&args.golden)?;
    let samples: Vec<f32> = golden
        .numbers("pcm_i16")?
        .iter()
        .map(|sample| (sample / 32768.0) as f32)
        .collect();

    let mode = Mode::from(args.mode);
    let bars = Bars::default();
    let started = Instant::now();
    let weights = Weights::open(&args.weights)?;
    let options = OpenOptions::named("silero-vad").progress(&bars);
    let engine = open(&CpuBackend::new().mode(mode), &weights, options)?;
    let opening = Opening::new(&engine, started.elapsed());

    let mut detector = Detector::new(&engine)?;
    let started = Instant::now();
    let probabilities = detector.push_all(&samples)?;
    let run_ms = started.elapsed().as_secs_f64() * 1e3;

    let max_abs_error = golden.max_abs_error("prob_numpy_f64", &probabilities)?;
    let report = Report {
        opening,
        mode: mode.name(),
        run_ms,
        chunks: probabilities.len(),
        recording_s: samples.len() as f64 / f64::from(SAMPLE_RATE),
        segments: segments(&probabilities, crate::THRESHOLD),
        max_abs_error,
        tolerance: TOLERANCE,
        agrees: max_abs_error <= TOLERANCE,
    };
    if args.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        report.print(&probabilities);
    }
    Ok(report.agrees)
}

impl Report {
    fn print(&self, probabilities: &[f32]) {
        let label = |label: &str| style(format!("{label:<9}")).dim();
        println!("{}", style("Silero VAD: when does somebody speak?").bold());
        println!();
        println!("{}{}", label("engine"), self.opening);
        println!(
            "{}{:.1} ms for {:.2} s of sound: {:.0} µs a chunk of 32 ms, {:.0} times as fast as it \
             is spoken",
            label("run"),
            self.run_ms,
            self.recording_s,
            self.run_ms * 1e3 / self.chunks as f64,
            self.recording_s * 1e3 / self.run_ms,
        );
        println!();
        println!("{}", Timeline::new(probabilities, &self.segments));
        println!();
        for segment in &self.segments {
            let (start, end) = (segment.start, segment.end);
            println!("{}{start:.3} s to {end:.3} s", label("speech"));
        }
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
