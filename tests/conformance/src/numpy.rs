//! The cases that `scripts/make_cases.py` computed: one layer each, as data.

use crate::{Array, Bound, Case};
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use tensoracle_graph::{DataType, Layer, Values as Constant};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    layer: String,
    name: String,
    arguments: Layer,
    inputs: Vec<Option<Input>>,
    output: Output,
    close: Option<[f64; 2]>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    tensor: String,
    #[serde(rename = "type")]
    data_type: DataType,
    constant: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Output {
    tensor: String,
    #[serde(rename = "type")]
    data_type: DataType,
}

static TENSORS: LazyLock<BTreeMap<String, Array>> = LazyLock::new(|| tensors("numpy.safetensors"));

static LISTED: LazyLock<Vec<Listed>> = LazyLock::new(|| {
    let text = String::from_utf8(file("numpy.json")).expect("numpy.json is text");
    serde_json::from_str(&text).expect("numpy.json lists cases")
});

/// A file of the data folder.
pub(crate) fn file(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All tensors of a file of the data folder, by name, with the type that they are stored as;
/// float64, which TensorRT does not have, as `Float`.
pub(crate) fn tensors(name: &str) -> BTreeMap<String, Array> {
    let bytes = file(name);
    let stored = SafeTensors::deserialize(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut found = BTreeMap::new();
    for (key, view) in stored.tensors() {
        let dims: Vec<u64> = view.shape().iter().map(|&size| size as u64).collect();
        found.insert(key, stored_array(view.dtype(), &dims, view.data()));
    }
    found
}

fn stored_array(dtype: Dtype, dims: &[u64], data: &[u8]) -> Array {
    let data_type = match dtype {
        Dtype::F64 => {
            let (chunks, _) = data.as_chunks();
            let values: Vec<_> = chunks
                .iter()
                .map(|chunk| f64::from_le_bytes(*chunk))
                .collect();
            return Array::float(dims, &values);
        }
        Dtype::F32 => DataType::Float,
        Dtype::F16 => DataType::Half,
        Dtype::I64 => DataType::Int64,
        Dtype::I32 => DataType::Int32,
        Dtype::I8 => DataType::Int8,
        Dtype::U8 => DataType::UInt8,
        Dtype::BOOL => DataType::Bool,
        other => panic!("the data holds no {other:?}"),
    };
    Array::from_bytes(data_type, dims, data).expect("safetensors checked the size")
}

/// A stored array under its declared type.
fn array(tensor: &str, data_type: DataType) -> Array {
    let stored = &TENSORS[tensor];
    assert_eq!(
        stored.data_type.kind(),
        data_type.kind(),
        "{tensor} is not of type {data_type}"
    );
    Array {
        data_type,
        ..stored.clone()
    }
}

/// The constant that holds an array.
pub(crate) fn constant(array: &Array) -> Constant {
    let made = Constant::from_bytes(array.data_type, array.dims.clone(), array.to_bytes());
    made.expect("an array has as many bytes as its shape needs")
}

/// The cases of one layer, which is named as its files are.
pub(crate) fn cases(layer: &str) -> Vec<Case> {
    let listed = LISTED.iter().filter(|listed| listed.layer == layer);
    let cases: Vec<_> = listed.map(case).collect();
    assert!(!cases.is_empty(), "numpy.json has no cases of {layer}");
    cases
}

/// Where a layer's input comes from.
enum Source {
    Input(usize),
    Constant(Constant),
    Absent,
}

fn case(listed: &'static Listed) -> Case {
    let mut inputs = Vec::new();
    let mut sources = Vec::new();
    for input in &listed.inputs {
        sources.push(match input {
            None => Source::Absent,
            Some(input) if input.constant => {
                Source::Constant(constant(&array(&input.tensor, input.data_type)))
            }
            Some(input) => {
                inputs.push(array(&input.tensor, input.data_type));
                Source::Input(inputs.len() - 1)
            }
        });
    }
    let expected = array(&listed.output.tensor, listed.output.data_type);
    let layer = listed.arguments.clone();
    let name = format!("numpy/{}", listed.name);
    let case = Case::new(name, inputs, [expected], move |graph, tensors| {
        let mut given = Vec::new();
        for source in &sources {
            given.push(match source {
                Source::Input(index) => Some(tensors[*index]),
                Source::Constant(values) => Some(graph.add_constant(values.clone())?),
                Source::Absent => None,
            });
        }
        graph.add_layer(layer.clone(), &given)
    });
    let bound = match listed.close {
        None => Bound::Same,
        Some([absolute, relative]) => Bound::Layer { absolute, relative },
    };
    Case { bound, ..case }
}
