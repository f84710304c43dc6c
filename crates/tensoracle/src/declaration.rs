//! What an engine is built for: input shapes and builder settings.
//!
//! What is left out: the graph, and what identifies the result (`identity`).

use crate::{Error, InputShape};
use std::collections::BTreeMap;
use tensoracle_graph::Graph;

/// Settings of the builder, common to all backends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuilderSettings {
    /// Most memory in bytes that layers may use while they run; `None` leaves it to the backend.
    /// Not part of the identity: a saved engine built under another limit is reused, and its header
    /// records the limit it was built under. The CPU backend has no use for it.
    pub workspace_limit: Option<u64>,
    /// How hard the builder tries, from 0 to 5. Part of the identity.
    pub optimization_level: u8,
    /// Whether products of `Float` may be rounded to TF32. Always refused: nothing silently changes
    /// precision. It is here so that asking is answered.
    pub tf32: bool,
}

impl Default for BuilderSettings {
    fn default() -> Self {
        Self {
            workspace_limit: None,
            optimization_level: 3,
            tf32: false,
        }
    }
}

/// Highest optimization level; TensorRT's.
const MAX_OPTIMIZATION_LEVEL: u8 = 5;

impl BuilderSettings {
    fn check(&self) -> Result<(), Error> {
        let fault = |subject: &str, found: String, expected: &str| Error::Declaration {
            subject: format!("setting `{subject}`"),
            found,
            expected: expected.to_owned(),
        };
        if self.tf32 {
            return Err(fault(
                "tf32",
                "true".into(),
                "false, since TF32 is always off",
            ));
        }
        if self.optimization_level > MAX_OPTIMIZATION_LEVEL {
            return Err(fault(
                "optimization_level",
                self.optimization_level.to_string(),
                "0 to 5",
            ));
        }
        if self.workspace_limit == Some(0) {
            return Err(fault(
                "workspace_limit",
                "0".into(),
                "at least 1 byte, or no limit",
            ));
        }
        Ok(())
    }
}

/// What an engine is built for: the shapes of its inputs, and how.
///
/// ```
/// use tensoracle::{BuilderSettings, EngineBuild, InputShape};
///
/// let build = EngineBuild::new()
///     .input("features", InputShape::ranged([1, 1, 2], [1, 64, 2], [1, 448, 2]))
///     .settings(BuilderSettings { optimization_level: 5, ..BuilderSettings::default() });
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EngineBuild {
    /// For every input of the graph, the sizes it may have.
    pub inputs: BTreeMap<String, InputShape>,
    /// How to build.
    pub settings: BuilderSettings,
}

impl EngineBuild {
    /// No inputs yet, and default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares the sizes that an input may have. Every input of the graph needs this.
    #[must_use]
    pub fn input(mut self, name: impl Into<String>, shape: InputShape) -> Self {
        self.inputs.insert(name.into(), shape);
        self
    }

    /// Sets how to build.
    #[must_use]
    pub fn settings(self, settings: BuilderSettings) -> Self {
        Self { settings, ..self }
    }

    /// Checks the declaration by itself and against the graph.
    pub(crate) fn check(&self, graph: &Graph) -> Result<(), Error> {
        self.settings.check()?;
        if graph.outputs().is_empty() {
            return Err(Error::Declaration {
                subject: "graph".into(),
                found: "no outputs".into(),
                expected: "at least one tensor marked with `Graph::mark_output`".into(),
            });
        }
        graph
            .check_input_shapes(&self.inputs)
            .map_err(|(input, fault)| Error::InputShape { input, fault })
    }
}
