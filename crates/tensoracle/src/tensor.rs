//! Tensors with elements in host memory: what goes into a session and comes out.
//!
//! What is left out: constants of a graph, which are not copied (`ConstantSource`).

use crate::compare::Element;
use crate::{DataType, Error, ValuesElement};

/// A tensor in host memory: type, shape, and packed little-endian elements in row-major order.
///
/// ```
/// use tensoracle::HostTensor;
///
/// let tensor = HostTensor::new([2, 2], [1.0f32, 2.0, 3.0, 4.0])?;
/// assert_eq!(tensor.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), tensoracle::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct HostTensor {
    data_type: DataType,
    dims: Vec<u64>,
    bytes: Vec<u8>,
}

impl HostTensor {
    /// `elements` in row-major order under the shape `dims`.
    ///
    /// # Errors
    /// [`Error::Elements`] when their number is not the product of `dims`.
    pub fn new<T: ValuesElement>(
        dims: impl Into<Vec<u64>>,
        elements: impl AsRef<[T]>,
    ) -> Result<Self, Error> {
        let elements = elements.as_ref();
        let mut bytes = Vec::with_capacity(size_of_val(elements));
        elements
            .iter()
            .for_each(|element| element.append_to(&mut bytes));
        Self::from_bytes(T::DATA_TYPE, dims, bytes)
    }

    /// A scalar: shape `[]`.
    #[must_use]
    pub fn scalar<T: ValuesElement>(element: T) -> Self {
        let mut bytes = Vec::new();
        element.append_to(&mut bytes);
        Self {
            data_type: T::DATA_TYPE,
            dims: Vec::new(),
            bytes,
        }
    }

    /// Packed little-endian elements.
    ///
    /// # Errors
    /// [`Error::Elements`] when the number of bytes is not what type and shape need.
    pub fn from_bytes(
        data_type: DataType,
        dims: impl Into<Vec<u64>>,
        bytes: Vec<u8>,
    ) -> Result<Self, Error> {
        let dims = dims.into();
        let needed = dims
            .iter()
            .try_fold(1u64, |product, dim| product.checked_mul(*dim))
            .and_then(|elements| data_type.bytes_for(elements));
        if needed != Some(bytes.len() as u64) {
            return Err(Error::Elements {
                data_type,
                dims,
                found: bytes.len(),
                expected: needed,
            });
        }
        Ok(Self {
            data_type,
            dims,
            bytes,
        })
    }

    /// The element type.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// The shape.
    #[must_use]
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// The elements: packed, little-endian, row-major.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The tensor as an input of the CPU engine.
    pub(crate) fn as_input<'a>(&'a self, name: &'a str) -> tensoracle_cpu::Input<'a> {
        tensoracle_cpu::Input {
            name,
            data_type: self.data_type,
            bytes: &self.bytes,
        }
    }

    /// The elements as Rust values.
    ///
    /// # Errors
    /// [`Error::ElementType`] when the tensor has another element type.
    pub fn to_vec<T: ValuesElement>(&self) -> Result<Vec<T>, Error> {
        if self.data_type != T::DATA_TYPE {
            return Err(Error::ElementType {
                found: self.data_type,
                expected: T::DATA_TYPE,
            });
        }
        Ok(self
            .bytes
            .chunks_exact(size_of::<T>())
            .map(T::from_bytes)
            .collect())
    }
}

impl std::fmt::Debug for HostTensor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "HostTensor({}{:?})", self.data_type, self.dims)
    }
}

/// The element type that files of tensors and comparisons have for the same values, where they have
/// one.
#[must_use]
pub fn stored_element(data_type: DataType) -> Option<Element> {
    Some(match data_type {
        DataType::Float => Element::F32,
        DataType::Half => Element::F16,
        DataType::BFloat16 => Element::BF16,
        DataType::Fp8 => Element::F8_E4M3,
        DataType::Int8 => Element::I8,
        DataType::UInt8 => Element::U8,
        DataType::Int32 => Element::I32,
        DataType::Int64 => Element::I64,
        DataType::Bool => Element::BOOL,
        DataType::Int4 | DataType::Fp4 | DataType::E8M0 => return None,
    })
}

#[cfg(feature = "ndarray")]
mod interop {
    //! To and from ndarray's arrays of any memory order.

    use super::HostTensor;
    use crate::{Error, ValuesElement};
    use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};

    impl<T: ValuesElement, S: Data<Elem = T>, D: Dimension> From<&ArrayBase<S, D>> for HostTensor {
        fn from(array: &ArrayBase<S, D>) -> Self {
            let mut bytes = Vec::with_capacity(array.len() * size_of::<T>());
            // Iteration is in logical order, which is row-major.
            array
                .iter()
                .for_each(|element| element.append_to(&mut bytes));
            let dims = array.shape().iter().map(|&size| size as u64).collect();
            Self {
                data_type: T::DATA_TYPE,
                dims,
                bytes,
            }
        }
    }

    impl HostTensor {
        /// The tensor as an array.
        ///
        /// # Errors
        /// [`Error::ElementType`] when the tensor has another element type.
        pub fn to_array<T: ValuesElement>(&self) -> Result<ArrayD<T>, Error> {
            let dims: Vec<usize> = self.dims.iter().map(|&size| size as usize).collect();
            let elements = self.to_vec::<T>()?;
            ArrayD::from_shape_vec(IxDyn(&dims), elements).map_err(|_| Error::Elements {
                data_type: self.data_type,
                dims: self.dims.clone(),
                found: self.bytes.len(),
                expected: None,
            })
        }
    }
}
