//! What a caller may ask of a conversion.
//!
//! What is left out: how the command line spells it.

use crate::dtype::Dtype;

/// How to convert. The default takes a mapping of tensors as it is and refuses anything else.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Paths of mappings to convert, keys joined with dots, instead of the whole checkpoint.
    /// Names in the output start below the path.
    pub select: Vec<String>,
    /// Leave out entries that are not tensors instead of refusing the checkpoint.
    pub skip_non_tensors: bool,
    /// Convert floating-point tensors to this type, rounding to nearest even.
    pub dtype: Option<CastTo>,
    /// Split the output into files of at most so many bytes of tensors, with an index. A tensor
    /// larger than that has a file of its own.
    pub shard_size: Option<u64>,
    /// Refuse output of more bytes than this; by default 4 times the source plus 1 GiB.
    pub max_output: Option<u64>,
    /// Refuse sources whose objects, names and directories take more memory than this many bytes;
    /// by default 40 MiB plus a 32nd of the source.
    pub max_metadata: Option<u64>,
    /// Compute [`crate::Summary::digest`], which reads the output once more.
    pub digest: bool,
}

/// A type that floating-point tensors can be converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CastTo {
    /// 16-bit IEEE floating point. Numbers beyond 65504 become infinite.
    F16,
    /// The upper half of a 32-bit float.
    Bf16,
    /// 32-bit IEEE floating point.
    F32,
}

impl CastTo {
    /// The type of the converted elements.
    #[must_use]
    pub const fn dtype(self) -> Dtype {
        match self {
            Self::F16 => Dtype::F16,
            Self::Bf16 => Dtype::Bf16,
            Self::F32 => Dtype::F32,
        }
    }
}
