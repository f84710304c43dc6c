//! Placeholder header; the example follows.
