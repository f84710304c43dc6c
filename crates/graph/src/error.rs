//! What can be wrong with a layer, an input or an output as it is added: the error names the
//! layer, the place in the caller's source, and what was expected and found.
//!
//! What is left out: errors of whoever supplies constants (`source`) and of files (`definition`).

use crate::{DataType, Dim, Dims};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::panic::Location;

/// A place in source code: where the user added a layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLocation {
    /// The file as the compiler names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl From<&Location<'_>> for SourceLocation {
    fn from(location: &Location<'_>) -> Self {
        Self {
            file: location.file().to_owned(),
            line: location.line(),
            column: location.column(),
        }
    }
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A layer, input or output that was refused. The graph is unchanged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{subject}: {fault}{}", place(location.as_ref()))]
pub struct GraphError {
    /// What was being added: ``elementwise layer `encoder.0.residual` ``.
    pub subject: String,
    /// What is wrong with it; part of the message already, and therefore no source of it.
    pub fault: Box<Fault>,
    /// Where the caller added it; `None` for what was read from a file that does not say.
    pub location: Option<SourceLocation>,
}

fn place(location: Option<&SourceLocation>) -> String {
    location.map_or_else(String::new, |location| format!(" (at {location})"))
}

impl GraphError {
    /// What to do about it, where there is a usual remedy.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        self.fault.hint()
    }
}

/// A tensor as a message names it: its name or producer, type and shape.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorLabel {
    /// The name of the input, or of the layer that produces the tensor.
    pub name: String,
    /// The element type.
    pub data_type: DataType,
    /// The shape.
    pub dims: Dims,
}

impl fmt::Display for TensorLabel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` {}{}", self.name, self.data_type, self.dims)
    }
}

/// What is wrong with a layer, an input or an output.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A tensor's element type is not one that the layer takes.
    #[error("{role} {tensor} has type {}, expected {expected}", tensor.data_type)]
    DataType {
        /// What the tensor is to the layer: "input", "kernel", …
        role: &'static str,
        /// The tensor.
        tensor: TensorLabel,
        /// The types that the layer takes there.
        expected: String,
    },
    /// A tensor's number of dimensions is not one that the layer takes.
    #[error("{role} {tensor} has {} dimensions, expected {expected}", tensor.dims.len())]
    Rank {
        /// What the tensor is to the layer.
        role: &'static str,
        /// The tensor.
        tensor: TensorLabel,
        /// The numbers of dimensions that the layer takes there.
        expected: String,
    },
    /// One dimension of a tensor is not what the layer needs.
    #[error("{role} {tensor} is {found} along axis {axis}, expected {expected}")]
    Dim {
        /// What the tensor is to the layer.
        role: &'static str,
        /// The tensor.
        tensor: TensorLabel,
        /// The axis, from 0.
        axis: usize,
        /// The size found.
        found: Dim,
        /// The size or sizes expected.
        expected: String,
    },
    /// An argument of the layer is not acceptable.
    #[error("argument `{argument}` is {found}, expected {expected}")]
    Argument {
        /// The argument's name.
        argument: &'static str,
        /// What was given.
        found: String,
        /// What is acceptable.
        expected: String,
    },
    /// A reshape whose element counts differ.
    #[error("cannot reshape {tensor} to {to}: expected {expected} elements")]
    Reshape {
        /// The tensor, after the first transpose.
        tensor: TensorLabel,
        /// The requested shape and its number of elements.
        to: String,
        /// The number of elements that the tensor has.
        expected: String,
    },
    /// A slice that reads outside its input in strict mode.
    #[error(
        "axis {axis} of {tensor}: the slice reads index {index}, expected 0 to below {size} in \
         strict mode"
    )]
    OutOfBounds {
        /// The tensor sliced.
        tensor: TensorLabel,
        /// The axis, from 0.
        axis: usize,
        /// The first index found outside.
        index: Dim,
        /// The size along the axis.
        size: Dim,
    },
    /// A shape given by a tensor whose elements depend on more than shapes and constants.
    #[error("{role} {tensor} must be computed from shapes and constants alone, but is not")]
    NotAShape {
        /// What the tensor is to the layer.
        role: &'static str,
        /// The tensor.
        tensor: TensorLabel,
    },
    /// A size that does not fit in 64 bits, or whose expression has grown beyond all use.
    #[error("{what} is too large to write down: beyond 64 bits, or thousands of terms")]
    Overflow {
        /// What was computed.
        what: String,
    },
    /// A tensor of another graph.
    #[error("{role} is a tensor of another graph")]
    ForeignTensor {
        /// What the tensor is to the layer.
        role: &'static str,
    },
    /// A required tensor that was not given.
    #[error("{role} is missing")]
    MissingTensor {
        /// What the tensor is to the layer.
        role: &'static str,
    },
    /// A number of tensors that the layer does not take.
    #[error("{found} input tensors were given, expected {expected}")]
    InputCount {
        /// How many were given.
        found: usize,
        /// How many the layer takes.
        expected: String,
    },
    /// A name that something else already has.
    #[error("the name `{name}` is already taken by {by}")]
    NameTaken {
        /// The name.
        name: String,
        /// What has it.
        by: String,
    },
    /// A name that cannot be used.
    #[error("the name `{name}` {problem}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl Fault {
    /// What to do about it, where there is a usual remedy.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::DataType { .. } => {
                Some("networks are strongly typed: convert with a cast layer first".into())
            }
            Self::Rank { .. } => {
                Some("add a shuffle layer whose reshape inserts or removes dimensions of 1".into())
            }
            Self::Dim { found, .. } if found.fixed().is_none() => Some(
                "give dimensions that are equal at run time the same name; one that is to be \
                 broadcast must be fixed at 1"
                    .into(),
            ),
            Self::OutOfBounds { .. } => {
                Some("use the mode clamp, wrap, reflect or fill to read outside the input".into())
            }
            Self::NameTaken { .. } => {
                Some("give each a name of its own; name repeated blocks with `Graph::scope`".into())
            }
            Self::NotAShape { .. } => {
                Some("start from a shape layer or a constant, or reshape with fixed numbers".into())
            }
            _ => None,
        }
    }
}
