//! The inner loops of the CPU engine: matrix products, convolutions, element-wise maps and row
//! operations over slices of `f32` or `f64`.
//!
//! What a tensor, a layer or a data type is, broadcasting and rounding to narrower types belong to
//! the callers: here are slices, lengths and strides only.
//!
//! **Same inputs, same bits.** Every element of an output is computed by one fixed sequence of
//! operations, which depends on the shapes and on [`cpu_level`] but never on the number of threads,
//! on how work was divided, or on where in a slice the element lies.
//!
//! **Programmer errors panic.** Lengths and strides are checked on entry with messages that name
//! the operand; once checked, nothing outside the given slices is read or written.
//!
//! **Threads.** Large work is divided over the current rayon pool, small work stays on the calling
//! thread. A caller with a whole graph to run should do so inside `ThreadPool::install`, since
//! entering a pool from outside costs more than many of these calls.

mod activation;
pub mod compare;
mod conv;
mod fold;
mod gemm;
mod level;
mod map;
mod math;
mod parallel;
mod real;
mod reduce;
mod registers;
mod rows;
mod scratch;

pub use activation::Activation;
pub use conv::{ConvAxis, ConvShape, ConvShapeError, ConvWeights, conv, pack_conv_weights};
pub use gemm::{
    BatchDim, Bias, Epilogue, MatMut, MatRef, Operand, Packed, gemm, gemm_batched, pack_b,
    packed_len,
};
pub use level::{Level, cpu_level};
pub use map::{
    Binary, Unary, activate, binary, binary_in_place, binary_scalar, scalar_binary, scale_shift,
    unary, unary_in_place,
};
pub use real::Real;
pub use reduce::{Reduce, reduce};
pub use rows::{Moments, layer_norm, moments, softmax};
