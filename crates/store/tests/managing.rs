//! Listing, pruning, verifying, removing and moving engines.

mod common;

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::{begin, build, conditions, find, guard, names, plan};
use tensoracle_progress::Silent;
use tensoracle_store::{
    BuildOptions, Conditions, FileKind, Imported, Map, OpenOptions, PruneRules, SavedEngine,
    Selector, Status, Store, StoreError, Value, inspect,
};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A fixed present, on whole seconds.
fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn set_used(path: &Path, time: SystemTime) {
    File::open(path).unwrap().set_modified(time).unwrap();
}

/// Saves engine `version` with a plan of `length` bytes, last used at `time`.
fn saved_at(store: &Store, version: i64, length: usize, time: SystemTime) -> String {
    let wanted = conditions("example", version);
    drop(build(store, &wanted, &plan(version as u64, length)));
    set_used(&store.engine_path(&wanted), time);
    format!("{}.engine", wanted.file_stem())
}

fn selected(store: &Store, rules: PruneRules) -> Vec<String> {
    let plan = store.plan_prune(&rules, now()).unwrap();
    plan.selected
        .iter()
        .map(|selected| selected.entry().file.clone())
        .collect()
}

#[test]
fn a_store_without_a_folder_is_empty() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let listing = store.list().unwrap();
    assert_eq!((listing.entries.len(), listing.total_size_bytes), (0, 0));
    let rules = PruneRules {
        max_size: Some(0),
        ..PruneRules::default()
    };
    let plan = store.plan_prune(&rules, now()).unwrap();
    assert!(store.prune(&plan, false).unwrap().succeeded());
    assert!(!store.folder().exists());
}

#[test]
fn a_listing_shows_headers_and_what_is_no_engine() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let mut wanted = Conditions::new("example").unwrap();
    wanted
        .set(&["backend", "name"], "cpu")
        .set(&["weights", "bias", "blake3"], "aaaa")
        .set(&["weights", "scale", "blake3"], "bbbb");
    let mut building = guard(begin(&store, &wanted, BuildOptions::default()));
    std::io::Write::write_all(&mut building, &plan(1, 1000)).unwrap();
    let reference = Map::from([("workspace_limit".to_owned(), Value::from(4_i64 << 30))]);
    drop(building.publish(reference).unwrap());
    let weights = base.path().join("model.safetensors");
    std::fs::write(&weights, b"weights").unwrap();
    std::thread::sleep(Duration::from_millis(2100));
    store
        .digest_records()
        .save(
            &weights,
            &std::fs::metadata(&weights).unwrap(),
            &[("bias".to_owned(), "aaaa".to_owned())].into(),
        )
        .unwrap();
    std::fs::write(store.folder().join("empty.engine"), b"").unwrap();
    std::fs::write(store.folder().join("foreign.engine"), b"hello").unwrap();
    std::fs::create_dir(store.folder().join("folder.engine")).unwrap();
    std::fs::copy(
        store.engine_path(&wanted),
        store.folder().join("renamed-0123.engine"),
    )
    .unwrap();

    let listing = store.list().unwrap();
    let labels: Vec<(&str, &str)> = listing
        .entries
        .iter()
        .map(|entry| (entry.file.as_str(), entry.status.label()))
        .collect();
    let file = format!("{}.engine", wanted.file_stem());
    assert_eq!(
        labels,
        [
            ("empty.engine", "building or leftover"),
            (file.as_str(), "recognized"),
            ("folder.engine", "unrecognized"),
            ("foreign.engine", "unrecognized"),
            ("renamed-0123.engine", "unrecognized"),
        ]
    );
    let size = std::fs::metadata(store.engine_path(&wanted)).unwrap().len();
    let folder = std::fs::metadata(store.folder().join("folder.engine"))
        .unwrap()
        .len();
    assert_eq!(listing.total_size_bytes, 2 * size + 5 + folder);

    let json = serde_json::to_value(&listing).unwrap();
    let entry = &json["entries"][1];
    assert_eq!(entry["size_bytes"], size);
    assert_eq!(entry["name"], "example");
    assert_eq!(entry["identity"], wanted.identity().to_string());
    assert_eq!(entry["conditions"]["backend"]["name"], "cpu");
    assert_eq!(entry["workspace_limit"], 4_u64 << 30);
    assert_eq!(
        entry["weight_paths"],
        serde_json::json!([
            {"digest": "aaaa", "paths": [weights]},
            {"digest": "bbbb", "paths": []},
        ])
    );
    assert!(entry["recorded_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(
        json["entries"][3]["reason"],
        "the file is not a saved engine of tensoracle"
    );
}

#[test]
fn the_workspace_limit_is_a_number_null_or_unknown() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    for (version, reference, expected) in [
        (1, Map::new(), serde_json::json!("unknown")),
        (
            2,
            Map::from([("workspace_limit".to_owned(), Value::Null)]),
            serde_json::Value::Null,
        ),
    ] {
        let wanted = conditions("example", version);
        let mut building = guard(begin(&store, &wanted, BuildOptions::default()));
        std::io::Write::write_all(&mut building, b"plan").unwrap();
        drop(building.publish(reference).unwrap());
        let json = serde_json::to_value(store.list().unwrap()).unwrap();
        let file = format!("{}.engine", wanted.file_stem());
        let entries = json["entries"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["file"] == file).unwrap();
        assert_eq!(entry["workspace_limit"], expected);
    }
}

#[test]
fn pruning_by_age_takes_only_what_is_strictly_older() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let old = saved_at(&store, 1, 100, now() - 30 * DAY - Duration::from_nanos(1));
    let _on_the_edge = saved_at(&store, 2, 100, now() - 30 * DAY);
    let _new = saved_at(&store, 3, 100, now());
    let rules = PruneRules {
        unused_for: Some(30 * DAY),
        max_size: None,
    };
    assert_eq!(selected(&store, rules), [old.as_str()]);

    let before = names(store.folder());
    let plan = store.plan_prune(&rules, now()).unwrap();
    let dry = store.prune(&plan, true).unwrap();
    assert_eq!(names(store.folder()), before);
    assert_eq!(dry.removed, [old.as_str()]);
    assert_eq!(dry.removed_size_bytes, 0);
    assert_eq!(dry.projected_size_bytes, Some(plan.projected_size_bytes));

    let result = store.prune(&plan, false).unwrap();
    assert!(result.succeeded());
    assert_eq!(result.removed, [old.as_str()]);
    assert_eq!(result.removed_size_bytes, plan.total_size_bytes / 3);
    assert_eq!(result.remaining_size_bytes, plan.total_size_bytes / 3 * 2);
    let left = names(store.folder());
    assert_eq!(left.len(), 2);
    assert!(!left.contains(&old));
}

#[test]
fn pruning_by_size_takes_the_longest_unused_and_breaks_ties_by_name() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let newest = saved_at(&store, 1, 100, now());
    let mut tied = [
        saved_at(&store, 2, 100, now() - DAY),
        saved_at(&store, 3, 100, now() - DAY),
    ];
    tied.sort();
    let each = std::fs::metadata(store.folder().join(&newest))
        .unwrap()
        .len();
    let by_size = |limit| PruneRules {
        unused_for: None,
        max_size: Some(limit),
    };
    assert!(selected(&store, by_size(3 * each)).is_empty());
    assert_eq!(selected(&store, by_size(3 * each - 1)), tied[..1]);
    assert_eq!(selected(&store, by_size(each)), tied);
    assert_eq!(selected(&store, by_size(0)).len(), 3);
    // Both rules: the older ones by age, then enough by size.
    let both = PruneRules {
        unused_for: Some(DAY / 2),
        max_size: Some(0),
    };
    assert_eq!(
        selected(&store, both),
        [&tied[0], &tied[1], &newest].map(Clone::clone)
    );
}

#[test]
fn what_is_no_engine_or_in_use_counts_but_stays() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let used = saved_at(&store, 1, 100, now() - DAY);
    let idle = saved_at(&store, 2, 100, now());
    std::fs::write(store.folder().join("empty.engine"), b"").unwrap();
    std::fs::write(store.folder().join("foreign.engine"), b"hello").unwrap();
    let open = find(&store, &conditions("example", 1)).unwrap().unwrap();

    let rules = PruneRules {
        unused_for: None,
        max_size: Some(0),
    };
    let plan = store.plan_prune(&rules, now()).unwrap();
    let reasons: Vec<(&str, &str)> = plan
        .excluded
        .iter()
        .map(|excluded| (excluded.file.as_str(), excluded.reason.as_str()))
        .collect();
    assert_eq!(
        reasons,
        [
            ("empty.engine", "building or leftover"),
            (used.as_str(), "in use"),
            (
                "foreign.engine",
                "unrecognized: the file is not a saved engine of tensoracle"
            ),
        ]
    );
    let result = store.prune(&plan, false).unwrap();
    assert_eq!(result.removed, [idle]);
    assert!(!result.succeeded(), "the limit cannot be reached");
    assert_eq!(
        names(store.folder()),
        ["empty.engine", &used, "foreign.engine"]
    );
    drop(open);
    store
        .prune(&store.plan_prune(&rules, now()).unwrap(), false)
        .unwrap();
    assert_eq!(names(store.folder()), ["empty.engine", "foreign.engine"]);
}

#[test]
fn what_changed_after_it_was_chosen_is_not_removed() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let gone = saved_at(&store, 1, 100, now() - 3 * DAY);
    let used = saved_at(&store, 2, 100, now() - 2 * DAY);
    let opened = saved_at(&store, 3, 100, now() - DAY);
    let rules = PruneRules {
        unused_for: Some(DAY / 2),
        max_size: None,
    };
    let plan = store.plan_prune(&rules, now()).unwrap();
    std::fs::remove_file(store.folder().join(&gone)).unwrap();
    find(&store, &conditions("example", 2))
        .unwrap()
        .unwrap()
        .record_use();
    let reader = find(&store, &conditions("example", 3)).unwrap().unwrap();

    let result = store.prune(&plan, false).unwrap();
    assert!(result.removed.is_empty());
    assert_eq!(result.missing, [gone]);
    assert_eq!(result.failed.len(), 1);
    assert_eq!(result.failed[0].file, used);
    assert!(!result.succeeded());
    let excluded: Vec<(&str, &str)> = result
        .excluded
        .iter()
        .map(|excluded| (excluded.file.as_str(), excluded.reason.as_str()))
        .collect();
    assert_eq!(excluded, [(opened.as_str(), "in use")]);
    drop(reader);
}

#[test]
fn pruning_keeps_digest_records_and_removes_what_the_dead_left() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    saved_at(&store, 1, 100, now());
    for name in [
        "weights-0123.json",
        "dead.building",
        "dead.lock",
        "gone.damaged",
    ] {
        std::fs::write(store.folder().join(name), b"").unwrap();
    }
    let rules = PruneRules {
        unused_for: None,
        max_size: Some(0),
    };
    let plan = store.plan_prune(&rules, now()).unwrap();
    store.prune(&plan, true).unwrap();
    assert_eq!(names(store.folder()).len(), 5);
    store.prune(&plan, false).unwrap();
    assert_eq!(names(store.folder()), ["weights-0123.json"]);
}

#[test]
fn verifying_finds_every_damaged_engine() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let good = saved_at(&store, 1, 5000, now());
    let bad = saved_at(&store, 2, 5000, now());
    let mut bytes = std::fs::read(store.folder().join(&bad)).unwrap();
    let middle = bytes.len() - 2500;
    bytes[middle] ^= 8;
    std::fs::write(store.folder().join(&bad), bytes).unwrap();
    std::fs::copy(
        store.folder().join(&good),
        store.folder().join("renamed-0.engine"),
    )
    .unwrap();
    let checked = store.verify_all(&Silent).unwrap();
    assert_eq!(checked.len(), 3);
    for checked in checked {
        let problem = checked.problem.as_deref();
        if checked.file == good {
            assert_eq!(problem, None);
        } else if checked.file == bad {
            assert!(
                problem.unwrap().contains("the plan is damaged"),
                "{problem:?}"
            );
        } else {
            assert!(
                problem.unwrap().contains("expected conditions"),
                "{problem:?}"
            );
        }
    }
}

#[test]
fn removing_takes_one_engine_that_nobody_uses() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    saved_at(&store, 1, 100, now());
    let outside = base.path().join("outside.engine");
    std::fs::copy(store.engine_path(&conditions("example", 1)), &outside).unwrap();
    let selector = Selector::Name("example".to_owned());
    let reader = find(&store, &conditions("example", 1)).unwrap().unwrap();
    assert!(matches!(
        store.remove(&selector),
        Err(StoreError::InUse { .. })
    ));
    assert!(matches!(
        store.remove(&Selector::File(outside.clone())),
        Err(StoreError::NotFound { .. })
    ));
    drop(reader);
    store.remove(&selector).unwrap();
    assert!(names(store.folder()).is_empty());
    assert!(matches!(
        store.remove(&selector),
        Err(StoreError::NotFound { .. })
    ));
    assert!(outside.exists());
}

#[test]
fn an_engine_moves_to_another_store_unchanged() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Store::at(here.path());
    let wanted = conditions("example", 1);
    let bytes = plan(1, 50_000);
    let mut building = guard(begin(&store, &wanted, BuildOptions::default()));
    std::io::Write::write_all(&mut building, &bytes).unwrap();
    let long: Value = vec!["reference"; 2000].into();
    let original = building
        .publish(Map::from([("long".to_owned(), long)]))
        .unwrap();

    let selector = Selector::Name("example".to_owned());
    let file = here.path().join("exported.engine");
    let (written, header) = store.export(&selector, &file, &Silent).unwrap();
    assert_eq!((&written, &header), (&file, original.header()));
    assert_eq!(
        std::fs::read(&file).unwrap(),
        std::fs::read(original.path()).unwrap()
    );
    let (in_folder, _) = store.export(&selector, here.path(), &Silent).unwrap();
    assert_eq!(in_folder.file_name(), original.path().file_name());
    // Without a store and without graph code.
    let opened = SavedEngine::open_file(&file, OpenOptions::default()).unwrap();
    assert_eq!(opened.plan(), bytes);

    let other = Store::at(there.path());
    let Imported::Saved(path) = other.import(&file, &Silent).unwrap() else {
        panic!("nothing was there before");
    };
    assert_eq!(path, other.engine_path(&wanted));
    let found = find(&other, &wanted).unwrap().unwrap();
    assert_eq!(found.plan(), bytes);
    assert_eq!(found.header().reference, original.header().reference);
    assert_eq!(
        found.header().created_at_ns,
        original.header().created_at_ns
    );
    assert_eq!(
        other.import(&file, &Silent).unwrap(),
        Imported::AlreadyThere(path)
    );
    assert_eq!(names(other.folder()).len(), 1);
}

#[test]
fn a_damaged_file_is_neither_exported_nor_imported() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let file = saved_at(&store, 1, 5000, now());
    let path = store.folder().join(file);
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let target = base.path().join("out");
    assert!(matches!(
        store.export(&Selector::Name("example".to_owned()), &target, &Silent),
        Err(StoreError::Corrupt(_))
    ));
    assert!(!target.exists());
    assert!(matches!(
        store.import(&path, &Silent),
        Err(StoreError::Corrupt(_))
    ));
}

#[test]
fn inspecting_an_engine_gives_its_header_and_its_plan() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let wanted = conditions("example", 1);
    let path = build(&store, &wanted, &plan(1, 5000)).path().to_owned();
    let inspected = inspect(&path).unwrap();
    assert_eq!(inspected.plan().unwrap(), plan(1, 5000));
    match inspected.kind() {
        FileKind::SavedEngine(header) => assert_eq!(header.conditions, wanted),
        other => panic!("{other:?}"),
    }
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    let damaged = base.path().join("damaged");
    std::fs::write(&damaged, bytes).unwrap();
    let inspected = inspect(&damaged).unwrap();
    assert!(inspected.plan().is_none());
    assert!(matches!(inspected.kind(), FileKind::DamagedPlan(header, _)
        if header.conditions == wanted));
}

#[test]
fn explaining_names_the_nearest_engines_and_what_differs() {
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let with = |device: &str, level: i64| {
        let mut wanted = Conditions::new("example").unwrap();
        wanted
            .set(&["backend", "device"], device)
            .set(&["settings", "optimization_level"], level);
        wanted.describe(&["graph", "layers"], vec!["relu: activation RELU"]);
        wanted
    };
    for (device, level) in [("A6000", 5), ("H200", 5)] {
        drop(build(&store, &with(device, level), b"plan"));
    }
    let wanted = with("H200", 3);
    let explanation = store.explain(&wanted).unwrap();
    assert!(!explanation.saved);
    assert_eq!(explanation.problem, None);
    let told: Vec<Vec<String>> = explanation
        .nearest
        .iter()
        .map(|near| near.differences.iter().map(ToString::to_string).collect())
        .collect();
    let level = "settings.optimization_level: saved 5, wanted 3";
    let device = r#"backend.device: saved "A6000", wanted "H200""#;
    assert_eq!(told, [vec![level], vec![device, level]]);

    drop(build(&store, &wanted, b"plan"));
    let explanation = store.explain(&wanted).unwrap();
    assert!(explanation.saved);
    assert_eq!(explanation.nearest.len(), 2);
    std::fs::write(store.engine_path(&wanted), b"cut").unwrap();
    let explanation = store.explain(&wanted).unwrap();
    assert!(!explanation.saved);
    assert!(explanation.problem.unwrap().contains("not a saved engine"));
    let entries = store.list().unwrap().entries;
    assert!(
        entries
            .iter()
            .any(|entry| matches!(entry.status, Status::Unrecognized { .. }))
    );
}
