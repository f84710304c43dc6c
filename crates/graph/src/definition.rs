//! A graph as plain data: what is written to files, read back, and digested.
//!
//! Only what the outputs depend on is kept, renumbered: inputs first, then what each layer
//! produces. Constants are described, not contained. What is left out: where the data goes.

use crate::infer::INDICES;
use crate::{
    ConstantSource, ContentDigest, DataType, Dim, Dims, Graph, GraphError, Layer, Recipe,
    SourceError, SourceLocation, Tensor,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// The version of [`GraphDefinition`] and of the canonical bytes. Raised whenever either changes
/// its meaning.
pub const FORMAT: u32 = 1;

/// A graph as plain data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphDefinition {
    /// [`FORMAT`].
    pub format: u32,
    /// Network inputs; tensors `0..inputs.len()`.
    pub inputs: Vec<InputDefinition>,
    /// What constant layers refer to.
    pub constants: Vec<ConstantDefinition>,
    /// Layers in a topological order; their outputs are the tensors after the inputs.
    pub layers: Vec<LayerDefinition>,
    /// Network outputs.
    pub outputs: Vec<OutputDefinition>,
}

/// A network input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputDefinition {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub data_type: DataType,
    /// Its shape.
    pub dims: Vec<DimDefinition>,
}

/// A dimension of a network input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum DimDefinition {
    /// A fixed size.
    Fixed(u64),
    /// A named size that is known at run time.
    Named(String),
}

/// A constant, described.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConstantDefinition {
    /// Its element type.
    pub data_type: DataType,
    /// Its shape.
    pub dims: Vec<u64>,
    /// What its elements are made of.
    pub recipe: Recipe,
    /// How a person finds it. Not part of the canonical bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The elements of small integer constants, since they may give shapes. Not part of the
    /// canonical bytes, which have the digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<Vec<i64>>,
}

/// A layer and its wiring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerDefinition {
    /// Its name.
    pub name: String,
    /// Its kind and arguments.
    pub layer: Layer,
    /// The tensors it takes, by the layer's order of roles.
    pub inputs: Vec<Option<usize>>,
    /// Where it was added. Not part of the canonical bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<SourceLocation>,
}

/// A network output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputDefinition {
    /// Its name.
    pub name: String,
    /// The tensor it is.
    pub tensor: usize,
}

/// Why a definition is not a graph.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// A format of another version.
    #[error("the graph has format {found}, expected {FORMAT}")]
    Format {
        /// The version found.
        found: u32,
    },
    /// A number that refers to nothing.
    #[error("{subject} refers to {what} {found}, expected below {count}")]
    Dangling {
        /// What refers.
        subject: String,
        /// What it refers to: a tensor or a constant.
        what: &'static str,
        /// The number.
        found: usize,
        /// How many there are at that point.
        count: usize,
    },
    /// More or fewer constants than are described.
    #[error("{found} constants were supplied, expected {expected}")]
    ConstantCount {
        /// How many were supplied.
        found: usize,
        /// How many are described.
        expected: usize,
    },
    /// A supplied constant that is not the one described.
    #[error("constant {index} is {found}, expected {expected}")]
    Constant {
        /// Its number.
        index: usize,
        /// The supplied type and shape.
        found: String,
        /// The described type and shape.
        expected: String,
    },
    /// A layer, input or output that the rules refuse.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

impl Graph {
    /// The graph as plain data, with where each layer was added and what each constant is called.
    ///
    /// # Errors
    /// When a constant's digest cannot be had.
    pub fn definition(&self) -> Result<GraphDefinition, SourceError> {
        let mut tensors: HashMap<Tensor, usize> = HashMap::new();
        let mut inputs = Vec::new();
        for (name, tensor) in self.inputs() {
            tensors.insert(*tensor, inputs.len());
            let dims = self.dims(*tensor).iter().map(DimDefinition::from).collect();
            inputs.push(InputDefinition {
                name: name.clone(),
                data_type: self.data_type(*tensor),
                dims,
            });
        }
        let (mut constants, mut layers) = (Vec::new(), Vec::new());
        let live = self.live_nodes();
        for (node, _) in self.nodes().iter().zip(live).filter(|(_, live)| *live) {
            let mut layer = node.layer().clone();
            if let Layer::Constant(constant) = &mut layer {
                let source = &self.constants()[constant.index];
                constant.index = constants.len();
                constants.push(ConstantDefinition {
                    data_type: source.data_type(),
                    dims: source.dims().to_vec(),
                    recipe: source.recipe()?,
                    label: Some(source.describe()),
                    elements: self
                        .shape_value(node.outputs()[0])
                        .and_then(|value| value.iter().map(Dim::fixed).collect()),
                });
            }
            layers.push(LayerDefinition {
                name: node.name().to_owned(),
                layer,
                inputs: node
                    .inputs()
                    .iter()
                    .map(|input| input.map(|t| tensors[&t]))
                    .collect(),
                location: node.location().cloned(),
            });
            for output in node.outputs() {
                tensors.insert(*output, tensors.len());
            }
        }
        let outputs = self
            .outputs()
            .iter()
            .map(|(name, tensor)| OutputDefinition {
                name: name.clone(),
                tensor: tensors[tensor],
            })
            .collect();
        Ok(GraphDefinition {
            format: FORMAT,
            inputs,
            constants,
            layers,
            outputs,
        })
    }

    /// The sources of the constants that [`Self::definition`] describes, in its order.
    #[must_use]
    pub fn live_constants(&self) -> Vec<Arc<dyn ConstantSource>> {
        let live = self.live_nodes();
        let constant = |(node, live): (&crate::Node, bool)| match node.layer() {
            Layer::Constant(constant) if live => Some(self.constants()[constant.index].clone()),
            _ => None,
        };
        self.nodes().iter().zip(live).filter_map(constant).collect()
    }

    /// Bytes that are equal exactly when two graphs say the same: the layers that the outputs
    /// depend on in their order with their names, arguments and wiring; inputs and outputs; and
    /// type, shape, digest and recipe of each constant. Source locations and the names of weights
    /// are not in them.
    ///
    /// # Errors
    /// When a constant's digest cannot be had.
    pub fn canonical_bytes(&self) -> Result<Vec<u8>, SourceError> {
        let mut definition = self.definition()?;
        for constant in &mut definition.constants {
            constant.label = None;
            constant.elements = None;
        }
        for layer in &mut definition.layers {
            layer.location = None;
        }
        // Compact JSON has one spelling here: fields in their order of declaration, numbers exact,
        // strings escaped one way, and no number that JSON lacks (layers refuse those).
        serde_json::to_vec(&definition).map_err(|error| SourceError {
            subject: "graph".into(),
            reason: error.to_string(),
            hint: None,
            cause: None,
        })
    }

    /// The BLAKE3 digest of the canonical bytes.
    ///
    /// # Errors
    /// When a constant's digest cannot be had.
    pub fn digest(&self) -> Result<ContentDigest, SourceError> {
        Ok(ContentDigest::of(&self.canonical_bytes()?))
    }

    /// Rebuilds a graph, checking every layer anew. `constants` supply what the definition
    /// describes, in its order.
    ///
    /// # Errors
    /// A definition of another format, with dangling numbers, with constants of another type or
    /// shape, or with anything that the rules of a layer refuse.
    pub fn from_definition(
        definition: &GraphDefinition,
        constants: Vec<Arc<dyn ConstantSource>>,
    ) -> Result<Self, DefinitionError> {
        if definition.format != FORMAT {
            return Err(DefinitionError::Format {
                found: definition.format,
            });
        }
        check_constants(definition, &constants)?;
        let mut graph = Self::new();
        for source in constants {
            graph.push_constant(source);
        }
        let mut tensors = Vec::new();
        for input in &definition.inputs {
            let dims: Dims = input.dims.iter().map(Dim::from).collect();
            tensors.push(graph.add_input_at(&input.name, input.data_type, dims, None)?);
        }
        let find = |tensors: &[Tensor], subject: &dyn Fn() -> String, index: usize| {
            tensors
                .get(index)
                .copied()
                .ok_or_else(|| DefinitionError::Dangling {
                    subject: subject(),
                    what: "tensor",
                    found: index,
                    count: tensors.len(),
                })
        };
        for layer in &definition.layers {
            let subject = || format!("layer `{}`", layer.name);
            let inputs = layer
                .inputs
                .iter()
                .map(|input| {
                    input
                        .map(|index| find(&tensors, &subject, index))
                        .transpose()
                })
                .collect::<Result<Vec<_>, _>>()?;
            graph.named(&layer.name);
            let kind = layer.layer.clone();
            tensors.extend(graph.add_layer_at(kind, &inputs, layer.location.clone())?);
        }
        for output in &definition.outputs {
            let subject = || format!("output `{}`", output.name);
            let tensor = find(&tensors, &subject, output.tensor)?;
            graph.mark_output_at(&output.name, tensor, None)?;
        }
        Ok(graph)
    }
}

fn check_constants(
    definition: &GraphDefinition,
    constants: &[Arc<dyn ConstantSource>],
) -> Result<(), DefinitionError> {
    let (found, expected) = (constants.len(), definition.constants.len());
    if found != expected {
        return Err(DefinitionError::ConstantCount { found, expected });
    }
    for (index, (source, described)) in constants.iter().zip(&definition.constants).enumerate() {
        if source.data_type() != described.data_type || source.dims() != described.dims {
            return Err(DefinitionError::Constant {
                index,
                found: format!("{}{:?}", source.data_type(), source.dims()),
                expected: format!("{}{:?}", described.data_type, described.dims),
            });
        }
    }
    Ok(())
}

impl GraphDefinition {
    /// The graph with constants that are only described: it can be printed, drawn and digested,
    /// but not built or run.
    ///
    /// # Errors
    /// As [`Graph::from_definition`].
    pub fn without_weights(&self) -> Result<Graph, DefinitionError> {
        let constants = self.constants.iter().map(|constant| {
            Arc::new(DescribedConstant(constant.clone())) as Arc<dyn ConstantSource>
        });
        Graph::from_definition(self, constants.collect())
    }
}

/// A constant without its bytes, except where they may give shapes.
#[derive(Debug)]
struct DescribedConstant(ConstantDefinition);

impl ConstantSource for DescribedConstant {
    fn data_type(&self) -> DataType {
        self.0.data_type
    }

    fn dims(&self) -> &[u64] {
        &self.0.dims
    }

    fn recipe(&self) -> Result<Recipe, SourceError> {
        Ok(self.0.recipe.clone())
    }

    fn read(&self, out: &mut [u8]) -> Result<(), SourceError> {
        let fault = |reason: &str| SourceError {
            subject: self.describe(),
            reason: reason.into(),
            hint: None,
            cause: None,
        };
        let elements = self
            .0
            .elements
            .as_ref()
            .filter(|_| INDICES.contains(&self.0.data_type))
            .ok_or_else(|| fault("the graph was exported without its weights"))?;
        let bytes: Vec<u8> = match self.0.data_type {
            DataType::Int64 => elements.iter().flat_map(|e| e.to_le_bytes()).collect(),
            _ => elements
                .iter()
                .flat_map(|&e| (e as i32).to_le_bytes())
                .collect(),
        };
        if bytes.len() != out.len() {
            return Err(fault(
                "the listed elements are not as many as the shape has",
            ));
        }
        out.copy_from_slice(&bytes);
        Ok(())
    }

    fn describe(&self) -> String {
        self.0.label.clone().unwrap_or_else(|| "constant".into())
    }
}

impl From<&Dim> for DimDefinition {
    fn from(dim: &Dim) -> Self {
        match dim.fixed().and_then(|size| u64::try_from(size).ok()) {
            Some(size) => Self::Fixed(size),
            None => Self::Named(dim.name().map_or_else(|| dim.to_string(), str::to_owned)),
        }
    }
}

impl From<&DimDefinition> for Dim {
    fn from(dim: &DimDefinition) -> Self {
        match dim {
            DimDefinition::Fixed(size) => Self::from(*size),
            DimDefinition::Named(name) => Self::named(name),
        }
    }
}
