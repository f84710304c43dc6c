//! `detect`: the speech in a user's recording.

use std::path::PathBuf;

use anyhow::Result;
use console::Term;
use tensoracle::{CpuBackend, OpenOptions, Weights};
use tensoracle_example_speech::{Detector, open, read_audio, segments};
use tensoracle_example_terminal::Bars;

use crate::timeline::Timeline;

/// Find the speech in a recording: one line for each stretch, from and to in seconds
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The recording: a mono WAV file of 16 kHz, or raw 16-bit samples of that rate
    recording: PathBuf,
    /// The model: silero_vad_16k.safetensors
    #[arg(long)]
    weights: PathBuf,
    /// The probability above which there is speech
    #[arg(long, default_value_t = crate::THRESHOLD)]
    threshold: f32,
    /// Print one JSON object with the segments and the probability of each 32 ms
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let samples = read_audio(&args.recording)?;
    let bars = Bars::default();
    let options = OpenOptions::named("silero-vad").progress(&bars);
    let engine = open(&CpuBackend::new(), &Weights::open(&args.weights)?, options)?;
    let probabilities = Detector::new(&engine)?.push_all(&samples)?;
    let segments = segments(&probabilities, args.threshold);
    if args.json {
        let all = serde_json::json!({"segments": segments, "probabilities": probabilities});
        println!("{all}");
        return Ok(true);
    }
    if Term::stdout().is_term() {
        println!("{}\n", Timeline::new(&probabilities, &segments));
    }
    for segment in segments {
        println!("{:.3}\t{:.3}", segment.start, segment.end);
    }
    Ok(true)
}
