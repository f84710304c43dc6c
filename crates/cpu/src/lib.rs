//! tensoracle's CPU engine: executes a graph in f32, exactly (f64), or typed.

#![forbid(unsafe_code)]
