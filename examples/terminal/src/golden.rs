//! Golden files: right answers, computed by other programs.

use anyhow::{Context, Result};
use std::path::Path;
use tensoracle::Weights;
use tensoracle::weights::Element;

/// An open golden file.
#[derive(Debug)]
pub struct Golden(Weights);

impl Golden {
    /// Opens a golden file, which is a safetensors file.
    ///
    /// # Errors
    /// A file that is missing or is something else.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self(Weights::open(path)?))
    }

    /// The elements of a tensor of any numeric type.
    ///
    /// # Errors
    /// No tensor of that name, or one that does not hold numbers.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>> {
        let bytes = self.0.tensor(name)?.cast(Element::F64)?.to_vec()?;
        let numbers = bytes.chunks_exact(size_of::<f64>());
        numbers
            .map(|bytes| Ok(f64::from_le_bytes(bytes.try_into()?)))
            .collect()
    }

    /// What the file says under a heading.
    ///
    /// # Errors
    /// No such heading.
    pub fn text(&self, heading: &str) -> Result<&str> {
        let text = self.0.metadata().get(heading).copied();
        text.with_context(|| format!("the golden file says nothing under `{heading}`"))
    }

    /// The largest difference of `found` from a tensor of the file.
    ///
    /// # Errors
    /// As [`Self::numbers`], or another number of elements.
    pub fn max_abs_error(&self, name: &str, found: &[f32]) -> Result<f64> {
        let pairs = self.pairs(name, found)?;
        let differences = pairs.map(|(found, expected)| (found - expected).abs());
        // A result that is not a number is as wrong as can be.
        Ok(
            differences.fold(0.0, |most, difference| match difference.is_nan() {
                true => f64::INFINITY,
                false => difference.max(most),
            }),
        )
    }

    /// The Euclidean norm of the difference of `found` from a tensor of the file, divided by that of
    /// the tensor.
    ///
    /// # Errors
    /// As [`Self::max_abs_error`].
    pub fn relative_l2_error(&self, name: &str, found: &[f32]) -> Result<f64> {
        let pairs = self.pairs(name, found)?;
        let (error, norm) = pairs.fold((0.0, 0.0), |(error, norm), (found, expected)| {
            (error + (found - expected).powi(2), norm + expected.powi(2))
        });
        Ok((error / norm).sqrt())
    }

    fn pairs<'a>(
        &self,
        name: &str,
        found: &'a [f32],
    ) -> Result<impl Iterator<Item = (f64, f64)> + use<'a>> {
        let expected = self.numbers(name)?;
        anyhow::ensure!(
            expected.len() == found.len(),
            "there are {} results, and {} in the golden file's `{name}`",
            found.len(),
            expected.len()
        );
        Ok(found.iter().map(|found| f64::from(*found)).zip(expected))
    }
}
