//! `tensoracle convert`: a PyTorch checkpoint to safetensors.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::json;
use tensoracle_checkpoint::{CastTo, Entry, Listing, Options, Summary, convert, inspect};
use tensoracle_progress::Progress as _;

use crate::size::{parse_any_size, size_text};
use crate::terminal::{Terminal, print, print_json};

/// Arguments of `tensoracle convert`.
#[derive(Debug, Args)]
#[command(after_help = "\
SOURCE is a file that torch.save wrote (.pth, .pt, .bin, .ckpt), a folder of such files, or the \
index of a sharded checkpoint (pytorch_model.bin.index.json). Nothing in it is executed, and torch \
is not needed. DESTINATION is replaced when everything is written, and only then.

A checkpoint is a mapping with string keys whose values are tensors or such mappings; nested keys \
are joined with dots. Anything else in it refuses the whole, with a list of what and where:

    tensoracle convert checkpoint.ckpt model.safetensors --select state_dict
    tensoracle convert model.pth model.safetensors --skip-non-tensors

Sizes are bytes, or numbers with KiB, MiB, GiB, TiB (powers of 1024) or kB, MB, GB, TB (powers of \
1000).")]
pub(crate) struct Arguments {
    #[arg(value_name = "SOURCE")]
    source: PathBuf,
    #[arg(value_name = "DESTINATION", required_unless_present = "dry_run")]
    destination: Option<PathBuf>,
    /// Convert the mapping at this path (keys joined with dots) instead of the whole; repeatable
    #[arg(long, value_name = "PATH")]
    select: Vec<String>,
    /// Leave out what is not a tensor, and say what was left out
    #[arg(long)]
    skip_non_tensors: bool,
    /// Convert floating-point tensors to this type
    #[arg(long, value_name = "TYPE")]
    dtype: Option<DtypeName>,
    /// Split the output into files of at most this size, with an index
    #[arg(long, value_name = "SIZE", value_parser = parse_any_size)]
    shard_size: Option<u64>,
    /// Refuse to write more than this [default: 4 times the source and 1 GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_any_size)]
    max_output: Option<u64>,
    /// Refuse sources whose names and objects need more memory than this [default: 40 MiB and a
    /// 32nd of the source]
    #[arg(long, value_name = "SIZE", value_parser = parse_any_size)]
    max_metadata: Option<u64>,
    /// Compute a SHA-256 over names, types, shapes and values
    #[arg(long, conflicts_with = "dry_run")]
    digest: bool,
    /// List the tensors that would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DtypeName {
    F16,
    Bf16,
    F32,
}

/// Converts one checkpoint.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<ExitCode> {
    let options = Options {
        select: arguments.select,
        skip_non_tensors: arguments.skip_non_tensors,
        dtype: arguments.dtype.map(|name| match name {
            DtypeName::F16 => CastTo::F16,
            DtypeName::Bf16 => CastTo::Bf16,
            DtypeName::F32 => CastTo::F32,
        }),
        shard_size: arguments.shard_size,
        max_output: arguments.max_output,
        max_metadata: arguments.max_metadata,
        digest: arguments.digest,
    };
    match arguments.destination {
        Some(destination) if !arguments.dry_run => {
            let summary = convert(&arguments.source, &destination, &options, terminal)?;
            report(&summary, arguments.json, terminal)?;
        }
        _ => {
            let listing = inspect(&arguments.source, &options, terminal)?;
            list(&listing, arguments.json, terminal)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn report(summary: &Summary, as_json: bool, terminal: &Terminal) -> Result<()> {
    if as_json {
        let mut object = json!({
            "tensors": summary.tensors,
            "bytes": summary.bytes,
            "skipped": entries_json(&summary.skipped),
            "files": summary.files,
        });
        if let Some(digest) = &summary.digest {
            object["digest"] = json!(digest);
        }
        return print_json(&object);
    }
    note_skipped(&summary.skipped, "left out", terminal);
    let files: Vec<_> = summary
        .files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    terminal.note(&format!(
        "wrote {}, {}, to {}",
        tensors(summary.tensors),
        size_text(summary.bytes),
        files.join(", ")
    ));
    match &summary.digest {
        Some(digest) => print(digest),
        None => Ok(()),
    }
}

fn list(listing: &Listing, as_json: bool, terminal: &Terminal) -> Result<()> {
    if as_json {
        let list: Vec<_> = listing
            .tensors
            .iter()
            .map(|tensor| {
                json!({
                    "name": tensor.name,
                    "dtype": tensor.dtype.name(),
                    "shape": tensor.shape,
                })
            })
            .collect();
        return print_json(&json!({
            "tensors": listing.tensors.len(),
            "bytes": listing.bytes,
            "skipped": entries_json(&listing.skipped),
            "list": list,
        }));
    }
    let name_width = listing
        .tensors
        .iter()
        .map(|tensor| tensor.name.chars().count())
        .max()
        .unwrap_or(0);
    let lines: Vec<_> = listing
        .tensors
        .iter()
        .map(|tensor| {
            format!(
                "{:name_width$}  {:11} {:?}",
                tensor.name, tensor.dtype, tensor.shape
            )
        })
        .collect();
    if !lines.is_empty() {
        print(&lines.join("\n"))?;
    }
    note_skipped(&listing.skipped, "would leave out", terminal);
    terminal.note(&format!(
        "would write {}, {}",
        tensors(listing.tensors.len()),
        size_text(listing.bytes)
    ));
    Ok(())
}

fn tensors(count: usize) -> String {
    match count {
        1 => "1 tensor".to_owned(),
        count => format!("{count} tensors"),
    }
}

fn note_skipped(skipped: &[Entry], what: &str, terminal: &Terminal) {
    for entry in skipped {
        terminal.note(&format!("{what} {entry}"));
    }
}

fn entries_json(entries: &[Entry]) -> serde_json::Value {
    entries
        .iter()
        .map(|entry| json!({ "path": entry.path, "type": entry.kind.to_string() }))
        .collect()
}
