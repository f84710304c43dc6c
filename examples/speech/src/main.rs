//! The command line: the demonstration, the user's own recordings, and a benchmark. The model
//! itself is in the library beside it.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)] // A command line's output is its purpose.

mod bench;
mod demo;
mod detect;
mod timeline;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use tensoracle_example_speech::AudioError;
use tensoracle_example_terminal::exit;

/// Silero VAD: finds the speech in a recording
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Args),
    Detect(detect::Args),
    Bench(bench::Args),
}

/// Above this probability a chunk is speech.
const THRESHOLD: f32 = 0.5;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Demo(args) => demo::run(&args),
        Command::Detect(args) => detect::run(&args),
        Command::Bench(args) => bench::run(&args),
    };
    exit(result, |cause| cause.downcast_ref::<AudioError>()?.hint())
}
