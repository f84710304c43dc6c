//! `ISliceLayer`: elements at regular steps, with a choice of what lies outside the input.

use crate::infer::{Infer, Inferred, Input, SHAPE_ELEMENTS};
use crate::{Dim, Fault, Graph, GraphError, Node, Tensor};
use serde::{Deserialize, Serialize};

/// What a coordinate outside the input reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SampleMode {
    /// It is an error.
    #[default]
    StrictBounds,
    /// The coordinate wraps around.
    Wrap,
    /// The nearest element inside.
    Clamp,
    /// The fill value; 0 where none is given.
    Fill,
    /// The coordinate is reflected at the middle of the outermost elements.
    Reflect,
}

/// Arguments of a slice layer. The lists have one entry an axis of the input, or one for each of
/// `axes`. A list that a tensor gives instead ([`SliceInputs`]) stays empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// The first coordinate.
    pub start: Vec<i64>,
    /// The number of elements: the output's dimensions.
    pub size: Vec<i64>,
    /// The step: positive, negative or zero.
    pub stride: Vec<i64>,
    /// The axes that the lists speak of; negative counts from the end. `None`: all, in order.
    pub axes: Option<Vec<i64>>,
    /// What a coordinate outside the input reads.
    pub mode: SampleMode,
}

/// Tensors that give a slice's arguments in place of its lists: vectors of Int32 or Int64 computed
/// from shapes and constants; and the fill value, a scalar or single element of the input's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SliceInputs {
    /// In place of [`Slice::start`].
    pub start: Option<Tensor>,
    /// In place of [`Slice::size`].
    pub size: Option<Tensor>,
    /// In place of [`Slice::stride`].
    pub stride: Option<Tensor>,
    /// What the fill mode reads outside the input.
    pub fill: Option<Tensor>,
    /// In place of [`Slice::axes`].
    pub axes: Option<Tensor>,
}

/// A slice with every axis spelled out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedSlice {
    /// The first coordinate along each axis.
    pub start: Vec<Dim>,
    /// The number of elements along each axis.
    pub size: Vec<Dim>,
    /// The step along each axis.
    pub stride: Vec<i64>,
}

impl Slice {
    /// A strict slice of all axes.
    #[must_use]
    pub fn new(
        start: impl Into<Vec<i64>>,
        size: impl Into<Vec<i64>>,
        stride: impl Into<Vec<i64>>,
    ) -> Self {
        Self {
            start: start.into(),
            size: size.into(),
            stride: stride.into(),
            ..Self::default()
        }
    }

    /// Restricts the lists to some axes; the others are taken whole.
    #[must_use]
    pub fn axes(self, axes: impl Into<Vec<i64>>) -> Self {
        Self {
            axes: Some(axes.into()),
            ..self
        }
    }

    /// Sets what a coordinate outside the input reads.
    #[must_use]
    pub fn mode(self, mode: SampleMode) -> Self {
        Self { mode, ..self }
    }

    /// The slice that `node` of `graph` performs, with every axis spelled out. `None` when the
    /// node is not a slice.
    #[must_use]
    pub fn resolved(graph: &Graph, node: &Node) -> Option<ResolvedSlice> {
        let crate::Layer::Slice(slice) = node.layer() else {
            return None;
        };
        let ids: Vec<_> = node
            .inputs()
            .iter()
            .map(|input| input.map(Tensor::id))
            .collect();
        let infer = Infer::new(graph, &ids);
        let input = infer.input(0, "input").ok()?;
        slice.resolve(&infer, &input).ok()
    }

    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(6)?;
        let input = infer.input(0, "input")?;
        if let Some(fill) = infer.optional(4, "fill value") {
            if self.mode != SampleMode::Fill {
                return Err(Fault::Argument {
                    argument: "mode",
                    found: format!("{:?}", self.mode),
                    expected: "Fill, since a fill value is given".into(),
                });
            }
            fill.same_type_as(&input)?;
            if fill.dims().volume().and_then(|volume| volume.fixed()) != Some(1) {
                return Err(fill.rank_fault("a single element".into()));
            }
        }
        let resolved = self.resolve(infer, &input)?;
        for axis in 0..input.rank() {
            self.check_axis(infer, &input, axis, &resolved)?;
        }
        let value = self.value(&input, &resolved);
        if let Some(axes) = &mut self.axes {
            // In one spelling, and known to be good.
            let resolved = input.axes("axes", axes)?;
            *axes = resolved.into_iter().map(|axis| axis as i64).collect();
        }
        Ok(Inferred::new(input.data_type(), resolved.size.into()).with_value(value))
    }

    fn resolve(&self, infer: &Infer<'_>, input: &Input) -> Result<ResolvedSlice, Fault> {
        let axes = match infer.optional(5, "axes") {
            Some(tensor) => Some(tensor.fixed_value()?),
            None => self.axes.clone(),
        };
        let axes = match axes {
            Some(axes) => input.axes("axes", &axes)?,
            None => (0..input.rank()).collect(),
        };
        let list = |index, argument: &'static str, role, own: &[i64]| -> Result<Vec<Dim>, Fault> {
            let list = match infer.optional(index, role) {
                Some(tensor) => tensor.shape_value()?.to_vec(),
                None => own.iter().copied().map(Dim::from).collect(),
            };
            if list.len() == axes.len() {
                return Ok(list);
            }
            Err(Fault::Argument {
                argument,
                found: format!("{list:?}"),
                expected: format!("{} numbers, one an axis", axes.len()),
            })
        };
        let start = list(1, "start", "start", &self.start)?;
        let size = list(2, "size", "size", &self.size)?;
        let stride = list(3, "stride", "stride", &self.stride)?;

        let mut resolved = ResolvedSlice {
            start: vec![Dim::from(0); input.rank()],
            size: input.dims().to_vec(),
            stride: vec![1; input.rank()],
        };
        for (position, &axis) in axes.iter().enumerate() {
            resolved.start[axis] = start[position].clone();
            resolved.size[axis] = size[position].clone();
            resolved.stride[axis] = stride[position].fixed().ok_or_else(|| Fault::Argument {
                argument: "stride",
                found: stride[position].to_string(),
                expected: "a plain number".into(),
            })?;
        }
        Ok(resolved)
    }

    fn check_axis(
        &self,
        infer: &mut Infer<'_>,
        input: &Input,
        axis: usize,
        slice: &ResolvedSlice,
    ) -> Result<(), Fault> {
        let (start, size, stride) = (&slice.start[axis], &slice.size[axis], slice.stride[axis]);
        let (zero, one) = (Dim::from(0), Dim::from(1));
        if !infer.at_most_dim(&zero, size) {
            return Err(Fault::Argument {
                argument: "size",
                found: size.to_string(),
                expected: "at least 0".into(),
            });
        }
        if size.fixed() == Some(0) {
            return Ok(());
        }
        let whole = &input.dims()[axis];
        if self.mode != SampleMode::StrictBounds {
            // With nothing to read, only the fill mode can give an element.
            if whole.fixed() == Some(0) && self.mode != SampleMode::Fill {
                return Err(
                    input.dim_fault(axis, format!("at least 1 in the mode {:?}", self.mode))
                );
            }
            return Ok(());
        }
        let overflow = || Fault::Overflow {
            what: "the last coordinate of the slice".into(),
        };
        let steps = size.sub(&one).ok_or_else(overflow)?;
        let last = steps
            .mul(&Dim::from(stride))
            .and_then(|reach| start.add(&reach))
            .ok_or_else(overflow)?;
        let (low, high) = if stride < 0 {
            (&last, start)
        } else {
            (start, &last)
        };
        let below = whole.sub(&one).ok_or_else(overflow)?;
        for (index, inside) in [
            (low, infer.at_most_dim(&zero, low)),
            (high, infer.at_most_dim(high, &below)),
        ] {
            if !inside {
                return Err(Fault::OutOfBounds {
                    tensor: input.label(),
                    axis,
                    index: index.clone(),
                    size: whole.clone(),
                });
            }
        }
        Ok(())
    }

    /// Slicing a shape, which is a vector, by plain numbers.
    fn value(&self, input: &Input, slice: &ResolvedSlice) -> Option<Vec<Dim>> {
        let strict = self.mode == SampleMode::StrictBounds;
        let sizes = input.value().filter(|_| strict && input.rank() == 1)?;
        let (start, size) = (slice.start[0].fixed()?, slice.size[0].fixed()?);
        if size > SHAPE_ELEMENTS as i64 {
            return None;
        }
        let coordinate = |step: i64| start.checked_add(step.checked_mul(slice.stride[0])?);
        (0..size)
            .map(|step| sizes.get(usize::try_from(coordinate(step)?).ok()?).cloned())
            .collect()
    }
}

impl Graph {
    /// Takes `size` elements from `start` in steps of `stride` along each axis.
    ///
    /// # Errors
    /// Lists of the wrong length, a negative size, or in the strict mode a coordinate outside the
    /// input.
    #[track_caller]
    pub fn add_slice(&mut self, input: Tensor, slice: Slice) -> Result<Tensor, GraphError> {
        self.add_one(slice, &[Some(input)])
    }

    /// As [`Self::add_slice`], with some arguments given by tensors.
    ///
    /// # Errors
    /// As [`Self::add_slice`], arguments that depend on other data than shapes and constants, or a
    /// fill value in another mode than fill.
    #[track_caller]
    pub fn add_slice_with(
        &mut self,
        input: Tensor,
        slice: Slice,
        inputs: SliceInputs,
    ) -> Result<Tensor, GraphError> {
        let SliceInputs {
            start,
            size,
            stride,
            fill,
            axes,
        } = inputs;
        self.add_one(slice, &[Some(input), start, size, stride, fill, axes])
    }
}
