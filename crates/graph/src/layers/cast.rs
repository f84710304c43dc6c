//! `ICastLayer`: elements converted to another type.

use crate::infer::{Infer, Inferred};
use crate::{DataType, Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// Arguments of a cast layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cast {
    /// The type converted to.
    pub to_type: DataType,
}

impl Cast {
    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(1)?;
        let input = infer.input(0, "input")?;
        let value = input.value().map(<[_]>::to_vec);
        Ok(Inferred::new(self.to_type, input.dims().clone()).with_value(value))
    }
}

impl Graph {
    /// Adds a cast to `to_type`.
    ///
    /// Floating point rounds to the nearest value, ties to even; a value beyond the range of
    /// `Half` or `BFloat16` becomes infinite, beyond that of `Fp8` or `Fp4` the largest finite
    /// value. Floating point to integers truncates towards zero. Anything but zero is `true`.
    ///
    /// # Errors
    /// A tensor of another graph.
    #[track_caller]
    pub fn add_cast(&mut self, input: Tensor, to_type: DataType) -> Result<Tensor, GraphError> {
        self.add_one(Cast { to_type }, &[Some(input)])
    }
}
