//! The subcommands, one module each: its arguments, and what it does with them.

pub(crate) mod cache;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod export_triton;
pub(crate) mod graph;
pub(crate) mod inspect;
pub(crate) mod run;
