//! `tensoracle inspect`: what a file is, and the plan out of it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::json;
use tensoracle_store::{
    FileKind, Header, Inspected, Map, PlanInfo, Selector, Store, Value, inspect, utc_text,
};

use crate::size::size_text;
use crate::terminal::{Terminal, is_for_people, print, print_json};

/// Arguments of `tensoracle inspect`.
#[derive(Debug, Args)]
#[command(after_help = "\
FILE is a path, or else a saved engine's name, file name or first digits of its identity. Nothing \
is loaded or executed: a plan is recognised by its first bytes.

    tensoracle inspect model.engine --plan model.plan
    trtexec --loadEngine=model.plan")]
pub(crate) struct Arguments {
    #[arg(value_name = "FILE")]
    file: String,
    /// Write the bare plan, without header or wrapper, to this file
    #[arg(long, value_name = "OUT")]
    plan: Option<PathBuf>,
    /// Print JSON, which is also what is printed where the output is no terminal
    #[arg(long)]
    json: bool,
}

/// Looks at one file.
pub(crate) fn run(arguments: Arguments, _: &Terminal) -> Result<ExitCode> {
    let path = if Path::new(&arguments.file).is_file() {
        PathBuf::from(&arguments.file)
    } else {
        Store::in_user_cache()?.locate(&Selector::Typed(arguments.file))?
    };
    let inspected = inspect(&path)?;
    if let Some(out) = &arguments.plan {
        let Some(plan) = inspected.plan() else {
            bail!(
                "no plan to write: {} is {}",
                path.display(),
                title(inspected.kind())
            );
        };
        std::fs::write(out, plan).with_context(|| format!("cannot write {}", out.display()))?;
    }
    if arguments.json || !is_for_people() {
        print_json(&as_json(&path, &inspected))?;
    } else {
        print(&as_text(&path, &inspected))?;
    }
    Ok(match inspected.kind() {
        FileKind::Damaged(_) | FileKind::DamagedPlan(..) => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    })
}

/// What the file is, as the end of a sentence.
fn title(kind: &FileKind) -> String {
    match kind {
        FileKind::SavedEngine(_) => "a saved engine, intact".to_owned(),
        FileKind::DamagedPlan(_, damage) => format!("a damaged saved engine: {damage}"),
        FileKind::Damaged(damage) => format!("no intact saved engine: {damage}"),
        FileKind::Plan(plan) => format!("a bare {plan}"),
        FileKind::Wrapped { plan, .. } => format!("a {plan} behind JSON metadata"),
        FileKind::Other(what) => (*what).to_owned(),
        FileKind::Unknown => "neither a saved engine nor a TensorRT plan".to_owned(),
    }
}

/// A stable word for the kind.
fn label(kind: &FileKind) -> &'static str {
    match kind {
        FileKind::SavedEngine(_) => "saved engine",
        FileKind::DamagedPlan(..) | FileKind::Damaged(_) => "damaged",
        FileKind::Plan(_) => "plan",
        FileKind::Wrapped { .. } => "wrapped plan",
        FileKind::Other(_) => "other",
        FileKind::Unknown => "unknown",
    }
}

fn as_json(path: &Path, inspected: &Inspected) -> serde_json::Value {
    let mut object = json!({
        "path": path,
        "size_bytes": inspected.file_bytes(),
        "kind": label(inspected.kind()),
        "description": title(inspected.kind()),
    });
    match inspected.kind() {
        FileKind::SavedEngine(header) | FileKind::DamagedPlan(header, _) => {
            object["header"] = json!({
                "name": header.name(),
                "identity": header.identity(),
                "created_at": utc_text(header.created_at_ns),
                "created_at_ns": header.created_at_ns,
                "plan": header.plan,
                "conditions": header.conditions.fields(),
                "reference": header.reference,
                "described": header.conditions.described(),
            });
        }
        FileKind::Wrapped {
            wrapper,
            metadata,
            plan_offset,
            ..
        } => {
            object["wrapper"] = json!(wrapper);
            object["metadata"] = metadata.clone();
            object["plan_offset"] = json!(plan_offset);
        }
        _ => {}
    }
    if let Some(plan) = inspected.plan().and_then(PlanInfo::of) {
        object["tensorrt_plan"] = json!(plan);
    }
    object
}

fn as_text(path: &Path, inspected: &Inspected) -> String {
    let mut lines = vec![
        format!("{}: {}", path.display(), title(inspected.kind())),
        field("size", &size_text(inspected.file_bytes())),
    ];
    match inspected.kind() {
        FileKind::SavedEngine(header) | FileKind::DamagedPlan(header, _) => {
            header_lines(header, &mut lines);
        }
        FileKind::Wrapped {
            metadata,
            plan_offset,
            ..
        } => {
            lines.push(field("plan from byte", &plan_offset.to_string()));
            lines.push(field("metadata", &metadata.to_string()));
        }
        _ => {}
    }
    if let Some(plan) = inspected.plan().and_then(PlanInfo::of) {
        lines.push(field("plan written by", &plan.to_string()));
        if plan.stated_bytes != plan.found_bytes {
            lines.push(field(
                "warning",
                &format!(
                    "the plan states {} bytes, found {}",
                    plan.stated_bytes, plan.found_bytes
                ),
            ));
        }
    }
    lines.join("\n")
}

fn field(name: &str, value: &str) -> String {
    format!("  {name}: {value}")
}

fn header_lines(header: &Header, lines: &mut Vec<String>) {
    lines.extend([
        field("name", header.name()),
        field("identity", &header.identity().to_string()),
        field("saved", &utc_text(header.created_at_ns)),
        field("plan", &size_text(header.plan.length)),
    ]);
    for (title, map) in [
        ("conditions", header.conditions.fields()),
        ("reference", &header.reference),
        ("described", header.conditions.described()),
    ] {
        if !map.is_empty() {
            lines.push(format!("  {title}:"));
            tree_lines(map, 2, lines);
        }
    }
}

/// A map as an indented tree.
fn tree_lines(map: &Map, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    for (name, value) in map {
        match value {
            Value::Map(below) if !below.is_empty() => {
                lines.push(format!("{indent}{name}:"));
                tree_lines(below, depth + 1, lines);
            }
            Value::List(items) if items.iter().any(|item| item.as_text().is_some()) => {
                lines.push(format!("{indent}{name}:"));
                for item in items {
                    lines.push(format!("{indent}  {}", bare(item)));
                }
            }
            value => lines.push(format!("{indent}{name}: {}", bare(value))),
        }
    }
}

fn bare(value: &Value) -> String {
    value
        .as_text()
        .map_or_else(|| value.to_string(), str::to_owned)
}
