//! A graph compiled: what is computed when the engine is built, what when it runs and in which
//! order, and in which form each constant is needed.
//!
//! Compiling reads no weights and depends on nothing but the graph and the mode, so that building
//! and loading come to the same program. What is left out: memory and sizes (`bind`), and doing
//! any of it (`plan`, `session`).

use crate::layers::{convolution, matrix_multiply};
use crate::{CpuError, Mode};
use std::collections::HashMap;
use tensoracle_graph::{
    Activation, DataType, ElementWiseOperation, Graph, Layer, MatrixOperation, Node, Tensor,
};

/// Where a tensor's elements are when the engine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// Nothing needs it.
    Nowhere,
    /// A network input.
    Input,
    /// A constant of the plan.
    Constant,
    /// Computed from sizes when input shapes are set.
    Sizes,
    /// Computed by a step.
    Step,
    /// The same elements as another tensor.
    Alias(usize),
}

/// How a constant lies in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// Row-major.
    Plain,
    /// Packed as the right operand of products; whether it is transposed first.
    Right { transposed: bool },
    /// Packed as the weights of the convolution of this node.
    Weights { node: usize },
}

/// A constant that the plan holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Required {
    pub(crate) tensor: usize,
    pub(crate) form: Form,
}

/// Where a step finds an input.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    /// Number of a constant of the plan.
    Constant(usize),
    /// A tensor, by its index.
    Tensor(usize),
}

/// One layer to be computed, with what is fused into it.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) node: usize,
    pub(crate) inputs: Vec<Option<(Tensor, Source)>>,
    pub(crate) output: Tensor,
    /// A constant of the plan, added to each row.
    pub(crate) bias: Option<usize>,
    pub(crate) activation: Option<Activation>,
}

/// A compiled graph.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) graph: Graph,
    pub(crate) mode: Mode,
    /// For each tensor index, its handle.
    pub(crate) tensors: Vec<Option<Tensor>>,
    /// For each tensor.
    pub(crate) homes: Vec<Home>,
    pub(crate) steps: Vec<Step>,
    pub(crate) constants: Vec<Required>,
    /// For each tensor, its plain form among the constants.
    pub(crate) plain: HashMap<usize, usize>,
}

/// A folded constant may be this many times larger than what it is made of, and this many elements
/// in any case: repeating a small constant is left to run time.
const FOLD_GROWTH: u64 = 4;
const FOLD_ELEMENTS: u64 = 4096;

/// Longest chain of layers that is folded; what comes behind runs. Models have chains of a few, and
/// making a folded constant follows the chain on the stack.
const FOLD_DEPTH: u32 = 64;

impl Program {
    pub(crate) fn compile(graph: Graph, mode: Mode) -> Result<Self, CpuError> {
        if graph.outputs().is_empty() {
            return Err(CpuError::NoOutputs);
        }
        let homes = homes(&graph);
        let mut compiler = Compiler {
            uses: uses(&graph),
            fused: vec![false; graph.nodes().len()],
            required: Vec::new(),
            numbers: HashMap::new(),
            homes: &homes,
            graph: &graph,
            mode,
        };
        let live = graph.live_nodes();
        let mut steps = Vec::new();
        for (index, node) in graph.nodes().iter().enumerate() {
            let output = node.outputs()[0];
            if live[index] && homes[output.index()] == Home::Step && !compiler.fused[index] {
                steps.push(compiler.step(index));
            }
        }
        for (_, tensor) in graph.outputs() {
            compiler.source(*tensor);
        }
        let constants = compiler.required;
        let plain = constants
            .iter()
            .enumerate()
            .filter(|(_, required)| required.form == Form::Plain)
            .map(|(number, required)| (required.tensor, number))
            .collect();
        Ok(Self {
            tensors: tensors(&graph),
            mode,
            homes,
            steps,
            constants,
            plain,
            graph,
        })
    }

    /// The tensor whose memory holds a tensor's elements.
    pub(crate) fn root(&self, tensor: usize) -> usize {
        root(&self.homes, tensor)
    }
}

fn tensors(graph: &Graph) -> Vec<Option<Tensor>> {
    let mut tensors = vec![None; graph.tensor_count()];
    let inputs = graph.inputs().iter().map(|(_, tensor)| *tensor);
    let outputs = graph
        .nodes()
        .iter()
        .flat_map(|node| node.outputs().iter().copied());
    inputs
        .chain(outputs)
        .for_each(|tensor| tensors[tensor.index()] = Some(tensor));
    tensors
}

fn root(homes: &[Home], mut tensor: usize) -> usize {
    while let Home::Alias(of) = homes[tensor] {
        tensor = of;
    }
    tensor
}

fn homes(graph: &Graph) -> Vec<Home> {
    let mut homes = vec![Home::Nowhere; graph.tensor_count()];
    // For each constant, how many layers it is folded through.
    let mut depths = vec![0u32; graph.tensor_count()];
    for (_, tensor) in graph.inputs() {
        homes[tensor.index()] = Home::Input;
    }
    let live = graph.live_nodes();
    for (node, _) in graph.nodes().iter().zip(live).filter(|(_, live)| *live) {
        let output = node.outputs()[0];
        let inputs = node.inputs().iter().flatten();
        let depth = inputs
            .map(|input| depths[root(&homes, input.index())] + 1)
            .max()
            .unwrap_or(0);
        homes[output.index()] = home(graph, &homes, node, depth);
        if homes[output.index()] == Home::Constant {
            depths[output.index()] = depth;
        }
    }
    homes
}

fn home(graph: &Graph, homes: &[Home], node: &Node, depth: u32) -> Home {
    if matches!(node.layer(), Layer::Constant(_)) {
        return Home::Constant;
    }
    if let Some(value) = graph.shape_value(node.outputs()[0]) {
        let fixed = value.iter().all(|dim| dim.fixed().is_some());
        return if fixed { Home::Constant } else { Home::Sizes };
    }
    if depth <= FOLD_DEPTH && is_foldable(graph, homes, node) {
        return Home::Constant;
    }
    let shares = match node.layer() {
        Layer::Identity(_) => true,
        Layer::Shuffle(shuffle) => [&shuffle.first_transpose, &shuffle.second_transpose]
            .into_iter()
            .flatten()
            .all(|permutation| permutation.iter().enumerate().all(|(i, &axis)| i == axis)),
        _ => false,
    };
    match node.inputs().first().copied().flatten().filter(|_| shares) {
        Some(input) => Home::Alias(root(homes, input.index())),
        None => Home::Step,
    }
}

fn is_foldable(graph: &Graph, homes: &[Home], node: &Node) -> bool {
    let elements = |tensor: Tensor| {
        graph
            .dims(tensor)
            .fixed()?
            .iter()
            .try_fold(1u64, |product, dim| product.checked_mul(*dim))
    };
    // Whether a convolution's sizes can be computed with is seen when sizes are bound.
    if matches!(node.layer(), Layer::Convolution(_)) {
        return false;
    }
    let mut from = 0u64;
    for input in node.inputs().iter().flatten() {
        // A constant reshaped to a size that has a name keeps its elements, but its shape is known
        // only at run time.
        let count = elements(*input);
        let is_constant = homes[root(homes, input.index())] == Home::Constant;
        let Some(count) = count.filter(|_| is_constant) else {
            return false;
        };
        from = from.saturating_add(count);
    }
    let most = from.saturating_mul(FOLD_GROWTH).max(FOLD_ELEMENTS);
    elements(node.outputs()[0]).is_some_and(|to| to <= most)
}

/// Who uses a tensor.
#[derive(Debug, Clone, Copy, Default)]
struct Uses {
    /// How many inputs of live layers and network outputs it is.
    count: usize,
    /// The last live layer that takes it.
    last: Option<usize>,
}

/// For each tensor.
fn uses(graph: &Graph) -> Vec<Uses> {
    let mut uses = vec![Uses::default(); graph.tensor_count()];
    let live = graph.live_nodes();
    for (index, node) in graph
        .nodes()
        .iter()
        .enumerate()
        .filter(|(index, _)| live[*index])
    {
        for input in node.inputs().iter().flatten() {
            let uses = &mut uses[input.index()];
            uses.count += 1;
            uses.last = Some(index);
        }
    }
    graph
        .outputs()
        .iter()
        .for_each(|(_, tensor)| uses[tensor.index()].count += 1);
    uses
}

struct Compiler<'a> {
    graph: &'a Graph,
    mode: Mode,
    homes: &'a [Home],
    uses: Vec<Uses>,
    fused: Vec<bool>,
    required: Vec<Required>,
    numbers: HashMap<Required, usize>,
}

impl Compiler<'_> {
    fn step(&mut self, index: usize) -> Step {
        let node = &self.graph.nodes()[index];
        let inputs = node
            .inputs()
            .iter()
            .enumerate()
            .map(|(role, input)| {
                let input = (*input)?;
                let source = match self.packed_form(index, role, input) {
                    Some(form) => Source::Constant(self.require(Required {
                        tensor: self.root(input),
                        form,
                    })),
                    None => self.source(input),
                };
                Some((input, source))
            })
            .collect();
        let mut step = Step {
            node: index,
            inputs,
            output: node.outputs()[0],
            bias: None,
            activation: None,
        };
        self.fuse(index, &mut step);
        step
    }

    fn root(&self, tensor: Tensor) -> usize {
        root(self.homes, tensor.index())
    }

    fn source(&mut self, tensor: Tensor) -> Source {
        let root = self.root(tensor);
        match self.homes[root] {
            Home::Constant => Source::Constant(self.require(Required {
                tensor: root,
                form: Form::Plain,
            })),
            _ => Source::Tensor(root),
        }
    }

    fn require(&mut self, required: Required) -> usize {
        *self.numbers.entry(required).or_insert_with(|| {
            self.required.push(required);
            self.required.len() - 1
        })
    }

    /// The packed form in which a layer wants a constant, if it does.
    fn packed_form(&self, index: usize, role: usize, input: Tensor) -> Option<Form> {
        if role != 1 || self.homes[self.root(input)] != Home::Constant {
            return None;
        }
        let node = &self.graph.nodes()[index];
        match node.layer() {
            Layer::MatrixMultiply(layer) if layer.right != MatrixOperation::Vector => {
                let dims = sizes(self.graph, input)?;
                let batch = matrix_multiply::batch_dims(&dims, layer.right);
                let transposed = layer.right == MatrixOperation::Transpose;
                batch
                    .iter()
                    .all(|&size| size == 1)
                    .then_some(Form::Right { transposed })
            }
            Layer::Convolution(layer) => {
                let from = sizes(self.graph, (*node.inputs().first()?)?)?;
                let to = sizes(self.graph, node.outputs()[0])?;
                let shape =
                    convolution::shape(layer, &from, &sizes(self.graph, input)?, &to).ok()??;
                shape
                    .prefers_packed()
                    .then_some(Form::Weights { node: index })
            }
            _ => None,
        }
    }

    /// Takes a following bias and activation into a product or convolution, where nothing else
    /// needs what lies between and no rounding does either.
    fn fuse(&mut self, index: usize, step: &mut Step) {
        let layer = self.graph.nodes()[index].layer();
        if self.mode != Mode::Fast || self.graph.data_type(step.output) != DataType::Float {
            return;
        }
        let takes_bias = match layer {
            Layer::MatrixMultiply(layer) => layer.right != MatrixOperation::Vector,
            Layer::Convolution(_) => false,
            _ => return,
        };
        if takes_bias && let Some((next, bias)) = self.following_bias(step.output) {
            step.bias = Some(self.require(Required {
                tensor: bias,
                form: Form::Plain,
            }));
            self.take(next, step);
        }
        if let Some(next) = self.only_user(step.output)
            && let Layer::Activation(activation) = self.graph.nodes()[next].layer()
        {
            step.activation = Some(*activation);
            self.take(next, step);
        }
    }

    fn take(&mut self, node: usize, step: &mut Step) {
        self.fused[node] = true;
        step.output = self.graph.nodes()[node].outputs()[0];
    }

    /// The layer that adds a constant to each row of a tensor, and that constant.
    fn following_bias(&self, tensor: Tensor) -> Option<(usize, usize)> {
        let next = self.only_user(tensor)?;
        let node = &self.graph.nodes()[next];
        let Layer::ElementWise(layer) = node.layer() else {
            return None;
        };
        if layer.operation != ElementWiseOperation::Sum {
            return None;
        }
        let other = node
            .inputs()
            .iter()
            .flatten()
            .find(|&&input| input != tensor)?;
        let bias = self.root(*other);
        let dims = self.graph.dims(tensor);
        let (columns, rows) = self.graph.dims(*other).split_last()?;
        let fits = columns.fixed().is_some()
            && dims.last() == Some(columns)
            && rows.iter().all(|dim| dim.fixed() == Some(1))
            && self.graph.dims(node.outputs()[0]) == dims;
        (fits && self.homes[bias] == Home::Constant).then_some((next, bias))
    }

    /// The one layer that uses a tensor, if there is exactly one and it is a step.
    fn only_user(&self, tensor: Tensor) -> Option<usize> {
        let uses = self.uses[tensor.index()];
        let user = uses.last.filter(|_| uses.count == 1)?;
        let output = self.graph.nodes()[user].outputs()[0];
        (self.homes[output.index()] == Home::Step && !self.fused[user]).then_some(user)
    }
}

/// The dims of a tensor where all are fixed.
pub(crate) fn sizes(graph: &Graph, tensor: Tensor) -> Option<Vec<usize>> {
    let dims = graph.dims(tensor).fixed()?;
    dims.into_iter()
        .map(|dim| usize::try_from(dim).ok())
        .collect()
}
