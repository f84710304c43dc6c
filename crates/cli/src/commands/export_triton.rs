//! `tensoracle export-triton`: a saved TensorRT engine as a model of a Triton Inference Server's
//! repository.
//!
//! Everything is taken from the engine's header; the plan is copied as it is. Format: "Model
//! Configuration" and "Model Repository" in Triton's user guide.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use tensoracle_store::{Header, OpenOptions, Selector, Store, Value};

use crate::terminal::{Terminal, print};

/// Arguments of `tensoracle export-triton`.
#[derive(Debug, Args)]
#[command(after_help = "\
ENGINE is a saved TensorRT engine's path, name, file name or first digits of its identity. DIR is the \
model repository; the model is written to DIR/MODEL/config.pbtxt and DIR/MODEL/1/model.plan.

    tensoracle export-triton encoder /srv/models --instances 2
    tritonserver --model-repository=/srv/models")]
pub(crate) struct Arguments {
    #[arg(value_name = "ENGINE")]
    engine: String,
    #[arg(value_name = "DIR")]
    repository: PathBuf,
    /// The model's name in the repository; the engine's name where it is not given
    #[arg(long)]
    model: Option<String>,
    /// The number of this version of the model
    #[arg(long = "model-version", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    model_version: u32,
    /// How many instances Triton runs on each GPU
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    instances: u32,
}

/// Exports one engine.
pub(crate) fn run(arguments: Arguments, _: &Terminal) -> Result<ExitCode> {
    let selector = Selector::Typed(arguments.engine);
    let engine = Store::in_user_cache()?.open_selected(&selector, OpenOptions::default())?;
    let header = engine.header();
    let backend = text(header.conditions.get(&["backend", "name"]));
    if backend != "tensorrt" {
        bail!(
            "engine {:?} was built by the backend `{backend}`; Triton runs plans of `tensorrt`",
            header.name()
        );
    }
    let model = arguments.model.unwrap_or_else(|| header.name().to_owned());
    if model.is_empty() || model.contains(['/', '\\']) || model.starts_with('.') {
        bail!("{model:?} cannot be a folder's name; give another with --model");
    }
    let config = config(&model, header, arguments.instances)?;
    let folder = arguments.repository.join(&model);
    let version = folder.join(arguments.model_version.to_string());
    std::fs::create_dir_all(&version)
        .with_context(|| format!("cannot make {}", version.display()))?;
    // The plan first: Triton looks at a model once it has a configuration.
    place(&version.join("model.plan"), engine.plan())?;
    place(&folder.join("config.pbtxt"), config.as_bytes())?;
    print(&folder.display().to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a file beside its place and renames it there.
fn place(path: &Path, bytes: &[u8]) -> Result<()> {
    let part = path.with_extension("part");
    std::fs::write(&part, bytes)
        .and_then(|()| std::fs::rename(&part, path))
        .inspect_err(|_| drop(std::fs::remove_file(&part)))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_text).unwrap_or("none")
}

/// The model's configuration in protobuf's text format. A batch dimension is one like any other
/// (`max_batch_size: 0`), since a graph does not tell which it is.
fn config(model: &str, header: &Header, instances: u32) -> Result<String> {
    let mut config = format!(
        "# engine {}, identity {}\nname: {}\nplatform: \"tensorrt_plan\"\nmax_batch_size: 0\n",
        header.name().escape_debug(),
        header.identity(),
        quoted(model),
    );
    let tensors = header.conditions.described().get("tensors");
    let tensors = tensors.and_then(Value::as_list).unwrap_or_default();
    if tensors.is_empty() {
        bail!("the header does not say what inputs and outputs the engine has");
    }
    for mode in ["input", "output"] {
        for tensor in tensors {
            let field = |name: &str| text(tensor.get(&[name]));
            if field("mode") != mode {
                continue;
            }
            let dims = tensor.get(&["shape"]).and_then(Value::as_list);
            let dims: Vec<String> = dims
                .unwrap_or_default()
                .iter()
                .map(Value::to_string)
                .collect();
            let Some(data_type) = data_type(field("type")) else {
                bail!(
                    "{mode} `{}` has type {}, which Triton lacks",
                    field("name"),
                    field("type")
                );
            };
            let name = quoted(field("name"));
            // A scalar is a tensor of one element to Triton.
            let (dims, reshape) = match dims.is_empty() {
                true => ("1".to_owned(), " reshape { shape: [ ] }"),
                false => (dims.join(", "), ""),
            };
            let _ = writeln!(
                config,
                "{mode} [ {{ name: {name} data_type: {data_type} dims: [ {dims} ]{reshape} }} ]"
            );
        }
    }
    let _ = writeln!(
        config,
        "instance_group [ {{ count: {instances} kind: KIND_GPU profile: [ \"0\" ] }} ]"
    );
    if let Some(Value::Map(inputs)) = header.conditions.get(&["inputs"]) {
        for (name, profile) in inputs {
            let range = |end: &str| profile.get(&[end]).map_or("?".into(), Value::to_string);
            let (min, opt, max) = (range("min"), range("opt"), range("max"));
            let name = name.escape_debug();
            let _ = writeln!(
                config,
                "# {name} was built for {min} to {max}, best at {opt}"
            );
        }
    }
    Ok(config)
}

/// A string of protobuf's text format.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.as_bytes().escape_ascii())
}

/// Triton's name of one of our data types.
fn data_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "float" => "TYPE_FP32",
        "half" => "TYPE_FP16",
        "bfloat16" => "TYPE_BF16",
        "int8" => "TYPE_INT8",
        "uint8" => "TYPE_UINT8",
        "int32" => "TYPE_INT32",
        "int64" => "TYPE_INT64",
        "bool" => "TYPE_BOOL",
        _ => return None,
    })
}
