//! How far a candidate may be from its reference.

use crate::CompareError;
use serde::Serialize;

/// An element is within tolerance where
/// `|candidate − reference| <= absolute + relative · |reference|`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tolerance {
    #[serde(rename = "atol")]
    absolute: f64,
    #[serde(rename = "rtol")]
    relative: f64,
}

impl Tolerance {
    /// Both tolerances, together.
    ///
    /// # Errors
    /// One that is negative, infinite or not a number.
    pub fn new(absolute: f64, relative: f64) -> Result<Self, CompareError> {
        for (which, found) in [("absolute", absolute), ("relative", relative)] {
            if !(found.is_finite() && found >= 0.0) {
                return Err(CompareError::Tolerance { which, found });
            }
        }
        Ok(Self { absolute, relative })
    }

    /// The absolute part, in the elements' unit.
    #[must_use]
    pub fn absolute(self) -> f64 {
        self.absolute
    }

    /// The part relative to the reference's magnitude.
    #[must_use]
    pub fn relative(self) -> f64 {
        self.relative
    }
}
