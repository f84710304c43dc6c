//! Tests of graphs from outside: what layers infer and refuse, names, listings, drawings, digests
//! and definitions.

mod attempt;
mod common;
mod convolution;
mod definition;
mod digest;
mod digest_layers;
mod faults;
mod hostile;
mod inference;
mod listing;
mod naming;
mod random;
mod shape_inference;
