//! `bench`: the time of one chunk.

use std::path::PathBuf;

use anyhow::Result;
use tensoracle::{CpuBackend, OpenOptions, Weights};
use tensoracle_example_speech::{CHUNK, Detector, open};

/// Time one chunk
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The model: silero_vad_16k.safetensors
    #[arg(long)]
    weights: PathBuf,
    /// Threads to compute on
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let backend = CpuBackend::new().threads(args.threads);
    let options = OpenOptions::named("silero-vad");
    let engine = open(&backend, &Weights::open(&args.weights)?, options)?;
    let mut detector = Detector::new(&engine)?;
    // What is heard does not matter for the time it takes.
    let samples: Vec<f32> = (0..CHUNK).map(|i| (i as f32 * 0.2).sin()).collect();
    let timing = tensoracle_example_timing::time(|| detector.push(&samples).map(|_| ()))?;
    if args.json {
        println!("{}", serde_json::to_string(&timing)?);
    } else {
        let (microseconds, threads) = (timing.median_s * 1e6, args.threads);
        println!("{microseconds:.0} µs a chunk of 32 ms (threads: {threads})");
    }
    Ok(true)
}
