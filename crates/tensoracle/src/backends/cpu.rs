//! The built-in CPU engine as a backend.

use crate::backend::{Backend, BackendError, HostExecution, LoadedEngine, PlanBytes};
use crate::{EngineBuild, HostTensor, TensorFormat, TensorInfo, TensorLocation, TensorMode};
use std::io::Write;
use std::sync::Arc;
use tensoracle_cpu::{BuildOptions, CpuError, Mode, Plan, cpu_level};
use tensoracle_graph::{Graph, Tensor};
use tensoracle_progress::Progress;
use tensoracle_store::Map;

/// Builds and runs engines on the CPU, without a GPU or any of NVIDIA's software.
///
/// ```
/// use tensoracle::{CpuBackend, Mode};
///
/// let fast = CpuBackend::new();
/// let right_answer = CpuBackend::new().mode(Mode::Exact);
/// let on_one_thread = CpuBackend::new().threads(1);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuBackend {
    mode: Mode,
    threads: Option<usize>,
}

impl CpuBackend {
    /// The fast mode on all cores.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how exactly engines execute. Part of the identity.
    #[must_use]
    pub fn mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Sets how many threads each session has to itself, instead of sharing all cores with the
    /// process's other work on rayon. Results do not depend on it, so neither does the identity.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self {
            threads: Some(threads),
            ..self
        }
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn conditions(&self) -> Map {
        Map::from([
            ("version".into(), env!("CARGO_PKG_VERSION").into()),
            ("mode".into(), self.mode.name().into()),
            ("level".into(), cpu_level().name().into()),
        ])
    }

    fn build(
        &self,
        graph: &Graph,
        build: &EngineBuild,
        progress: &dyn Progress,
        out: &mut dyn Write,
    ) -> Result<Map, BackendError> {
        let options = BuildOptions {
            mode: self.mode,
            inputs: build.inputs.clone(),
        };
        tensoracle_cpu::build(graph, &options, progress, out)?;
        Ok(Map::new())
    }

    fn load(&self, plan: PlanBytes) -> Result<Arc<dyn LoadedEngine>, BackendError> {
        let plan = Plan::load(plan)?;
        let graph = plan.graph();
        let info = |mode: TensorMode, (name, tensor): &(String, Tensor)| {
            let dims = graph.dims(*tensor);
            TensorInfo {
                name: name.clone(),
                mode,
                data_type: graph.data_type(*tensor),
                shape: dims.iter().map(|dim| dim.fixed().unwrap_or(-1)).collect(),
                dims: dims.to_string(),
                profile: plan.input_shapes().get(name).cloned(),
                location: TensorLocation::Host,
                format: TensorFormat::Linear,
            }
        };
        let inputs = graph
            .inputs()
            .iter()
            .map(|input| info(TensorMode::Input, input));
        let outputs = graph
            .outputs()
            .iter()
            .map(|output| info(TensorMode::Output, output));
        let tensors = inputs.chain(outputs).collect();
        Ok(Arc::new(CpuEngine {
            plan,
            tensors,
            threads: self.threads,
        }))
    }
}

struct CpuEngine {
    plan: Plan,
    tensors: Vec<TensorInfo>,
    threads: Option<usize>,
}

impl LoadedEngine for CpuEngine {
    fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    fn graph(&self) -> Option<&Graph> {
        Some(self.plan.graph())
    }

    fn create_execution(&self) -> Result<Box<dyn HostExecution>, BackendError> {
        let session = self.plan.session();
        Ok(Box::new(match self.threads {
            Some(threads) => session.with_threads(threads)?,
            None => session,
        }))
    }
}

impl HostExecution for tensoracle_cpu::Session {
    fn set_input_shapes(&mut self, shapes: &[(&str, &[u64])]) -> Result<(), BackendError> {
        Ok(Self::set_input_shapes(self, shapes)?)
    }

    fn tensor_shape(&mut self, name: &str) -> Result<Vec<u64>, BackendError> {
        Ok(Self::tensor_shape(self, name)?)
    }

    fn run(
        &mut self,
        inputs: &[(&str, &HostTensor)],
    ) -> Result<Vec<(String, HostTensor)>, BackendError> {
        let inputs: Vec<_> = inputs
            .iter()
            .map(|&(name, tensor)| tensor.as_input(name))
            .collect();
        let outputs = Self::run(self, &inputs)?;
        outputs
            .into_iter()
            .map(|output| {
                let tensor = HostTensor::from_bytes(output.data_type, output.dims, output.bytes);
                let tensor = tensor.map_err(|error| BackendError {
                    message: error.to_string(),
                    hint: None,
                    cancelled: false,
                    cause: None,
                })?;
                Ok((output.name, tensor))
            })
            .collect()
    }
}

impl From<CpuError> for BackendError {
    fn from(error: CpuError) -> Self {
        Self {
            message: with_causes(&error),
            hint: error.hint(),
            cancelled: matches!(error, CpuError::Cancelled),
            cause: Some(error.into()),
        }
    }
}

/// An error's text with those of its causes.
fn with_causes(error: &CpuError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
