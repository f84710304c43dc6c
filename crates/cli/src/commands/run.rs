//! `tensoracle run`: a saved engine on tensors from files.

mod tensors;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use tensoracle::{
    Engine, HostTensor, OpenOptions, Progress as _, Selector, TensorInfo, TensorMode, Verify,
};

use crate::terminal::{Terminal, print, print_json};

/// Arguments of `tensoracle run`.
#[derive(Debug, Args)]
#[command(after_help = "\
ENGINE is a saved engine's path, name, file name or first digits of its identity; `tensoracle cache \
list` shows what is saved. Inputs are matched by name: an .npz or .safetensors file gives all the \
tensors it holds, an .npy file the one input, or the one that is named. Types and shapes must be \
those that the engine takes.

    tensoracle run silero-vad                      show inputs and outputs
    tensoracle run model --input x.npz --output y.npz
    tensoracle run model --input ids=ids.npy --input mask=mask.npy --output y.safetensors")]
pub(crate) struct Arguments {
    #[arg(value_name = "ENGINE")]
    engine: String,
    /// Read inputs from this file; without any, show what the engine takes and gives
    #[arg(long, short, value_name = "[NAME=]FILE")]
    input: Vec<String>,
    /// Write the outputs to this file (.npz, .safetensors, or .npy for a single output)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Run so many times and report the median time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Verify the engine's header only, not every byte of its plan
    #[arg(long)]
    trust: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs one engine.
pub(crate) fn run(arguments: Arguments, terminal: &Terminal) -> Result<ExitCode> {
    let started = Instant::now();
    let verify = if arguments.trust {
        Verify::Header
    } else {
        Verify::Full
    };
    let options = OpenOptions::named(&arguments.engine)
        .verify(verify)
        .progress(terminal);
    let engine = Engine::open_saved(&Selector::Typed(arguments.engine.clone()), options)?;
    let opened = started.elapsed();
    if arguments.input.is_empty() && engine.tensors().iter().any(is_input) {
        if arguments.output.is_some() || arguments.repeat > 1 {
            bail!("there is nothing to run on: give the inputs with --input");
        }
        return describe(&engine, arguments.json);
    }
    let inputs = tensors::read(&arguments.input, engine.tensors())?;
    let inputs: Vec<(&str, &HostTensor)> = inputs
        .iter()
        .map(|(name, tensor)| (name.as_str(), tensor))
        .collect();

    let mut session = engine.session()?;
    let mut times = Vec::new();
    let mut outputs = None;
    for _ in 0..arguments.repeat {
        let started = Instant::now();
        outputs = Some(session.run(&inputs)?);
        times.push(started.elapsed());
    }
    let Some(outputs) = outputs else {
        bail!("nothing was run")
    };
    if let Some(path) = &arguments.output {
        tensors::write(path, &outputs)?;
    }
    times.sort_unstable();
    let median = times[times.len() / 2];
    if arguments.json {
        let shapes: serde_json::Map<String, serde_json::Value> = outputs
            .iter()
            .map(|(name, tensor)| {
                let shape = json!({"type": tensor.data_type().name(), "shape": tensor.dims()});
                (name.to_owned(), shape)
            })
            .collect();
        print_json(&json!({
            "engine_path": engine.path(),
            "backend": engine.backend(),
            "open_ms": milliseconds(opened),
            "run_ms": milliseconds(median),
            "runs": arguments.repeat,
            "outputs": shapes,
        }))?;
    } else {
        for (name, tensor) in outputs.iter() {
            print(&format!(
                "{name}: {}{:?}",
                tensor.data_type(),
                tensor.dims()
            ))?;
        }
        let what = if arguments.repeat == 1 {
            "run"
        } else {
            "run (median)"
        };
        terminal.note(&format!(
            "opened in {:.1} ms, {what} in {:.3} ms on the {} backend",
            milliseconds(opened),
            milliseconds(median),
            engine.backend()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn is_input(info: &TensorInfo) -> bool {
    info.mode == TensorMode::Input
}

/// Shows what an engine takes and gives.
fn describe(engine: &Engine, json: bool) -> Result<ExitCode> {
    if json {
        let tensors: Vec<_> = engine
            .tensors()
            .iter()
            .map(|info| {
                json!({
                    "name": info.name,
                    "mode": if is_input(info) { "input" } else { "output" },
                    "type": info.data_type.name(),
                    "shape": info.shape,
                    "profile": info.profile,
                })
            })
            .collect();
        print_json(&json!({
            "engine_path": engine.path(),
            "backend": engine.backend(),
            "tensors": tensors,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for info in engine.tensors() {
        let mode = if is_input(info) { "input " } else { "output" };
        let profile = match &info.profile {
            Some(profile) if profile.single().is_none() => format!(", built for {profile}"),
            _ => String::new(),
        };
        print(&format!(
            "{mode} {}: {}{}{profile}",
            info.name, info.data_type, info.dims
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
