//! `bench`: the time of one sentence of a given length.

use std::path::PathBuf;

use anyhow::Result;
use tensoracle::{CpuBackend, HostTensor, OpenOptions, Weights};
use tensoracle_example_sentences::{MAX_TOKENS, VOCABULARY, open};

/// Time one sentence
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The model: model.safetensors
    #[arg(long)]
    weights: PathBuf,
    /// Tokens of the sentence
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u64).range(1..=MAX_TOKENS))]
    tokens: u64,
    /// Threads to compute on
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let backend = CpuBackend::new().threads(args.threads);
    let options = OpenOptions::named(crate::NAME);
    let engine = open(&backend, &Weights::open(&args.weights)?, options)?;
    let mut session = engine.session()?;
    // What is said does not matter for the time it takes.
    let ids: Vec<i64> = (0..args.tokens)
        .map(|i| ((i * 7919) % VOCABULARY) as i64)
        .collect();
    let mask = HostTensor::new([1, args.tokens], vec![1i64; ids.len()])?;
    let ids = HostTensor::new([1, args.tokens], ids)?;
    let inputs = [("input_ids", &ids), ("attention_mask", &mask)];
    let timing = tensoracle_example_timing::time(|| session.run(&inputs).map(|_| ()))?;
    if args.json {
        println!("{}", serde_json::to_string(&timing)?);
    } else {
        let (milliseconds, tokens, threads) = (timing.median_s * 1e3, args.tokens, args.threads);
        println!("{milliseconds:.2} ms a sentence of {tokens} tokens (threads: {threads})");
    }
    Ok(true)
}
