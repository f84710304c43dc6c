//! tensoracle's typed graph: what a model is, as data.
//!
//! A [`Graph`] holds typed [`Tensor`]s and the [`Layer`]s between them, named and documented as
//! TensorRT names and documents them. It checks types and shapes as layers are added, keeps
//! dimensions that vary as named expressions ([`Dim`]), digests itself for the identity of saved
//! engines, prints, and draws itself. Constants are supplied through [`ConstantSource`], so that
//! a graph over gigabytes of weights reads none of them while it is defined.
//!
//! What is left out: files, arithmetic on elements, and every backend.

#![forbid(unsafe_code)]

mod data_type;
mod definition;
mod dim;
mod dims;
mod display;
mod draw;
mod error;
mod graph;
mod infer;
mod input_shape;
pub mod layers;
mod source;

pub use data_type::{DataType, Kind};
pub use definition::{
    ConstantDefinition, DefinitionError, DimDefinition, FORMAT, GraphDefinition, InputDefinition,
    LayerDefinition, OutputDefinition,
};
pub use dim::{Dim, DimError};
pub use dims::{Dims, MAX_DIMS};
pub use error::{Fault, GraphError, SourceLocation, TensorLabel};
pub use graph::{Graph, Node, Tensor};
pub use infer::Constraint;
pub use input_shape::{InputShape, InputShapeFault};
pub use layers::{
    Activation, ActivationType, Cast, Concatenation, Constant, Convolution, ElementWise,
    ElementWiseOperation, Gather, GatherMode, Identity, Layer, MatrixMultiply, MatrixOperation,
    Normalization, Padding, PaddingMode, Reduce, ReduceOperation, ResolvedSlice, SampleMode,
    Select, Shape, Shuffle, Slice, SliceInputs, SoftMax, Unary, UnaryOperation, Values,
    ValuesElement,
};
pub use source::{ConstantSource, ContentDigest, Recipe, SourceError};
