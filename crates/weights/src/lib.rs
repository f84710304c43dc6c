//! Memory-mapped, validated safetensors weights with lazy views and content digests.

#![forbid(unsafe_code)]
