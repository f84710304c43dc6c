//! The sizes of a convolution, checked once.

use thiserror::Error;

/// One spatial axis of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConvAxis {
    /// Elements of the input.
    pub input: usize,
    /// Elements of the kernel.
    pub kernel: usize,
    /// Input elements from an output element to the next.
    pub stride: usize,
    /// Input elements from a kernel element to the next.
    pub dilation: usize,
    /// Zeros before the input.
    pub pad_begin: usize,
    /// Zeros after the input.
    pub pad_end: usize,
}

impl ConvAxis {
    /// An axis that a convolution leaves alone.
    const UNIT: Self = Self {
        input: 1,
        kernel: 1,
        stride: 1,
        dilation: 1,
        pad_begin: 0,
        pad_end: 0,
    };

    /// Input elements that the kernel spans.
    pub(crate) fn span(&self) -> usize {
        (self.kernel - 1) * self.dilation + 1
    }

    /// Elements of the output, if the kernel fits into the padded input.
    fn checked_output(&self) -> Option<usize> {
        let span = (self.kernel - 1)
            .checked_mul(self.dilation)?
            .checked_add(1)?;
        let padded = self
            .input
            .checked_add(self.pad_begin)?
            .checked_add(self.pad_end)?;
        Some(padded.checked_sub(span)? / self.stride + 1)
    }

    /// Elements of the output, (input + pads - span) / stride + 1; the axis is a checked one.
    pub(crate) fn output(&self) -> usize {
        (self.input + self.pad_begin + self.pad_end - self.span()) / self.stride + 1
    }

    /// Whether each output element is made of the input element in the same place.
    pub(crate) fn is_pointwise(&self) -> bool {
        self.kernel == 1 && self.stride == 1 && self.pad_begin == 0 && self.pad_end == 0
    }
}

/// Why sizes do not make a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ConvShapeError {
    /// There are 1 to 3 spatial axes.
    #[error("convolution: expected 1 to 3 spatial axes, found {0}")]
    Axes(usize),
    /// Groups divide both channel counts and there is at least one.
    #[error(
        "convolution: {in_channels} input and {out_channels} output channels \
         do not divide into {groups} groups"
    )]
    Groups {
        /// Channels of the input.
        in_channels: usize,
        /// Channels of the output.
        out_channels: usize,
        /// Groups asked for.
        groups: usize,
    },
    /// A kernel, stride or dilation of 0.
    #[error("convolution: kernel, stride and dilation of spatial axis {0} must be positive")]
    Zero(usize),
    /// The kernel does not fit into the padded input.
    #[error("convolution: the kernel of spatial axis {0} is larger than the padded input")]
    Kernel(usize),
    /// A tensor would have more elements than memory can.
    #[error("convolution: a tensor has too many elements")]
    Overflow,
}

/// The sizes of a convolution over 1 to 3 spatial axes, checked: the kernel fits, the groups divide
/// the channels, no length overflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConvShape {
    pub(crate) batch: usize,
    pub(crate) in_channels: usize,
    pub(crate) out_channels: usize,
    pub(crate) groups: usize,
    /// Depth, height, width; missing ones are units in front.
    pub(crate) axes: [ConvAxis; 3],
}

impl ConvShape {
    /// Checks and keeps the sizes. `spatial` has the axes in the tensors' order, the contiguous one
    /// last.
    ///
    /// # Errors
    /// See [`ConvShapeError`].
    pub fn new(
        batch: usize,
        in_channels: usize,
        out_channels: usize,
        groups: usize,
        spatial: &[ConvAxis],
    ) -> Result<Self, ConvShapeError> {
        if !(1..=3).contains(&spatial.len()) {
            return Err(ConvShapeError::Axes(spatial.len()));
        }
        let divides = |channels: usize| channels.checked_rem(groups) == Some(0);
        if !divides(in_channels) || !divides(out_channels) {
            return Err(ConvShapeError::Groups {
                in_channels,
                out_channels,
                groups,
            });
        }
        for (i, axis) in spatial.iter().enumerate() {
            if axis.kernel == 0 || axis.stride == 0 || axis.dilation == 0 {
                return Err(ConvShapeError::Zero(i));
            }
            axis.checked_output().ok_or(ConvShapeError::Kernel(i))?;
        }
        let mut axes = [ConvAxis::UNIT; 3];
        axes[3 - spatial.len()..].copy_from_slice(spatial);

        // Bytes of `f64` fit into an isize, so that no later arithmetic on indices overflows.
        let fits = |dims: &[usize]| {
            let bytes = dims
                .iter()
                .try_fold(size_of::<f64>(), |len, d| len.checked_mul(*d));
            bytes.is_some_and(|bytes| bytes <= isize::MAX as usize)
        };
        let volume = |of: fn(&ConvAxis) -> usize| axes.map(|a| of(&a));
        let (input, kernel) = (volume(|a| a.input), volume(|a| a.kernel));
        let padded = volume(|a| a.input + a.pad_begin + a.pad_end);
        let all = [
            [[batch, in_channels].as_slice(), &padded].concat(),
            [[batch, in_channels].as_slice(), &input].concat(),
            [[in_channels, out_channels].as_slice(), &kernel].concat(),
            [[batch, out_channels].as_slice(), &volume(ConvAxis::output)].concat(),
        ];
        if !all.iter().all(|dims| fits(dims)) {
            return Err(ConvShapeError::Overflow);
        }
        Ok(Self {
            batch,
            in_channels,
            out_channels,
            groups,
            axes,
        })
    }

    /// Elements of the input, `[batch, in_channels, spatial…]`.
    pub fn input_len(&self) -> usize {
        self.batch * self.in_channels * self.input_volume()
    }

    /// Elements of the weights, `[out_channels, in_channels / groups, kernel…]`.
    pub fn weight_len(&self) -> usize {
        self.out_channels * self.patch()
    }

    /// Elements of the output, `[batch, out_channels, spatial…]`.
    pub fn output_len(&self) -> usize {
        self.batch * self.out_channels * self.pixels()
    }

    /// The output's depth, height and width; 1 for axes that are not there.
    pub fn output_dims(&self) -> [usize; 3] {
        self.axes.map(|a| a.output())
    }

    /// Elements of an input channel.
    pub(crate) fn input_volume(&self) -> usize {
        self.axes.iter().map(|a| a.input).product()
    }

    /// Elements of an output channel.
    pub(crate) fn pixels(&self) -> usize {
        self.output_dims().iter().product()
    }

    /// Elements of a kernel's spatial part.
    pub(crate) fn taps(&self) -> usize {
        self.axes.iter().map(|a| a.kernel).product()
    }

    /// Input elements that make an output element: the inner dimension of the product.
    pub(crate) fn patch(&self) -> usize {
        self.group_in() * self.taps()
    }

    /// Input channels of a group.
    pub(crate) fn group_in(&self) -> usize {
        self.in_channels / self.groups
    }

    /// Output channels of a group.
    pub(crate) fn group_out(&self) -> usize {
        self.out_channels / self.groups
    }

    /// Whether input and output elements correspond one to one.
    pub(crate) fn is_pointwise(&self) -> bool {
        self.axes.iter().all(ConvAxis::is_pointwise)
    }

    /// Whether every group has a single input channel (and there are several groups).
    pub(crate) fn is_depthwise(&self) -> bool {
        self.groups > 1 && self.group_in() == 1
    }
}
