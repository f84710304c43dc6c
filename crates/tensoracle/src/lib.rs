//! Build, save, reuse, execute and verify engines from graphs over safetensors weights.
//!
//! Define a model once as a [`Graph`] over the tensors of a safetensors file. [`Engine::open`]
//! builds it, saves the result, and finds it again in the next process: by the graph, the weights,
//! the declaration and the machine themselves, not by a version that somebody must remember to
//! raise. A [`Session`] runs it. The built-in [`CpuBackend`] needs no GPU and none of NVIDIA's
//! software, and in its exact mode says what the right answer is.
//!
//! ```
//! use tensoracle::{
//!     CpuBackend, DataType, ElementWiseOperation, Engine, EngineBuild, HostTensor, InputShape,
//!     OpenOptions, Values, dims,
//! };
//!
//! # let folder = tempfile::tempdir()?;
//! # let store = tensoracle::Store::at(folder.path());
//! let build = EngineBuild::new()
//!     .input("features", InputShape::ranged([1, 1, 2], [1, 64, 2], [1, 448, 2]));
//! let options = OpenOptions::named("example");
//! # let options = options.store(store);
//! let engine = Engine::open(&CpuBackend::new(), &build, options, |graph| {
//!     let features = graph.add_input("features", DataType::Float, dims![1, "n", 2])?;
//!     let bias = graph.add_constant(Values::new([1, 1, 2], [0.5f32, -0.5]))?;
//!     let result = graph.add_elementwise(features, bias, ElementWiseOperation::Sum)?;
//!     graph.mark_output("result", result)?;
//!     Ok(())
//! })?;
//!
//! let features = HostTensor::new([1, 2, 2], [1.0f32, 2.0, 3.0, 4.0])?;
//! let outputs = engine.session()?.run(&[("features", &features)])?;
//! assert_eq!(outputs.get("result")?.to_vec::<f32>()?, [1.5, 1.5, 3.5, 3.5]);
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

#![forbid(unsafe_code)]

mod backend;
mod backends;
mod declaration;
mod digests;
mod engine;
mod error;
mod graph_file;
mod identity;
mod io;
mod options;
pub mod oracle;
mod session;
mod tensor;

pub use backend::{Backend, BackendError, HostExecution, LoadedEngine, PlanBytes};
pub use backends::CpuBackend;
pub use declaration::{BuilderSettings, EngineBuild};
pub use engine::{DefineResult, Engine, build_plan, build_plan_with};
pub use error::Error;
pub use graph_file::{export_graph, import_graph};
pub use io::{
    EngineIo, EngineIoError, IoField, TensorFormat, TensorInfo, TensorLocation, TensorMode,
    TensorSpec,
};
pub use options::{OpenOptions, OpenPolicy};
pub use session::{Outputs, Session};
pub use tensor::{HostTensor, stored_element};
pub use tensoracle_cpu::{CpuError, Mode};
pub use tensoracle_graph::*;
pub use tensoracle_progress::{Progress, Silent, Unit};
pub use tensoracle_store::{
    CorruptEngineError, Difference, EngineConditionError, Explanation, Header, Map, Near, OnDamage,
    Selector, Store, StoreError, Value, Verify, Wait,
};
pub use tensoracle_weights::{Weights, WeightsError, WeightsOptions};

/// Comparing outputs.
pub use tensoracle_compare as compare;
/// Safetensors weights.
pub use tensoracle_weights as weights;
