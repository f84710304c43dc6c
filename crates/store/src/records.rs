//! Digests of the tensors of weights files, remembered while a file stays the same.
//!
//! One small JSON file for each weights file, beside the engines. It is believed while path,
//! size, modification time, change time and inode all match, so that a rewrite that restores size
//! and modification time is still noticed. A file that changed less than two seconds before its
//! digests were taken, or before they are asked for, is never believed: within the resolution of
//! a file system's clock it could change again without a trace. What is left out: computing the
//! digests.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::disk::Step;
use crate::error::StoreError;
use crate::header::Blake3;
use crate::lock::lock_shared;
use crate::store::{Store, TEMPORARY};
use crate::time::nanoseconds;

/// How old a file's last change must be, in nanoseconds.
const SETTLED_NS: i64 = 2_000_000_000;

/// No record is larger; a hundred thousand tensors take about 12 MiB.
const MAX_RECORD: u64 = 256 << 20;

const FILE_PREFIX: &str = "weights-";
const FILE_EXTENSION: &str = "json";

/// What became of digests that were to be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// They are recorded.
    Saved,
    /// The file changed within the last two seconds; they would not be believed.
    TooFresh,
    /// The file is not the one any more that was digested.
    Changed,
}

/// A recorded weights file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightsRecord {
    /// The file's absolute path when it was recorded. It may be gone since.
    pub path: PathBuf,
    /// Its digests by key, as the caller named them.
    pub digests: BTreeMap<String, String>,
}

/// The records that lie in a store.
#[derive(Debug, Clone)]
pub struct DigestRecords {
    store: Store,
}

/// A file's state, as far as the system tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    size: u64,
    modified_ns: i64,
    changed_ns: i64,
    inode: u64,
}

impl State {
    fn of(found: &Metadata) -> Option<Self> {
        let modified_ns = nanoseconds(found.modified().ok()?);
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            Some(Self {
                size: found.size(),
                modified_ns,
                changed_ns: found
                    .ctime()
                    .saturating_mul(1_000_000_000)
                    .saturating_add(found.ctime_nsec()),
                inode: found.ino(),
            })
        }
        // Without a change time and an inode, the time of making stands in.
        #[cfg(not(unix))]
        Some(Self {
            size: found.len(),
            modified_ns,
            changed_ns: nanoseconds(found.created().ok()?),
            inode: 0,
        })
    }

    /// Whether the last change is certainly over at `now_ns`. A time in the future is none to
    /// rely on.
    fn is_settled(&self, now_ns: i64) -> bool {
        now_ns.saturating_sub(self.modified_ns.max(self.changed_ns)) >= SETTLED_NS
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    path: String,
    state: State,
    recorded_ns: i64,
    tensors: BTreeMap<String, String>,
}

/// The record with a checksum over its body's compact JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    blake3: Blake3,
    body: Body,
}

impl Store {
    /// The records of weight digests that lie beside the engines.
    #[must_use]
    pub fn digest_records(&self) -> DigestRecords {
        DigestRecords {
            store: self.clone(),
        }
    }
}

impl DigestRecords {
    /// The digests recorded for the file at `path`, whose state is `found` (best taken from the
    /// open file that would be read), or `None` where they must be computed.
    #[must_use]
    pub fn load(&self, path: &Path, found: &Metadata) -> Option<BTreeMap<String, String>> {
        self.load_at(path, found, nanoseconds(SystemTime::now()))
    }

    fn load_at(
        &self,
        path: &Path,
        found: &Metadata,
        now_ns: i64,
    ) -> Option<BTreeMap<String, String>> {
        let path = std::path::absolute(path).ok()?;
        let state = State::of(found)?;
        let body = read(&self.record_path(&path))?;
        let believed = body.path == path.to_string_lossy()
            && body.state == state
            && state.is_settled(body.recorded_ns)
            && state.is_settled(now_ns);
        believed.then_some(body.tensors)
    }

    /// Records `digests` of the file at `path`, adding to those recorded for the same state.
    /// `before` is the file's state from before it was read: a file that changed while it was
    /// read is not recorded.
    ///
    /// # Errors
    /// [`StoreError::NotWritable`] when the folder cannot be made, [`StoreError::Io`] when the
    /// file is gone or the record cannot be written. Neither makes the digests wrong.
    pub fn save(
        &self,
        path: &Path,
        before: &Metadata,
        digests: &BTreeMap<String, String>,
    ) -> Result<Recorded, StoreError> {
        self.save_at(path, before, digests, nanoseconds(SystemTime::now()))
    }

    fn save_at(
        &self,
        path: &Path,
        before: &Metadata,
        digests: &BTreeMap<String, String>,
        now_ns: i64,
    ) -> Result<Recorded, StoreError> {
        let failed = |doing, path: &Path, cause| StoreError::Io {
            doing,
            path: path.to_owned(),
            cause,
        };
        let path = std::path::absolute(path).map_err(|error| failed("find", path, error))?;
        let after = std::fs::metadata(&path).map_err(|error| failed("read", &path, error))?;
        let Some(state) = State::of(before) else {
            return Ok(Recorded::TooFresh);
        };
        if State::of(&after).as_ref() != Some(&state) {
            return Ok(Recorded::Changed);
        }
        if !state.is_settled(now_ns) {
            return Ok(Recorded::TooFresh);
        }
        let mut tensors = self.load_at(&path, before, now_ns).unwrap_or_default();
        tensors.extend(
            digests
                .iter()
                .map(|(key, digest)| (key.clone(), digest.clone())),
        );
        let body = Body {
            path: path.to_string_lossy().into_owned(),
            state,
            recorded_ns: now_ns,
            tensors,
        };
        self.write(&self.record_path(&path), body)?;
        Ok(Recorded::Saved)
    }

    /// All intact records, sorted by path. Whether the files still exist is not looked at.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the folder cannot be read.
    pub fn all(&self) -> Result<Vec<WeightsRecord>, StoreError> {
        let mut records: Vec<WeightsRecord> = self
            .store
            .files(&[FILE_EXTENSION])?
            .iter()
            .filter(|file| file.starts_with(FILE_PREFIX))
            .filter_map(|file| read(&self.store.folder().join(file)))
            .map(|body| WeightsRecord {
                path: body.path.into(),
                digests: body.tensors,
            })
            .collect();
        records.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(records)
    }

    fn record_path(&self, absolute: &Path) -> PathBuf {
        let digest = blake3::hash(absolute.as_os_str().as_encoded_bytes()).to_hex();
        self.store
            .folder()
            .join(format!("{FILE_PREFIX}{}.{FILE_EXTENSION}", &digest[..32]))
    }

    fn write(&self, path: &Path, body: Body) -> Result<(), StoreError> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let disk = &self.store.disk;
        let folder = self.store.folder();
        disk.create_folder(folder)
            .map_err(|cause| StoreError::NotWritable {
                folder: folder.to_owned(),
                cause,
            })?;
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_extension(format!("{}-{count}.{TEMPORARY}", std::process::id()));
        let written = encode(body).and_then(|text| {
            let file = disk.create_new(&temporary)?;
            // Cleaning up leaves alone what is locked.
            lock_shared(&file, &temporary);
            disk.write_all(Step::WriteRecord, &file, &temporary, &text)?;
            disk.rename(Step::Publish, &temporary, path)
        });
        written.map_err(|cause| {
            let _ = disk.remove_if_there(Step::RemoveLeftover, &temporary);
            StoreError::Io {
                doing: "record digests in",
                path: path.to_owned(),
                cause,
            }
        })
    }
}

fn encode(body: Body) -> std::io::Result<Vec<u8>> {
    let blake3 = checksum(&body)?;
    Ok(serde_json::to_vec(&Record { blake3, body })?)
}

fn checksum(body: &Body) -> std::io::Result<Blake3> {
    Ok(Blake3(blake3::hash(&serde_json::to_vec(body)?)))
}

/// The body of the record in the file at `path`, where it is intact.
fn read(path: &Path) -> Option<Body> {
    let found = std::fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > MAX_RECORD {
        return None;
    }
    let text = std::io::read_to_string(File::open(path).ok()?).ok()?;
    let record: Record = serde_json::from_str(&text).ok()?;
    (checksum(&record.body).ok()? == record.blake3).then_some(record.body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SECOND: i64 = 1_000_000_000;

    struct Fixture {
        base: tempfile::TempDir,
        records: DigestRecords,
        weights: PathBuf,
        /// Late enough that the file is settled.
        later: i64,
    }

    fn fixture() -> Fixture {
        let base = tempfile::tempdir().unwrap();
        let weights = base.path().join("model.safetensors");
        std::fs::write(&weights, b"old weights").unwrap();
        Fixture {
            records: Store::at(base.path()).digest_records(),
            weights,
            later: nanoseconds(SystemTime::now()) + 10 * SECOND,
            base,
        }
    }

    impl Fixture {
        fn save(&self, name: &str, digest: &str) -> Recorded {
            let digests = BTreeMap::from([(name.to_owned(), digest.to_owned())]);
            let before = std::fs::metadata(&self.weights).unwrap();
            self.records
                .save_at(&self.weights, &before, &digests, self.later)
                .unwrap()
        }

        fn load(&self) -> Option<BTreeMap<String, String>> {
            let found = std::fs::metadata(&self.weights).unwrap();
            self.records.load_at(&self.weights, &found, self.later)
        }

        fn record_file(&self) -> PathBuf {
            self.records.record_path(&self.weights)
        }
    }

    #[test]
    fn digests_of_an_unchanged_file_are_remembered_and_added_to() {
        let fixture = fixture();
        assert_eq!(fixture.load(), None);
        assert_eq!(fixture.save("a", "1"), Recorded::Saved);
        assert_eq!(fixture.save("b", "2"), Recorded::Saved);
        let expected = BTreeMap::from([("a", "1"), ("b", "2")])
            .into_iter()
            .map(|(key, digest)| (key.to_owned(), digest.to_owned()))
            .collect();
        assert_eq!(fixture.load().as_ref(), Some(&expected));
        assert_eq!(
            fixture.records.all().unwrap(),
            [WeightsRecord {
                path: fixture.weights.clone(),
                digests: expected
            }]
        );
    }

    #[test]
    fn a_rewrite_that_restores_size_and_time_is_noticed() {
        let fixture = fixture();
        fixture.save("a", "1");
        let modified = std::fs::metadata(&fixture.weights)
            .unwrap()
            .modified()
            .unwrap();
        std::thread::sleep(Duration::from_millis(20));
        std::fs::write(&fixture.weights, b"new weights").unwrap();
        let file = File::options().write(true).open(&fixture.weights).unwrap();
        file.set_modified(modified).unwrap();
        assert_eq!(fixture.load(), None);
    }

    #[test]
    fn a_file_in_another_place_or_replaced_is_not_believed() {
        let fixture = fixture();
        fixture.save("a", "1");
        let moved = fixture.base.path().join("moved");
        std::fs::copy(&fixture.weights, &moved).unwrap();
        std::fs::rename(&moved, &fixture.weights).unwrap();
        assert_eq!(fixture.load(), None);
    }

    #[test]
    fn a_fresh_file_is_neither_recorded_nor_believed() {
        let fixture = fixture();
        let before = std::fs::metadata(&fixture.weights).unwrap();
        let changed = State::of(&before).unwrap().changed_ns;
        let digests = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
        for (age, expected) in [
            (-SECOND, Recorded::TooFresh),
            (SETTLED_NS - 1, Recorded::TooFresh),
            (SETTLED_NS, Recorded::Saved),
        ] {
            let found = fixture
                .records
                .save_at(&fixture.weights, &before, &digests, changed + age)
                .unwrap();
            assert_eq!(found, expected, "{age}");
        }
        for (age, believed) in [(SETTLED_NS - 1, false), (SETTLED_NS, true)] {
            let found = fixture
                .records
                .load_at(&fixture.weights, &before, changed + age);
            assert_eq!(found.is_some(), believed, "{age}");
        }
    }

    #[test]
    fn a_file_that_changed_while_it_was_read_is_not_recorded() {
        let fixture = fixture();
        let before = std::fs::metadata(&fixture.weights).unwrap();
        std::fs::write(&fixture.weights, b"longer than before").unwrap();
        let found =
            fixture
                .records
                .save_at(&fixture.weights, &before, &BTreeMap::new(), fixture.later);
        assert_eq!(found.unwrap(), Recorded::Changed);
        assert!(!fixture.record_file().exists());
    }

    #[test]
    fn a_damaged_record_is_not_believed() {
        let fixture = fixture();
        fixture.save("a", "1");
        let text = std::fs::read(fixture.record_file()).unwrap();
        for at in 0..text.len() {
            let mut damaged = text.clone();
            damaged[at] ^= 1;
            std::fs::write(fixture.record_file(), &damaged).unwrap();
            assert_eq!(fixture.load(), None, "bit 0 of byte {at}");
            std::fs::write(fixture.record_file(), &text[..at]).unwrap();
            assert_eq!(fixture.load(), None, "cut at {at}");
        }
    }
}
