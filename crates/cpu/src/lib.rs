//! tensoracle's CPU engine: executes a graph without a GPU or any of NVIDIA's software.
//!
//! [`build`] compiles a [`Graph`](tensoracle_graph::Graph) into the bytes of a plan, which holds
//! the constants it needs and stands alone; [`Plan::load`] reads one where it lies; a [`Session`]
//! runs it. The [`Mode`] decides how exactly: fast in `f32`, typed (what the declared types can
//! do), or exact in `f64` (the right answer).
//!
//! The same inputs give the same bits, however many threads run.
//!
//! ```
//! use tensoracle_cpu::{Input, Mode, Plan};
//! use tensoracle_graph::{ActivationType, DataType, Graph, dims};
//!
//! let mut graph = Graph::new();
//! let x = graph.add_input("x", DataType::Float, dims!["n"])?;
//! let y = graph.add_activation(x, ActivationType::Relu)?;
//! graph.mark_output("y", y)?;
//!
//! let plan = Plan::compile(&graph, Mode::Fast)?;
//! let mut session = plan.session();
//! session.set_input_shapes(&[("x", &[2])])?;
//! let x: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
//! let input = Input { name: "x", data_type: DataType::Float, bytes: &x };
//! let outputs = session.run(&[input])?;
//! assert_eq!(outputs[0].bytes[..4], 1.5f32.to_le_bytes());
//! assert_eq!(outputs[0].bytes[4..], 0f32.to_le_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is left out: saving plans and finding them again (the `store` crate), and inner loops (the
//! `kernels` crate).

#![forbid(unsafe_code)]

mod bind;
mod constants;
mod convert;
mod error;
mod inputs;
mod layers;
mod minifloat;
mod mode;
mod plan;
mod program;
mod session;
mod storage;

pub use error::CpuError;
pub use mode::Mode;
pub use plan::{BuildOptions, Plan, PlanBytes, build};
pub use session::{Input, Observation, Output, Session, Values};
pub use tensoracle_kernels::{Level, cpu_level};
