//! The CPU engine's modes as a command line's argument.

use clap::ValueEnum;
use tensoracle::Mode;

/// How exactly to compute
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArgument {
    /// In 32-bit floating point
    Fast,
    /// Each layer in 64 bits, rounded once to 32
    Typed,
    /// In 64-bit floating point throughout
    Exact,
}

impl From<ModeArgument> for Mode {
    fn from(argument: ModeArgument) -> Self {
        match argument {
            ModeArgument::Fast => Self::Fast,
            ModeArgument::Typed => Self::Typed,
            ModeArgument::Exact => Self::Exact,
        }
    }
}
