//! tensoracle's saved engines on disk: identity, container format, locks, atomic publish, list, prune.

#![forbid(unsafe_code)]
