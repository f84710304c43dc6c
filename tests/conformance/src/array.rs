//! Arrays of any type as plain numbers, and the packed bytes that backends take and give.

use crate::minifloat;
use half::{bf16, f16};
use tensoracle_graph::DataType;

/// An array: its declared type, its shape, and its elements in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// The declared type.
    pub data_type: DataType,
    /// The shape.
    pub dims: Vec<u64>,
    /// The elements.
    pub values: Values,
}

/// Elements as numbers that hold every value of their declared type.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Of any floating type.
    Real(Vec<f64>),
    /// Of any integer type.
    Integer(Vec<i64>),
    /// Of booleans.
    Boolean(Vec<bool>),
}

impl Array {
    /// An array of a floating type.
    #[must_use]
    pub fn real(data_type: DataType, dims: &[u64], values: &[f64]) -> Self {
        Self {
            data_type,
            dims: dims.to_vec(),
            values: Values::Real(values.to_vec()),
        }
    }

    /// An array of `Float`.
    #[must_use]
    pub fn float(dims: &[u64], values: &[f64]) -> Self {
        Self::real(DataType::Float, dims, values)
    }

    /// An array of an integer type.
    #[must_use]
    pub fn integer(data_type: DataType, dims: &[u64], values: &[i64]) -> Self {
        Self {
            data_type,
            dims: dims.to_vec(),
            values: Values::Integer(values.to_vec()),
        }
    }

    /// An array of `Bool`.
    #[must_use]
    pub fn boolean(dims: &[u64], values: &[bool]) -> Self {
        Self {
            data_type: DataType::Bool,
            dims: dims.to_vec(),
            values: Values::Boolean(values.to_vec()),
        }
    }

    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Real(values) => values.len(),
            Values::Integer(values) => values.len(),
            Values::Boolean(values) => values.len(),
        }
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as integers.
    ///
    /// # Panics
    /// If they are not.
    #[must_use]
    pub fn integers(&self) -> &[i64] {
        match &self.values {
            Values::Integer(values) => values,
            _ => panic!("an array of {} holds no integers", self.data_type),
        }
    }

    /// The same elements under another shape.
    #[must_use]
    pub fn reshaped(&self, dims: &[u64]) -> Self {
        Self {
            dims: dims.to_vec(),
            ..self.clone()
        }
    }

    /// Packed little-endian bytes. The elements must be values of the declared type.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match &self.values {
            Values::Boolean(values) => values.iter().copied().map(u8::from).collect(),
            Values::Integer(values) => match self.data_type {
                DataType::Int64 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
                DataType::Int32 => values
                    .iter()
                    .flat_map(|&v| (v as i32).to_le_bytes())
                    .collect(),
                DataType::Int4 => nibbles(values.iter().map(|&v| v as u8 & 0x0f)),
                _ => values.iter().map(|&v| v as u8).collect(),
            },
            Values::Real(values) => match self.data_type {
                DataType::Float => values
                    .iter()
                    .flat_map(|&v| (v as f32).to_le_bytes())
                    .collect(),
                DataType::Half => {
                    let half = |&v| f16::from_f64(v).to_le_bytes();
                    values.iter().flat_map(half).collect()
                }
                DataType::BFloat16 => {
                    let brain = |&v| bf16::from_f64(v).to_le_bytes();
                    values.iter().flat_map(brain).collect()
                }
                DataType::Fp4 => {
                    nibbles(values.iter().map(|&v| minifloat::code_of(DataType::Fp4, v)))
                }
                other => values
                    .iter()
                    .map(|&v| minifloat::code_of(other, v))
                    .collect(),
            },
        }
    }

    /// Reads packed little-endian bytes; `None` when there are more or fewer than the shape needs.
    #[must_use]
    pub fn from_bytes(data_type: DataType, dims: &[u64], bytes: &[u8]) -> Option<Self> {
        let count = dims
            .iter()
            .try_fold(1u64, |all, dim| all.checked_mul(*dim))?;
        if data_type.bytes_for(count)? != bytes.len() as u64 {
            return None;
        }
        let values = match data_type {
            DataType::Bool => Values::Boolean(bytes.iter().map(|byte| *byte != 0).collect()),
            DataType::Int64 => Values::Integer(each(bytes, i64::from_le_bytes)),
            DataType::Int32 => Values::Integer(each(bytes, |b| i32::from_le_bytes(b).into())),
            DataType::Int8 => Values::Integer(each(bytes, |[b]| (b as i8).into())),
            DataType::UInt8 => Values::Integer(each(bytes, |[b]| b.into())),
            // The sign is the highest of four bits.
            DataType::Int4 => Values::Integer(
                halves(bytes, count)
                    .map(|code| i64::from((code << 4) as i8 >> 4))
                    .collect(),
            ),
            DataType::Float => Values::Real(each(bytes, |b| f32::from_le_bytes(b).into())),
            DataType::Half => Values::Real(each(bytes, |b| f16::from_le_bytes(b).into())),
            DataType::BFloat16 => Values::Real(each(bytes, |b| bf16::from_le_bytes(b).into())),
            DataType::Fp4 => Values::Real(
                halves(bytes, count)
                    .map(|code| minifloat::value_of(DataType::Fp4, code))
                    .collect(),
            ),
            DataType::Fp8 | DataType::E8M0 => {
                Values::Real(each(bytes, |[b]| minifloat::value_of(data_type, b)))
            }
        };
        Some(Self {
            data_type,
            dims: dims.to_vec(),
            values,
        })
    }
}

fn each<const N: usize, T>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|chunk| read(*chunk))
        .collect()
}

/// Two codes a byte, the first in the low half.
fn nibbles(codes: impl Iterator<Item = u8>) -> Vec<u8> {
    let codes: Vec<u8> = codes.collect();
    codes
        .chunks(2)
        .map(|pair| pair[0] | pair.get(1).map_or(0, |high| high << 4))
        .collect()
}

fn halves(bytes: &[u8], count: u64) -> impl Iterator<Item = u8> {
    bytes
        .iter()
        .flat_map(|byte| [byte & 0x0f, byte >> 4])
        .take(usize::try_from(count).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_each_type() {
        let check = |array: Array, bytes: &[u8]| {
            assert_eq!(array.to_bytes(), bytes, "{array:?}");
            let read = Array::from_bytes(array.data_type, &array.dims, bytes);
            assert_eq!(read, Some(array));
        };
        check(Array::float(&[1], &[1.0]), &[0, 0, 0x80, 0x3f]);
        check(Array::real(DataType::Half, &[1], &[-2.0]), &[0, 0xc0]);
        check(Array::real(DataType::BFloat16, &[1], &[1.0]), &[0x80, 0x3f]);
        // E4M3: 448 is 0 1111 110; E2M1: 0.5, -6, 1.5; E8M0: 1 is 127.
        check(
            Array::real(DataType::Fp8, &[2], &[448.0, -1.0]),
            &[0x7e, 0xb8],
        );
        check(
            Array::real(DataType::Fp4, &[3], &[0.5, -6.0, 1.5]),
            &[0xf1, 0x03],
        );
        check(Array::real(DataType::E8M0, &[2], &[1.0, 4.0]), &[127, 129]);
        check(
            Array::integer(DataType::Int4, &[3], &[-8, 7, -1]),
            &[0x78, 0x0f],
        );
        check(
            Array::integer(DataType::Int32, &[1], &[-2]),
            &[0xfe, 0xff, 0xff, 0xff],
        );
        check(Array::boolean(&[2], &[true, false]), &[1, 0]);
        assert_eq!(Array::from_bytes(DataType::Float, &[2], &[0; 7]), None);
    }
}
