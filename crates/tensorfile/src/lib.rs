//! Tensors in files.
#![forbid(unsafe_code)]
