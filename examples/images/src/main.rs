//! Times EfficientNet-Lite0 on the CPU engine. The model itself is in the library beside it.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)] // A command line's output is its purpose.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};
use tensoracle_cpu::{Input, Mode, Plan};
use tensoracle_example_images::{SIDE, efficientnet_lite0, scale};
use tensoracle_graph::{DataType, Graph};
use tensoracle_weights::Weights;

/// EfficientNet-Lite0 on the CPU engine
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Time one image
    Bench {
        /// The checkpoint as safetensors; `tensoracle convert` makes it from the .pth file
        #[arg(long)]
        weights: PathBuf,
        /// Threads to compute on
        #[arg(long, default_value_t = 1)]
        threads: usize,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

fn main() -> Result<()> {
    let Command::Bench {
        weights,
        threads,
        json,
    } = Cli::parse().command;
    let mut graph = Graph::new();
    efficientnet_lite0(&mut graph, &Weights::open(weights)?)?;
    let mut session = Plan::compile(&graph, Mode::Fast)?
        .session()
        .with_threads(threads)?;
    session.set_input_shapes(&[("image", &[1, 3, SIDE, SIDE])])?;
    // What is on the picture does not matter for the time it takes.
    let pixels: Vec<u8> = (0..3 * SIDE * SIDE).map(|i| (i % 251) as u8).collect();
    let bytes: Vec<u8> = scale(&pixels)
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let input = Input {
        name: "image",
        data_type: DataType::Float,
        bytes: &bytes,
    };
    let timing = tensoracle_example_timing::time(|| session.run(&[input]).map(|_| ()))?;
    if json {
        println!("{}", serde_json::to_string(&timing)?);
    } else {
        println!(
            "{:.2} ms an image on {threads} threads",
            timing.median_s * 1e3
        );
    }
    Ok(())
}
