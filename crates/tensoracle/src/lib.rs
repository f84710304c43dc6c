//! Build, save, reuse, execute and verify engines from graphs over safetensors weights.

#![forbid(unsafe_code)]
