//! What an engine is built and run by: the seam between the user's view and CPU or TensorRT.
//!
//! What is left out: the backends themselves (`backends`) and saving (`open`).

use crate::{EngineBuild, HostTensor, TensorInfo};
use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use tensoracle_graph::Graph;
use tensoracle_progress::Progress;
use tensoracle_store::Map;

/// A plan's bytes: a mapped saved engine, or memory.
pub type PlanBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// An error of a backend, with what to do about it where there is a usual remedy.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct BackendError {
    /// What happened, with what caused it.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whether the caller had asked to stop.
    pub cancelled: bool,
    /// The backend's own error, for programs to look into.
    pub cause: Option<Box<dyn Error + Send + Sync>>,
}

/// Builds and loads engines.
pub trait Backend: Send + Sync {
    /// The name in identities and messages: `cpu`, `tensorrt`, …
    fn name(&self) -> &'static str;

    /// Everything about the backend that decides whether a plan can be reused: its version, its
    /// own settings, and the device.
    fn conditions(&self) -> Map;

    /// Builds `graph`, whose declaration has been checked, and writes the plan to `out`. Gives what
    /// is worth recording about the build beside the identity.
    ///
    /// # Errors
    /// What the backend refuses, a full disk, or cancellation.
    fn build(
        &self,
        graph: &Graph,
        build: &EngineBuild,
        progress: &dyn Progress,
        out: &mut dyn Write,
    ) -> Result<Map, BackendError>;

    /// Loads a plan that the backend built.
    ///
    /// # Errors
    /// A plan of another backend, version or device, or a damaged one.
    fn load(&self, plan: PlanBytes) -> Result<Arc<dyn LoadedEngine>, BackendError>;
}

/// A loaded plan, shared by its execution units.
pub trait LoadedEngine: Send + Sync {
    /// All inputs and outputs.
    fn tensors(&self) -> &[TensorInfo];

    /// The graph, where the plan holds it.
    fn graph(&self) -> Option<&Graph> {
        None
    }

    /// An execution unit of its own.
    ///
    /// # Errors
    /// When the backend has no room for another.
    fn create_execution(&self) -> Result<Box<dyn HostExecution>, BackendError>;
}

/// An execution unit over host memory. One run at a time.
pub trait HostExecution: Send {
    /// Sets the shapes of all inputs that can have several, together. Others may be left out.
    ///
    /// # Errors
    /// Shapes that are out of range or do not go together; no shapes are set then.
    fn set_input_shapes(&mut self, shapes: &[(&str, &[u64])]) -> Result<(), BackendError>;

    /// The concrete shape of an input or output under the shapes that are set.
    ///
    /// # Errors
    /// An unknown name, or shapes that are not set.
    fn tensor_shape(&mut self, name: &str) -> Result<Vec<u64>, BackendError>;

    /// Runs on all inputs and gives all outputs, in the engine's order.
    ///
    /// # Errors
    /// Inputs that are missing, unknown, or of another type or size.
    fn run(
        &mut self,
        inputs: &[(&str, &HostTensor)],
    ) -> Result<Vec<(String, HostTensor)>, BackendError>;
}
