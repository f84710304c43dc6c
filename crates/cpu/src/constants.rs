//! The constants of a plan: how many bytes each takes, and making them from what the graph
//! supplies.
//!
//! What is left out: where they lie in a plan (`plan`).

use crate::CpuError;
use crate::convert;
use crate::layers::{self, BoundSlice, Call, Operand, convolution, matrix_multiply};
use crate::program::{Form, Program, Required, sizes};
use crate::storage::{Buffer, Class, Elements};
use std::collections::HashMap;
use std::rc::Rc;
use tensoracle_graph::{Layer, MatrixOperation, Node, Slice};
use tensoracle_kernels::{Real, pack_b, pack_conv_weights, packed_len};

/// The elements of a tensor with fixed dims; `None` beyond the address space.
fn element_count(dims: &[usize]) -> Option<usize> {
    dims.iter()
        .try_fold(1usize, |product, &dim| product.checked_mul(dim))
}

/// How many elements a constant has in its form.
pub(crate) fn required_len<T: Real>(program: &Program, required: Required) -> Option<usize> {
    let tensor = program.tensors[required.tensor]?;
    let dims = sizes(&program.graph, tensor)?;
    let plain = element_count(&dims)?;
    match required.form {
        Form::Plain => Some(plain),
        Form::Right { transposed } => {
            let view = matrix_multiply::MatrixView::right(&dims, operation(transposed));
            // Panels are filled up to their width, which is far below 2^16.
            view.columns.checked_add(1 << 16)?.checked_mul(view.rows)?;
            Some(packed_len::<T>(view.rows, view.columns))
        }
        Form::Weights { node } => Some(conv_shape(program, node)?.packed_weight_len::<T>()),
    }
}

fn operation(transposed: bool) -> MatrixOperation {
    if transposed {
        MatrixOperation::Transpose
    } else {
        MatrixOperation::None
    }
}

fn conv_shape(program: &Program, index: usize) -> Option<tensoracle_kernels::ConvShape> {
    let node = &program.graph.nodes()[index];
    let Layer::Convolution(layer) = node.layer() else {
        return None;
    };
    let input = |role: usize| sizes(&program.graph, (*node.inputs().get(role)?)?);
    let output = sizes(&program.graph, node.outputs()[0])?;
    convolution::shape(layer, &input(0)?, &input(1)?, &output).ok()?
}

/// Makes constants one at a time.
pub(crate) struct Maker<'a, T> {
    program: &'a Program,
    producers: HashMap<usize, &'a Node>,
    folded: HashMap<usize, Rc<Buffer<T>>>,
}

impl<'a, T: Real> Maker<'a, T> {
    pub(crate) fn new(program: &'a Program) -> Self {
        let producers = program
            .graph
            .nodes()
            .iter()
            .map(|node| (node.outputs()[0].index(), node))
            .collect();
        Self {
            program,
            producers,
            folded: HashMap::new(),
        }
    }

    /// A constant in the form that the plan needs.
    pub(crate) fn make(&mut self, required: Required) -> Result<Rc<Buffer<T>>, CpuError> {
        let plain = self.plain(required.tensor)?;
        // What this constant was folded from may be large, and others seldom share it.
        self.folded.clear();
        let Buffer::Real(elements) = &*plain else {
            return Ok(plain);
        };
        Ok(match required.form {
            Form::Plain => plain,
            Form::Right { transposed } => {
                let output = self.producers[&required.tensor].outputs()[0];
                let dims = sizes(&self.program.graph, output).unwrap_or_default();
                let view = matrix_multiply::MatrixView::right(&dims, operation(transposed));
                Rc::new(Buffer::Real(pack_b(view.of(elements))))
            }
            Form::Weights { node } => match conv_shape(self.program, node) {
                Some(shape) => Rc::new(Buffer::Real(pack_conv_weights(&shape, elements))),
                None => plain,
            },
        })
    }

    /// A constant's elements, row-major.
    fn plain(&mut self, tensor: usize) -> Result<Rc<Buffer<T>>, CpuError> {
        if let Some(folded) = self.folded.get(&tensor) {
            return Ok(Rc::clone(folded));
        }
        let graph = &self.program.graph;
        let node = self.producers[&tensor];
        let output = node.outputs()[0];
        let data_type = graph.data_type(output);
        let dims = sizes(graph, output).unwrap_or_default();
        let len = element_count(&dims).unwrap_or(usize::MAX);
        let mut buffer = Buffer::empty(Class::of(data_type));
        buffer.reserve(len, &format!("constant `{}`", node.name()))?;
        if let Layer::Constant(constant) = node.layer() {
            let source = &graph.constants()[constant.index];
            match source.bytes() {
                Some(bytes) => convert::unpack(data_type, bytes, buffer.elements_mut(len)),
                None => {
                    let mut bytes = vec![0; data_type.bytes_for(len as u64).unwrap_or(0) as usize];
                    source.read(&mut bytes)?;
                    convert::unpack(data_type, &bytes, buffer.elements_mut(len));
                }
            }
            convert::round(self.program.mode, data_type, buffer.elements_mut(len));
            return Ok(Rc::new(buffer));
        }
        if let (Some(value), Buffer::Integer(buffer)) = (graph.shape_value(output), &mut buffer) {
            buffer
                .iter_mut()
                .zip(value)
                .for_each(|(to, dim)| *to = dim.fixed().unwrap_or(0));
        } else {
            self.fold(node, &dims, &mut buffer)?;
        }
        let buffer = Rc::new(buffer);
        self.folded.insert(tensor, Rc::clone(&buffer));
        Ok(buffer)
    }

    fn fold(
        &mut self,
        node: &'a Node,
        dims: &[usize],
        buffer: &mut Buffer<T>,
    ) -> Result<(), CpuError> {
        let graph = &self.program.graph;
        let mut inputs = Vec::new();
        for input in node.inputs() {
            inputs.push(match input {
                Some(tensor) => {
                    let elements = self.plain(self.program.root(tensor.index()))?;
                    let dims = sizes(graph, *tensor).unwrap_or_default();
                    Some((dims, elements))
                }
                None => None,
            });
        }
        let operands: Vec<_> = inputs
            .iter()
            .map(|input| {
                let (dims, elements) = input.as_ref()?;
                let elements: Elements<'_, T> = elements.elements(elements.len());
                Some(Operand {
                    dims,
                    elements,
                    packed: false,
                })
            })
            .collect();
        let slice = Slice::resolved(graph, node);
        let slice = slice.and_then(|slice| BoundSlice::evaluate(&slice, &|_| None).ok());
        let data_type = graph.data_type(node.outputs()[0]);
        let len = buffer.len();
        layers::run(
            node.layer(),
            &mut Call {
                inputs: &operands,
                dims,
                data_type,
                output: buffer.elements_mut(len),
                bias: None,
                activation: None,
                slice: slice.as_ref(),
            },
        );
        convert::round(self.program.mode, data_type, buffer.elements_mut(len));
        Ok(())
    }
}
