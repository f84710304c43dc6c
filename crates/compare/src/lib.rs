//! Measurements between two tensors: what differs, by how much, where.

#![forbid(unsafe_code)]
