//! The graph itself: tensors, the layers between them, inputs and outputs, and how layers are
//! named and added.
//!
//! What is left out: the rules and arguments of each layer (`layers`), and every use of a graph
//! (digest, printing, drawing, running).

use crate::infer::{Constraint, Infer, Inferred};
use crate::{
    ConstantSource, DataType, Dim, Dims, Fault, GraphError, Layer, MAX_DIMS, SourceLocation,
    TensorLabel,
};
use std::collections::{BTreeSet, HashMap};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A tensor of one graph, as layers take and give it. Cheap to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tensor {
    graph: u64,
    id: TensorId,
}

impl Tensor {
    /// The tensor's position among all tensors of its graph, in the order they were added.
    #[must_use]
    pub fn index(self) -> usize {
        self.id.0 as usize
    }

    pub(crate) fn id(self) -> TensorId {
        self.id
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TensorId(pub(crate) u32);

#[derive(Debug, Clone)]
pub(crate) struct TensorRecord {
    pub(crate) data_type: DataType,
    pub(crate) dims: Dims,
    pub(crate) value: Option<Vec<Dim>>,
    producer: Producer,
}

#[derive(Debug, Clone, Copy)]
enum Producer {
    Input(usize),
    Layer(usize),
}

/// A layer in a graph: its parameters and how it is wired.
#[derive(Debug, Clone)]
pub struct Node {
    name: String,
    layer: Layer,
    inputs: Vec<Option<Tensor>>,
    outputs: Vec<Tensor>,
    location: Option<SourceLocation>,
    constraints: Vec<Constraint>,
}

impl Node {
    /// The layer's name, unique within its graph.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The layer's kind and arguments.
    #[must_use]
    pub fn layer(&self) -> &Layer {
        &self.layer
    }

    /// The input tensors by the layer's own order of roles; `None` for a role left out.
    #[must_use]
    pub fn inputs(&self) -> &[Option<Tensor>] {
        &self.inputs
    }

    /// The tensors that the layer produces.
    #[must_use]
    pub fn outputs(&self) -> &[Tensor] {
        &self.outputs
    }

    /// Where the layer was added, where that is known.
    #[must_use]
    pub fn location(&self) -> Option<&SourceLocation> {
        self.location.as_ref()
    }

    /// What must hold of the named sizes for the layer to run.
    #[must_use]
    pub fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }
}

/// A model as typed layers between tensors.
///
/// ```
/// use tensoracle_graph::{DataType, ElementWiseOperation, Graph, Values, dims};
///
/// # fn main() -> Result<(), tensoracle_graph::GraphError> {
/// let mut graph = Graph::new();
/// let features = graph.add_input("features", DataType::Float, dims![1, "n", 2])?;
/// let bias = graph.add_constant(Values::new([1, 1, 2], vec![0.5f32, -0.5]))?;
/// let sum = graph.named("shift").add_elementwise(features, bias, ElementWiseOperation::Sum)?;
/// graph.mark_output("result", sum)?;
/// assert_eq!(graph.dims(sum).to_string(), "[1, n, 2]");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Graph {
    // Tells this graph's tensors from another's; not part of any digest.
    id: u64,
    tensors: Vec<TensorRecord>,
    nodes: Vec<Node>,
    layer_names: BTreeSet<String>,
    /// Names of inputs and outputs, and which of the two each is.
    network_names: HashMap<String, &'static str>,
    inputs: Vec<(String, Tensor)>,
    outputs: Vec<(String, Tensor)>,
    constants: Vec<Arc<dyn ConstantSource>>,
    scopes: Vec<String>,
    next_name: Option<String>,
    kind_counts: HashMap<&'static str, usize>,
}

/// Longest name that TensorRT takes, without its terminating zero.
const MAX_NAME_BYTES: usize = 4095;

impl Default for Graph {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            tensors: Vec::new(),
            nodes: Vec::new(),
            layer_names: BTreeSet::new(),
            network_names: HashMap::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            constants: Vec::new(),
            scopes: Vec::new(),
            next_name: None,
            kind_counts: HashMap::new(),
        }
    }
}

/// Naming and adding.
impl Graph {
    /// An empty graph.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the next layer added. Without it a layer is called by its kind and a number.
    pub fn named(&mut self, name: impl Into<String>) -> &mut Self {
        self.next_name = Some(name.into());
        self
    }

    /// Adds layers under a common prefix: inside `scope("encoder.0", …)` a layer named `query` is
    /// called `encoder.0.query`. Scopes nest.
    pub fn scope<R>(&mut self, name: impl Into<String>, add: impl FnOnce(&mut Self) -> R) -> R {
        self.scopes.push(name.into());
        let result = add(self);
        self.scopes.pop();
        result
    }

    /// Adds a network input.
    ///
    /// Inputs that name the same dimension have the same size there at run time.
    ///
    /// # Errors
    /// A name already taken or empty, more than eight dimensions, a dimension that is negative or
    /// an expression, or a shape whose volume does not fit in 64 bits.
    #[track_caller]
    pub fn add_input(
        &mut self,
        name: &str,
        data_type: DataType,
        dims: impl Into<Dims>,
    ) -> Result<Tensor, GraphError> {
        let location = Some(Location::caller().into());
        self.add_input_at(name, data_type, dims.into(), location)
    }

    pub(crate) fn add_input_at(
        &mut self,
        name: &str,
        data_type: DataType,
        dims: Dims,
        location: Option<SourceLocation>,
    ) -> Result<Tensor, GraphError> {
        self.check_input(name, data_type, &dims)
            .map_err(|fault| GraphError {
                subject: format!("input {} `{name}`", self.inputs.len()),
                fault: Box::new(fault),
                location,
            })?;
        let producer = Producer::Input(self.inputs.len());
        let tensor = self.push_tensor(Inferred::new(data_type, dims), producer);
        self.network_names.insert(name.to_owned(), "an input");
        self.inputs.push((name.to_owned(), tensor));
        Ok(tensor)
    }

    /// Makes a tensor a network output under `name`. One tensor may be several outputs.
    ///
    /// # Errors
    /// A tensor of another graph, or a name already taken or empty.
    #[track_caller]
    pub fn mark_output(&mut self, name: &str, tensor: Tensor) -> Result<(), GraphError> {
        self.mark_output_at(name, tensor, Some(Location::caller().into()))
    }

    pub(crate) fn mark_output_at(
        &mut self,
        name: &str,
        tensor: Tensor,
        location: Option<SourceLocation>,
    ) -> Result<(), GraphError> {
        let check = self
            .check_name(name)
            .and_then(|()| match self.owns(tensor) {
                true => Ok(()),
                false => Err(Fault::ForeignTensor { role: "output" }),
            });
        check.map_err(|fault| GraphError {
            subject: format!("output {} `{name}`", self.outputs.len()),
            fault: Box::new(fault),
            location,
        })?;
        self.network_names.insert(name.to_owned(), "an output");
        self.outputs.push((name.to_owned(), tensor));
        Ok(())
    }

    /// Adds any layer with its inputs in the layer's order of roles. The methods named after
    /// TensorRT's layers (`add_convolution`, …) are the comfortable way to the same thing.
    ///
    /// # Errors
    /// Whatever the layer's rules refuse; the graph is unchanged then.
    #[track_caller]
    pub fn add_layer(
        &mut self,
        layer: impl Into<Layer>,
        inputs: &[Option<Tensor>],
    ) -> Result<Vec<Tensor>, GraphError> {
        self.add_layer_at(layer.into(), inputs, Some(Location::caller().into()))
    }

    /// As [`Self::add_layer`] for layers with one output.
    #[track_caller]
    pub(crate) fn add_one(
        &mut self,
        layer: impl Into<Layer>,
        inputs: &[Option<Tensor>],
    ) -> Result<Tensor, GraphError> {
        let outputs = self.add_layer(layer, inputs)?;
        Ok(outputs[0])
    }

    pub(crate) fn add_layer_at(
        &mut self,
        mut layer: Layer,
        inputs: &[Option<Tensor>],
        location: Option<SourceLocation>,
    ) -> Result<Vec<Tensor>, GraphError> {
        let given = self.next_name.take();
        let name = self.layer_name(given.as_deref(), &layer);
        let inferred = self.check_layer(&name, &mut layer, inputs);
        let (inferred, constraints) = inferred.map_err(|fault| GraphError {
            subject: format!("{} layer `{name}`", layer.kind()),
            fault: Box::new(fault),
            location: location.clone(),
        })?;
        *self.kind_counts.entry(layer.kind()).or_default() += 1;
        let producer = Producer::Layer(self.nodes.len());
        let outputs: Vec<_> = inferred
            .into_iter()
            .map(|tensor| self.push_tensor(tensor, producer))
            .collect();
        self.layer_names.insert(name.clone());
        self.nodes.push(Node {
            name,
            layer,
            inputs: inputs.to_vec(),
            outputs: outputs.clone(),
            location,
            constraints,
        });
        Ok(outputs)
    }

    pub(crate) fn push_constant(&mut self, source: Arc<dyn ConstantSource>) -> usize {
        self.constants.push(source);
        self.constants.len() - 1
    }

    pub(crate) fn pop_constant(&mut self) {
        self.constants.pop();
    }

    fn check_layer(
        &self,
        name: &str,
        layer: &mut Layer,
        inputs: &[Option<Tensor>],
    ) -> Result<(Vec<Inferred>, Vec<Constraint>), Fault> {
        check_text(name)?;
        if self.layer_names.contains(name) {
            return Err(Fault::NameTaken {
                name: name.to_owned(),
                by: "another layer".into(),
            });
        }
        if inputs.iter().flatten().any(|&tensor| !self.owns(tensor)) {
            return Err(Fault::ForeignTensor { role: "an input" });
        }
        let ids: Vec<_> = inputs.iter().map(|input| input.map(Tensor::id)).collect();
        let mut infer = Infer::new(self, &ids);
        let inferred = layer.infer(&mut infer)?;
        for tensor in &inferred {
            check_dims(tensor.data_type, &tensor.dims)?;
        }
        Ok((inferred, infer.into_constraints()))
    }

    fn layer_name(&self, given: Option<&str>, layer: &Layer) -> String {
        let prefix: String = self
            .scopes
            .iter()
            .map(|scope| format!("{scope}."))
            .collect();
        if let Some(name) = given {
            return format!("{prefix}{name}");
        }
        let mut number = self.kind_counts.get(layer.kind()).copied().unwrap_or(0);
        loop {
            let name = format!("{prefix}{}_{number}", layer.kind());
            if !self.layer_names.contains(&name) {
                return name;
            }
            number += 1;
        }
    }

    fn check_input(&self, name: &str, data_type: DataType, dims: &Dims) -> Result<(), Fault> {
        self.check_name(name)?;
        for dim in dims.iter() {
            let acceptable = match (dim.fixed(), dim.name()) {
                (Some(size), _) => size >= 0,
                (None, Some(name)) => check_text(name).is_ok(),
                (None, None) => false,
            };
            if !acceptable {
                return Err(Fault::Argument {
                    argument: "dims",
                    found: dims.to_string(),
                    expected: "sizes of at least 0, and names for dimensions that vary".into(),
                });
            }
        }
        check_dims(data_type, dims)
    }

    fn check_name(&self, name: &str) -> Result<(), Fault> {
        check_text(name)?;
        let taken = |by: &str| Fault::NameTaken {
            name: name.to_owned(),
            by: by.into(),
        };
        match self.network_names.get(name) {
            None => Ok(()),
            Some(by) => Err(taken(by)),
        }
    }

    fn push_tensor(&mut self, tensor: Inferred, producer: Producer) -> Tensor {
        // Four billion tensors would need hundreds of gigabytes of records first.
        let id = TensorId(u32::try_from(self.tensors.len()).unwrap_or(u32::MAX));
        let Inferred {
            data_type,
            dims,
            value,
        } = tensor;
        self.tensors.push(TensorRecord {
            data_type,
            dims,
            value,
            producer,
        });
        Tensor { graph: self.id, id }
    }
}

/// Looking.
impl Graph {
    /// The layers in the order they were added, which is a topological order.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The network inputs, in the order they were added.
    #[must_use]
    pub fn inputs(&self) -> &[(String, Tensor)] {
        &self.inputs
    }

    /// The network outputs, in the order they were marked.
    #[must_use]
    pub fn outputs(&self) -> &[(String, Tensor)] {
        &self.outputs
    }

    /// The sources of all constants; a constant layer refers to them by index.
    #[must_use]
    pub fn constants(&self) -> &[Arc<dyn ConstantSource>] {
        &self.constants
    }

    /// How many tensors there are; [`Tensor::index`] is below it.
    #[must_use]
    pub fn tensor_count(&self) -> usize {
        self.tensors.len()
    }

    /// A tensor's element type.
    ///
    /// # Panics
    /// If the tensor belongs to another graph; tensors come only from a graph's own methods.
    #[must_use]
    #[track_caller]
    pub fn data_type(&self, tensor: Tensor) -> DataType {
        self.checked(tensor).data_type
    }

    /// A tensor's shape.
    ///
    /// # Panics
    /// If the tensor belongs to another graph; tensors come only from a graph's own methods.
    #[must_use]
    #[track_caller]
    pub fn dims(&self, tensor: Tensor) -> &Dims {
        &self.checked(tensor).dims
    }

    /// A tensor's elements where they follow from shapes and constants alone: what TensorRT calls
    /// a shape tensor.
    ///
    /// # Panics
    /// If the tensor belongs to another graph; tensors come only from a graph's own methods.
    #[must_use]
    #[track_caller]
    pub fn shape_value(&self, tensor: Tensor) -> Option<&[Dim]> {
        self.checked(tensor).value.as_deref()
    }

    /// The layer that produces a tensor; `None` for a network input.
    ///
    /// # Panics
    /// If the tensor belongs to another graph; tensors come only from a graph's own methods.
    #[must_use]
    #[track_caller]
    pub fn producer(&self, tensor: Tensor) -> Option<&Node> {
        match self.checked(tensor).producer {
            Producer::Input(_) => None,
            Producer::Layer(node) => Some(&self.nodes[node]),
        }
    }

    /// The names that input shapes use, sorted.
    #[must_use]
    pub fn dim_names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for (_, tensor) in &self.inputs {
            for dim in self.dims(*tensor).iter() {
                dim.names(&mut |name| {
                    names.insert(name.to_owned());
                });
            }
        }
        names
    }

    /// For each layer, whether an output depends on it.
    #[must_use]
    pub fn live_nodes(&self) -> Vec<bool> {
        let mut live = vec![false; self.nodes.len()];
        let mut pending: Vec<Tensor> = self.outputs.iter().map(|(_, tensor)| *tensor).collect();
        while let Some(tensor) = pending.pop() {
            if let Producer::Layer(node) = self.record(tensor.id).producer
                && !std::mem::replace(&mut live[node], true)
            {
                pending.extend(self.nodes[node].inputs.iter().flatten());
            }
        }
        live
    }

    /// How messages name a tensor: by input or producing layer, with type and shape.
    ///
    /// # Panics
    /// If the tensor belongs to another graph; tensors come only from a graph's own methods.
    #[must_use]
    #[track_caller]
    pub fn tensor_label(&self, tensor: Tensor) -> TensorLabel {
        self.checked(tensor);
        self.label(tensor.id)
    }

    pub(crate) fn label(&self, id: TensorId) -> TensorLabel {
        let record = self.record(id);
        let name = match record.producer {
            Producer::Input(index) => self.inputs[index].0.clone(),
            Producer::Layer(node) => self.nodes[node].name.clone(),
        };
        TensorLabel {
            name,
            data_type: record.data_type,
            dims: record.dims.clone(),
        }
    }

    pub(crate) fn record(&self, id: TensorId) -> &TensorRecord {
        &self.tensors[id.0 as usize]
    }

    fn owns(&self, tensor: Tensor) -> bool {
        tensor.graph == self.id && tensor.index() < self.tensors.len()
    }

    #[track_caller]
    fn checked(&self, tensor: Tensor) -> &TensorRecord {
        assert!(self.owns(tensor), "the tensor belongs to another graph");
        self.record(tensor.id)
    }
}

fn check_text(name: &str) -> Result<(), Fault> {
    let problem = if name.is_empty() {
        "is empty"
    } else if name.len() > MAX_NAME_BYTES {
        "is longer than 4095 bytes"
    } else if name.contains('\0') {
        "contains a zero byte"
    } else {
        return Ok(());
    };
    let shown: String = name.chars().take(64).collect();
    Err(Fault::Name {
        name: shown,
        problem,
    })
}

fn check_dims(data_type: DataType, dims: &Dims) -> Result<(), Fault> {
    if dims.len() > MAX_DIMS {
        return Err(Fault::Argument {
            argument: "dims",
            found: format!("{dims}, {} dimensions", dims.len()),
            expected: format!("at most {MAX_DIMS} dimensions"),
        });
    }
    // A zero along one axis must not hide an overflow along the others.
    let nonzero: Dims = dims
        .iter()
        .map(|dim| {
            if dim.fixed() == Some(0) {
                Dim::from(1)
            } else {
                dim.clone()
            }
        })
        .collect();
    let bits = Dim::from(data_type.bits());
    match nonzero.volume().and_then(|elements| elements.mul(&bits)) {
        Some(_) => Ok(()),
        None => Err(Fault::Overflow {
            what: format!("the number of bits in shape {dims}"),
        }),
    }
}
