//! A tensor of a weights file and what is to be done with it: checked when asked for, done when
//! somebody reads the elements.
//!
//! What is left out: how elements are fetched (`layout`, `materialise`).

use crate::convert::is_castable;
use crate::element::Element;
use crate::error::WeightsError;
use crate::file::WeightsFile;
use crate::header::StoredTensor;
use crate::text::{Dims, Plain, file_name};
use crate::view_fault::ViewFault;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use tensoracle_graph::Recipe;

/// A lazy tensor: stored bytes, or a view of other tensors. Cheap to clone; keeps its files open.
#[derive(Clone)]
pub struct WeightTensor {
    node: Arc<Node>,
}

/// A tensor of known type and shape, and where its elements come from.
pub(crate) struct Node {
    pub(crate) element: Element,
    pub(crate) dims: Vec<u64>,
    pub(crate) origin: Origin,
}

/// Where a tensor's elements come from.
pub(crate) enum Origin {
    Stored {
        file: Arc<WeightsFile>,
        position: usize,
    },
    Cast(WeightTensor),
    Transpose {
        permutation: Vec<usize>,
        of: WeightTensor,
    },
    Reshape(WeightTensor),
    Slice {
        ranges: Vec<Range<u64>>,
        of: WeightTensor,
    },
    Concat {
        axis: usize,
        of: Vec<WeightTensor>,
    },
}

/// Elements of a shape; `None` when they cannot be counted. A zero anywhere makes none, however
/// large the other dims.
pub(crate) fn count(dims: &[u64]) -> Option<u64> {
    if dims.contains(&0) {
        return Some(0);
    }
    dims.iter()
        .try_fold(1, |product: u64, &dim| product.checked_mul(dim))
}

impl WeightTensor {
    pub(crate) fn stored(file: Arc<WeightsFile>, position: usize) -> Self {
        let StoredTensor { element, dims, .. } = file.tensor(position);
        let (element, dims) = (*element, dims.clone());
        Self::new(element, dims, Origin::Stored { file, position })
    }

    fn new(element: Element, dims: Vec<u64>, origin: Origin) -> Self {
        Self {
            node: Arc::new(Node {
                element,
                dims,
                origin,
            }),
        }
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Calls `visit` with the file and position of each stored tensor that this one is made of.
    pub(crate) fn visit_stored(&self, visit: &mut dyn FnMut(&Arc<WeightsFile>, usize)) {
        match &self.node.origin {
            Origin::Stored { file, position } => visit(file, *position),
            Origin::Cast(of)
            | Origin::Reshape(of)
            | Origin::Transpose { of, .. }
            | Origin::Slice { of, .. } => of.visit_stored(visit),
            Origin::Concat { of, .. } => of.iter().for_each(|part| part.visit_stored(visit)),
        }
    }

    /// The type of the elements.
    #[must_use]
    pub fn element(&self) -> Element {
        self.node.element
    }

    /// The shape; empty for a scalar.
    #[must_use]
    pub fn dims(&self) -> &[u64] {
        &self.node.dims
    }

    /// How many elements there are.
    #[must_use]
    pub fn element_count(&self) -> u64 {
        // Every shape is checked to be countable when it comes about.
        count(self.dims()).unwrap_or(u64::MAX)
    }

    /// Bytes that the elements take, packed.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        (self.element_count() * self.element().bits()).div_ceil(8)
    }

    /// The elements converted to another type.
    ///
    /// One rule: **between floating types a value is rounded to nearest, ties to even; every other
    /// cast keeps the value exactly**, and a value that it cannot keep is
    /// [`WeightsError::Convert`] when the elements are read. In detail, for a floating target:
    /// - too large for a type with infinities (`F64`, `F32`, `F16`, `BF16`, `F8_E5M2`): infinity,
    ///   as IEEE 754 and NumPy have it;
    /// - too large for a type without (`F8_E4M3`, the FNUZ types, `F4`), infinities too: the
    ///   largest finite value of that sign, as TensorRT quantizes and OCP's formats saturate;
    /// - NaN stays NaN; `F4` has none and refuses it;
    /// - `F8_E8M0` holds scales, and which way to round one is the quantizer's choice: it takes
    ///   powers of two from 2^-127 to 2^127 and NaN, and refuses the rest.
    ///
    /// `BOOL` counts as 0 and 1. Casts in a row round once each.
    ///
    /// # Errors
    /// [`ViewFault::Cast`] for `C64`, and for the `F6` types, because the format does not say
    /// where their elements lie.
    pub fn cast(&self, to: Element) -> Result<Self, WeightsError> {
        let from = self.element();
        if from == to {
            return Ok(self.clone());
        }
        if !is_castable(from, to) {
            return Err(self.fault(ViewFault::Cast { from, to }));
        }
        self.view(to, self.dims().to_vec(), Origin::Cast)
    }

    /// The axes permuted: axis `i` of the result is axis `permutation[i]` of this tensor.
    ///
    /// # Errors
    /// [`ViewFault::Permutation`] when it is none of this tensor's axes;
    /// [`ViewFault::NotAddressable`] for the `F6` types.
    pub fn transpose(&self, permutation: &[usize]) -> Result<Self, WeightsError> {
        let mut sorted = permutation.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..self.dims().len()) {
            return Err(self.fault(ViewFault::Permutation {
                permutation: permutation.to_vec(),
                dims: self.dims().to_vec(),
            }));
        }
        if permutation.is_sorted() {
            return Ok(self.clone());
        }
        self.must_be_addressable()?;
        let dims = permutation.iter().map(|&axis| self.dims()[axis]).collect();
        let permutation = permutation.to_vec();
        self.view(self.element(), dims, |of| Origin::Transpose {
            permutation,
            of,
        })
    }

    /// The same elements in the same row-major order under another shape.
    ///
    /// # Errors
    /// [`ViewFault::Reshape`] when the number of elements differs.
    pub fn reshape(&self, dims: &[u64]) -> Result<Self, WeightsError> {
        if count(dims) != Some(self.element_count()) {
            return Err(self.fault(ViewFault::Reshape {
                from: self.dims().to_vec(),
                to: dims.to_vec(),
            }));
        }
        if dims == self.dims() {
            return Ok(self.clone());
        }
        self.view(self.element(), dims.to_vec(), Origin::Reshape)
    }

    /// The elements within a range of indices along each axis.
    ///
    /// # Errors
    /// [`ViewFault::SliceRank`] and [`ViewFault::SliceRange`] when the ranges do not fit the
    /// shape; [`ViewFault::NotAddressable`] for the `F6` types.
    pub fn slice(&self, ranges: &[Range<u64>]) -> Result<Self, WeightsError> {
        let dims = self.dims();
        if ranges.len() != dims.len() {
            let found = ranges.len();
            return Err(self.fault(ViewFault::SliceRank {
                found,
                dims: dims.to_vec(),
            }));
        }
        for (axis, (range, &dim)) in ranges.iter().zip(dims).enumerate() {
            if range.start > range.end || range.end > dim {
                let Range { start, end } = *range;
                return Err(self.fault(ViewFault::SliceRange {
                    axis,
                    start,
                    end,
                    dims: dims.to_vec(),
                }));
            }
        }
        if ranges
            .iter()
            .zip(dims)
            .all(|(range, &dim)| *range == (0..dim))
        {
            return Ok(self.clone());
        }
        self.must_be_addressable()?;
        let dims = ranges.iter().map(|range| range.end - range.start).collect();
        let ranges = ranges.to_vec();
        self.view(self.element(), dims, |of| Origin::Slice { ranges, of })
    }

    /// A slice along one axis, whole along the others.
    ///
    /// # Errors
    /// [`ViewFault::Axis`] when there is no such axis, and those of [`slice`](Self::slice).
    pub fn narrow(&self, axis: usize, range: Range<u64>) -> Result<Self, WeightsError> {
        let mut ranges: Vec<Range<u64>> = self.dims().iter().map(|&dim| 0..dim).collect();
        match ranges.get_mut(axis) {
            Some(along) => *along = range,
            None => {
                return Err(self.fault(ViewFault::Axis {
                    axis,
                    dims: self.dims().to_vec(),
                }));
            }
        }
        self.slice(&ranges)
    }

    /// Parts of one type joined along an axis on which alone their shapes may differ.
    ///
    /// # Errors
    /// [`ViewFault::NoParts`], [`ViewFault::Axis`], [`ViewFault::ConcatElement`],
    /// [`ViewFault::ConcatDims`], [`ViewFault::TooLarge`], or [`ViewFault::NotAddressable`] for
    /// the `F6` types.
    pub fn concat(axis: usize, parts: &[Self]) -> Result<Self, WeightsError> {
        let Some(first) = parts.first() else {
            return Err(WeightsError::View {
                tensor: "concatenation".to_owned(),
                fault: ViewFault::NoParts,
            });
        };
        let (element, expected) = (first.element(), first.dims());
        if axis >= expected.len() {
            return Err(first.fault(ViewFault::Axis {
                axis,
                dims: expected.to_vec(),
            }));
        }
        let without_axis = |dims: &[u64]| [&dims[..axis], &dims[axis + 1..]].concat();
        let mut along = Some(0u64);
        for (position, part) in parts.iter().enumerate() {
            if part.element() != element {
                return Err(part.fault(ViewFault::ConcatElement {
                    part: position,
                    expected: element,
                    found: part.element(),
                }));
            }
            let found = part.dims();
            if found.len() != expected.len() || without_axis(found) != without_axis(expected) {
                return Err(part.fault(ViewFault::ConcatDims {
                    part: position,
                    axis,
                    expected: expected.to_vec(),
                    found: found.to_vec(),
                }));
            }
            along = along.and_then(|sum| sum.checked_add(found[axis]));
        }
        if parts.len() == 1 {
            return Ok(first.clone());
        }
        first.must_be_addressable()?;
        let mut dims = expected.to_vec();
        dims[axis] = along.unwrap_or(u64::MAX);
        let bits = count(&dims).and_then(|count| count.checked_mul(element.bits()));
        if along.is_none() || bits.is_none() {
            return Err(first.fault(ViewFault::TooLarge { element, dims }));
        }
        Ok(Self::new(
            element,
            dims,
            Origin::Concat {
                axis,
                of: parts.to_vec(),
            },
        ))
    }

    /// A view of this tensor whose byte count is checked to be countable.
    fn view(
        &self,
        element: Element,
        dims: Vec<u64>,
        origin: impl FnOnce(Self) -> Origin,
    ) -> Result<Self, WeightsError> {
        if self.element_count().checked_mul(element.bits()).is_none() {
            return Err(self.fault(ViewFault::TooLarge { element, dims }));
        }
        Ok(Self::new(element, dims, origin(self.clone())))
    }

    fn must_be_addressable(&self) -> Result<(), WeightsError> {
        let element = self.element();
        if element.is_addressable() {
            Ok(())
        } else {
            Err(self.fault(ViewFault::NotAddressable { element }))
        }
    }

    fn fault(&self, fault: ViewFault) -> WeightsError {
        WeightsError::View {
            tensor: self.describe(),
            fault,
        }
    }

    /// What the elements are made of, without names and files: types, shapes, the views in their
    /// order, and the digests of the stored bytes, which are hashed now unless that happened
    /// before.
    #[must_use]
    pub fn recipe(&self) -> Recipe {
        let boxed = |of: &Self| Box::new(of.recipe());
        match &self.node.origin {
            Origin::Stored { file, position } => Recipe::Stored {
                element: self.element().to_string(),
                dims: self.dims().to_vec(),
                digest: file.digest(*position),
            },
            Origin::Cast(of) => Recipe::Cast {
                element: self.element().to_string(),
                of: boxed(of),
            },
            Origin::Transpose { permutation, of } => Recipe::Transpose {
                permutation: permutation.clone(),
                of: boxed(of),
            },
            Origin::Reshape(of) => Recipe::Reshape {
                dims: self.dims().to_vec(),
                of: boxed(of),
            },
            Origin::Slice { ranges, of } => Recipe::Slice {
                start: ranges.iter().map(|range| range.start).collect(),
                end: ranges.iter().map(|range| range.end).collect(),
                of: boxed(of),
            },
            Origin::Concat { axis, of } => Recipe::Concat {
                axis: *axis,
                of: of.iter().map(Self::recipe).collect(),
            },
        }
    }

    /// How a person finds the tensor: its name, its file and the views in their order, as in
    /// `encoder.0.weight (model.safetensors) · transpose [1, 0] · cast F16`.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.node.origin {
            Origin::Stored { file, position } => {
                let name = &file.tensor(*position).name;
                format!("{} ({})", Plain(name), file_name(file.path()))
            }
            Origin::Cast(of) => format!("{} · cast {}", of.describe(), self.element()),
            Origin::Transpose { permutation, of } => {
                format!("{} · transpose {permutation:?}", of.describe())
            }
            Origin::Reshape(of) => format!("{} · reshape {}", of.describe(), Dims(self.dims())),
            Origin::Slice { ranges, of } => format!("{} · slice {ranges:?}", of.describe()),
            Origin::Concat { axis, of } => {
                const SHOWN: usize = 4;
                let mut parts: Vec<String> = of.iter().take(SHOWN).map(Self::describe).collect();
                if of.len() > SHOWN {
                    parts.push(format!("{} more", of.len() - SHOWN));
                }
                format!("concat {axis} [{}]", parts.join(", "))
            }
        }
    }
}

impl fmt::Debug for WeightTensor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} {} {}",
            self.describe(),
            self.element(),
            Dims(self.dims())
        )
    }
}
