//! How each layer is computed: one file a layer, named as in the graph crate.
//!
//! Shapes and types are checked by the graph's inference; nothing here can fail. What is left out:
//! the inner loops (the `kernels` crate), rounding to declared types (`convert`), and when a layer
//! runs (`session`).

mod activation;
mod cast;
mod concatenation;
mod constant;
pub(crate) mod convolution;
mod elementwise;
mod gather;
mod identity;
pub(crate) mod matrix_multiply;
mod normalization;
mod padding;
mod reduce;
mod select;
mod shape;
mod shuffle;
mod slice;
mod softmax;
mod strided;
mod unary;

pub(crate) use activation::kernel as activation_kernel;

use crate::storage::{Elements, ElementsMut};
use tensoracle_graph::{DataType, Layer, ResolvedSlice};
use tensoracle_kernels::{Activation, Real};

/// An input tensor of a layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand<'a, T> {
    pub(crate) dims: &'a [usize],
    /// In the order of the dims, or rearranged if `packed`.
    pub(crate) elements: Elements<'a, T>,
    /// Whether the elements are a constant rearranged for the layer's kernel.
    pub(crate) packed: bool,
}

/// One execution of a layer.
pub(crate) struct Call<'a, T> {
    pub(crate) inputs: &'a [Option<Operand<'a, T>>],
    pub(crate) dims: &'a [usize],
    pub(crate) data_type: DataType,
    pub(crate) output: ElementsMut<'a, T>,
    /// A following addition of one value a column, done with the layer.
    pub(crate) bias: Option<&'a [T]>,
    /// A following activation, done with the layer.
    pub(crate) activation: Option<Activation<T>>,
    /// What a slice layer's arguments come to.
    pub(crate) slice: Option<&'a BoundSlice>,
}

/// A slice with its sizes known.
#[derive(Debug, Clone)]
pub(crate) struct BoundSlice {
    pub(crate) start: Vec<i64>,
    pub(crate) stride: Vec<i64>,
}

impl BoundSlice {
    pub(crate) fn evaluate(
        slice: &ResolvedSlice,
        size_of: &dyn Fn(&str) -> Option<i64>,
    ) -> Result<Self, tensoracle_graph::DimError> {
        let start = slice.start.iter().map(|dim| dim.evaluate(size_of));
        Ok(Self {
            start: start.collect::<Result<_, _>>()?,
            stride: slice.stride.clone(),
        })
    }
}

impl<'a, T> Call<'a, T> {
    /// A required input; inference has seen that it is there.
    fn input(&self, index: usize) -> Operand<'a, T>
    where
        T: Copy,
    {
        match self.inputs.get(index) {
            Some(Some(operand)) => *operand,
            _ => unreachable!("inference requires input {index}"),
        }
    }

    fn optional(&self, index: usize) -> Option<Operand<'a, T>>
    where
        T: Copy,
    {
        self.inputs.get(index).copied().flatten()
    }
}

/// Computes a layer.
pub(crate) fn run<T: Real>(layer: &Layer, call: &mut Call<'_, T>) {
    match layer {
        Layer::Activation(layer) => activation::run(layer, call),
        Layer::Cast(layer) => cast::run(layer, call),
        Layer::Concatenation(layer) => concatenation::run(layer, call),
        Layer::Constant(layer) => constant::run(layer, call),
        Layer::Convolution(layer) => convolution::run(layer, call),
        Layer::ElementWise(layer) => elementwise::run(layer, call),
        Layer::Gather(layer) => gather::run(layer, call),
        Layer::Identity(layer) => identity::run(layer, call),
        Layer::MatrixMultiply(layer) => matrix_multiply::run(layer, call),
        Layer::Normalization(layer) => normalization::run(layer, call),
        Layer::Padding(layer) => padding::run(layer, call),
        Layer::Reduce(layer) => reduce::run(layer, call),
        Layer::Select(layer) => select::run(layer, call),
        Layer::Shape(layer) => shape::run(layer, call),
        Layer::Shuffle(layer) => shuffle::run(layer, call),
        Layer::Slice(layer) => slice::run(layer, call),
        Layer::SoftMax(layer) => softmax::run(layer, call),
        Layer::Unary(layer) => unary::run(layer, call),
    }
}

/// An axis that inference has counted from the front.
fn resolved(axis: i64) -> usize {
    usize::try_from(axis).unwrap_or(0)
}

/// The sizes before, at and behind an axis.
fn around(dims: &[usize], axis: usize) -> [usize; 3] {
    [
        dims[..axis].iter().product(),
        dims[axis],
        dims[axis + 1..].iter().product(),
    ]
}
