//! The subcommands, one module each: its arguments, and what it does with them.

pub(crate) mod cache;
pub(crate) mod inspect;
