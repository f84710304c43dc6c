//! Which instructions this processor offers, and the one door through which generic loops are
//! compiled for them.
//!
//! What the loops compute is elsewhere; loops written in registers go through `registers`.

use std::fmt;
use std::sync::OnceLock;

/// The widest instruction set that the loops are compiled for and this processor has.
///
/// The layout of packed matrices and the last bits of results depend on it, so whoever saves
/// either stores [`Level::name`] with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// What every processor of the target architecture has.
    Portable,
    /// x86-64 with AVX2 and FMA (x86-64-v3).
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ and VL (x86-64-v4).
    Avx512,
}

impl Level {
    /// A stable name: `portable`, `avx2` or `avx512`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The environment variable that lowers the level, to reproduce another machine's results.
const LEVEL_VARIABLE: &str = "TENSORACLE_CPU_LEVEL";

/// The level in use, found once per process.
///
/// The environment variable `TENSORACLE_CPU_LEVEL` (`portable`, `avx2`, `avx512`), read at the
/// first call, lowers it to reproduce what a lesser machine computes; it never raises it, and any
/// other value is ignored.
pub fn cpu_level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let wanted = std::env::var(LEVEL_VARIABLE).unwrap_or_default();
        [Level::Portable, Level::Avx2, Level::Avx512]
            .into_iter()
            .find(|level| level.name() == wanted)
            .map_or_else(detect, |level| level.min(detect()))
    })
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (avx2, avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        (false, _) => Level::Portable,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Portable
}

/// A loop to be compiled once per level.
///
/// `run` and everything it calls per element must be `#[inline(always)]`, so that the code ends up
/// inside the function that enables the instructions. `FMA` says whether a fused multiply-add is
/// one instruction there (without it `mul_add` would be a library call per element).
pub(crate) trait Kernel {
    type Output;
    fn run<const FMA: bool>(self) -> Self::Output;
}

/// Whether the portable code may use `mul_add`: AArch64 always has the instruction.
pub(crate) const PORTABLE_FMA: bool = cfg!(target_arch = "aarch64");

/// Runs `kernel` as compiled for [`cpu_level`].
#[inline]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    match cpu_level() {
        // SAFETY: `cpu_level` returns a level only when the processor has all of its features.
        Level::Avx512 => return unsafe { run_avx512(kernel) },
        // SAFETY: as above.
        Level::Avx2 => return unsafe { run_avx2(kernel) },
        Level::Portable => {}
    }
    kernel.run::<PORTABLE_FMA>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
}
