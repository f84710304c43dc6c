//! The command line: the demonstration, the user's own sentences, and a benchmark. The model itself
//! is in the library beside it.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)] // A command line's output is its purpose.

mod bench;
mod compare;
mod demo;
mod matrix;
mod report;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use tensoracle_example_sentences::EmbedError;
use tensoracle_example_terminal::exit;

/// MiniLM: how close in meaning are sentences?
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Compare(compare::Args),
    Bench(bench::Args),
}

/// The name under which the engine is saved.
const NAME: &str = "minilm-l6";

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Demo(args) => demo::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Bench(args) => bench::run(&args),
    };
    exit(result, |cause| cause.downcast_ref::<EmbedError>()?.hint())
}
