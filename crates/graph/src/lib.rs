//! tensoracle's typed graph: data types, dims, layers, inference, canonical bytes and digest.

#![forbid(unsafe_code)]
