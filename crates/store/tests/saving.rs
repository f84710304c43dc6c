//! Saving, finding and replacing engines, by one process at a time or a few threads.

mod common;

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{begin, build, conditions, find, guard, names, plan, saved};
use tensoracle_progress::{Progress, Silent};
use tensoracle_store::disk::{Step, Watch};
use tensoracle_store::{
    BuildOptions, Damage, Map, OnDamage, OpenOptions, Outcome, Read, SavedEngine, Selector, Store,
    StoreError, Value, Verify, Wait,
};

#[test]
fn an_engine_is_built_once_and_then_found() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let wanted = conditions("example", 1);
    assert!(find(&store, &wanted).unwrap().is_none());
    assert!(!store.folder().exists(), "looking makes no folder");

    let bytes = plan(1, 100_000);
    let built = build(&store, &wanted, &bytes);
    assert_eq!(built.plan(), bytes);
    assert_eq!(
        built.path(),
        base.path().join("engines-v1").join(format!(
            "example-{}.engine",
            &wanted.identity().to_string()[..32]
        ))
    );
    drop(built);

    for read in [Read::Mapped, Read::Owned] {
        for verify in [Verify::Full, Verify::Header] {
            let options = BuildOptions {
                open: OpenOptions { verify, read },
                ..BuildOptions::default()
            };
            let found = saved(begin(&store, &wanted, options));
            assert_eq!(found.plan(), bytes);
            assert_eq!(found.is_mapped(), read == Read::Mapped);
            assert_eq!(found.header().conditions, wanted);
        }
    }
    assert_eq!(
        names(store.folder()).len(),
        1,
        "{:?}",
        names(store.folder())
    );
}

#[test]
fn the_header_is_readable_and_aligns_the_plan() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let mut wanted = conditions("example", 1);
    wanted.describe(&["graph", "layers"], vec!["relu: activation RELU"]);
    let bytes = plan(1, 5000);
    let mut guard = guard(begin(&store, &wanted, BuildOptions::default()));
    guard.write_all(&bytes).unwrap();
    let reference = Map::from([("workspace_limit".to_owned(), Value::Null)]);
    let engine = guard.publish(reference).unwrap();

    let file = std::fs::read(engine.path()).unwrap();
    let mut lines = file.split(|byte| *byte == b'\n');
    assert_eq!(lines.next().unwrap(), b"tensoracle engine format 1");
    let second = std::str::from_utf8(lines.next().unwrap()).unwrap();
    let fields: Vec<&str> = second.split(' ').collect();
    let length: usize = fields[1].parse().unwrap();
    let header = &file[117..117 + length];
    assert_eq!(fields[3], blake3::hash(header).to_hex().as_str());
    let documents: Vec<serde_json::Value> = serde_json::Deserializer::from_slice(header)
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap();
    let [json, description] = &documents[..] else {
        panic!("{} documents", documents.len());
    };
    assert_eq!(json["conditions"]["backend"]["name"], "cpu");
    assert_eq!(
        description["described"]["graph"]["layers"][0],
        "relu: activation RELU"
    );
    assert_eq!(
        json["reference"]["workspace_limit"],
        serde_json::Value::Null
    );
    assert_eq!(json["identity"], wanted.identity().to_string());
    let offset = json["plan"]["offset"].as_u64().unwrap();
    assert_eq!((offset % 4096, offset), (0, 117 + length as u64));
    assert_eq!(&file[offset as usize..], bytes);
    assert_eq!(
        json["plan"]["blake3"],
        blake3::hash(&bytes).to_hex().as_str()
    );
    assert_eq!(
        engine.header().reference(&["workspace_limit"]),
        Some(&Value::Null)
    );
}

#[test]
fn a_reference_larger_than_its_room_moves_the_plan() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let wanted = conditions("example", 1);
    // Larger than one piece, so that moving takes several.
    let bytes = plan(1, (9 << 20) + 17);
    let mut guard = guard(begin(&store, &wanted, BuildOptions::default()));
    guard.write_all(&bytes).unwrap();
    let long: Value = vec!["tensor"; 10_000].into();
    let reference = Map::from([("outputs".to_owned(), long.clone())]);
    drop(guard.publish(reference).unwrap());
    let found = find(&store, &wanted).unwrap().unwrap();
    assert_eq!(found.plan(), bytes);
    assert_eq!(found.header().reference(&["outputs"]), Some(&long));
}

#[test]
fn a_build_that_is_given_up_leaves_nothing() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let wanted = conditions("example", 1);
    let mut given_up = guard(begin(&store, &wanted, BuildOptions::default()));
    given_up.write_all(&plan(1, 10)).unwrap();
    assert_eq!(names(store.folder()).len(), 2);
    drop(given_up);
    assert!(names(store.folder()).is_empty());

    let empty = guard(begin(&store, &wanted, BuildOptions::default()));
    assert!(matches!(
        empty.publish(Map::new()),
        Err(StoreError::EmptyPlan { .. })
    ));
    assert!(names(store.folder()).is_empty());
}

#[test]
fn a_forced_rebuild_replaces_on_success_only_and_spares_readers() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let wanted = conditions("example", 1);
    let (old, new) = (plan(1, 5000), plan(2, 6000));
    let reader = build(&store, &wanted, &old);
    let force = BuildOptions {
        force: true,
        ..BuildOptions::default()
    };
    let mut failed = guard(begin(&store, &wanted, force));
    failed.write_all(&new).unwrap();
    drop(failed);
    assert_eq!(find(&store, &wanted).unwrap().unwrap().plan(), old);

    let mut replacing = guard(begin(&store, &wanted, force));
    replacing.write_all(&new).unwrap();
    assert_eq!(find(&store, &wanted).unwrap().unwrap().plan(), old);
    drop(replacing.publish(Map::new()).unwrap());
    assert_eq!(find(&store, &wanted).unwrap().unwrap().plan(), new);
    assert_eq!(reader.plan(), old);
    assert_eq!(names(store.folder()).len(), 1);
}

#[test]
fn a_damaged_engine_is_set_aside_or_reported() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let wanted = conditions("example", 1);
    let bytes = plan(1, 5000);
    let path = build(&store, &wanted, &bytes).path().to_owned();
    let mut file = std::fs::read(&path).unwrap();
    *file.last_mut().unwrap() ^= 1;
    std::fs::write(&path, &file).unwrap();

    let report = BuildOptions {
        on_damage: OnDamage::Error,
        ..BuildOptions::default()
    };
    match store.begin_build(&wanted, report, &Silent) {
        Err(StoreError::Corrupt(error)) => {
            assert_eq!(error.path, path);
            assert!(matches!(error.damage, Damage::PlanChecksum { .. }));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(find(&store, &wanted), Err(StoreError::Corrupt(_))));

    let mut rebuilding = guard(begin(&store, &wanted, BuildOptions::default()));
    assert!(!path.exists());
    assert!(path.with_extension("damaged").exists());
    rebuilding.write_all(&bytes).unwrap();
    drop(rebuilding.publish(Map::new()).unwrap());
    assert_eq!(find(&store, &wanted).unwrap().unwrap().plan(), bytes);
    assert_eq!(names(store.folder()).len(), 1);
}

#[test]
fn an_engine_under_another_name_is_a_condition_error() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let (one, two) = (conditions("example", 1), conditions("example", 2));
    drop(build(&store, &one, &plan(1, 100)));
    std::fs::copy(store.engine_path(&one), store.engine_path(&two)).unwrap();
    let error = match find(&store, &two) {
        Err(StoreError::Condition(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(error.found, one.identity());
    assert_eq!(error.differences.len(), 1);
    assert_eq!(
        error.differences[0].to_string(),
        "version: saved 1, wanted 2"
    );
    // The one under its own name is untouched, the other is built.
    drop(build(&store, &two, &plan(2, 100)));
    assert_eq!(find(&store, &one).unwrap().unwrap().plan(), plan(1, 100));
    assert_eq!(find(&store, &two).unwrap().unwrap().plan(), plan(2, 100));
}

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Progress for Notes {
    fn note(&self, message: &str) {
        self.0.lock().unwrap().push(message.to_owned());
    }
}

#[test]
fn others_wait_for_the_builder_and_say_so() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let wanted = conditions("example", 1);
    let bytes = plan(1, 5000);
    let mut building = guard(begin(&store, &wanted, BuildOptions::default()));
    let notes = Notes::default();
    std::thread::scope(|scope| {
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let outcome = store
                        .begin_build(&wanted, BuildOptions::default(), &notes)
                        .unwrap();
                    saved(outcome).plan().to_vec()
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(500));
        building.write_all(&bytes).unwrap();
        drop(building.publish(Map::new()).unwrap());
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), bytes);
        }
    });
    let notes = notes.0.into_inner().unwrap();
    let start = format!(
        "waiting for process {}, building since 2",
        std::process::id()
    );
    assert_eq!(notes.len(), 3);
    assert!(
        notes.iter().all(|note| note.starts_with(&start)),
        "{notes:?}"
    );
    assert_eq!(names(store.folder()).len(), 1);
}

#[test]
fn waiting_ends_when_the_caller_says_so() {
    struct Cancelled;
    impl Progress for Cancelled {
        fn is_cancelled(&self) -> bool {
            true
        }
    }
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let wanted = conditions("example", 1);
    let building = guard(begin(&store, &wanted, BuildOptions::default()));
    for (wait, least) in [
        (Wait::No, 0),
        (Wait::AtMost(Duration::from_millis(120)), 120),
    ] {
        let options = BuildOptions {
            wait,
            ..BuildOptions::default()
        };
        match store.begin_build(&wanted, options, &Silent) {
            Err(StoreError::BeingBuilt { owner, waited, .. }) => {
                assert_eq!(owner.process, std::process::id());
                assert!(waited >= Duration::from_millis(least), "{waited:?}");
                assert!(waited < Duration::from_secs(5), "{waited:?}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(
        store.begin_build(&wanted, BuildOptions::default(), &Cancelled),
        Err(StoreError::Cancelled { .. })
    ));
    drop(building);
    assert!(matches!(
        begin(&store, &wanted, BuildOptions::default()),
        Outcome::Build(_)
    ));
}

#[test]
fn different_keys_are_built_at_once() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let (a100, h200) = (conditions("example", 1), conditions("example", 2));
    let mut one = guard(begin(&store, &a100, BuildOptions::default()));
    let mut two = guard(begin(&store, &h200, BuildOptions::default()));
    one.write_all(b"for one").unwrap();
    two.write_all(b"for the other").unwrap();
    drop(one.publish(Map::new()).unwrap());
    drop(two.publish(Map::new()).unwrap());
    assert_eq!(find(&store, &a100).unwrap().unwrap().plan(), b"for one");
    assert_eq!(
        find(&store, &h200).unwrap().unwrap().plan(),
        b"for the other"
    );
}

#[test]
fn an_engine_opens_by_name_prefix_identity_and_file() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let (one, two, other) = (
        conditions("example", 1),
        conditions("example", 2),
        conditions("exam", 1),
    );
    for (wanted, bytes) in [(&one, b"1"), (&two, b"2"), (&other, b"3")] {
        drop(build(&store, wanted, bytes));
    }
    let open = |selector: Selector| -> Result<SavedEngine, StoreError> {
        store.open_selected(&selector, OpenOptions::default())
    };
    assert_eq!(open(Selector::Name("exam".into())).unwrap().plan(), b"3");
    match open(Selector::Name("example".into())) {
        Err(StoreError::Ambiguous { candidates, .. }) => {
            let mut expected = [&one, &two].map(|c| format!("{}.engine", c.file_stem()));
            expected.sort();
            assert_eq!(candidates, expected);
        }
        other => panic!("{other:?}"),
    }
    for wanted in [&one, &two] {
        let identity = wanted.identity();
        let expected = if wanted == &one { b"1" } else { b"2" };
        let digits = identity.to_string();
        for selector in [
            Selector::Identity(identity),
            Selector::Prefix(digits[..8].to_owned()),
            Selector::Prefix(digits[..40].to_uppercase()),
            Selector::Typed(digits[..12].to_owned()),
            Selector::Typed(format!("{}.engine", wanted.file_stem())),
            Selector::File(store.engine_path(wanted)),
            Selector::Typed(store.engine_path(wanted).to_str().unwrap().to_owned()),
        ] {
            assert_eq!(open(selector).unwrap().plan(), expected);
        }
    }
    for selector in [
        Selector::Name("absent".into()),
        Selector::Prefix("0".into()),
        Selector::Typed("absent".into()),
        Selector::File(base.path().join("absent")),
    ] {
        let error = open(selector).unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn using_an_engine_is_recorded_in_its_time_only() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let wanted = conditions("example", 1);
    let path = build(&store, &wanted, &plan(1, 10)).path().to_owned();
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    std::fs::File::open(&path)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    let contents = std::fs::read(&path).unwrap();
    let modified = || std::fs::metadata(&path).unwrap().modified().unwrap();

    let engine = find(&store, &wanted).unwrap().unwrap();
    assert_eq!(modified(), long_ago, "opening alone records nothing");
    engine.record_use();
    assert!(modified().elapsed().unwrap() < Duration::from_secs(60));
    assert_eq!(std::fs::read(&path).unwrap(), contents);
}

/// A folder on which every change fails, as on a disk mounted for reading only. Modes would not
/// do: whoever has all rights may write anywhere.
struct ReadOnly;

impl Watch for ReadOnly {
    fn before(&self, _: Step, _: &Path) -> std::io::Result<()> {
        Err(std::io::ErrorKind::ReadOnlyFilesystem.into())
    }
}

#[test]
fn a_folder_that_cannot_be_written_serves_what_it_has() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let bytes = plan(1, 5000);
    drop(build(&store, &conditions("example", 1), &bytes));
    let read_only = store.watched(Arc::new(ReadOnly));
    let engine = saved(begin(
        &read_only,
        &conditions("example", 1),
        BuildOptions::default(),
    ));
    assert_eq!(engine.plan(), bytes);
    engine.record_use();
    match read_only.begin_build(&conditions("example", 2), BuildOptions::default(), &Silent) {
        Err(error @ StoreError::NotWritable { .. }) => {
            let text = error.to_string();
            assert!(text.contains("cannot save engines in"), "{text}");
            assert!(text.contains("read-only"), "{text}");
            assert!(error.hint().unwrap().contains("XDG_CACHE_HOME"));
        }
        other => panic!("{other:?}"),
    }
}

#[cfg(unix)]
#[test]
fn modes_follow_the_umask() {
    use std::os::unix::fs::PermissionsExt as _;
    let base = tempfile::tempdir().unwrap();
    let plain = base.path().join("plain");
    std::fs::File::create(&plain).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
    let store = Store::at(base.path());
    let engine = build(&store, &conditions("example", 1), &plan(1, 10));
    assert_eq!(mode(engine.path()), mode(&plain));
}

#[test]
fn files_of_others_in_the_cache_are_left_alone() {
    let base = tempfile::tempdir().unwrap();
    for name in ["old-0123.engine", "weight-77.json", "old.lock"] {
        std::fs::write(base.path().join(name), name).unwrap();
    }
    let store = Store::at(base.path());
    drop(build(&store, &conditions("old", 1), &plan(1, 10)));
    assert_eq!(
        names(base.path()),
        [
            "engines-v1",
            "old-0123.engine",
            "old.lock",
            "weight-77.json"
        ]
    );
}

#[test]
fn what_the_dead_left_is_removed_by_the_next_builder() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    drop(build(&store, &conditions("kept", 1), &plan(1, 10)));
    let living = guard(begin(
        &store,
        &conditions("living", 1),
        BuildOptions::default(),
    ));
    let before = names(store.folder());
    for name in [
        "dead-1.lock",
        "dead-1.building",
        "dead-2.damaged",
        "dead-3.tmp",
    ] {
        std::fs::write(store.folder().join(name), b"{\"process\":1}").unwrap();
    }
    drop(guard(begin(
        &store,
        &conditions("next", 1),
        BuildOptions::default(),
    )));
    assert_eq!(names(store.folder()), before);
    drop(living);
}

#[test]
fn a_plan_goes_in_through_any_writer() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let wanted = conditions("example", 1);
    let bytes = plan(3, 300_001);
    let mut building = guard(begin(&store, &wanted, BuildOptions::default()));
    for piece in bytes.chunks(777) {
        building.write_all(piece).unwrap();
    }
    drop(building.publish(Map::new()).unwrap());
    let mut found = Vec::new();
    find(&store, &wanted)
        .unwrap()
        .unwrap()
        .plan()
        .read_to_end(&mut found)
        .unwrap();
    assert_eq!(found, bytes);
}
