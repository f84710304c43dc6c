//! Measurements between two tensors: what differs, by how much, where.
//!
//! [`compare_outputs`] measures a candidate against a reference in one pass at memory speed, on
//! all cores, with nothing materialised: the tensors may be mappings of files larger than memory.
//! What is left out: reading files, and the decision whether an output is good enough.

#![forbid(unsafe_code)]

mod block;
mod comparison;
mod decode;
mod drawing;
mod error;
mod histogram;
mod html;
mod measure;
mod number;
mod quick;
mod report;
mod sums;
mod tensor;
mod tolerance;

pub use comparison::{
    FiniteMeasurements, Located, NonFiniteCounts, OutputComparison, QUANTILES, Quantile,
    compare_outputs, compare_outputs_with,
};
pub use drawing::{Drawing, Piece, Slice};
pub use error::CompareError;
pub use histogram::{Bin, Histogram};
pub use html::html;
pub use number::short;
pub use report::{Report, ReportEntry, Verdict};
pub use tensor::{Scalar, TensorRef, Value};
pub use tensoracle_element::{Element, Kind};
pub use tolerance::Tolerance;

use decode::Precision;
