//! What becomes of files: destinations, their modes and links, shards on either side, progress,
//! cancelling, and writers that are killed.
//!
//! Not here: what is in the files.

mod forge;

use forge::{dict, tensor, text};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tensoracle_checkpoint::{Error, Kind, Options, Problem, convert, inspect};
use tensoracle_progress::{Progress, Silent, Unit};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn tensors_in(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut names: Vec<_> = file.names().into_iter().map(String::from).collect();
    names.sort();
    names
}

/// A checkpoint of one tensor of four floats.
fn one_tensor(name: &str) -> Vec<u8> {
    forge::checkpoint(&dict(&[text(name), tensor(4, 0, &[4], &[1])]))
}

#[test]
fn the_source_may_be_the_destination() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["views_zip.pt", "more/views_legacy.pt", "more/deflated.pt"] {
        let path = folder.path().join("model");
        std::fs::copy(data(name), &path).unwrap();
        let expected = {
            let elsewhere = folder.path().join("elsewhere");
            convert(&path, &elsewhere, &Options::default(), &Silent).unwrap();
            std::fs::read(elsewhere).unwrap()
        };
        convert(&path, &path, &Options::default(), &Silent).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), expected, "{name}");
    }
    assert_eq!(names_in(folder.path()), ["elsewhere", "model"]);
}

#[test]
fn tensors_of_larger_elements_stand_first_and_all_are_aligned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.safetensors");
    convert(&data("dtypes.pt"), &path, &Options::default(), &Silent).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let (header_len, _) = bytes.split_first_chunk::<8>().unwrap();
    let header = u64::from_le_bytes(*header_len) as usize;
    assert_eq!(header % 8, 0);
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + header]).unwrap();
    assert_eq!(header["__metadata__"]["format"], "pt");
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut places: Vec<_> = file
        .tensors()
        .into_iter()
        .map(|(name, tensor)| {
            let at = tensor.data().as_ptr() as usize - bytes.as_ptr() as usize;
            let size = tensor.dtype().bitsize() / 8;
            assert_eq!(at % size, 0, "{name}");
            (at, size)
        })
        .filter(|(at, _)| *at < bytes.len())
        .collect();
    places.sort();
    assert!(places.is_sorted_by_key(|(_, size)| std::cmp::Reverse(*size)));
}

#[cfg(unix)]
#[test]
fn a_new_file_has_the_mode_of_the_umask_and_a_replaced_one_keeps_its_own() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    // What the umask makes of a file that is simply created.
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "").unwrap();
    let path = folder.path().join("out.safetensors");
    convert(&data("param.pt"), &path, &Options::default(), &Silent).unwrap();
    assert_eq!(mode(&path), mode(&plain));
    for replaced in [0o600, 0o640, 0o444] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(replaced)).unwrap();
        convert(&data("tied_zip.pt"), &path, &Options::default(), &Silent).unwrap();
        assert_eq!(mode(&path), replaced);
    }
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_what_it_leads_to_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    std::fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink("target", &link).unwrap();
    convert(&data("param.pt"), &link, &Options::default(), &Silent).unwrap();
    assert!(link.is_symlink());
    assert_eq!(tensors_in(&target), ["b", "w"]);
}

#[test]
fn a_destination_that_cannot_be_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let to = |path: &Path| convert(&data("param.pt"), path, &Options::default(), &Silent);
    assert!(matches!(to(folder.path()), Err(Error::Destination { .. })));
    assert!(matches!(
        to(&folder.path().join("missing/out")),
        Err(Error::Io { path, .. }) if path.ends_with("missing")
    ));
    let missing = convert(
        &folder.path().join("none.pth"),
        &folder.path().join("out"),
        &Options::default(),
        &Silent,
    );
    assert!(matches!(missing, Err(Error::Io { action: "open", .. })));
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn output_is_split_into_shards_with_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("model.safetensors");
    let whole = Options {
        digest: true,
        ..Options::default()
    };
    let digest = convert(&data("tied_zip.pt"), &destination, &whole, &Silent)
        .unwrap()
        .digest;
    std::fs::remove_file(&destination).unwrap();
    let options = Options {
        shard_size: Some(600),
        ..whole
    };
    let summary = convert(&data("tied_zip.pt"), &destination, &options, &Silent).unwrap();
    assert_eq!(summary.digest, digest);
    // Two tensors of 544 bytes, four of 32 and one of 8: the first and the last are shards of
    // their own, with what fits beside them.
    let files = [
        "model-00001-of-00003.safetensors",
        "model-00002-of-00003.safetensors",
        "model-00003-of-00003.safetensors",
        "model.safetensors.index.json",
    ];
    assert_eq!(names_in(folder.path()), files);
    assert_eq!(summary.files, files.map(|name| folder.path().join(name)));
    let index = std::fs::read(folder.path().join(files[3])).unwrap();
    let index: serde_json::Value = serde_json::from_slice(&index).unwrap();
    assert_eq!(index["metadata"]["total_size"], summary.bytes);
    let mut listed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, file) in index["weight_map"].as_object().unwrap() {
        listed.entry(file.as_str().unwrap()).or_default().push(name);
    }
    for file in &files[..3] {
        let path = folder.path().join(file);
        assert_eq!(tensors_in(&path), listed[file]);
        let bytes = std::fs::read(&path).unwrap();
        let parsed = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let size: usize = parsed.iter().map(|(_, tensor)| tensor.data().len()).sum();
        assert!(size <= 600, "{file} {size}");
    }
    // All in one shard: a plain file.
    let one = Options {
        shard_size: Some(1 << 30),
        ..Options::default()
    };
    let summary = convert(&data("tied_zip.pt"), &destination, &one, &Silent).unwrap();
    assert_eq!(summary.files, [destination]);
}

#[test]
fn sharded_sources_become_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("pytorch_model-00001-of-00002.bin", &one_tensor("a"));
    write("pytorch_model-00002-of-00002.bin", &one_tensor("b"));
    write("training_args.bin", b"not a checkpoint");
    write("config.json", b"{}");
    let out = tempfile::tempdir().unwrap();
    let destination = out.path().join("model.safetensors");
    let to = |source: &Path| convert(source, &destination, &Options::default(), &Silent);
    // The folder without an index: every checkpoint in it.
    assert_eq!(to(folder.path()).unwrap().tensors, 2);
    assert_eq!(tensors_in(&destination), ["a", "b"]);
    std::fs::remove_file(&destination).unwrap();

    let index = folder.path().join("pytorch_model.bin.index.json");
    let shards =
        |a: &str, b: &str| format!(r#"{{"metadata":{{}},"weight_map":{{"a":"{a}","b":"{b}"}}}}"#);
    let [first, second] = [
        "pytorch_model-00001-of-00002.bin",
        "pytorch_model-00002-of-00002.bin",
    ];
    write("unrelated.pt", &one_tensor("c"));
    write(
        "pytorch_model.bin.index.json",
        shards(first, second).as_bytes(),
    );
    for source in [folder.path(), &index] {
        assert_eq!(to(source).unwrap().tensors, 2);
        assert_eq!(tensors_in(&destination), ["a", "b"]);
        std::fs::remove_file(&destination).unwrap();
    }
    let refused = |text: &str, why: &str| {
        std::fs::write(&index, text).unwrap();
        match to(&index).unwrap_err() {
            Error::Sources { problem, .. } => assert!(problem.contains(why), "{problem}"),
            other => panic!("{other:?}"),
        }
        assert!(names_in(out.path()).is_empty());
    };
    refused(
        &shards(second, first),
        "lack 2 of the tensors it lists: a, b",
    );
    refused(&shards(first, first), "lack 1 of the tensors it lists: b");
    refused(
        &shards(first, "../pytorch_model-00002-of-00002.bin"),
        "is not a file beside it",
    );
    refused(&shards(first, "/etc/passwd"), "is not a file beside it");
    refused(&shards(first, ""), "is not a file beside it");
    refused("[]", "not an index of shards");
    std::fs::write(&index, shards(first, "missing.bin")).unwrap();
    assert!(matches!(to(&index), Err(Error::Io { action: "open", .. })));
    std::fs::write(folder.path().join("other.bin.index.json"), "{}").unwrap();
    assert!(
        matches!(to(folder.path()), Err(Error::Sources { problem, .. })
        if problem.contains("2 indexes"))
    );
    assert!(matches!(to(out.path()), Err(Error::Sources { problem, .. })
        if problem.contains("holds no checkpoint")));
}

#[test]
fn shards_may_not_repeat_a_name() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["1.pt", "2.pt"] {
        std::fs::write(folder.path().join(name), one_tensor("w")).unwrap();
    }
    let destination = folder.path().join("out.safetensors");
    let error = convert(folder.path(), &destination, &Options::default(), &Silent).unwrap_err();
    assert!(matches!(error, Error::Refused { refusal, .. }
        if refusal.entries[0].kind == Kind::Duplicate));
}

#[test]
fn a_listing_writes_nothing_and_names_what_would_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("model.pt");
    std::fs::copy(data("views_zip.pt"), &source).unwrap();
    let listing = inspect(&source, &Options::default(), &Silent).unwrap();
    let found: Vec<_> = listing
        .tensors
        .iter()
        .map(|tensor| {
            (
                tensor.name.as_str(),
                tensor.dtype.name(),
                tensor.shape.as_slice(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("whole", "F32", &[24][..]),
            ("head", "F32", &[6]),
            ("mid2d", "F32", &[3, 4]),
            ("strided", "F32", &[5]),
            ("T", "F32", &[6, 4]),
            ("expand", "F32", &[2, 3]),
            ("same", "F32", &[24]),
        ]
    );
    assert_eq!(listing.bytes, 4 * (24 + 6 + 12 + 5 + 24 + 6 + 24));
    assert_eq!(names_in(folder.path()), ["model.pt"]);
}

/// Remembers phases and counts, and cancels after so many units.
struct Recorder {
    phases: Mutex<Vec<(String, Option<u64>, Unit)>>,
    done: AtomicU64,
    cancel_after: u64,
}

impl Recorder {
    fn new(cancel_after: u64) -> Self {
        Self {
            phases: Mutex::new(Vec::new()),
            done: AtomicU64::new(0),
            cancel_after,
        }
    }
}

impl Progress for Recorder {
    fn begin(&self, phase: &str, total: Option<u64>, unit: Unit) {
        self.done.store(0, Ordering::Relaxed);
        self.phases
            .lock()
            .unwrap()
            .push((phase.into(), total, unit));
    }

    fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.done.load(Ordering::Relaxed) >= self.cancel_after
    }
}

#[test]
fn progress_counts_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    let recorder = Recorder::new(u64::MAX);
    let options = Options {
        digest: true,
        ..Options::default()
    };
    let summary = convert(&data("tied_zip.pt"), &destination, &options, &recorder).unwrap();
    let phases = recorder.phases.into_inner().unwrap();
    let expected = [
        ("reading checkpoints", 1, Unit::Items),
        ("writing 7 tensors", summary.bytes, Unit::Bytes),
        ("hashing", summary.bytes, Unit::Bytes),
    ];
    for ((phase, total, unit), expected) in phases.iter().zip(expected) {
        assert_eq!((phase.as_str(), total.unwrap(), *unit), expected);
    }
    assert_eq!(phases.len(), 3);
    assert_eq!(recorder.done.into_inner(), summary.bytes);
}

#[test]
fn cancelling_leaves_the_old_destination() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    std::fs::write(&destination, "old").unwrap();
    for (name, cancel_after) in [
        ("tied_zip.pt", 0),
        ("tied_zip.pt", 100),
        ("more/deflated.pt", 2),
    ] {
        let outcome = convert(
            &data(name),
            &destination,
            &Options::default(),
            &Recorder::new(cancel_after),
        );
        assert!(
            matches!(outcome, Err(Error::Cancelled)),
            "{name} {outcome:?}"
        );
        assert_eq!(std::fs::read(&destination).unwrap(), b"old");
        assert_eq!(names_in(folder.path()), ["out.safetensors"]);
    }
}

#[test]
fn a_damaged_deflated_storage_leaves_the_old_destination() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    std::fs::write(&destination, "old").unwrap();
    let mut bytes = std::fs::read(data("more/deflated.pt")).unwrap();
    let name = b"little/data/0";
    let at = bytes
        .windows(name.len())
        .position(|window| window == name)
        .unwrap();
    bytes[at + name.len() + 10] ^= 0x55;
    let source = folder.path().join("source.pt");
    std::fs::write(&source, bytes).unwrap();
    let error = convert(&source, &destination, &Options::default(), &Silent).unwrap_err();
    assert!(matches!(
        error,
        Error::InFile {
            problem: Problem::Archive { .. },
            ..
        }
    ));
    assert_eq!(std::fs::read(&destination).unwrap(), b"old");
    assert_eq!(names_in(folder.path()), ["out.safetensors", "source.pt"]);
}

/// Ends the process at the call of the given number.
struct Killer {
    calls: AtomicU64,
    last: u64,
}

impl Killer {
    fn call(&self) {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.last {
            std::process::abort();
        }
    }
}

impl Progress for Killer {
    fn begin(&self, _: &str, _: Option<u64>, _: Unit) {
        self.call();
    }

    fn advance(&self, _: u64) {
        self.call();
    }

    fn finish(&self) {
        self.call();
    }
}

/// The variable that names the folder and the call at which the converting process ends.
const KILLED: &str = "TENSORACLE_TEST_KILLED";

#[test]
#[ignore = "run by the test that looks at what it leaves"]
fn converting_until_killed() {
    let killed = std::env::var(KILLED).unwrap();
    let (last, folder) = killed.split_once(' ').unwrap();
    let killer = Killer {
        calls: AtomicU64::new(0),
        last: last.parse().unwrap(),
    };
    let options = Options {
        digest: true,
        ..Options::default()
    };
    let folder = Path::new(folder);
    let (source, destination) = (folder.join("source.pt"), folder.join("out.safetensors"));
    convert(&source, &destination, &options, &killer).unwrap();
}

#[test]
fn a_killed_writer_leaves_the_old_destination() {
    // 2 MiB in one tensor, so that writing takes several steps.
    let elements = 1 << 19;
    let storage: Vec<u8> = (0..elements).flat_map(|at: u32| at.to_le_bytes()).collect();
    let body = dict(&[
        text("w"),
        tensor(elements.into(), 0, &[elements.into()], &[1]),
    ]);
    let source = forge::Zip::default()
        .deflated("a/data.pkl", &forge::pickle(&body))
        .deflated("a/data/0", &storage)
        .finish();
    let mut last = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("source.pt"), &source).unwrap();
        let destination = folder.path().join("out.safetensors");
        std::fs::write(&destination, "old").unwrap();
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "converting_until_killed"])
            .env(KILLED, format!("{last} {}", folder.path().display()))
            .output()
            .unwrap();
        if output.status.success() {
            assert_eq!(tensors_in(&destination), ["w"]);
            break;
        }
        assert_eq!(std::fs::read(&destination).unwrap(), b"old", "call {last}");
        last += 1;
    }
    // Three phases that begin and end, and several steps in each.
    assert!(last > 12, "{last}");
}
