//! The entries of a `.safetensors` file, whose header the `safetensors` crate validates.

use crate::{Element, Entry, Place};
use safetensors::{Dtype, SafeTensors};

/// The bytes before the header that state its length.
const PREFIX: usize = 8;

/// The file's tensors by offset.
pub(crate) fn entries(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let (header_len, metadata) =
        SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let data = PREFIX + header_len;
    let entries = metadata.offset_keys().into_iter().filter_map(|name| {
        let info = metadata.info(&name)?;
        let (start, end) = info.data_offsets;
        Some(Entry {
            element: element_of(info.dtype).ok_or_else(|| format!("{:?}", info.dtype)),
            dims: info.shape.iter().map(|&dim| dim as u64).collect(),
            place: Place::Direct(data + start..data + end),
            name,
        })
    });
    Ok(entries.collect())
}

fn element_of(dtype: Dtype) -> Option<Element> {
    Element::ALL
        .into_iter()
        .find(|&element| dtype_of(element) == dtype)
}

/// The crate's name for an element type.
pub(crate) const fn dtype_of(element: Element) -> Dtype {
    match element {
        Element::F64 => Dtype::F64,
        Element::F32 => Dtype::F32,
        Element::F16 => Dtype::F16,
        Element::BF16 => Dtype::BF16,
        Element::F8_E4M3 => Dtype::F8_E4M3,
        Element::F8_E5M2 => Dtype::F8_E5M2,
        Element::I8 => Dtype::I8,
        Element::I16 => Dtype::I16,
        Element::I32 => Dtype::I32,
        Element::I64 => Dtype::I64,
        Element::U8 => Dtype::U8,
        Element::U16 => Dtype::U16,
        Element::U32 => Dtype::U32,
        Element::U64 => Dtype::U64,
        Element::BOOL => Dtype::BOOL,
    }
}
