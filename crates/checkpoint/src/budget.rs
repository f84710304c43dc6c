//! How much memory everything but tensor data may take, so that a small hostile file cannot ask
//! for much.
//!
//! What is left out: limits on tensor data, which never lies in memory as a whole.

use crate::error::Problem;

/// What a file may take whatever its size. Together with what the process takes anyway it stays
/// under 64 MiB.
const BASE: u64 = 40 << 20;

/// A file of honest tensors describes each in far less than a 32nd of its bytes.
const FILE_SHARE: u64 = 32;

/// Counts the memory of objects, names and directories against a limit.
#[derive(Debug)]
pub(crate) struct Budget {
    left: u64,
    limit: u64,
}

impl Budget {
    /// The budget for a file of `file_size` bytes, or `limit` where the caller sets one.
    pub(crate) fn new(limit: Option<u64>, file_size: u64) -> Self {
        let limit = limit.unwrap_or(BASE + file_size / FILE_SHARE);
        Self { left: limit, limit }
    }

    /// Takes `bytes` before they are allocated.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<(), Problem> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Problem::TooMuchMetadata { limit: self.limit }),
        }
    }

    /// Takes the bytes of `count` values of type `T`.
    pub(crate) fn take_many<T>(&mut self, count: usize) -> Result<(), Problem> {
        self.take((count as u64).saturating_mul(size_of::<T>() as u64))
    }
}
