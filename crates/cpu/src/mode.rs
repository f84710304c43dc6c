//! How exactly a graph is executed.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How exactly a graph is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Computes in `f32`; tensors of narrower floating types are rounded to their type at each
    /// layer's output. Layers may be fused.
    #[default]
    Fast,
    /// Computes each layer in `f64` and rounds once at its output to the declared type: the best
    /// that a layer of those types can do.
    Typed,
    /// Computes in `f64` throughout and rounds nothing but integers: the right answer.
    Exact,
}

impl Mode {
    /// The lower-case name: `fast`, `typed` or `exact`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Typed => "typed",
            Self::Exact => "exact",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}
