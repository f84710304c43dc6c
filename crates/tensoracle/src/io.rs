//! What an engine's inputs and outputs are, and what a caller expects them to be.
//!
//! What is left out: tensors with elements (`tensor`).

use crate::{DataType, InputShape};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Where a tensor's elements are expected when the engine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TensorLocation {
    /// In the memory of the device that computes.
    Device,
    /// In the memory of the host.
    Host,
}

/// How a tensor's elements lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TensorFormat {
    /// Row-major.
    Linear,
}

/// Whether a tensor goes in or comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TensorMode {
    /// A network input.
    Input,
    /// A network output.
    Output,
}

/// An input or output as an engine has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// Whether it goes in or comes out.
    pub mode: TensorMode,
    /// Its element type.
    pub data_type: DataType,
    /// Its shape as it was built: −1 for each dimension that is not fixed.
    pub shape: Vec<i64>,
    /// Its shape as the graph writes it, with names.
    pub dims: String,
    /// For an input, the sizes that it may have, where the engine limits them.
    pub profile: Option<InputShape>,
    /// Where its elements are.
    pub location: TensorLocation,
    /// How its elements lie.
    pub format: TensorFormat,
}

/// What a caller expects of one input or output.
///
/// ```
/// use tensoracle::{DataType, TensorLocation, TensorSpec};
///
/// let spec = TensorSpec::new(DataType::Float, [1, -1, 2]).location(TensorLocation::Host);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorSpec {
    /// The element type.
    pub data_type: DataType,
    /// The shape as built: −1 for each dimension that is not fixed.
    pub shape: Vec<i64>,
    /// Where the elements are; not compared when `None`.
    pub location: Option<TensorLocation>,
    /// How the elements lie; not compared when `None`.
    pub format: Option<TensorFormat>,
}

impl TensorSpec {
    /// Expects a type and a shape, with −1 for each dimension that is not fixed.
    #[must_use]
    pub fn new(data_type: DataType, shape: impl Into<Vec<i64>>) -> Self {
        Self {
            data_type,
            shape: shape.into(),
            location: None,
            format: None,
        }
    }

    /// Expects a location, too.
    #[must_use]
    pub fn location(self, location: TensorLocation) -> Self {
        Self {
            location: Some(location),
            ..self
        }
    }

    /// Expects a format, too.
    #[must_use]
    pub fn format(self, format: TensorFormat) -> Self {
        Self {
            format: Some(format),
            ..self
        }
    }
}

/// What a caller expects an engine's inputs and outputs to be: all of them, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EngineIo {
    /// The inputs.
    pub inputs: BTreeMap<String, TensorSpec>,
    /// The outputs.
    pub outputs: BTreeMap<String, TensorSpec>,
}

impl EngineIo {
    /// No inputs and no outputs yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Expects an input.
    #[must_use]
    pub fn input(mut self, name: impl Into<String>, spec: TensorSpec) -> Self {
        self.inputs.insert(name.into(), spec);
        self
    }

    /// Expects an output.
    #[must_use]
    pub fn output(mut self, name: impl Into<String>, spec: TensorSpec) -> Self {
        self.outputs.insert(name.into(), spec);
        self
    }
}

/// A field in which an engine is not what its caller expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoField {
    /// Whether there is such a tensor, and whether it goes in or comes out.
    Mode,
    /// The element type.
    DataType,
    /// The shape as built.
    Shape,
    /// The sizes that an input may have.
    Profile,
    /// Where the elements are.
    Location,
    /// How the elements lie.
    Format,
}

impl fmt::Display for IoField {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Mode => "mode",
            Self::DataType => "data type",
            Self::Shape => "build-time shape",
            Self::Profile => "profile",
            Self::Location => "location",
            Self::Format => "format",
        })
    }
}

/// An engine whose inputs or outputs are not what its caller expects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "tensor `{tensor}` has {field} {observed}, expected {expected}{}",
    path.as_ref().map(|path| format!(" (saved engine {})", path.display())).unwrap_or_default()
)]
pub struct EngineIoError {
    /// The tensor's name.
    pub tensor: String,
    /// In which field it differs.
    pub field: IoField,
    /// What the engine has.
    pub observed: String,
    /// What was expected.
    pub expected: String,
    /// The saved engine's file, if it comes from one.
    pub path: Option<PathBuf>,
}

/// Compares what an engine has with what is expected: names, modes, types, shapes, profiles where
/// the build declares them, and location and format where given.
pub(crate) fn check(
    found: &[TensorInfo],
    expected: &EngineIo,
    profiles: &BTreeMap<String, InputShape>,
) -> Result<(), EngineIoError> {
    let specs = expected
        .inputs
        .iter()
        .map(|(name, spec)| (name, TensorMode::Input, spec))
        .chain(
            expected
                .outputs
                .iter()
                .map(|(name, spec)| (name, TensorMode::Output, spec)),
        );
    for (name, mode, spec) in specs.clone() {
        let info = found
            .iter()
            .find(|info| info.name == *name && info.mode == mode);
        let Some(info) = info else {
            let other = found.iter().find(|info| info.name == *name);
            let observed = other.map_or_else(|| "none".into(), |info| format!("{:?}", info.mode));
            return Err(differs(name, IoField::Mode, observed, format!("{mode:?}")));
        };
        check_tensor(info, spec)?;
    }
    for info in found {
        if !specs
            .clone()
            .any(|(name, mode, _)| info.name == *name && info.mode == mode)
        {
            let observed = format!("{:?}", info.mode);
            return Err(differs(&info.name, IoField::Mode, observed, "none".into()));
        }
        if let (TensorMode::Input, Some(found), Some(declared)) =
            (info.mode, &info.profile, profiles.get(&info.name))
            && found != declared
        {
            let (observed, expected) = (found.to_string(), declared.to_string());
            return Err(differs(&info.name, IoField::Profile, observed, expected));
        }
    }
    Ok(())
}

fn check_tensor(info: &TensorInfo, spec: &TensorSpec) -> Result<(), EngineIoError> {
    if info.data_type != spec.data_type {
        let (observed, expected) = (info.data_type.to_string(), spec.data_type.to_string());
        return Err(differs(&info.name, IoField::DataType, observed, expected));
    }
    if info.shape != spec.shape {
        let (observed, expected) = (format!("{:?}", info.shape), format!("{:?}", spec.shape));
        return Err(differs(&info.name, IoField::Shape, observed, expected));
    }
    if let Some(location) = spec.location.filter(|location| *location != info.location) {
        let (observed, expected) = (format!("{:?}", info.location), format!("{location:?}"));
        return Err(differs(&info.name, IoField::Location, observed, expected));
    }
    if let Some(format) = spec.format.filter(|format| *format != info.format) {
        let (observed, expected) = (format!("{:?}", info.format), format!("{format:?}"));
        return Err(differs(&info.name, IoField::Format, observed, expected));
    }
    Ok(())
}

fn differs(tensor: &str, field: IoField, observed: String, expected: String) -> EngineIoError {
    EngineIoError {
        tensor: tensor.to_owned(),
        field,
        observed,
        expected,
        path: None,
    }
}
