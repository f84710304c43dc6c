//! Inner loops.
