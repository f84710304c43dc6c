//! `demo --report`: what each layer of the model loses to the type it computes in.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::ValueEnum;
use console::style;
use serde::Serialize;
use tensoracle::oracle::{self, LayerLoss, OracleReport};
use tensoracle::{CpuBackend, DataType, Engine, Graph, HostTensor, Weights, build_plan, compare};
use tensoracle_example_sentences::{Embedder, minilm, sizes};
use tensoracle_example_terminal::Golden;

use crate::demo;

/// What the model computes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Precision {
    /// 32 bits
    Float,
    /// 16 bits: 11 significant ones, none beyond 65504
    Half,
    /// 16 bits: 8 significant ones, as far as 32 bits reach
    #[value(name = "bfloat16")]
    BFloat16,
}

impl From<Precision> for DataType {
    fn from(precision: Precision) -> Self {
        match precision {
            Precision::Float => Self::Float,
            Precision::Half => Self::Half,
            Precision::BFloat16 => Self::BFloat16,
        }
    }
}

/// Where a report goes, and as what.
#[derive(Debug, Clone)]
pub(crate) struct ReportFile {
    path: PathBuf,
    form: Form,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Page,
    Json,
}

impl ReportFile {
    /// A file whose name says what is to be written.
    pub(crate) fn parse(path: &str) -> Result<Self, String> {
        let path = PathBuf::from(path);
        let extension = path.extension().map(|text| text.to_ascii_lowercase());
        let form = match extension.as_ref().and_then(|text| text.to_str()) {
            Some("html") => Form::Page,
            Some("json") => Form::Json,
            _ => return Err("a report is a page, named .html, or data, named .json".into()),
        };
        Ok(Self { path, form })
    }

    fn write(&self, report: &OracleReport, title: &str) -> Result<()> {
        let text = match self.form {
            Form::Page => compare::html(&report.to_comparisons(), title),
            Form::Json => serde_json::to_string_pretty(report)?,
        };
        std::fs::write(&self.path, text)
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// The layers that are printed.
const PRINTED: usize = 5;

/// The report in short. Errors are Euclidean norms of differences, relative to what is right.
#[derive(Serialize)]
struct Summary<'a> {
    precision: DataType,
    sentences: usize,
    layers: usize,
    /// The embeddings' errors.
    errors: Errors,
    worst: &'a [LayerLoss],
    report: &'a PathBuf,
}

/// How far embeddings are off the golden file's, which are from the weights as they were published
/// and from double precision.
#[derive(Serialize)]
struct Errors {
    /// With the weights rounded, and nothing else.
    weights: f64,
    /// With every layer's output rounded too, once.
    typed: f64,
    /// On the CPU engine as it usually runs.
    fast: f64,
}

/// Writes the report, and prints the layers that lose most.
pub(crate) fn run(
    args: &demo::Args,
    file: &ReportFile,
    precision: Precision,
    golden: &Golden,
    sentences: &[String],
) -> Result<bool> {
    let float = DataType::from(precision);
    let weights = Weights::open(&args.weights)?;
    let define = |graph: &mut Graph| minilm(graph, &weights, float);
    let backend = CpuBackend::new();
    let plan = build_plan(&backend, &sizes(), define)?;
    let engine = Engine::load(&backend, Arc::new(plan))?;

    let inputs = Embedder::new(&engine, &args.tokenizer)?.inputs(sentences)?;
    let inputs = inputs.each_ref().map(|(name, tensor)| (*name, tensor));
    let mut graph = Graph::new();
    define(&mut graph).map_err(anyhow::Error::from_boxed)?;
    let mut report = oracle::report(&graph, &inputs)?;
    let outputs = engine.session()?.run(&inputs)?;
    report.add_backend("CPU engine, fast", &outputs);

    let error = |embeddings: Option<&HostTensor>| {
        let embeddings = embeddings.context("the model has no embeddings")?;
        golden.relative_l2_error("embeddings_f64", &embeddings.to_vec()?)
    };
    let errors = Errors {
        weights: error(report.exact_output("embeddings").as_ref())?,
        typed: error(report.typed_output("embeddings").as_ref())?,
        fast: error(outputs.get("embeddings").ok())?,
    };
    file.write(
        &report,
        &format!("MiniLM in {float}: what each layer loses"),
    )?;
    let summary = Summary {
        precision: float,
        sentences: sentences.len(),
        layers: report.layers.len(),
        errors,
        worst: &report.layers[..report.layers.len().min(PRINTED)],
        report: &file.path,
    };
    if args.json {
        println!("{}", serde_json::to_string(&summary)?);
    } else {
        println!("{summary}");
    }
    Ok(report
        .layers
        .iter()
        .all(|layer| layer.introduced.is_finite()))
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = |label: &str| style(format!("{label:<9}")).dim();
        let title = format!("MiniLM in {}: which layers lose most?", self.precision);
        writeln!(formatter, "{}\n", style(title).bold())?;
        let Errors {
            weights,
            typed,
            fast,
        } = self.errors;
        writeln!(
            formatter,
            "{}{} layers, each rounded once and exactly, on {} sentences",
            label("run"),
            self.layers,
            self.sentences
        )?;
        writeln!(
            formatter,
            "{}embeddings are {typed:.1e} off: {weights:.1e} when only weights are rounded; the CPU \
             engine {fast:.1e}",
            label("error"),
        )?;
        writeln!(formatter, "\n   introduced  accumulated  layer")?;
        for (index, layer) in self.worst.iter().enumerate() {
            let (introduced, accumulated) = (layer.introduced, layer.accumulated);
            writeln!(
                formatter,
                "{}  {introduced:>10.1e}  {accumulated:>11.1e}  {} {}",
                index + 1,
                layer.name,
                style(layer.data_type).dim()
            )?;
            if let Some(location) = &layer.location {
                writeln!(formatter, "{:28}{}", "", style(location).dim())?;
            }
        }
        write!(formatter, "\n{}{}", label("report"), self.report.display())
    }
}
