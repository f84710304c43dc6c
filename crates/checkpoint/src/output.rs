//! Writing safetensors files: what stands where in them, the elements, and the files themselves.

pub(crate) mod cast;
pub(crate) mod digest;
pub(crate) mod gather;
pub(crate) mod layout;
pub(crate) mod publish;
pub(crate) mod spool;
pub(crate) mod write;
