//! Developer tasks: `cargo xtask --help` lists them. Each task is a module of its own; this file
//! only reads the command line.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)] // A command line's output is its purpose.

mod bench;
mod demo;
mod fetch;
mod lock;
mod packages;
mod python;
mod release;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Developer tasks of tensoracle
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Measure ours beside its peers
    Bench(bench::Args),
    /// Run a real model and show what it finds
    Demo(demo::Args),
    /// Download the pinned files that tests, demos and benchmarks read
    Fetch(fetch::Args),
    /// Run all tests, and say which were skipped and why
    Test(test::Args),
    /// Check the rules that the compiler cannot
    Tidy(tidy::Args),
}

fn main() -> ExitCode {
    let done = |()| ExitCode::SUCCESS;
    let result = match Cli::parse().task {
        Task::Bench(args) => bench::run(&args).map(done),
        Task::Demo(args) => demo::run(&args),
        Task::Fetch(args) => fetch::run(&args).map(done),
        Task::Test(args) => test::run(&args).map(done),
        Task::Tidy(args) => tidy::run(&args).map(done),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
