//! Between the files of tensors that a user has and the tensors of an engine.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use tensoracle::{DataType, HostTensor, Outputs, TensorInfo, TensorMode, stored_element};
use tensoracle_tensorfile::{Element, Format, TensorData, TensorFile};

/// The engine's inputs from `[NAME=]FILE` arguments. Tensors that the engine does not take are an
/// error, so that a misspelt name is not passed over.
pub(crate) fn read(
    arguments: &[String],
    known: &[TensorInfo],
) -> Result<Vec<(String, HostTensor)>> {
    let inputs: Vec<&TensorInfo> = known
        .iter()
        .filter(|info| info.mode == TensorMode::Input)
        .collect();
    let mut tensors = Vec::new();
    for argument in arguments {
        // A path may hold an equals sign; a name of an input before it decides.
        let named = argument
            .split_once('=')
            .filter(|(name, _)| !Path::new(argument).exists() || is_known(&inputs, name));
        let (name, path) = match named {
            Some((name, path)) => (Some(name), Path::new(path)),
            None => (None, Path::new(argument.as_str())),
        };
        let file = TensorFile::open(path)?;
        let single = file.entries().len() == 1;
        for entry in file.entries() {
            let tensor = file.tensor(entry.name())?;
            let name = match name {
                Some(name) if single => name.to_owned(),
                Some(name) => bail!(
                    "{} holds {} tensors; `{name}=` takes a file with one",
                    path.display(),
                    file.entries().len()
                ),
                None if file.format() == Format::Npy => match inputs[..] {
                    [input] => input.name.clone(),
                    _ => bail!(
                        "the engine has {} inputs ({}); say which one {} is: NAME={}",
                        inputs.len(),
                        names(&inputs),
                        path.display(),
                        path.display()
                    ),
                },
                None => entry.name().to_owned(),
            };
            if !is_known(&inputs, &name) {
                bail!(
                    "{} gives a tensor `{name}`, which is no input; the inputs are: {}",
                    path.display(),
                    names(&inputs)
                );
            }
            let Some(data_type) = data_type(tensor.element) else {
                bail!(
                    "tensor `{name}` of {} has type {}, which no engine takes",
                    path.display(),
                    tensor.element
                );
            };
            let bytes = tensor.bytes.to_vec();
            let tensor = HostTensor::from_bytes(data_type, tensor.dims, bytes)
                .with_context(|| format!("tensor `{name}` of {}", path.display()))?;
            tensors.push((name, tensor));
        }
    }
    Ok(tensors)
}

fn is_known(inputs: &[&TensorInfo], name: &str) -> bool {
    inputs.iter().any(|input| input.name == name)
}

fn names(inputs: &[&TensorInfo]) -> String {
    let names: Vec<_> = inputs.iter().map(|input| input.name.as_str()).collect();
    names.join(", ")
}

/// Writes all outputs to one file.
pub(crate) fn write(path: &Path, outputs: &Outputs) -> Result<()> {
    let tensors = outputs
        .iter()
        .map(|(name, tensor)| match stored_element(tensor.data_type()) {
            Some(element) => Ok(TensorData {
                name,
                element,
                dims: tensor.dims(),
                bytes: tensor.bytes(),
            }),
            None => bail!(
                "output `{name}` has type {}, which cannot be written to files of tensors",
                tensor.data_type()
            ),
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(tensoracle_tensorfile::write(path, &tensors)?)
}

fn data_type(element: Element) -> Option<DataType> {
    DataType::ALL
        .into_iter()
        .find(|data_type| stored_element(*data_type) == Some(element))
}
