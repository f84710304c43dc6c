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

use commands::{cache, compare, convert, export_triton, graph, inspect, run};
use terminal::Terminal;

/// Build, save, inspect and run engines from graphs over safetensors weights.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Show no progress and no notes
    #[arg(long, short, global = true, display_order = 100)]
    quiet: bool,
    /// Tell more about what is being done; twice for all of it
    #[arg(long, short, global = true, action = clap::ArgAction::Count, display_order = 101)]
    verbose: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List, clean up, verify and move saved engines
    Cache(cache::Arguments),
    /// Compare two files of tensors: what differs, by how much, where
    Compare(compare::Arguments),
    /// Convert a PyTorch checkpoint to safetensors, without torch
    Convert(convert::Arguments),
    /// Export a saved TensorRT engine to a Triton model repository
    ExportTriton(export_triton::Arguments),
    /// Print or draw an exported graph, or a saved engine's
    Graph(graph::Arguments),
    /// Say what a file is: a saved engine, a TensorRT plan, a wrapped plan
    Inspect(inspect::Arguments),
    /// Run a saved engine on tensors from files
    Run(run::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    terminal::log(arguments.verbose);
    let terminal = Terminal::new(arguments.quiet);
    let result = match arguments.command {
        Command::Cache(arguments) => cache::run(arguments, &terminal),
        Command::Compare(arguments) => Ok(compare::run(&arguments, &terminal)),
        Command::Convert(arguments) => convert::run(arguments, &terminal),
        Command::ExportTriton(arguments) => export_triton::run(arguments, &terminal),
        Command::Graph(arguments) => graph::run(arguments, &terminal),
        Command::Inspect(arguments) => inspect::run(arguments, &terminal),
        Command::Run(arguments) => run::run(arguments, &terminal),
    };
    result.unwrap_or_else(|error| {
        terminal.error(&error);
        ExitCode::FAILURE
    })
}
