//! A named tensor of a source file: its type, its shape, and where its elements lie, checked to
//! lie in the file.
//!
//! What is left out: reading the elements, in [`crate::output::gather`].

use crate::container::inflate::Deflated;
use crate::container::{Location, Storages};
use crate::dtype::Dtype;
use crate::error::Problem;
use crate::flatten::Flat;
use crate::pickle::Heap;
use crate::pickle::value::Tensor;
use crate::refusal::{Entry, Kind};

/// A tensor to convert.
#[derive(Debug, Clone)]
pub(crate) struct TensorEntry {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    pub(crate) big_endian: bool,
    pub(crate) shape: Box<[u64]>,
    /// Elements between neighbours along each dimension.
    pub(crate) strides: Box<[u64]>,
    pub(crate) data: Data,
    /// Number of the source file.
    pub(crate) file: usize,
}

/// Where a tensor's first element lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Data {
    /// Nowhere: it has no elements.
    Empty,
    /// At this byte of the source file.
    Stored(usize),
    /// At this byte of a deflated record.
    Deflated(Deflated, usize),
}

impl TensorEntry {
    /// Number of elements; `None` where it, or the running product of the sizes, does not fit.
    pub(crate) fn elements(&self) -> Option<u64> {
        elements(&self.shape)
    }
}

fn elements(shape: &[u64]) -> Option<u64> {
    shape
        .iter()
        .try_fold(1u64, |product, size| product.checked_mul(*size))
}

/// Finds the bytes of all flattened tensors. Those whose type safetensors lacks become refusals.
pub(crate) fn resolve(
    heap: &Heap<'_>,
    storages: &dyn Storages,
    flat: &mut Flat,
    file: usize,
) -> Result<Vec<TensorEntry>, Problem> {
    let mut entries = Vec::with_capacity(flat.tensors.len());
    for (name, tensor) in std::mem::take(&mut flat.tensors) {
        let tensor = heap.tensor(tensor);
        let Some(dtype) = tensor.element.dtype else {
            flat.refused.push(Entry {
                path: Some(name),
                kind: Kind::Dtype(tensor.element.name),
            });
            continue;
        };
        let (shape, strides) = heap.extents(&tensor);
        let data = locate(heap, storages, &name, &tensor)?;
        entries.push(TensorEntry {
            name,
            dtype,
            big_endian: storages.is_big_endian(),
            shape: shape.into(),
            strides: strides.into(),
            data,
            file,
        });
    }
    Ok(entries)
}

fn locate(
    heap: &Heap<'_>,
    storages: &dyn Storages,
    name: &str,
    tensor: &Tensor,
) -> Result<Data, Problem> {
    let (shape, strides) = heap.extents(tensor);
    if shape.contains(&0) {
        return Ok(Data::Empty);
    }
    let storage = heap.storage(tensor.storage);
    let size = tensor.element.size;
    let last = shape
        .iter()
        .zip(strides)
        .try_fold(tensor.offset, |last, (size, stride)| {
            last.checked_add((size - 1).checked_mul(*stride)?)
        });
    let end = last
        .and_then(|last| last.checked_add(1))
        .and_then(|end| end.checked_mul(size));
    if end.is_none_or(|end| end > storage.len) {
        return Err(Problem::TensorOutOfBounds {
            name: name.into(),
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            offset: tensor.offset,
            elements: storage.len / size,
        });
    }
    let root = heap.root(storage.root);
    // Both fit: the end of the tensor does, and the storage lies within its root.
    let first = (storage.start + tensor.offset * size) as usize;
    Ok(match storages.locate(root)? {
        Location::Stored(range) => Data::Stored(range.start + first),
        Location::Deflated(record) => Data::Deflated(record, first),
    })
}
