//! Sizes bound: the names in input shapes get their values, every tensor its dims, and every
//! tensor that is computed a place in memory that it shares with others as their lives allow.

use crate::CpuError;
use crate::layers::{BoundSlice, convolution};
use crate::plan::Loaded;
use crate::program::{Home, Source};
use crate::storage::{Buffer, Class};
use std::collections::{BTreeMap, HashMap};
use tensoracle_graph::{Constraint, DimError, Layer, Node, Slice, Tensor};
use tensoracle_kernels::Real;

/// What input shapes come to.
#[derive(Debug)]
pub(crate) struct Bound {
    /// For each tensor; empty where nothing needs it.
    pub(crate) dims: Vec<Vec<usize>>,
    /// For each tensor that owns memory, which slot it is in.
    pub(crate) slots: Vec<Option<usize>>,
    /// For each step that is a slice.
    pub(crate) slices: Vec<Option<BoundSlice>>,
    /// Elements of each slot.
    capacities: Vec<(Class, usize)>,
    /// The values of tensors that are computed from sizes.
    sizes: Vec<(usize, Vec<i64>)>,
    /// Multiplications in products and convolutions, roughly.
    pub(crate) work: u64,
}

impl Bound {
    pub(crate) fn new<T: Real>(
        loaded: &Loaded<T>,
        names: &BTreeMap<String, i64>,
    ) -> Result<Self, CpuError> {
        let program = &loaded.program;
        let graph = &program.graph;
        let size_of = |name: &str| names.get(name).copied();
        let mut bound = Self {
            dims: vec![Vec::new(); graph.tensor_count()],
            slots: vec![None; graph.tensor_count()],
            slices: Vec::with_capacity(program.steps.len()),
            capacities: Vec::new(),
            sizes: Vec::new(),
            work: 0,
        };
        for (name, tensor) in graph.inputs() {
            let dims = evaluate(graph.dims(*tensor), &size_of);
            bound.dims[tensor.index()] = dims.map_err(|cause| CpuError::Size {
                layer: name.clone(),
                cause,
            })?;
        }
        for node in graph.nodes() {
            let size_error = |cause| CpuError::Size {
                layer: node.name().to_owned(),
                cause,
            };
            check_constraints(node, &size_of)?;
            let output = node.outputs()[0];
            let dims = evaluate(graph.dims(output), &size_of).map_err(size_error)?;
            bound.dims[output.index()] = dims;
            if program.homes[output.index()] == Home::Sizes {
                let value = graph.shape_value(output).unwrap_or_default();
                let value = value.iter().map(|dim| dim.evaluate(&size_of));
                let value = value.collect::<Result<_, _>>().map_err(size_error)?;
                bound.sizes.push((output.index(), value));
            }
        }
        for step in &program.steps {
            let node = &graph.nodes()[step.node];
            let slice = Slice::resolved(graph, node)
                .map(|slice| BoundSlice::evaluate(&slice, &size_of))
                .transpose();
            bound.slices.push(slice.map_err(|cause| CpuError::Size {
                layer: node.name().to_owned(),
                cause,
            })?);
            bound.check_convolution(node)?;
            bound.work = bound.work.saturating_add(bound.work_of(node));
        }
        bound.place(loaded);
        Ok(bound)
    }

    /// Refuses a convolution whose padded input cannot be counted.
    fn check_convolution(&self, node: &Node) -> Result<(), CpuError> {
        let Layer::Convolution(layer) = node.layer() else {
            return Ok(());
        };
        let dims =
            |tensor: Option<Tensor>| tensor.map_or(&[][..], |tensor| &self.dims[tensor.index()]);
        let (input, kernel) = (dims(node.inputs()[0]), dims(node.inputs()[1]));
        let output = dims(node.outputs().first().copied());
        let shape = convolution::shape(layer, input, kernel, output);
        shape.map(drop).map_err(|error| CpuError::Constraint {
            layer: node.name().to_owned(),
            problem: error.to_string(),
        })
    }

    /// Multiplications of a product or convolution.
    fn work_of(&self, node: &Node) -> u64 {
        let dims = |tensor: Option<&Option<Tensor>>| {
            tensor
                .copied()
                .flatten()
                .map_or(&[][..], |tensor| &self.dims[tensor.index()])
        };
        let output: u64 = self.dims[node.outputs()[0].index()]
            .iter()
            .map(|&d| d as u64)
            .product();
        let inner: u64 = match node.layer() {
            Layer::MatrixMultiply(_) => dims(node.inputs().first())
                .last()
                .map_or(1, |&inner| inner as u64),
            Layer::Convolution(_) => dims(node.inputs().get(1))
                .iter()
                .skip(1)
                .map(|&size| size as u64)
                .product(),
            _ => return 0,
        };
        output.saturating_mul(inner)
    }

    /// Gives each tensor that owns memory a slot: the smallest free one that is large enough, else
    /// the largest free one, which grows. A slot is free again after the last step that reads it.
    fn place<T: Real>(&mut self, loaded: &Loaded<T>) {
        let program = &loaded.program;
        let mut last_use: HashMap<usize, usize> = HashMap::new();
        for (number, step) in program.steps.iter().enumerate() {
            for (_, source) in step.inputs.iter().flatten() {
                if let Source::Tensor(root) = source {
                    last_use.insert(*root, number);
                }
            }
        }
        for (_, tensor) in program.graph.outputs() {
            last_use.insert(program.root(tensor.index()), usize::MAX);
        }
        // Written once for many runs, so nothing may take their place.
        for (tensor, _) in &self.sizes {
            last_use.insert(*tensor, usize::MAX);
        }
        let mut free: Vec<usize> = Vec::new();
        let first: Vec<Tensor> = program
            .graph
            .inputs()
            .iter()
            .map(|(_, tensor)| *tensor)
            .collect();
        for tensor in first {
            self.take_slot(loaded, tensor.index(), &mut free);
        }
        for index in 0..self.sizes.len() {
            self.take_slot(loaded, self.sizes[index].0, &mut free);
        }
        for (number, step) in program.steps.iter().enumerate() {
            self.take_slot(loaded, step.output.index(), &mut free);
            for (_, source) in step.inputs.iter().flatten() {
                if let Source::Tensor(root) = source
                    && last_use.get(root) == Some(&number)
                    && let Some(slot) = self.slots[*root]
                    && !free.contains(&slot)
                {
                    free.push(slot);
                }
            }
            if !last_use.contains_key(&step.output.index()) {
                free.extend(self.slots[step.output.index()]);
            }
        }
    }

    fn take_slot<T: Real>(&mut self, loaded: &Loaded<T>, tensor: usize, free: &mut Vec<usize>) {
        let len = self.len(tensor);
        let class = loaded.class_of(tensor);
        let fits = |slot: &usize| self.capacities[*slot].1 >= len;
        let same_class = || {
            free.iter()
                .copied()
                .filter(|&slot| self.capacities[slot].0 == class)
        };
        let slot = same_class()
            .filter(fits)
            .min_by_key(|&slot| self.capacities[slot].1)
            .or_else(|| same_class().max_by_key(|&slot| self.capacities[slot].1));
        let slot = match slot {
            Some(slot) => {
                free.retain(|&other| other != slot);
                slot
            }
            None => {
                self.capacities.push((class, 0));
                self.capacities.len() - 1
            }
        };
        self.capacities[slot].1 = self.capacities[slot].1.max(len);
        self.slots[tensor] = Some(slot);
    }

    /// How many elements a tensor has.
    pub(crate) fn len(&self, tensor: usize) -> usize {
        self.dims[tensor].iter().product()
    }

    /// Brings memory to the sizes needed and fills in what follows from sizes alone. Memory that
    /// is there already is kept.
    pub(crate) fn prepare<T: Real>(&self, memory: &mut Vec<Buffer<T>>) -> Result<(), CpuError> {
        memory.truncate(self.capacities.len());
        for (slot, &(class, capacity)) in self.capacities.iter().enumerate() {
            if memory
                .get(slot)
                .is_none_or(|buffer| buffer.class() != class)
            {
                memory.truncate(slot);
                memory.push(Buffer::empty(class));
            }
            memory[slot].reserve(capacity, "tensors between layers")?;
        }
        for (tensor, value) in &self.sizes {
            if let Some(slot) = self.slots[*tensor]
                && let Buffer::Integer(buffer) = &mut memory[slot]
            {
                buffer[..value.len()].copy_from_slice(value);
            }
        }
        Ok(())
    }
}

fn evaluate(
    dims: &tensoracle_graph::Dims,
    size_of: &dyn Fn(&str) -> Option<i64>,
) -> Result<Vec<usize>, DimError> {
    let overflow = || DimError::Overflow(dims.to_string());
    let sizes = dims.evaluate(size_of)?;
    let sizes: Vec<usize> = sizes
        .into_iter()
        .map(|size| usize::try_from(size).map_err(|_| overflow()))
        .collect::<Result<_, _>>()?;
    // No tensor of this many bytes exists, whatever its element type.
    let bytes = sizes
        .iter()
        .try_fold(8usize, |product, &size| product.checked_mul(size.max(1)));
    bytes
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or_else(overflow)?;
    Ok(sizes)
}

fn check_constraints(node: &Node, size_of: &dyn Fn(&str) -> Option<i64>) -> Result<(), CpuError> {
    for constraint in node.constraints() {
        let (left, right, holds, relation): (_, _, fn(i64, i64) -> bool, _) = match constraint {
            Constraint::Equal(left, right) => (left, right, |a, b| a == b, "equal"),
            Constraint::AtMost(left, right) => (left, right, |a, b| a <= b, "be at most"),
        };
        let value = |dim: &tensoracle_graph::Dim| {
            dim.evaluate(size_of).map_err(|cause| CpuError::Size {
                layer: node.name().to_owned(),
                cause,
            })
        };
        let (a, b) = (value(left)?, value(right)?);
        if !holds(a, b) {
            return Err(CpuError::Constraint {
                layer: node.name().to_owned(),
                problem: format!("{left} = {a} must {relation} {right} = {b}"),
            });
        }
    }
    Ok(())
}
