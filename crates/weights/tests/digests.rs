//! Digests, their records, and files that change.

mod common;

use common::{Folder, f32s, tensors};
use std::collections::BTreeMap;
use std::fs::{File, FileTimes};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tensoracle_graph::{ContentDigest, Recipe};
use tensoracle_progress::{Progress, Silent, Unit};
use tensoracle_weights::{
    DigestCache, Element, FileStamp, Read, StampField, WeightTensor, Weights, WeightsError,
    WeightsOptions,
};

/// Counts what is hashed.
#[derive(Default)]
struct Counted {
    phases: Mutex<Vec<(String, Option<u64>, Unit)>>,
    bytes: AtomicU64,
    finished: AtomicU64,
    cancel: AtomicBool,
}

impl Progress for Counted {
    fn begin(&self, phase: &str, total: Option<u64>, unit: Unit) {
        self.phases
            .lock()
            .unwrap()
            .push((phase.to_owned(), total, unit));
    }

    fn advance(&self, units: u64) {
        self.bytes.fetch_add(units, Ordering::Relaxed);
    }

    fn finish(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Records in memory.
#[derive(Debug, Default)]
struct Records(Mutex<Vec<(FileStamp, BTreeMap<String, ContentDigest>)>>);

impl DigestCache for Records {
    fn load(&self, stamp: &FileStamp) -> Option<BTreeMap<String, ContentDigest>> {
        let records = self.0.lock().unwrap();
        records
            .iter()
            .rev()
            .find(|(of, _)| of == stamp)
            .map(|(_, digests)| digests.clone())
    }

    fn save(&self, stamp: &FileStamp, digests: &BTreeMap<String, ContentDigest>) {
        self.0
            .lock()
            .unwrap()
            .push((stamp.clone(), digests.clone()));
    }
}

const LARGE: usize = 3 << 20;

/// One tensor that all cores hash together, and small ones.
fn model(folder: &Folder, name: &str) -> std::path::PathBuf {
    let large: Vec<u8> = (0..LARGE as u32)
        .map(|place| (place * 31 % 253) as u8)
        .collect();
    let bytes = tensors(
        &[
            ("large", "U8", &[LARGE as u64], &large),
            ("one", "F32", &[2], &f32s([1.0, 2.0])),
            ("other", "F32", &[2], &f32s([3.0, 4.0])),
            ("same as one", "F32", &[2], &f32s([1.0, 2.0])),
            ("zero", "U8", &[1], &[0]),
            ("nothing", "U8", &[0], &[]),
        ],
        3,
    );
    folder.write(name, bytes)
}

/// Moves a file's change time out of the two seconds in which it is not trusted, by waiting.
fn let_settle() {
    std::thread::sleep(Duration::from_millis(2100));
}

#[test]
fn digests_are_blake3_of_the_stored_bytes() {
    let folder = Folder::new();
    let weights = Weights::open(model(&folder, "w.safetensors")).unwrap();
    let progress = Counted::default();
    weights
        .digest_all(["large", "one", "large"], &progress)
        .unwrap();
    assert_eq!(
        *progress.phases.lock().unwrap(),
        [(
            "hashing weights".to_owned(),
            Some(LARGE as u64 + 8),
            Unit::Bytes
        )]
    );
    assert_eq!(progress.bytes.load(Ordering::Relaxed), LARGE as u64 + 8);
    assert_eq!(progress.finished.load(Ordering::Relaxed), 1);
    for name in ["large", "one", "other", "same as one"] {
        let bytes = weights.tensor(name).unwrap().to_vec().unwrap();
        assert_eq!(
            weights.digest(name).unwrap().0,
            *blake3::hash(&bytes).as_bytes(),
            "{name}"
        );
    }
    // From the test vectors that BLAKE3 publishes.
    for (name, digest) in [
        (
            "nothing",
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
        ),
        (
            "zero",
            "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
        ),
    ] {
        assert_eq!(weights.digest(name).unwrap().to_string(), digest);
    }
    assert_eq!(
        weights.digest("same as one").unwrap(),
        weights.digest("one").unwrap()
    );
    // Everything is known: nothing is begun.
    let again = Counted::default();
    weights.digest_used(&again).unwrap();
    assert!(again.phases.lock().unwrap().is_empty());
    assert!(matches!(
        weights.digest_all(["two"], &Silent),
        Err(WeightsError::NoSuchTensor { .. })
    ));
}

#[test]
fn only_what_was_taken_is_hashed() {
    let folder = Folder::new();
    let weights = Weights::open(model(&folder, "w.safetensors")).unwrap();
    weights.tensor("one").unwrap();
    weights.tensor("other").unwrap();
    let progress = Counted::default();
    weights.digest_used(&progress).unwrap();
    assert_eq!(progress.bytes.load(Ordering::Relaxed), 16);
}

#[test]
fn hashing_stops_when_asked() {
    let folder = Folder::new();
    let weights = Weights::open(model(&folder, "w.safetensors")).unwrap();
    let progress = Counted::default();
    progress.cancel.store(true, Ordering::Relaxed);
    let error = weights.digest_all(weights.names(), &progress).unwrap_err();
    assert_eq!(error.to_string(), "hashing the weights was cancelled");
    assert_eq!(progress.finished.load(Ordering::Relaxed), 1);
}

/// Names, files and shards leave no trace in a recipe; contents, types, shapes and views do.
#[test]
fn recipes_know_contents_and_not_names() {
    let folder = Folder::new();
    let weights = Weights::open(model(&folder, "w.safetensors")).unwrap();
    let moved = folder.write(
        "elsewhere.safetensors",
        tensors(&[("renamed", "F32", &[2], &f32s([1.0, 2.0]))], 6),
    );
    let moved = Weights::open_with(&[moved], WeightsOptions { read: Read::Owned }).unwrap();
    let view = |tensor: WeightTensor| -> Result<_, WeightsError> {
        let cast = tensor
            .reshape(&[1, 2])?
            .transpose(&[1, 0])?
            .cast(Element::F16)?;
        WeightTensor::concat(0, &[cast.narrow(0, 1..2)?, cast])
    };
    let one = view(weights.tensor("one").unwrap()).unwrap().recipe();
    assert_eq!(
        one,
        view(moved.tensor("renamed").unwrap()).unwrap().recipe()
    );
    assert_ne!(
        one,
        view(weights.tensor("other").unwrap()).unwrap().recipe()
    );
    let stored = Recipe::Stored {
        element: "F32".to_owned(),
        dims: vec![2],
        digest: ContentDigest::of(&f32s([1.0, 2.0])),
    };
    let cast = Recipe::Cast {
        element: "F16".to_owned(),
        of: Box::new(Recipe::Transpose {
            permutation: vec![1, 0],
            of: Box::new(Recipe::Reshape {
                dims: vec![1, 2],
                of: Box::new(stored),
            }),
        }),
    };
    let slice = Recipe::Slice {
        start: vec![1, 0],
        end: vec![2, 1],
        of: Box::new(cast.clone()),
    };
    assert_eq!(
        one,
        Recipe::Concat {
            axis: 0,
            of: vec![slice, cast]
        }
    );
}

#[test]
fn a_record_saves_hashing_and_grows() {
    let folder = Folder::new();
    let path = model(&folder, "w.safetensors");
    let_settle();
    let records = Arc::new(Records::default());
    let cache: Arc<dyn DigestCache> = records.clone();
    let hashed = |names: &[&str]| {
        let weights = Weights::open(&path).unwrap();
        weights.use_digest_cache(&cache);
        let progress = Counted::default();
        weights
            .digest_all(names.iter().copied(), &progress)
            .unwrap();
        progress.bytes.load(Ordering::Relaxed)
    };
    assert_eq!(hashed(&["one"]), 8);
    assert_eq!(hashed(&["one"]), 0);
    assert_eq!(hashed(&["one", "other"]), 8, "only what the record lacks");
    assert_eq!(hashed(&["one", "other"]), 0);
    let saved = records.0.lock().unwrap();
    assert_eq!(saved.len(), 2, "written only when something was added");
    let (stamp, digests) = saved.last().unwrap();
    assert_eq!(stamp.path, std::path::absolute(&path).unwrap());
    assert_eq!(digests.keys().collect::<Vec<_>>(), ["one", "other"]);
    assert_eq!(digests["other"], ContentDigest::of(&f32s([3.0, 4.0])));
}

#[test]
fn a_young_file_is_neither_recorded_nor_trusted() {
    let folder = Folder::new();
    let path = model(&folder, "w.safetensors");
    // Younger than any delay of this test: the future.
    set_modified(&path, SystemTime::now() + Duration::from_secs(3600));
    let records = Arc::new(Records::default());
    let cache: Arc<dyn DigestCache> = records.clone();
    let stamp = Weights::open(&path)
        .unwrap()
        .stamps()
        .next()
        .unwrap()
        .clone();
    let forged = BTreeMap::from([("one".to_owned(), ContentDigest([0; 32]))]);
    records.save(&stamp, &forged);
    let weights = Weights::open(&path).unwrap();
    weights.use_digest_cache(&cache);
    weights.digest_all(["one"], &Silent).unwrap();
    assert_eq!(
        weights.digest("one").unwrap(),
        ContentDigest::of(&f32s([1.0, 2.0]))
    );
    assert_eq!(records.0.lock().unwrap().len(), 1);
}

/// A rewrite that restores size and modification time moves the change time, and a replaced file
/// has another inode: no stamp matches the old record.
#[cfg(unix)]
#[test]
fn a_rewrite_in_disguise_does_not_match_its_record() {
    let folder = Folder::new();
    let path = model(&folder, "w.safetensors");
    let before = Weights::open(&path)
        .unwrap()
        .stamps()
        .next()
        .unwrap()
        .clone();
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, bytes).unwrap();
    set_modified(&path, modified);
    let after = Weights::open(&path)
        .unwrap()
        .stamps()
        .next()
        .unwrap()
        .clone();
    assert_eq!(
        (before.size, before.mtime_ns, before.inode),
        (after.size, after.mtime_ns, after.inode)
    );
    assert_ne!(before.ctime_ns, after.ctime_ns);
}

fn set_modified(path: &Path, time: SystemTime) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_times(FileTimes::new().set_modified(time)).unwrap();
}

fn change(weights: &Weights) -> (StampField, String) {
    match weights.unchanged() {
        Err(error @ WeightsError::Changed { .. }) => {
            let text = error.to_string();
            let WeightsError::Changed { field, .. } = error else {
                unreachable!()
            };
            (field, text)
        }
        other => panic!("{other:?}"),
    }
}

/// Read into memory, so that the changes cannot hurt this process.
#[test]
fn changed_files_are_noticed_by_field() {
    let owned = WeightsOptions { read: Read::Owned };
    let open = |folder: &Folder| {
        let path = model(folder, "w.safetensors");
        let weights = Weights::open_with(&[&path], owned).unwrap();
        weights.unchanged().unwrap();
        (path, weights)
    };

    let folder = Folder::new();
    let (path, weights) = open(&folder);
    let other = model(&folder, "other.safetensors");
    std::fs::rename(other, &path).unwrap();
    let (field, text) = change(&weights);
    assert_eq!(field, StampField::Inode);
    assert!(text.starts_with(&format!(
        "{}: the file changed while it was in use: its inode was ",
        path.display()
    )));

    let folder = Folder::new();
    let (path, weights) = open(&folder);
    let size = std::fs::metadata(&path).unwrap().len();
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(size - 1)
        .unwrap();
    let (field, text) = change(&weights);
    assert_eq!(field, StampField::Size);
    assert!(
        text.ends_with(&format!("its size was {size} and is {}", size - 1)),
        "{text}"
    );

    let folder = Folder::new();
    let (path, weights) = open(&folder);
    set_modified(
        &path,
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000),
    );
    let (field, text) = change(&weights);
    assert_eq!(field, StampField::ModificationTime);
    assert!(text.ends_with(" and is 1000000000.000000000"), "{text}");

    #[cfg(unix)]
    {
        let folder = Folder::new();
        let (path, weights) = open(&folder);
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        set_modified(&path, modified);
        assert_eq!(change(&weights).0, StampField::ChangeTime);
    }

    let folder = Folder::new();
    let (path, weights) = open(&folder);
    std::fs::remove_file(path).unwrap();
    assert!(matches!(weights.unchanged(), Err(WeightsError::Io { .. })));
}

/// A file replaced while it was mapped: the old contents stay, and nothing is recorded.
#[test]
fn what_was_hashed_from_a_replaced_file_is_not_recorded() {
    let folder = Folder::new();
    let path = model(&folder, "w.safetensors");
    let other = folder.write("other", tensors(&[("one", "F32", &[1], &f32s([9.0]))], 0));
    let_settle();
    let records = Arc::new(Records::default());
    let cache: Arc<dyn DigestCache> = records.clone();
    let weights = Weights::open(&path).unwrap();
    weights.use_digest_cache(&cache);
    std::fs::rename(other, &path).unwrap();
    weights.digest_all(["one"], &Silent).unwrap();
    assert_eq!(
        weights.digest("one").unwrap(),
        ContentDigest::of(&f32s([1.0, 2.0]))
    );
    assert!(records.0.lock().unwrap().is_empty());
    assert_eq!(change(&weights).0, StampField::Inode);
}
