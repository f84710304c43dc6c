//! The stored tensors that a graph's constants are made of, found from the constants themselves:
//! whoever builds the graph need not be told which files it reads.

use crate::digest::{DigestCache, hash_all};
use crate::error::WeightsError;
use crate::file::WeightsFile;
use crate::source::WeightConstant;
use crate::stamp::FileStamp;
use std::any::Any;
use std::sync::Arc;
use tensoracle_graph::ConstantSource;
use tensoracle_progress::Progress;

/// The stored tensors behind some constants, and their files.
#[derive(Debug, Default)]
pub struct UsedWeights {
    files: Vec<Arc<WeightsFile>>,
    /// File, and position in its header.
    tensors: Vec<(usize, usize)>,
}

impl UsedWeights {
    /// What `constants` are made of. Constants that come from elsewhere add nothing.
    #[must_use]
    pub fn of(constants: &[Arc<dyn ConstantSource>]) -> Self {
        let mut used = Self::default();
        for constant in constants {
            let constant: &dyn Any = &**constant;
            if let Some(constant) = constant.downcast_ref::<WeightConstant>() {
                constant
                    .tensor()
                    .visit_stored(&mut |file, position| used.add(file, position));
            }
        }
        used
    }

    fn add(&mut self, file: &Arc<WeightsFile>, position: usize) {
        let known = self.files.iter().position(|known| Arc::ptr_eq(known, file));
        let file = known.unwrap_or_else(|| {
            self.files.push(Arc::clone(file));
            self.files.len() - 1
        });
        self.tensors.push((file, position));
    }

    /// What the file system said about each file when it was opened.
    pub fn stamps(&self) -> impl ExactSizeIterator<Item = &FileStamp> {
        self.files.iter().map(|file| file.stamp())
    }

    /// Takes a record of digests into use, as [`Weights::use_digest_cache`](crate::Weights).
    pub fn use_digest_cache(&self, cache: &Arc<dyn DigestCache>) {
        self.files.iter().for_each(|file| file.use_cache(cache));
    }

    /// Hashes the tensors on all cores, as far as their digests are not known.
    ///
    /// # Errors
    /// [`WeightsError::Cancelled`] when `progress` says so.
    pub fn digest(&self, progress: &dyn Progress) -> Result<(), WeightsError> {
        hash_all(&self.files, &self.tensors, progress)
    }

    /// Whether the files are still those that were opened.
    ///
    /// # Errors
    /// [`WeightsError::Changed`] with the file and the field that differs; [`WeightsError::Io`]
    /// when a file is gone.
    pub fn unchanged(&self) -> Result<(), WeightsError> {
        self.files.iter().try_for_each(|file| file.unchanged())
    }
}
