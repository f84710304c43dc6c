//! Everything that building, opening and running an engine can answer instead.

use crate::backend::BackendError;
use crate::{DataType, EngineIoError};
use std::path::PathBuf;
use tensoracle_graph::{GraphError, InputShapeFault, SourceError};
use tensoracle_store::{Difference, StoreError};
use tensoracle_weights::WeightsError;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The user's graph function failed.
    #[error("the graph could not be defined")]
    Define(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The declaration of the build is not acceptable.
    #[error("{subject} is {found}, expected {expected}")]
    Declaration {
        /// What is not acceptable.
        subject: String,
        /// What was given.
        found: String,
        /// What is acceptable.
        expected: String,
    },
    /// The declared sizes of an input do not go with the graph.
    #[error("input `{input}`: {fault}")]
    InputShape {
        /// The input.
        input: String,
        /// What does not fit.
        fault: Box<InputShapeFault>,
    },
    /// Weights could not be read, or changed while an engine was built from them.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// A constant could not be read.
    #[error(transparent)]
    Constant(#[from] SourceError),
    /// The engine's inputs or outputs are not what was expected.
    #[error(transparent)]
    Io(#[from] EngineIoError),
    /// The folder of saved engines answered with an error.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The backend refused.
    #[error("{backend} backend: {error}")]
    Backend {
        /// The backend's name.
        backend: &'static str,
        /// What it said.
        error: BackendError,
    },
    /// There is no saved engine, and building was not allowed.
    #[error("engine {name:?} is not saved in {} under these conditions{}", folder.display(), listed(nearest))]
    NotSaved {
        /// The engine's name.
        name: String,
        /// The folder of saved engines.
        folder: PathBuf,
        /// In what the nearest saved engine of that name differs.
        nearest: Vec<Difference>,
    },
    /// A saved engine that this backend on this machine cannot run.
    #[error("saved engine {} cannot run here{}", path.display(), listed(differences))]
    Incompatible {
        /// The saved engine's file.
        path: PathBuf,
        /// In what its backend and device differ from those here.
        differences: Vec<Difference>,
    },
    /// A saved engine of a backend that this version does not have.
    #[error(
        "the saved engine was built by the backend `{found}`, expected `cpu` with mode fast, typed or exact"
    )]
    UnknownBackend {
        /// The backend that it names.
        found: String,
    },
    /// A file that is no exported graph.
    #[error("graph file {}: {problem}", path.display())]
    GraphFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// An input that was not given.
    #[error("input `{name}` is missing")]
    MissingInput {
        /// Its name.
        name: String,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// Elements that do not fit type and shape.
    #[error(
        "a tensor {data_type}{dims:?} was given {found} bytes, expected {}",
        expected.map_or_else(|| "more than 64 bits can count".into(), |n| n.to_string())
    )]
    Elements {
        /// The element type.
        data_type: DataType,
        /// The shape.
        dims: Vec<u64>,
        /// The bytes given.
        found: usize,
        /// The bytes needed.
        expected: Option<u64>,
    },
    /// Elements read as another type.
    #[error("the tensor has type {found}, expected {expected}")]
    ElementType {
        /// The tensor's type.
        found: DataType,
        /// The type asked for.
        expected: DataType,
    },
    /// An output that the engine does not have.
    #[error("there is no output `{name}`; there are: {known}")]
    NoOutput {
        /// The name asked for.
        name: String,
        /// The names that there are.
        known: String,
    },
}

fn listed(differences: &[Difference]) -> String {
    differences
        .iter()
        .map(|difference| format!("; {difference}"))
        .collect()
}

impl Error {
    /// What to do about it, where there is a usual remedy.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Define(error) => error
                .downcast_ref::<GraphError>()
                .and_then(GraphError::hint)
                .or_else(|| {
                    error
                        .downcast_ref::<WeightsError>()
                        .and_then(WeightsError::hint)
                }),
            Self::Weights(error) => error.hint(),
            Self::Constant(error) => error.hint.clone(),
            Self::Store(error) => error.hint(),
            Self::Backend { error, .. } => error.hint.clone(),
            Self::InputShape { fault, .. } => (**fault == InputShapeFault::Missing)
                .then(|| "declare it with `EngineBuild::input`".into()),
            Self::NotSaved { .. } => Some(
                "allow building with `OpenPolicy::BuildIfAbsent`, or import an engine that was \
                 exported on a machine like this one"
                    .into(),
            ),
            Self::Incompatible { .. } => {
                Some("build the engine on this machine, or open one that was built for it".into())
            }
            Self::Io(_) => Some(
                "correct the expectation, or build an engine of that shape under another name"
                    .into(),
            ),
            _ => None,
        }
    }

    pub(crate) fn backend(backend: &'static str) -> impl Fn(BackendError) -> Self {
        move |error| match error.cancelled {
            true => Self::Cancelled,
            false => Self::Backend { backend, error },
        }
    }
}
