//! `tensoracle graph`: an exported graph, or that of a saved engine, printed or drawn.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use tensoracle::{Engine, Graph, OpenOptions, Selector, Verify, import_graph};

use crate::terminal::{Terminal, print};

/// Arguments of `tensoracle graph`.
#[derive(Debug, Args)]
#[command(after_help = "\
GRAPH is a file that `tensoracle::export_graph` wrote, or else a saved engine of the CPU backend: \
its path, name, file name or first digits of its identity.

    tensoracle graph model.json
    tensoracle graph model.json --format graphviz | dot -Tsvg > model.svg
    tensoracle graph silero-vad --format mermaid --output model.mmd")]
pub(crate) struct Arguments {
    #[arg(value_name = "GRAPH")]
    graph: String,
    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// One line a layer, with types and shapes
    Text,
    /// GraphViz's DOT language
    Graphviz,
    /// A Mermaid flowchart
    Mermaid,
}

/// Shows one graph.
pub(crate) fn run(arguments: Arguments, _: &Terminal) -> Result<ExitCode> {
    let graph = find(&arguments.graph)?;
    let text = match arguments.format {
        Format::Text => graph.to_string(),
        Format::Graphviz => graph.to_graphviz(),
        Format::Mermaid => graph.to_mermaid(),
    };
    match &arguments.output {
        Some(path) => std::fs::write(path, text)
            .with_context(|| format!("cannot write {}", path.display()))?,
        None => print(text.trim_end())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn find(typed: &str) -> Result<Graph> {
    let path = Path::new(typed);
    if path
        .extension()
        .is_some_and(|extension| extension == "json")
        || starts_as_json(path)
    {
        return Ok(import_graph(path)?);
    }
    let selector = Selector::Typed(typed.to_owned());
    let options = OpenOptions::named(typed).verify(Verify::Header);
    let engine = Engine::open_saved(&selector, options)?;
    match engine.graph() {
        Some(graph) => Ok(graph.clone()),
        None => bail!(
            "{typed} was built by the backend `{}`, whose plans do not hold a graph",
            engine.backend()
        ),
    }
}

/// Whether a file begins as an exported graph does.
fn starts_as_json(path: &Path) -> bool {
    let mut first = [0];
    File::open(path).is_ok_and(|mut file| file.read_exact(&mut first).is_ok()) && first == *b"{"
}
