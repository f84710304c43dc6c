//! The backends.

mod cpu;

pub use cpu::CpuBackend;
