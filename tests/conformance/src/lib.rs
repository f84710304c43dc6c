//! What every layer must compute, whichever backend runs it.
//!
//! A [`Case`] is a small graph with inputs and expected outputs. The expected values come from
//! somewhere else than tensoracle: NumPy in float64 (`scripts/`), the expected outputs of ONNX's
//! own node tests (`data/onnx.md`), or a hand's computation in [`cases`], which has one file a
//! layer. A [`Backend`] runs graphs; [`failures`] runs all cases of a layer on one and tells what
//! differs.
//!
//! What is left out: real models, which the examples test, and what graphs refuse, which the
//! graph's own tests say.

#![forbid(unsafe_code)]

/// Calls a macro with the names of all layers: the one list of them here.
#[macro_export]
macro_rules! for_each_layer {
    ($macro:ident) => {
        $macro! {
            activation,
            cast,
            concatenation,
            constant,
            convolution,
            elementwise,
            gather,
            identity,
            matrix_multiply,
            normalization,
            padding,
            reduce,
            select,
            shape,
            shuffle,
            slice,
            softmax,
            unary,
        }
    };
}

mod array;
mod backend;
mod case;
pub mod cases;
mod compare;
mod minifloat;
mod numpy;
mod onnx;

pub use array::{Array, Values};
pub use backend::{Backend, Precision, failures};
pub use case::{Bound, Case, Sizes};
pub use onnx::{Skipped, skipped};
