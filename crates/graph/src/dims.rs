//! A shape: up to eight dimensions.
//!
//! What is left out: how layers combine shapes (`infer`), and what a single dimension is (`dim`).

use crate::{Dim, DimError};
use std::fmt;
use std::ops::Deref;

/// TensorRT's `Dims::MAX_DIMS`: no tensor has more dimensions.
pub const MAX_DIMS: usize = 8;

/// The dimensions of a tensor, outermost first; empty for a scalar.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Dims(Vec<Dim>);

/// Writes a shape with fixed and named dimensions: `dims![1, "tokens", 384]`.
#[macro_export]
macro_rules! dims {
    ($($dim:expr),* $(,)?) => {
        $crate::Dims::from(vec![$($crate::Dim::from($dim)),*])
    };
}

impl Dims {
    /// The product of all dimensions; `None` when a coefficient overflows 64 bits.
    #[must_use]
    pub fn volume(&self) -> Option<Dim> {
        self.0
            .iter()
            .try_fold(Dim::from(1), |product, dim| product.mul(dim))
    }

    /// The sizes where every dimension is fixed and none is negative.
    #[must_use]
    pub fn fixed(&self) -> Option<Vec<u64>> {
        self.0
            .iter()
            .map(|dim| u64::try_from(dim.fixed()?).ok())
            .collect()
    }

    /// The sizes under the given sizes of the names.
    ///
    /// # Errors
    /// As [`Dim::evaluate`]; a negative size is an overflow.
    pub fn evaluate(&self, size_of: &dyn Fn(&str) -> Option<i64>) -> Result<Vec<u64>, DimError> {
        self.0
            .iter()
            .map(|dim| {
                u64::try_from(dim.evaluate(size_of)?)
                    .map_err(|_| DimError::Overflow(dim.to_string()))
            })
            .collect()
    }
}

impl Deref for Dims {
    type Target = [Dim];

    fn deref(&self) -> &[Dim] {
        &self.0
    }
}

impl From<Vec<Dim>> for Dims {
    fn from(dims: Vec<Dim>) -> Self {
        Self(dims)
    }
}

impl From<&[u64]> for Dims {
    fn from(dims: &[u64]) -> Self {
        dims.iter().copied().collect()
    }
}

impl<T: Into<Dim>> FromIterator<T> for Dims {
    fn from_iter<I: IntoIterator<Item = T>>(dims: I) -> Self {
        Self(dims.into_iter().map(Into::into).collect())
    }
}

impl fmt::Display for Dims {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[")?;
        for (index, dim) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str(", ")?;
            }
            write!(formatter, "{dim}")?;
        }
        formatter.write_str("]")
    }
}

impl fmt::Debug for Dims {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_reads_and_multiplies() {
        let shape = dims![2, "tokens", 384];
        assert_eq!(shape.to_string(), "[2, tokens, 384]");
        assert_eq!(shape.volume().unwrap().to_string(), "768·tokens");
        assert_eq!(dims![].volume(), Some(Dim::from(1)));
        assert_eq!(shape.fixed(), None);
        assert_eq!(shape.evaluate(&|_| Some(7)), Ok(vec![2, 7, 384]));
    }
}
