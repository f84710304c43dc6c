//! The oracle: what the right answer is, and in which layer the declared types lose it.
//!
//! A graph runs twice, side by side and layer by layer: exactly (`f64` throughout) and typed (each
//! layer in `f64`, rounded once to its declared type). What differs is what the types cost. Each
//! layer's error is held against that of its inputs, so that the layer that loses precision comes
//! first, not all those behind it that inherit the loss. What is left out: drawing (the `compare`
//! crate) and what rounding weights costs, which happens before there is a graph.

use crate::compare::{self, Drawing, OutputComparison, ReportEntry, TensorRef, compare_outputs};
use crate::tensor::stored_element;
use crate::{
    DataType, ElementWiseOperation, Error, Graph, HostTensor, Layer, Mode, Node, Outputs,
    SourceLocation, Tensor,
};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, sync_channel};
use tensoracle_cpu::{CpuError, Observation, Output, Plan, Values};

/// What the declared types of a graph cost on given inputs.
#[derive(Debug, Clone, Serialize)]
pub struct OracleReport {
    /// Every layer that computes something, those that lose most first.
    pub layers: Vec<LayerLoss>,
    /// Each output, typed against exact.
    pub outputs: Vec<ReportEntry>,
    /// The outputs of backends that were added, against exact.
    pub backends: Vec<ReportEntry>,
    /// Constants that hold NaN or infinity: how they are called, and how many elements are so.
    pub nonfinite_constants: Vec<(String, u64)>,
    /// What the right answer is.
    #[serde(skip)]
    exact: Vec<Exact>,
    /// What the declared types make of it.
    #[serde(skip)]
    typed: Vec<Output>,
}

/// What one layer costs.
#[derive(Debug, Clone, Serialize)]
pub struct LayerLoss {
    /// The layer's name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Where it was added, where that is known.
    pub location: Option<SourceLocation>,
    /// The declared type of its output.
    pub data_type: DataType,
    /// By how much the relative error of its output exceeds the largest of its inputs: what the
    /// layer itself loses. Infinite where it makes a NaN or infinity that the right answer has not.
    ///
    /// What comes behind a sum is held against the errors of both its addends too: beside a large
    /// addend, such as that which masks scores, a small one's error is only out of sight.
    #[serde(serialize_with = "number")]
    pub introduced: f64,
    /// The relative error of its output (Euclidean norm of the difference over that of the right
    /// answer), inherited and introduced.
    #[serde(serialize_with = "number")]
    pub accumulated: f64,
    /// Every measurement of typed against exact; `None` for an output without elements.
    pub comparison: Option<OutputComparison>,
    #[serde(skip)]
    drawing: Option<Drawing>,
}

/// JSON has no infinities: they are strings.
fn number<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match value.is_finite() {
        true => serializer.serialize_f64(*value),
        false => serializer.collect_str(value),
    }
}

/// How many layers are drawn on the page.
const DRAWN: usize = 16;

/// Runs `graph` exactly and typed on `inputs` and ranks its layers by what their types lose.
///
/// Shapes are taken from the inputs. Both runs are in memory and nothing is saved.
///
/// # Errors
/// What the CPU engine refuses: a graph without outputs, constants that cannot be read, inputs that
/// do not fit.
pub fn report(graph: &Graph, inputs: &[(&str, &HostTensor)]) -> Result<OracleReport, Error> {
    let cpu = |error: CpuError| Error::backend("cpu")(error.into());
    let exact = Plan::compile(graph, Mode::Exact).map_err(cpu)?;
    let typed = Plan::compile(graph, Mode::Typed).map_err(cpu)?;
    let (sender, receiver) = sync_channel(1);
    let mut ranking = Ranking::default();
    let (exact, typed) = std::thread::scope(|scope| {
        let right = scope.spawn(move || {
            run(&exact, inputs, &mut |observation| {
                // The other side stops listening when it fails, which it reports itself.
                let _ = sender.send(Reference::of(observation.values));
            })
        });
        let typed_graph = typed.graph();
        let ranking = &mut ranking;
        // The receiver goes with the closure: when this side ends early, the other hears of it.
        let typed = run(&typed, inputs, &mut move |observation| {
            ranking.layer(typed_graph, &observation, &receiver);
        });
        let right = right
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (right, typed)
    });
    let (exact, typed) = (exact.map_err(cpu)?, typed.map_err(cpu)?);
    let typed: Vec<_> = typed.into_iter().map(|typed| typed.rounded).collect();
    Ok(OracleReport {
        layers: ranking.ranked(),
        outputs: entries(typed.iter().map(Side::of_output).collect(), &exact),
        backends: Vec::new(),
        nonfinite_constants: nonfinite_constants(graph)?,
        exact,
        typed,
    })
}

impl OracleReport {
    /// Adds the outputs that a backend gave for the same inputs, compared with the right answer.
    pub fn add_backend(&mut self, name: &str, outputs: &Outputs) {
        let sides = outputs.iter().map(|(output, tensor)| Side {
            name: output,
            data_type: tensor.data_type(),
            dims: tensor.dims().to_vec(),
            bytes: tensor.bytes(),
        });
        for mut entry in entries(sides.collect(), &self.exact) {
            entry.name = format!("{name}: {}", entry.name);
            self.backends.push(entry);
        }
    }

    /// The right answer: an output of the exact run, rounded once to its declared type.
    #[must_use]
    pub fn exact_output(&self, name: &str) -> Option<HostTensor> {
        let mut outputs = self.exact.iter().map(|exact| &exact.rounded);
        outputs
            .find(|output| output.name == name)
            .and_then(host_tensor)
    }

    /// An output of the typed run.
    #[must_use]
    pub fn typed_output(&self, name: &str) -> Option<HostTensor> {
        let mut outputs = self.typed.iter();
        outputs
            .find(|output| output.name == name)
            .and_then(host_tensor)
    }

    /// The report as a set of comparisons, for a page ([`compare::html`]) or JSON: backends and
    /// outputs first, then layers, those that lose most first.
    #[must_use]
    pub fn to_comparisons(&self) -> compare::Report {
        let layers = self.layers.iter().map(LayerLoss::to_entry);
        compare::Report {
            candidate: "each layer in f64, rounded to its declared type".into(),
            reference: "f64 throughout".into(),
            tensors: self
                .backends
                .iter()
                .chain(&self.outputs)
                .cloned()
                .chain(layers)
                .collect(),
            missing: Vec::new(),
            extra: Vec::new(),
        }
    }
}

fn host_tensor(output: &Output) -> Option<HostTensor> {
    HostTensor::from_bytes(output.data_type, output.dims.clone(), output.bytes.clone()).ok()
}

/// An error as it stands on the page, where a script can read it to sort by.
fn fact(error: f64) -> String {
    match error.is_infinite() {
        true => "Infinity".into(),
        false => format!("{error:.2e}"),
    }
}

impl LayerLoss {
    fn to_entry(&self) -> ReportEntry {
        let mut entry = match &self.comparison {
            Some(comparison) => ReportEntry::compared(&self.name, comparison.clone()),
            None => ReportEntry::incomparable(&self.name, "the output has no elements"),
        };
        entry.failed = self.introduced.is_infinite();
        entry.facts = vec![
            ("layer".into(), self.kind.clone()),
            ("type".into(), self.data_type.to_string()),
            ("introduced".into(), fact(self.introduced)),
            ("accumulated".into(), fact(self.accumulated)),
        ];
        if let Some(location) = &self.location {
            entry.facts.push(("added at".into(), location.to_string()));
        }
        entry.drawing.clone_from(&self.drawing);
        entry
    }
}

fn run(
    plan: &Plan,
    inputs: &[(&str, &HostTensor)],
    observe: &mut (dyn FnMut(Observation<'_>) + Send),
) -> Result<Vec<Exact>, CpuError> {
    // The sides wait for each other. On threads of their own neither can hold what the other needs,
    // even where the caller works on rayon's.
    let mut session = plan.session().with_threads(rayon::current_num_threads())?;
    let shapes: Vec<_> = inputs
        .iter()
        .map(|&(name, tensor)| (name, tensor.dims()))
        .collect();
    session.set_input_shapes(&shapes)?;
    let inputs: Vec<_> = inputs
        .iter()
        .map(|&(name, tensor)| tensor.as_input(name))
        .collect();
    let outputs = session.run_observed(&inputs, observe)?;
    let held = |output: Output| {
        let values = Reference::of(session.output_values(&output.name)?);
        Some(Exact {
            values,
            rounded: output,
        })
    };
    Ok(outputs.into_iter().filter_map(held).collect())
}

/// An output as the engine held it, and as a caller gets it.
#[derive(Debug, Clone)]
struct Exact {
    values: Reference,
    rounded: Output,
}

/// The right answer of one layer or output.
#[derive(Debug, Clone)]
enum Reference {
    Real(Vec<f64>),
    Integer(Vec<i64>),
    Boolean(Vec<bool>),
}

impl Reference {
    fn of(values: Values<'_>) -> Self {
        match values {
            Values::Real(values) => Self::Real(values.to_vec()),
            Values::Integer(values) => Self::Integer(values.to_vec()),
            Values::Boolean(values) => Self::Boolean(values.iter().map(|&b| b != 0).collect()),
        }
    }

    fn tensor<'a>(&'a self, dims: &'a [u64]) -> Option<TensorRef<'a>> {
        match self {
            Self::Real(values) => TensorRef::of(dims, values),
            Self::Integer(values) => TensorRef::of(dims, values),
            Self::Boolean(values) => TensorRef::of(dims, values),
        }
        .ok()
    }
}

/// Layers as they are compared, and the relative error that every tensor so far hands on.
#[derive(Default)]
struct Ranking {
    layers: Vec<LayerLoss>,
    errors: HashMap<Tensor, f64>,
}

impl Ranking {
    fn layer(&mut self, graph: &Graph, typed: &Observation<'_>, references: &Receiver<Reference>) {
        // The exact run has failed and reports it.
        let Ok(reference) = references.recv() else {
            return;
        };
        let dims: Vec<u64> = typed.dims.iter().map(|&size| size as u64).collect();
        let packed = typed.to_bytes();
        let widened = Reference::of(typed.values);
        let candidate = match stored_element(typed.data_type) {
            Some(element) => TensorRef::new(element, &dims, &packed).ok(),
            // What has no name among stored types is compared as it was computed.
            None => widened.tensor(&dims),
        };
        let pair = candidate.zip(reference.tensor(&dims));
        let comparison = pair
            .and_then(|(candidate, reference)| compare_outputs(candidate, reference, None).ok());
        let drawing =
            pair.zip(comparison.as_ref())
                .and_then(|((candidate, reference), comparison)| {
                    Drawing::of(candidate, reference, worst(comparison)).ok()
                });
        let accumulated = comparison.as_ref().map_or(0.0, relative_error);
        let inherited = typed
            .node
            .inputs()
            .iter()
            .flatten()
            .map(|input| self.error_of(graph, *input))
            .fold(0.0, f64::max);
        let introduced = match inherited.is_infinite() {
            true => 0.0,
            false => (accumulated - inherited).max(0.0),
        };
        let handed_on = match typed.node.layer() {
            Layer::ElementWise(layer) if hides_errors(layer.operation) => {
                accumulated.max(inherited)
            }
            _ => accumulated,
        };
        self.errors.insert(typed.node.outputs()[0], handed_on);
        self.layers.push(LayerLoss {
            name: typed.node.name().to_owned(),
            kind: typed.node.layer().kind().to_owned(),
            location: typed.node.location().cloned(),
            data_type: typed.data_type,
            introduced,
            accumulated,
            comparison,
            drawing,
        });
    }

    /// The relative error that a tensor hands on; that of what it was reshaped from where it was not computed.
    fn error_of(&self, graph: &Graph, tensor: Tensor) -> f64 {
        let mut tensor = tensor;
        loop {
            if let Some(error) = self.errors.get(&tensor) {
                return *error;
            }
            let moves_nothing =
                |node: &&Node| matches!(node.layer(), Layer::Identity(_) | Layer::Shuffle(_));
            let from = graph
                .producer(tensor)
                .filter(moves_nothing)
                .and_then(|node| node.inputs()[0]);
            match from {
                Some(from) => tensor = from,
                // Inputs and constants are what they are.
                None => return 0.0,
            }
        }
    }

    fn ranked(mut self) -> Vec<LayerLoss> {
        // Layers that lose the same stay in the order in which they run.
        self.layers
            .sort_by(|a, b| b.introduced.total_cmp(&a.introduced));
        self.layers
            .iter_mut()
            .skip(DRAWN)
            .for_each(|layer| layer.drawing = None);
        self.layers
    }
}

/// Whether the relative error can shrink because a large addend stands beside what is wrong. The
/// error is still there, and seen again when that addend is taken away or masks what it is beside.
fn hides_errors(operation: ElementWiseOperation) -> bool {
    matches!(
        operation,
        ElementWiseOperation::Sum | ElementWiseOperation::Sub
    )
}

/// Euclidean norm of the difference over that of the reference; infinite where a NaN or infinity
/// stands on one side only, or where anything differs from a reference of zeros.
fn relative_error(comparison: &OutputComparison) -> f64 {
    let differing = comparison
        .nonfinite
        .as_ref()
        .map_or(0, |counts| counts.differing_count);
    if differing > 0 {
        return f64::INFINITY;
    }
    if let Some(fraction) = comparison.mismatch_fraction {
        return fraction;
    }
    match &comparison.finite {
        Some(finite) if finite.max_absolute_error == 0.0 => 0.0,
        Some(finite) => finite.relative_l2_error.unwrap_or(f64::INFINITY),
        None => 0.0,
    }
}

/// The index of the element that a drawing should show.
fn worst(comparison: &OutputComparison) -> u64 {
    let differing = comparison
        .nonfinite
        .as_ref()
        .and_then(|counts| counts.first_differing.as_ref());
    let worst = comparison
        .finite
        .as_ref()
        .and_then(|finite| finite.worst_absolute.as_ref());
    differing.or(worst).map_or(0, |located| located.index)
}

/// One side of the comparison of an output.
struct Side<'a> {
    name: &'a str,
    data_type: DataType,
    dims: Vec<u64>,
    bytes: &'a [u8],
}

impl<'a> Side<'a> {
    fn of_output(output: &'a Output) -> Self {
        Self {
            name: &output.name,
            data_type: output.data_type,
            dims: output.dims.clone(),
            bytes: &output.bytes,
        }
    }

    fn tensor(&self) -> Option<TensorRef<'_>> {
        TensorRef::new(stored_element(self.data_type)?, &self.dims, self.bytes).ok()
    }
}

fn entries(candidates: Vec<Side<'_>>, exact: &[Exact]) -> Vec<ReportEntry> {
    candidates
        .into_iter()
        .map(|side| {
            let reference = exact.iter().find(|exact| exact.rounded.name == side.name);
            let reference = reference.and_then(|exact| exact.values.tensor(&exact.rounded.dims));
            let pair = side.tensor().zip(reference);
            let Some((candidate, reference)) = pair else {
                let reason =
                    "files of tensors have no such element type, or the graph has no such output";
                return ReportEntry::incomparable(side.name, reason);
            };
            match compare_outputs(candidate, reference, None) {
                Ok(comparison) => {
                    let drawing = Drawing::of(candidate, reference, worst(&comparison)).ok();
                    let error = relative_error(&comparison);
                    let mut entry = ReportEntry::compared(side.name, comparison);
                    entry.facts = vec![
                        ("layer".into(), "output".into()),
                        ("type".into(), side.data_type.to_string()),
                        ("accumulated".into(), fact(error)),
                    ];
                    entry.drawing = drawing;
                    entry.failed = error.is_infinite();
                    entry
                }
                Err(error) => ReportEntry::incomparable(side.name, error.to_string()),
            }
        })
        .collect()
}

fn nonfinite_constants(graph: &Graph) -> Result<Vec<(String, u64)>, Error> {
    let found: Vec<Option<(String, u64)>> = graph
        .live_constants()
        .par_iter()
        .map(|source| {
            let (data_type, dims) = (source.data_type(), source.dims());
            let Some(element) =
                stored_element(data_type).filter(|_| data_type.kind() == crate::Kind::Floating)
            else {
                return Ok(None);
            };
            let read;
            let bytes = match source.bytes() {
                Some(bytes) => bytes,
                None => {
                    let elements = dims.iter().product();
                    let mut bytes = vec![0; data_type.bytes_for(elements).unwrap_or(0) as usize];
                    source.read(&mut bytes)?;
                    read = bytes;
                    &read
                }
            };
            // Compared with itself, a tensor is counted through.
            let tensor = TensorRef::new(element, dims, bytes).ok();
            let counted = tensor.and_then(|tensor| compare_outputs(tensor, tensor, None).ok());
            let count = counted.map_or(0, |counted| counted.candidate_nonfinite_count);
            Ok((count > 0).then(|| (source.describe(), count)))
        })
        .collect::<Result<_, Error>>()?;
    Ok(found.into_iter().flatten().collect())
}
