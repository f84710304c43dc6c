//! The closed set of layers: one file a layer, each with its arguments, its rules, and the
//! method of [`Graph`](crate::Graph) that adds it.
//!
//! TensorRT's own documentation of a layer is the authority on what it means. What is left out:
//! how a layer is computed or built, which backends know, in files of the same names.

mod activation;
mod cast;
mod concatenation;
mod constant;
mod convolution;
mod elementwise;
mod gather;
mod identity;
mod matrix_multiply;
mod normalization;
mod padding;
mod reduce;
mod select;
mod shape;
mod shuffle;
mod slice;
mod softmax;
mod unary;

pub use activation::{Activation, ActivationType};
pub use cast::Cast;
pub use concatenation::Concatenation;
pub use constant::{Constant, Values, ValuesElement};
pub use convolution::{Convolution, PaddingMode};
pub use elementwise::{ElementWise, ElementWiseOperation};
pub use gather::{Gather, GatherMode};
pub use identity::Identity;
pub use matrix_multiply::{MatrixMultiply, MatrixOperation};
pub use normalization::Normalization;
pub use padding::Padding;
pub use reduce::{Reduce, ReduceOperation};
pub use select::Select;
pub use shape::Shape;
pub use shuffle::Shuffle;
pub use slice::{ResolvedSlice, SampleMode, Slice, SliceInputs};
pub use softmax::SoftMax;
pub use unary::{Unary, UnaryOperation};

use crate::Fault;
use crate::infer::{Infer, Inferred};
use serde::{Deserialize, Serialize};

/// Declares the closed set: the enum, its kinds as listings name them, and the dispatch to each
/// layer's rules.
macro_rules! layers {
    ($($(#[$doc:meta])* $name:ident => $kind:literal,)*) => {
        /// A layer's kind and arguments.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub enum Layer {
            $($(#[$doc])* $name($name),)*
        }

        impl Layer {
            /// The kind in lower case, as listings, automatic names and file names have it.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $kind,)*
                }
            }

            /// Checks the layer against its inputs and gives what it produces. Arguments that
            /// have several spellings (negative axes) come out in one.
            pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Vec<Inferred>, Fault> {
                match self {
                    $(Self::$name(layer) => Ok(vec![layer.infer(infer)?]),)*
                }
            }
        }

        $(impl From<$name> for Layer {
            fn from(layer: $name) -> Self {
                Self::$name(layer)
            }
        })*
    };
}

layers! {
    /// `IActivationLayer`.
    Activation => "activation",
    /// `ICastLayer`.
    Cast => "cast",
    /// `IConcatenationLayer`.
    Concatenation => "concatenation",
    /// `IConstantLayer`.
    Constant => "constant",
    /// `IConvolutionLayer`.
    Convolution => "convolution",
    /// `IElementWiseLayer`.
    ElementWise => "elementwise",
    /// `IGatherLayer`.
    Gather => "gather",
    /// `IIdentityLayer`.
    Identity => "identity",
    /// `IMatrixMultiplyLayer`.
    MatrixMultiply => "matrix_multiply",
    /// `INormalizationLayer`.
    Normalization => "normalization",
    /// `IPaddingLayer`.
    Padding => "padding",
    /// `IReduceLayer`.
    Reduce => "reduce",
    /// `ISelectLayer`.
    Select => "select",
    /// `IShapeLayer`.
    Shape => "shape",
    /// `IShuffleLayer`.
    Shuffle => "shuffle",
    /// `ISliceLayer`.
    Slice => "slice",
    /// `ISoftMaxLayer`.
    SoftMax => "softmax",
    /// `IUnaryLayer`.
    Unary => "unary",
}
