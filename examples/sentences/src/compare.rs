//! `compare`: the user's own sentences.

use std::path::PathBuf;

use anyhow::Result;
use tensoracle::{CpuBackend, OpenOptions, Weights};
use tensoracle_example_sentences::{Embedder, open};
use tensoracle_example_terminal::Bars;

use crate::matrix::Matrix;

/// Print how close in meaning sentences are: 1 for the same, about 0 for unrelated ones
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The sentences, each in quotation marks
    #[arg(required = true)]
    sentences: Vec<String>,
    /// The model: model.safetensors
    #[arg(long)]
    weights: PathBuf,
    /// The model's tokenizer.json
    #[arg(long)]
    tokenizer: PathBuf,
    /// Print one JSON object with the sentences, their embeddings and similarities
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let bars = Bars::default();
    let options = OpenOptions::named(crate::NAME).progress(&bars);
    let engine = open(&CpuBackend::new(), &Weights::open(&args.weights)?, options)?;
    let embeddings = Embedder::new(&engine, &args.tokenizer)?.embed(&args.sentences)?;
    let matrix = Matrix::new(&args.sentences, &embeddings);
    if args.json {
        let all = serde_json::json!({
            "sentences": args.sentences,
            "embeddings": embeddings,
            "similarity": matrix.similarity(),
        });
        println!("{all}");
    } else {
        println!("{matrix}");
    }
    Ok(true)
}
