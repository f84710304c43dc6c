//! `cargo xtask bench NAME`: ours beside its peers, measured in one run on one machine.
//!
//! Each benchmark of speed is a module that returns a `Report`; `report` holds its form and draws
//! it, `measure` runs things in turn and takes medians. `precision` measures errors, not time.

mod compare;
mod convert;
mod cpu;
mod measure;
mod precision;
mod report;
mod store;

use std::fmt::Display;

use anyhow::Result;
use serde::Serialize;

use report::Report;

/// Arguments of `cargo xtask bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    name: Name,
    /// Print one JSON object instead of a table
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Name {
    /// Comparison of mapped tensors beside the Python original, and beside summing the bytes
    Compare(compare::Args),
    /// The checkpoint converter beside copying the file, and beside the Python original
    Convert(convert::Args),
    /// The CPU engine beside ONNX Runtime, on the same weights
    Cpu(cpu::Args),
    /// What MiniLM loses in 16 bits: our forecast beside PyTorch's loss
    Precision,
    /// Saved engines and weights beside b3sum and hashlib
    Store(store::Args),
}

/// `cargo xtask bench`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let report: Report = match &args.name {
        Name::Compare(args) => compare::run(args)?,
        Name::Convert(args) => convert::run(args)?,
        Name::Cpu(args) => cpu::run(args)?,
        Name::Precision => return print(&precision::run()?, args.json),
        Name::Store(args) => store::run(args)?,
    };
    print(&report, args.json)
}

fn print(report: &(impl Serialize + Display), json: bool) -> Result<()> {
    if json {
        println!("{}", serde_json::to_string_pretty(report)?);
    } else {
        println!("{report}");
    }
    Ok(())
}
