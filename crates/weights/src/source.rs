//! Tensors as constants of a graph.

use crate::error::WeightsError;
use crate::view::WeightTensor;
use std::sync::Arc;
use tensoracle_graph::{ConstantSource, DataType, Recipe, SourceError};

/// A tensor whose element type TensorRT has: what a graph takes as a constant.
#[derive(Debug, Clone)]
pub struct WeightConstant {
    tensor: WeightTensor,
    data_type: DataType,
}

impl WeightTensor {
    /// The tensor as a constant for a graph.
    ///
    /// # Errors
    /// [`WeightsError::NoDataType`] when TensorRT has no such element type (`F64`, `I16`, …);
    /// [`cast`](Self::cast) it first.
    pub fn into_constant(self) -> Result<WeightConstant, WeightsError> {
        match self.element().data_type() {
            Some(data_type) => Ok(WeightConstant {
                tensor: self,
                data_type,
            }),
            None => Err(WeightsError::NoDataType {
                tensor: self.describe(),
                element: self.element(),
            }),
        }
    }
}

impl WeightConstant {
    /// The tensor.
    #[must_use]
    pub fn tensor(&self) -> &WeightTensor {
        &self.tensor
    }
}

impl ConstantSource for WeightConstant {
    fn data_type(&self) -> DataType {
        self.data_type
    }

    fn dims(&self) -> &[u64] {
        self.tensor.dims()
    }

    fn recipe(&self) -> Result<Recipe, SourceError> {
        Ok(self.tensor.recipe())
    }

    fn read(&self, out: &mut [u8]) -> Result<(), SourceError> {
        self.tensor.read(out).map_err(|error| {
            let subject = self.tensor.describe();
            let text = error.to_string();
            // The error names the tensor, too; once is enough.
            let reason = text.strip_prefix(&format!("{subject}: ")).unwrap_or(&text);
            SourceError {
                reason: reason.to_owned(),
                hint: error.hint(),
                subject,
                cause: Some(Arc::new(error)),
            }
        })
    }

    fn bytes(&self) -> Option<&[u8]> {
        self.tensor.bytes()
    }

    fn describe(&self) -> String {
        self.tensor.describe()
    }
}
