//! What can go wrong when a graph is compiled, a plan is loaded, or a session runs.

use crate::Mode;
use std::io;
use tensoracle_graph::{DataType, DimError, InputShape, InputShapeFault, SourceError};

/// An error of the CPU engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CpuError {
    /// A graph without outputs computes nothing.
    #[error("the graph has no outputs")]
    NoOutputs,
    /// A constant's elements could not be read.
    #[error("cannot read a constant")]
    Constant(#[from] SourceError),
    /// The plan could not be written.
    #[error("cannot write the plan")]
    Write(#[from] io::Error),
    /// The caller asked to stop.
    #[error("the build was cancelled")]
    Cancelled,
    /// Bytes that are not a plan of this engine, or a damaged one.
    #[error("not a plan of the CPU engine: {problem}")]
    Plan {
        /// What is wrong with the bytes.
        problem: String,
    },
    /// A plan made for other processors, whose constants are laid out otherwise.
    #[error("the plan was built for processors of level `{found}`, this one has `{expected}`")]
    Level {
        /// The plan's level.
        found: String,
        /// This processor's level.
        expected: &'static str,
    },
    /// An input or output that does not exist.
    #[error("there is no {role} `{name}`; there are: {known}")]
    UnknownTensor {
        /// `input` or `output`.
        role: &'static str,
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// An input given twice.
    #[error("input `{name}` is given twice")]
    TwiceGiven {
        /// Its name.
        name: String,
    },
    /// An input that was not given.
    #[error("input `{name}` is missing")]
    MissingInput {
        /// Its name.
        name: String,
    },
    /// An input of another type.
    #[error("input `{name}` has type {found}, expected {expected}")]
    InputType {
        /// Its name.
        name: String,
        /// The type given.
        found: DataType,
        /// The type declared.
        expected: DataType,
    },
    /// An input of another number of bytes.
    #[error("input `{name}` has {found} bytes, expected {expected} for shape {dims:?}")]
    InputBytes {
        /// Its name.
        name: String,
        /// The bytes given.
        found: usize,
        /// The bytes that its type and shape need.
        expected: usize,
        /// Its shape.
        dims: Vec<u64>,
    },
    /// An input shape that the graph does not allow.
    #[error("input `{name}` has shape {found:?}, expected {expected}: {problem}")]
    InputShape {
        /// Its name.
        name: String,
        /// The shape given.
        found: Vec<u64>,
        /// The declared shape.
        expected: String,
        /// What does not fit.
        problem: String,
    },
    /// Declared sizes that do not go with the graph.
    #[error("input `{name}`")]
    DeclaredShape {
        /// The input's name.
        name: String,
        /// What is wrong.
        #[source]
        fault: Box<InputShapeFault>,
    },
    /// An input shape outside the sizes that the plan was built for.
    #[error(
        "input `{name}` has size {} along axis {axis}; the engine was built for {declared}",
        found[*axis]
    )]
    OutOfRange {
        /// The input's name.
        name: String,
        /// The shape given.
        found: Vec<u64>,
        /// The axis, from 0.
        axis: usize,
        /// The sizes that the plan was built for.
        declared: Box<InputShape>,
    },
    /// The shape of an input with named dimensions that was not set.
    #[error("the shape of input `{name}` is not set; it is {expected}")]
    ShapeNotSet {
        /// Its name.
        name: String,
        /// The declared shape.
        expected: String,
    },
    /// Sizes with which a layer cannot run.
    #[error("layer `{layer}` cannot run with these input shapes: {problem}")]
    Constraint {
        /// The layer's name.
        layer: String,
        /// What would have to hold, with both values.
        problem: String,
    },
    /// A size that cannot be computed.
    #[error("layer `{layer}` has no shape for these input shapes")]
    Size {
        /// The layer's name.
        layer: String,
        /// Why.
        #[source]
        cause: DimError,
    },
    /// More memory than there is.
    #[error("cannot allocate {bytes} bytes for {what}")]
    OutOfMemory {
        /// What for.
        what: String,
        /// How many bytes.
        bytes: u64,
    },
    /// Observing layers in a mode that fuses them.
    #[error("layers cannot be observed in the {0} mode, which fuses them; use typed or exact")]
    NotObservable(Mode),
    /// The threads of a session could not be started.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// How many.
        threads: usize,
        /// Why not.
        reason: String,
    },
}

impl CpuError {
    /// What to do about it, where there is a usual remedy.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Level { .. } | Self::Plan { .. } => {
                Some("build the engine again on this machine".into())
            }
            Self::Constant(error) => error.hint.clone(),
            Self::ShapeNotSet { .. } => Some("call `set_input_shapes` before running".into()),
            Self::NoOutputs => Some("mark at least one tensor with `Graph::mark_output`".into()),
            _ => None,
        }
    }
}
