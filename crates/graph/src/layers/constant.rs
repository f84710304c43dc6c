//! `IConstantLayer`: a tensor whose elements are known when the graph is defined.

use crate::infer::{INDICES, Infer, Inferred, SHAPE_ELEMENTS};
use crate::{
    ConstantSource, ContentDigest, DataType, Dim, Dims, Fault, Graph, GraphError, Recipe,
    SourceError, Tensor,
};
use half::{bf16, f16};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Arguments of a constant layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Which of [`Graph::constants`] supplies the elements.
    pub index: usize,
}

impl Constant {
    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(0)?;
        let source = infer
            .graph()
            .constants()
            .get(self.index)
            .ok_or_else(|| Fault::Argument {
                argument: "index",
                found: self.index.to_string(),
                expected: format!("below {}", infer.graph().constants().len()),
            })?;
        let elements = source
            .dims()
            .iter()
            .try_fold(1u64, |product, dim| product.checked_mul(*dim))
            .filter(|&elements| source.data_type().bytes_for(elements).is_some());
        let elements = elements.ok_or_else(|| Fault::Overflow {
            what: format!("the size of {}", source.describe()),
        })?;
        let value = shape_elements(&**source, elements);
        Ok(Inferred::new(source.data_type(), Dims::from(source.dims())).with_value(value))
    }
}

/// The elements of a small integer constant, read while the graph is defined since they may give
/// shapes.
fn shape_elements(source: &dyn ConstantSource, elements: u64) -> Option<Vec<Dim>> {
    let data_type = source.data_type();
    if elements > SHAPE_ELEMENTS as u64 || !INDICES.contains(&data_type) {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(data_type.bytes_for(elements)?).ok()?];
    source.read(&mut bytes).ok()?;
    let width = usize::try_from(data_type.bits() / 8).ok()?;
    let number = |chunk: &[u8]| match *chunk {
        [a, b, c, d] => Some(i64::from(i32::from_le_bytes([a, b, c, d]))),
        _ => Some(i64::from_le_bytes(chunk.try_into().ok()?)),
    };
    bytes
        .chunks_exact(width)
        .map(|chunk| number(chunk).map(Dim::from))
        .collect()
}

impl Graph {
    /// Adds a constant: a tensor of a weights file, a view of one, or [`Values`].
    ///
    /// # Errors
    /// A shape of more than eight dimensions or of more bytes than 64 bits can count.
    #[track_caller]
    pub fn add_constant(
        &mut self,
        source: impl ConstantSource + 'static,
    ) -> Result<Tensor, GraphError> {
        let index = self.push_constant(Arc::new(source));
        let added = self.add_one(Constant { index }, &[]);
        if added.is_err() {
            self.pop_constant();
        }
        added
    }
}

/// A Rust type whose values are elements of a tensor: what constants are written with and results
/// are read as.
pub trait ValuesElement: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// The element type.
    const DATA_TYPE: DataType;

    /// Appends the value as little-endian bytes.
    fn append_to(self, bytes: &mut Vec<u8>);

    /// The value of as many bytes as [`Self::append_to`] appends; the type's zero for any other
    /// number of bytes.
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! values_element {
    ($($type:ty => $data_type:ident,)*) => {
        $(impl ValuesElement for $type {
            const DATA_TYPE: DataType = DataType::$data_type;

            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn from_bytes(bytes: &[u8]) -> Self {
                bytes.try_into().map(Self::from_le_bytes).unwrap_or_default()
            }
        })*
    };
}

values_element! {
    f32 => Float,
    f16 => Half,
    bf16 => BFloat16,
    i8 => Int8,
    u8 => UInt8,
    i32 => Int32,
    i64 => Int64,
}

impl ValuesElement for bool {
    const DATA_TYPE: DataType = DataType::Bool;

    fn append_to(self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(self));
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        bytes.first().is_some_and(|byte| *byte != 0)
    }
}

/// A constant whose elements are written in code or already in memory.
#[derive(Clone)]
pub struct Values {
    data_type: DataType,
    dims: Vec<u64>,
    bytes: Arc<[u8]>,
    digest: ContentDigest,
}

impl Values {
    /// `elements` in row-major order under the shape `dims`.
    ///
    /// # Panics
    /// If the number of elements is not the product of `dims`; use [`Self::from_bytes`] for
    /// shapes that come from outside.
    #[must_use]
    #[track_caller]
    pub fn new<T: ValuesElement>(
        dims: impl IntoIterator<Item = u64>,
        elements: impl AsRef<[T]>,
    ) -> Self {
        let mut bytes = Vec::new();
        for element in elements.as_ref() {
            element.append_to(&mut bytes);
        }
        match Self::from_bytes(T::DATA_TYPE, dims.into_iter().collect(), bytes) {
            Ok(values) => values,
            Err(error) => panic!("{error}"),
        }
    }

    /// A scalar: shape `[]`.
    #[must_use]
    pub fn scalar<T: ValuesElement>(element: T) -> Self {
        Self::new([], [element])
    }

    /// Elements as packed little-endian bytes.
    ///
    /// # Errors
    /// When the number of bytes is not what `dims` and `data_type` need.
    pub fn from_bytes(
        data_type: DataType,
        dims: Vec<u64>,
        bytes: Vec<u8>,
    ) -> Result<Self, SourceError> {
        let needed = dims
            .iter()
            .try_fold(1u64, |product, dim| product.checked_mul(*dim))
            .and_then(|elements| data_type.bytes_for(elements));
        if needed != Some(bytes.len() as u64) {
            let needed = needed.map_or("more than 64 bits can count".into(), |n| n.to_string());
            return Err(SourceError {
                subject: format!("constant of type {data_type} and shape {dims:?}"),
                reason: format!("{} bytes were given, expected {needed}", bytes.len()),
                hint: None,
                cause: None,
            });
        }
        let digest = ContentDigest::of(&bytes);
        Ok(Self {
            data_type,
            dims,
            bytes: bytes.into(),
            digest,
        })
    }
}

impl std::fmt::Debug for Values {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Values")
            .field("data_type", &self.data_type)
            .field("dims", &self.dims)
            .finish_non_exhaustive()
    }
}

impl ConstantSource for Values {
    fn data_type(&self) -> DataType {
        self.data_type
    }

    fn dims(&self) -> &[u64] {
        &self.dims
    }

    fn recipe(&self) -> Result<Recipe, SourceError> {
        Ok(Recipe::Stored {
            element: self.data_type.name().into(),
            dims: self.dims.clone(),
            digest: self.digest,
        })
    }

    fn read(&self, out: &mut [u8]) -> Result<(), SourceError> {
        if out.len() != self.bytes.len() {
            return Err(SourceError {
                subject: self.describe(),
                reason: format!(
                    "a buffer of {} bytes was given, expected {}",
                    out.len(),
                    self.bytes.len()
                ),
                hint: None,
                cause: None,
            });
        }
        out.copy_from_slice(&self.bytes);
        Ok(())
    }

    fn bytes(&self) -> Option<&[u8]> {
        Some(&self.bytes)
    }

    fn describe(&self) -> String {
        format!("values {}{:?}", self.data_type, self.dims)
    }
}
