//! `IGatherLayer`: elements picked by indices.

use crate::infer::{INDICES, Infer, Inferred, Input};
use crate::{Dim, Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// What an index means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GatherMode {
    /// Each index picks a whole slice along the axis (ONNX Gather).
    Default,
    /// Each index replaces the axis coordinate of its own position (ONNX GatherElements).
    Element,
    /// Each row of indices is a coordinate into the data (ONNX GatherND).
    Nd,
}

/// Arguments of a gather layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gather {
    /// What an index means.
    pub mode: GatherMode,
    /// The axis picked along; negative counts from the end. Must be 0 for [`GatherMode::Nd`].
    pub axis: i64,
    /// How many leading dimensions data and indices share element by element: 0 or 1 for
    /// [`GatherMode::Default`], 0 for [`GatherMode::Element`], less than the data's rank for
    /// [`GatherMode::Nd`].
    pub elementwise_dims: usize,
}

impl Gather {
    /// Whole slices along `axis`.
    #[must_use]
    pub fn along(axis: i64) -> Self {
        Self {
            mode: GatherMode::Default,
            axis,
            elementwise_dims: 0,
        }
    }

    /// Single elements along `axis`, one for each index.
    #[must_use]
    pub fn element(axis: i64) -> Self {
        Self {
            mode: GatherMode::Element,
            axis,
            elementwise_dims: 0,
        }
    }

    /// Coordinates in the last dimension of the indices.
    #[must_use]
    pub fn nd() -> Self {
        Self {
            mode: GatherMode::Nd,
            axis: 0,
            elementwise_dims: 0,
        }
    }

    /// Sets the number of leading dimensions handled element by element.
    #[must_use]
    pub fn elementwise_dims(self, elementwise_dims: usize) -> Self {
        Self {
            elementwise_dims,
            ..self
        }
    }

    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(2)?;
        let data = infer.input(0, "data")?;
        let indices = infer.input(1, "indices")?;
        indices.type_in(INDICES)?;
        data.rank_at_least(1)?;
        match self.mode {
            GatherMode::Default => self.infer_default(infer, &data, &indices),
            GatherMode::Element => self.infer_element(infer, &data, &indices),
            GatherMode::Nd => self.infer_nd(infer, &data, &indices),
        }
    }

    fn infer_default(
        &mut self,
        infer: &mut Infer<'_>,
        data: &Input,
        indices: &Input,
    ) -> Result<Inferred, Fault> {
        let axis = data.axis("axis", self.axis)?;
        self.axis = axis as i64;
        let shared = self.elementwise_dims;
        if shared > 1 || (shared == 1 && axis == 0) {
            return Err(self.elementwise_fault("0, or 1 where the axis is not the first"));
        }
        indices.rank_at_least(shared)?;
        let mut dims = Vec::new();
        if shared == 1 {
            let (a, b) = (&data.dims()[0], &indices.dims()[0]);
            dims.push(infer.broadcast_dim(a, b, indices, 0)?);
        }
        dims.extend_from_slice(&data.dims()[shared..axis]);
        dims.extend_from_slice(&indices.dims()[shared..]);
        dims.extend_from_slice(&data.dims()[axis + 1..]);
        let value = self.shape_elements(data, indices);
        Ok(Inferred::new(data.data_type(), dims.into()).with_value(value))
    }

    /// Picking from a shape: a vector of sizes indexed by plain numbers.
    fn shape_elements(&self, data: &Input, indices: &Input) -> Option<Vec<Dim>> {
        let sizes = data.value().filter(|_| data.rank() == 1)?;
        let count = i64::try_from(sizes.len()).ok()?;
        let pick = |index: &Dim| {
            let index = index.fixed()?;
            let index = if index < 0 {
                index.checked_add(count)?
            } else {
                index
            };
            // TensorRT stores zero for an index out of bounds.
            let size = usize::try_from(index)
                .ok()
                .and_then(|index| sizes.get(index));
            Some(size.cloned().unwrap_or(Dim::from(0)))
        };
        indices.value()?.iter().map(pick).collect()
    }

    fn infer_element(
        &mut self,
        infer: &mut Infer<'_>,
        data: &Input,
        indices: &Input,
    ) -> Result<Inferred, Fault> {
        let axis = data.axis("axis", self.axis)?;
        self.axis = axis as i64;
        if self.elementwise_dims != 0 {
            return Err(self.elementwise_fault("0 in the element mode"));
        }
        indices.rank_is(data.rank())?;
        for (position, (index, size)) in indices.dims().iter().zip(data.dims().iter()).enumerate() {
            if position != axis && !infer.at_most_dim(index, size) {
                return Err(indices.dim_fault(position, format!("at most {size}")));
            }
        }
        Ok(Inferred::new(data.data_type(), indices.dims().clone()))
    }

    fn infer_nd(
        &mut self,
        infer: &mut Infer<'_>,
        data: &Input,
        indices: &Input,
    ) -> Result<Inferred, Fault> {
        if self.axis != 0 {
            return Err(Fault::Argument {
                argument: "axis",
                found: self.axis.to_string(),
                expected: "0 in the nd mode".into(),
            });
        }
        let shared = self.elementwise_dims;
        if shared >= data.rank() {
            return Err(self.elementwise_fault("less than the rank of the data"));
        }
        indices.rank_at_least(shared + 1)?;
        let last = indices.rank() - 1;
        let room = data.rank() - shared;
        let length = indices.dims()[last]
            .fixed()
            .and_then(|length| usize::try_from(length).ok())
            .filter(|&length| length <= room)
            .ok_or_else(|| indices.dim_fault(last, format!("a fixed size of at most {room}")))?;
        let mut dims = Vec::new();
        for axis in 0..shared {
            let (a, b) = (&data.dims()[axis], &indices.dims()[axis]);
            dims.push(
                infer
                    .equal(a, b)
                    .ok_or_else(|| indices.dim_fault(axis, a.to_string()))?,
            );
        }
        dims.extend_from_slice(&indices.dims()[shared..last]);
        dims.extend_from_slice(&data.dims()[shared + length..]);
        Ok(Inferred::new(data.data_type(), dims.into()))
    }

    fn elementwise_fault(&self, expected: &str) -> Fault {
        Fault::Argument {
            argument: "elementwise_dims",
            found: self.elementwise_dims.to_string(),
            expected: expected.into(),
        }
    }
}

impl Graph {
    /// Picks elements of `data` by `indices` (Int32 or Int64): `add_gather(table, ids,
    /// Gather::along(0))` looks rows up.
    ///
    /// A negative index counts from the end; an index out of bounds gives zero.
    ///
    /// # Errors
    /// Indices of another type, ranks or dimensions that the mode does not allow, or an axis
    /// outside the rank.
    #[track_caller]
    pub fn add_gather(
        &mut self,
        data: Tensor,
        indices: Tensor,
        gather: Gather,
    ) -> Result<Tensor, GraphError> {
        self.add_one(gather, &[Some(data), Some(indices)])
    }
}
