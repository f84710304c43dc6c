//! The node tests of ONNX (`data/onnx.md`): each operator as layers, with ONNX's expected outputs.
//!
//! What is left out: operators of other layers; and tests of types or meanings that TensorRT's
//! layers do not have, which [`Skipped`] lists with the reason.

mod compose;
mod moved;
mod pointwise;
mod sums;

use crate::numpy::{file, tensors};
use crate::{Array, Bound, Case, Values};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use tensoracle_graph::{DataType, Graph, GraphError, Tensor};

/// A test of ONNX that is not a case here, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The test's name.
    pub name: String,
    /// Why it is no case.
    pub reason: &'static str,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    name: String,
    op: String,
    #[serde(rename = "opset")]
    _opset: u32,
    attrs: Map<String, Value>,
    inputs: Vec<Option<String>>,
    outputs: Vec<String>,
}

static LISTED: LazyLock<Vec<Listed>> =
    LazyLock::new(|| serde_json::from_slice(&file("onnx.json")).expect("onnx.json lists tests"));

static TENSORS: LazyLock<BTreeMap<String, Array>> = LazyLock::new(|| tensors("onnx.safetensors"));

/// One of ONNX's operators with its attributes and all its inputs.
#[derive(Debug, Clone)]
struct Node {
    op: String,
    attrs: Map<String, Value>,
    inputs: Vec<Option<Array>>,
    outputs: Vec<Array>,
}

/// How an operator is made of layers, over the inputs that are data.
type Operator = fn(&Node, &mut Graph, &[Tensor]) -> Result<Vec<Tensor>, GraphError>;

impl Node {
    fn int(&self, name: &str, default: i64) -> i64 {
        self.attrs.get(name).map_or(default, |value| {
            value.as_i64().expect("the attribute is an integer")
        })
    }

    fn float(&self, name: &str, default: f64) -> f64 {
        self.attrs.get(name).map_or(default, |value| {
            value.as_f64().expect("the attribute is a number")
        })
    }

    fn ints(&self, name: &str) -> Option<Vec<i64>> {
        let list = self.attrs.get(name)?.as_array()?;
        Some(list.iter().filter_map(Value::as_i64).collect())
    }

    fn text(&self, name: &str) -> &str {
        self.attrs.get(name).and_then(Value::as_str).unwrap_or("")
    }

    /// An input that gives an argument rather than data: its integers.
    fn argument(&self, index: usize) -> Option<&[i64]> {
        Some(self.inputs.get(index)?.as_ref()?.integers())
    }

    /// An input that gives an argument: its single real number.
    fn real_argument(&self, index: usize) -> Option<f64> {
        match &self.inputs.get(index)?.as_ref()?.values {
            Values::Real(values) => values.first().copied(),
            _ => None,
        }
    }

    /// The shape of the first input.
    fn dims(&self) -> Vec<i64> {
        signed(
            &self.inputs[0]
                .as_ref()
                .expect("the first input is data")
                .dims,
        )
    }

    fn rank(&self) -> usize {
        self.dims().len()
    }

    /// An axis counted from the front.
    fn axis(&self, axis: i64) -> usize {
        let rank = self.rank() as i64;
        usize::try_from(if axis < 0 { axis + rank } else { axis }).expect("the axis is inside")
    }
}

fn signed(dims: &[u64]) -> Vec<i64> {
    dims.iter().map(|&dim| dim as i64).collect()
}

/// The file that an operator's cases belong to, how many of its inputs are data, and its layers.
fn operator(op: &str) -> (&'static str, usize, Operator) {
    const ALL: usize = usize::MAX;
    match op {
        "Celu" | "Elu" | "Gelu" | "HardSigmoid" | "HardSwish" | "LeakyRelu" | "Selu"
        | "Sigmoid" | "Softplus" | "Softsign" | "ThresholdedRelu" | "Clip" => {
            ("activation", 1, pointwise::activation)
        }
        "Cast" => ("cast", 1, pointwise::cast),
        "Concat" => ("concatenation", ALL, moved::concat),
        "Conv" => ("convolution", ALL, sums::conv),
        "Add" | "And" | "Div" | "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual"
        | "Max" | "Mean" | "Min" | "Mod" | "Mul" | "Or" | "Pow" | "Sub" | "Sum" | "Xor" => {
            ("elementwise", ALL, pointwise::elementwise)
        }
        "Gather" | "GatherElements" | "GatherND" => ("gather", ALL, moved::gather),
        "Gemm" => ("matrix_multiply", ALL, sums::gemm),
        "MatMul" => ("matrix_multiply", ALL, sums::matmul),
        "LayerNormalization" => ("normalization", ALL, sums::layer_normalization),
        "GroupNormalization" | "InstanceNormalization" => {
            ("normalization", ALL, sums::channel_normalization)
        }
        "RMSNormalization" => ("normalization", ALL, sums::rms_normalization),
        "Where" => ("select", ALL, moved::select),
        "Shape" => ("shape", 1, moved::shape),
        "Transpose" | "DepthToSpace" | "SpaceToDepth" => ("shuffle", 1, moved::transpose),
        "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => ("shuffle", 1, moved::reshape),
        "Slice" | "Split" | "Pad" | "Tile" | "Expand" => ("slice", 1, moved::slice),
        "Softmax" | "LogSoftmax" => ("softmax", 1, sums::softmax),
        _ if op.starts_with("Reduce") => ("reduce", 1, sums::reduce),
        _ => ("unary", 1, pointwise::unary),
    }
}

/// Operators whose outputs are the same numbers in every precision.
const SAME: &[&str] = &[
    "Abs",
    "And",
    "Cast",
    "Ceil",
    "Clip",
    "Concat",
    "DepthToSpace",
    "Equal",
    "Expand",
    "Flatten",
    "Floor",
    "Gather",
    "GatherElements",
    "GatherND",
    "Greater",
    "GreaterOrEqual",
    "IsInf",
    "IsNaN",
    "Less",
    "LessOrEqual",
    "Max",
    "Min",
    "Neg",
    "Not",
    "Or",
    "Pad",
    "ReduceMax",
    "ReduceMin",
    "Reshape",
    "Shape",
    "Slice",
    "SpaceToDepth",
    "Split",
    "Squeeze",
    "Tile",
    "Transpose",
    "Unsqueeze",
    "Where",
    "Xor",
];

/// Why a test is no case here.
fn reason_to_skip(listed: &Listed) -> Option<&'static str> {
    let narrow =
        |name: &String| matches!(TENSORS[name].data_type, DataType::Int8 | DataType::UInt8);
    if listed.inputs.iter().flatten().any(narrow) {
        return Some("TensorRT's layer takes no arithmetic on 8-bit integers but quantized ones");
    }
    match listed.name.as_str() {
        "test_clip_min_greater_than_max" => {
            Some("TensorRT's clip is max(alpha, min(beta, x)): the lower limit wins, not the upper")
        }
        "test_reduce_max_bool_inputs" => Some("TensorRT's reduce takes no booleans"),
        _ => None,
    }
}

/// The tests that are no cases here.
#[must_use]
pub fn skipped() -> Vec<Skipped> {
    let skip = |listed: &Listed| {
        let (name, reason) = (listed.name.clone(), reason_to_skip(listed)?);
        Some(Skipped { name, reason })
    };
    LISTED.iter().filter_map(skip).collect()
}

/// The cases of one layer, which is named as its files are; none for layers that no operator is.
pub(crate) fn cases(layer: &str) -> Vec<Case> {
    LISTED
        .iter()
        .filter(|listed| operator(&listed.op).0 == layer && reason_to_skip(listed).is_none())
        .map(case)
        .collect()
}

fn case(listed: &Listed) -> Case {
    let array = |name: &String| TENSORS[name].clone();
    let (_, data, build) = operator(&listed.op);
    let node = Node {
        op: listed.op.clone(),
        attrs: listed.attrs.clone(),
        inputs: listed
            .inputs
            .iter()
            .map(|name| name.as_ref().map(array))
            .collect(),
        outputs: listed.outputs.iter().map(array).collect(),
    };
    let inputs: Vec<Array> = node.inputs.iter().take(data).flatten().cloned().collect();
    let mut expected = node.outputs.clone();
    if listed.op == "LayerNormalization" {
        // TensorRT's layer gives neither the mean nor the deviation.
        expected.truncate(1);
    }
    let name = format!("onnx/{}", listed.name);
    let case = Case::new(name, inputs, expected, move |graph, tensors| {
        build(&node, graph, tensors)
    });
    let half = case
        .expected
        .iter()
        .any(|output| output.data_type == DataType::Half);
    let bound = match (SAME.contains(&listed.op.as_str()), half) {
        (true, _) => Bound::Same,
        // ONNX computed these in the declared type.
        (false, false) => Bound::Layers {
            absolute: 1e-5,
            relative: 1e-5,
        },
        (false, true) => Bound::Layers {
            absolute: 1e-2,
            relative: 1e-2,
        },
    };
    Case { bound, ..case }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_tests_are_skipped_and_all_others_are_cases() {
        let skipped = skipped().len();
        assert!(skipped < 30, "{skipped}");
        let layers: std::collections::BTreeSet<_> =
            LISTED.iter().map(|listed| operator(&listed.op).0).collect();
        let cases: usize = layers.iter().map(|layer| cases(layer).len()).sum();
        assert_eq!(cases + skipped, LISTED.len());
    }
}
