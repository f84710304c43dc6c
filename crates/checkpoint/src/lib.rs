//! PyTorch checkpoints to safetensors without torch; executes nothing.

#![forbid(unsafe_code)]
