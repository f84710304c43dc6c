//! Digests of stored tensors: BLAKE3 on all cores, remembered in memory, and in a record a file
//! that the caller keeps.
//!
//! What is left out: where and how records are kept (whoever implements [`DigestCache`]).

use crate::error::WeightsError;
use crate::file::WeightsFile;
use crate::stamp::FileStamp;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use tensoracle_graph::ContentDigest;
use tensoracle_progress::{Progress, Unit};

/// Keeps the digests of files' tensors between processes.
///
/// It is asked only about files that had not changed for two seconds when they were opened, and
/// given only what was hashed from such files; both the question and the record carry the whole
/// [`FileStamp`], all of which must match.
pub trait DigestCache: fmt::Debug + Send + Sync {
    /// The digests recorded for exactly this stamp, by tensor name. A record that cannot be read
    /// is none.
    fn load(&self, stamp: &FileStamp) -> Option<BTreeMap<String, ContentDigest>>;

    /// Replaces the record of the stamp's path by digests that are known now. That a record could
    /// not be kept costs time later and is no error.
    fn save(&self, stamp: &FileStamp, digests: &BTreeMap<String, ContentDigest>);
}

/// What is known of a file's digests.
#[derive(Debug)]
pub(crate) struct FileDigests {
    tensors: Vec<TensorDigest>,
    cache: OnceLock<Arc<dyn DigestCache>>,
    /// How many digests the record holds.
    recorded: AtomicUsize,
}

#[derive(Debug, Default)]
struct TensorDigest {
    digest: OnceLock<ContentDigest>,
    /// Whether somebody took the tensor, who may ask for its digest.
    is_used: AtomicBool,
}

/// Tensors from this size on are hashed by all cores together; below, handing out the work takes
/// longer than it saves.
const SHARED_HASHING: usize = 128 << 10;

/// Bytes hashed between two reports of progress.
const REPORTED: usize = 64 << 20;

impl FileDigests {
    pub(crate) fn new(tensors: usize) -> Self {
        Self {
            tensors: std::iter::repeat_with(TensorDigest::default)
                .take(tensors)
                .collect(),
            cache: OnceLock::new(),
            recorded: AtomicUsize::new(0),
        }
    }

    pub(crate) fn mark_used(&self, position: usize) {
        self.tensors[position]
            .is_used
            .store(true, Ordering::Relaxed);
    }

    /// Positions of the tensors that somebody took.
    pub(crate) fn used(&self) -> impl Iterator<Item = usize> + '_ {
        let is_used = |&position: &usize| self.tensors[position].is_used.load(Ordering::Relaxed);
        (0..self.tensors.len()).filter(is_used)
    }

    fn known(&self, position: usize) -> Option<ContentDigest> {
        self.tensors[position].digest.get().copied()
    }
}

impl WeightsFile {
    /// The digest of a tensor's stored bytes, hashed now unless it is known.
    pub(crate) fn digest(&self, position: usize) -> ContentDigest {
        // Not `get_or_init`: a thread that waits inside it for its share of the hashing may pick
        // up another task that asks for the same digest, and wait for itself.
        self.digests().known(position).unwrap_or_else(|| {
            let digest = hash(self.tensor_bytes(position), |_| {
                Ok::<_, std::convert::Infallible>(())
            });
            let digest = match digest {
                Ok(digest) => digest,
                Err(never) => match never {},
            };
            self.remember(position, digest)
        })
    }

    fn remember(&self, position: usize, digest: ContentDigest) -> ContentDigest {
        *self.digests().tensors[position]
            .digest
            .get_or_init(|| digest)
    }

    /// Takes a cache into use: recorded digests are taken over now, new ones recorded by
    /// [`record`](Self::record). The first cache given stays.
    pub(crate) fn use_cache(&self, cache: &Arc<dyn DigestCache>) {
        if !self.was_settled() || self.digests().cache.set(Arc::clone(cache)).is_err() {
            return;
        }
        let Some(record) = cache.load(self.stamp()) else {
            return;
        };
        let mut recorded = 0;
        for (position, tensor) in self.header().tensors().iter().enumerate() {
            if let Some(&digest) = record.get(&tensor.name) {
                self.remember(position, digest);
                recorded += 1;
            }
        }
        self.digests().recorded.store(recorded, Ordering::Relaxed);
    }

    /// Gives the cache the digests known now, if there are more than it holds and the file is
    /// still the one that was hashed.
    fn record(&self) {
        let digests = self.digests();
        let Some(cache) = digests.cache.get() else {
            return;
        };
        let known: BTreeMap<String, ContentDigest> = self
            .header()
            .tensors()
            .iter()
            .enumerate()
            .filter_map(|(position, tensor)| Some((tensor.name.clone(), digests.known(position)?)))
            .collect();
        if known.len() > digests.recorded.load(Ordering::Relaxed) && self.unchanged().is_ok() {
            cache.save(self.stamp(), &known);
            digests.recorded.store(known.len(), Ordering::Relaxed);
        }
    }
}

/// Hashes tensors, given as positions in files, that are not known yet, and records the digests of
/// each file.
pub(crate) fn hash_all(
    files: &[Arc<WeightsFile>],
    tensors: &[(usize, usize)],
    progress: &dyn Progress,
) -> Result<(), WeightsError> {
    let mut unknown: Vec<(&WeightsFile, usize)> = tensors
        .iter()
        .map(|&(file, position)| (&*files[file], position))
        .filter(|(file, position)| file.digests().known(*position).is_none())
        .collect();
    if !unknown.is_empty() {
        // In the order of the files' bytes, which is how disks read fastest.
        unknown.sort_by_key(|(file, position)| (file.path(), file.tensor(*position).range.start));
        unknown.dedup_by_key(|(file, position)| (file.path(), *position));
        let total = unknown
            .iter()
            .map(|(file, position)| file.tensor_bytes(*position).len())
            .sum();
        hash_unknown(&unknown, total, progress)?;
    }
    files.iter().for_each(|file| file.record());
    Ok(())
}

fn hash_unknown(
    unknown: &[(&WeightsFile, usize)],
    total: usize,
    progress: &dyn Progress,
) -> Result<(), WeightsError> {
    progress.begin("hashing weights", Some(total as u64), Unit::Bytes);
    let result = unknown.par_iter().try_for_each(|&(file, position)| {
        file.will_need(position);
        let digest = hash(file.tensor_bytes(position), |done| {
            progress.advance(done as u64);
            if progress.is_cancelled() {
                Err(WeightsError::Cancelled)
            } else {
                Ok(())
            }
        })?;
        file.remember(position, digest);
        Ok(())
    });
    progress.finish();
    result
}

/// Hashes bytes, on all cores where that pays. `report` is told of every part that is done and can
/// stop the work.
fn hash<E>(bytes: &[u8], report: impl Fn(usize) -> Result<(), E>) -> Result<ContentDigest, E> {
    let mut hasher = blake3::Hasher::new();
    for part in bytes.chunks(REPORTED) {
        if part.len() < SHARED_HASHING {
            hasher.update(part);
        } else {
            hasher.update_rayon(part);
        }
        report(part.len())?;
    }
    Ok(ContentDigest(*hasher.finalize().as_bytes()))
}
