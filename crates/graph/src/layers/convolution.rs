//! `IConvolutionLayer`: correlation over one to three spatial dimensions.
//!
//! TensorRT itself takes two or three; the TensorRT backend adds and removes a dimension for one.

use crate::infer::{FLOATS, Infer, Inferred, Input};
use crate::{Dim, Fault, Graph, GraphError, Tensor};
use serde::{Deserialize, Serialize};

/// How the padding and the output size follow from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum PaddingMode {
    /// The given padding; a last window that does not fit is dropped.
    #[default]
    ExplicitRoundDown,
    /// The given padding; a last window that does not fit reads zeros beyond it.
    ExplicitRoundUp,
    /// `ceil(input / stride)` outputs; an odd zero goes behind.
    SameUpper,
    /// `ceil(input / stride)` outputs; an odd zero goes in front.
    SameLower,
}

/// Arguments of a convolution layer. Lists have one entry a spatial dimension; empty lists mean
/// the default for each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Convolution {
    /// Step between windows; default 1.
    pub stride: Vec<u64>,
    /// Distance between elements of a window; default 1.
    pub dilation: Vec<u64>,
    /// Zeros in front of the input; default 0. Unused with SAME padding.
    pub pre_padding: Vec<u64>,
    /// Zeros behind the input; default 0. Unused with SAME padding.
    pub post_padding: Vec<u64>,
    /// How padding and output size follow from each other.
    pub padding_mode: PaddingMode,
    /// Groups of channels convolved apart; default 1.
    pub groups: u64,
}

impl Default for Convolution {
    fn default() -> Self {
        Self {
            stride: Vec::new(),
            dilation: Vec::new(),
            pre_padding: Vec::new(),
            post_padding: Vec::new(),
            padding_mode: PaddingMode::default(),
            groups: 1,
        }
    }
}

impl Convolution {
    /// Stride 1, no padding, no dilation, one group.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the stride along each spatial dimension.
    #[must_use]
    pub fn stride(self, stride: impl Into<Vec<u64>>) -> Self {
        Self {
            stride: stride.into(),
            ..self
        }
    }

    /// Sets the dilation along each spatial dimension.
    #[must_use]
    pub fn dilation(self, dilation: impl Into<Vec<u64>>) -> Self {
        Self {
            dilation: dilation.into(),
            ..self
        }
    }

    /// Sets the same padding in front and behind.
    #[must_use]
    pub fn padding(self, padding: impl Into<Vec<u64>>) -> Self {
        let padding = padding.into();
        Self {
            pre_padding: padding.clone(),
            post_padding: padding,
            ..self
        }
    }

    /// Sets the padding in front.
    #[must_use]
    pub fn pre_padding(self, padding: impl Into<Vec<u64>>) -> Self {
        Self {
            pre_padding: padding.into(),
            ..self
        }
    }

    /// Sets the padding behind.
    #[must_use]
    pub fn post_padding(self, padding: impl Into<Vec<u64>>) -> Self {
        Self {
            post_padding: padding.into(),
            ..self
        }
    }

    /// Sets how padding and output size follow from each other.
    #[must_use]
    pub fn padding_mode(self, padding_mode: PaddingMode) -> Self {
        Self {
            padding_mode,
            ..self
        }
    }

    /// Sets the number of groups.
    #[must_use]
    pub fn groups(self, groups: u64) -> Self {
        Self { groups, ..self }
    }

    /// Zeros in front and behind along spatial dimension `axis`, for an input and output of these
    /// sizes and a window that spans `kernel` elements before dilation.
    ///
    /// Behind, as many as the last window reaches; negative where the input has elements that no
    /// window reaches.
    #[must_use]
    pub fn effective_padding(
        &self,
        axis: usize,
        input: i64,
        output: i64,
        kernel: i64,
    ) -> (i64, i64) {
        let at = |list: &[u64], default: u64| {
            list.get(axis)
                .copied()
                .unwrap_or(default)
                .try_into()
                .unwrap_or(i64::MAX)
        };
        let (stride, dilation): (i64, i64) = (at(&self.stride, 1), at(&self.dilation, 1));
        let span = kernel
            .saturating_sub(1)
            .saturating_mul(dilation)
            .saturating_add(1);
        let reach = output
            .saturating_sub(1)
            .max(0)
            .saturating_mul(stride)
            .saturating_add(span);
        let total = reach.saturating_sub(input);
        let pre = match self.padding_mode {
            PaddingMode::ExplicitRoundDown | PaddingMode::ExplicitRoundUp => {
                at(&self.pre_padding, 0)
            }
            PaddingMode::SameUpper => total.max(0) / 2,
            PaddingMode::SameLower => total.max(0) - total.max(0) / 2,
        };
        (pre, total.saturating_sub(pre))
    }

    pub(crate) fn infer(&mut self, infer: &mut Infer<'_>) -> Result<Inferred, Fault> {
        infer.at_most(3)?;
        let input = infer.input(0, "input")?;
        let kernel = infer.input(1, "kernel")?;
        input.type_in(FLOATS)?;
        if !(3..=5).contains(&input.rank()) {
            return Err(input.rank_fault("3 to 5 (batch, channels, 1 to 3 spatial)".into()));
        }
        kernel.same_type_as(&input)?;
        kernel.rank_is(input.rank())?;
        let spatial = input.rank() - 2;
        self.check_arguments(spatial)?;

        let fixed = |tensor: &Input, axis: usize| {
            tensor.dims()[axis]
                .fixed()
                .ok_or_else(|| tensor.dim_fault(axis, "a fixed size".into()))
        };
        let channels = fixed(&input, 1)?;
        let maps = fixed(&kernel, 0)?;
        // `groups` fits: `check_arguments` refuses more.
        let groups = self.groups as i64;
        if channels % groups != 0 {
            return Err(input.dim_fault(1, format!("a multiple of {groups} groups")));
        }
        if maps % groups != 0 {
            return Err(kernel.dim_fault(0, format!("a multiple of {groups} groups")));
        }
        if fixed(&kernel, 1)? != channels / groups {
            return Err(kernel.dim_fault(1, (channels / groups).to_string()));
        }
        if let Some(bias) = infer.optional(2, "bias") {
            bias.same_type_as(&input)?;
            bias.rank_is(1)?;
            if bias.dims()[0].fixed() != Some(maps) {
                return Err(bias.dim_fault(0, maps.to_string()));
            }
        }
        let mut dims = vec![input.dims()[0].clone(), Dim::from(maps)];
        for axis in 0..spatial {
            let size = fixed(&kernel, axis + 2)?;
            if size < 1 {
                return Err(kernel.dim_fault(axis + 2, "at least 1".into()));
            }
            let overflow = || Fault::Overflow {
                what: format!("the output size along axis {}", axis + 2),
            };
            let whole = &input.dims()[axis + 2];
            if let Some((span, padded)) = self.window(axis, whole, size).ok_or_else(overflow)?
                && !infer.at_most_dim(&span, &padded)
            {
                let expected = format!("enough elements for a window of {size}");
                return Err(input.dim_fault(axis + 2, expected));
            }
            dims.push(self.output(axis, whole, size).ok_or_else(overflow)?);
        }
        Ok(Inferred::new(input.data_type(), dims.into()))
    }

    fn check_arguments(&self, spatial: usize) -> Result<(), Fault> {
        let lists: [(&'static str, &[u64], u64); 4] = [
            ("stride", &self.stride, 1),
            ("dilation", &self.dilation, 1),
            ("pre_padding", &self.pre_padding, 0),
            ("post_padding", &self.post_padding, 0),
        ];
        for (argument, list, least) in lists {
            let acceptable = |&size: &u64| size >= least && i32::try_from(size).is_ok();
            if !(list.is_empty() || list.len() == spatial) || !list.iter().all(acceptable) {
                return Err(Fault::Argument {
                    argument,
                    found: format!("{list:?}"),
                    expected: format!("{spatial} sizes from {least} to {}", i32::MAX),
                });
            }
        }
        if self.groups < 1 || i32::try_from(self.groups).is_err() {
            return Err(Fault::Argument {
                argument: "groups",
                found: self.groups.to_string(),
                expected: format!("1 to {}", i32::MAX),
            });
        }
        Ok(())
    }

    /// What a window spans and what there is with padding, where the padding is given and the
    /// former must fit in the latter. The outer `None` is an overflow.
    fn window(&self, axis: usize, input: &Dim, kernel: i64) -> Option<Option<(Dim, Dim)>> {
        if matches!(
            self.padding_mode,
            PaddingMode::SameUpper | PaddingMode::SameLower
        ) {
            return Some(None);
        }
        let at = |list: &[u64], default| Dim::from(list.get(axis).copied().unwrap_or(default));
        let span = Dim::from(kernel.checked_sub(1)?)
            .mul(&at(&self.dilation, 1))?
            .add(&Dim::from(1))?;
        let padded = input
            .add(&at(&self.pre_padding, 0))?
            .add(&at(&self.post_padding, 0))?;
        Some(Some((span, padded)))
    }

    /// The output size along spatial dimension `axis`, by TensorRT's formulas (`PaddingMode`).
    fn output(&self, axis: usize, input: &Dim, kernel: i64) -> Option<Dim> {
        let stride = Dim::from(self.stride.get(axis).copied().unwrap_or(1));
        let Some((span, padded)) = self.window(axis, input, kernel)? else {
            return input.ceil_div(&stride);
        };
        let room = padded.sub(&span)?;
        let steps = match self.padding_mode {
            PaddingMode::ExplicitRoundUp => room.ceil_div(&stride)?,
            _ => room.floor_div(&stride)?,
        };
        steps.add(&Dim::from(1))
    }
}

impl Graph {
    /// Convolves `input` `[N, C, spatial…]` with `kernel` `[K, C / groups, window…]` and adds
    /// `bias` `[K]`.
    ///
    /// # Errors
    /// Types that differ or are not floating point, ranks or channel counts that do not fit, a
    /// window larger than the padded input, or arguments out of range.
    #[track_caller]
    pub fn add_convolution(
        &mut self,
        input: Tensor,
        kernel: Tensor,
        bias: Option<Tensor>,
        convolution: Convolution,
    ) -> Result<Tensor, GraphError> {
        self.add_one(convolution, &[Some(input), Some(kernel), bias])
    }
}
