//! The `tensoracle` command: reads arguments, runs one subcommand, reports errors.
//!
//! Each subcommand is a module in `commands`. Results go to standard output; progress, notes,
//! warnings and errors go to standard error. Exit status: 0 for success, 1 for failure, 2 for
//! wrong usage.

#![forbid(unsafe_code)]

mod commands;
mod size;
mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::{cache, inspect};
use terminal::Terminal;

/// Build, save, inspect and run engines from graphs over safetensors weights.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Show no progress and no notes
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Tell more about what is being done; twice for all of it
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List, clean up, verify and move saved engines
    Cache(cache::Arguments),
    /// Say what a file is: a saved engine, a TensorRT plan, a wrapped plan
    Inspect(inspect::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    terminal::log(arguments.verbose);
    let terminal = Terminal::new(arguments.quiet);
    let result = match arguments.command {
        Command::Cache(arguments) => cache::run(arguments, &terminal),
        Command::Inspect(arguments) => inspect::run(arguments, &terminal),
    };
    result.unwrap_or_else(|error| {
        terminal.error(&error);
        ExitCode::FAILURE
    })
}
