//! tensoracle's typed graph.

#![forbid(unsafe_code)]

mod data_type;
mod source;

pub use data_type::{DataType, Kind};
pub use source::{ConstantSource, ContentDigest, Recipe, SourceError};
