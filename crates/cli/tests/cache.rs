//! `tensoracle cache`, as scripts see it: its output is no terminal here.

mod common;

use common::{Cache, settings};
use insta::assert_snapshot;
use tensoracle_store::{OpenOptions, Selector};

#[test]
fn list() {
    let cache = Cache::new();
    cache.save("example", 3, 0, b"plan");
    let folder = cache.store().folder().to_owned();
    std::fs::write(folder.join("empty.engine"), b"").unwrap();
    std::fs::write(folder.join("foreign.engine"), b"hello").unwrap();
    let time = std::fs::metadata(cache.save("other", 3, 0, b"plan")).unwrap();
    for file in ["empty.engine", "foreign.engine"] {
        let file = std::fs::File::open(folder.join(file)).unwrap();
        file.set_modified(time.modified().unwrap()).unwrap();
    }
    settings(&cache).bind(|| assert_snapshot!(cache.run(&["cache", "list"])));
}

#[test]
fn list_of_nothing() {
    let cache = Cache::new();
    settings(&cache).bind(|| assert_snapshot!(cache.run(&["cache", "list"])));
}

#[test]
fn prune_by_age() {
    let cache = Cache::new();
    let old = cache.save("example", 3, 0, b"old plan");
    let dry = cache.run(&["cache", "prune", "--unused-for", "30", "--dry-run"]);
    assert!(old.exists());
    let done = cache.run(&["cache", "prune", "--unused-for", "30"]);
    assert!(!old.exists());
    settings(&cache).bind(|| {
        assert_snapshot!("prune_by_age_dry_run", dry);
        assert_snapshot!("prune_by_age", done);
    });
}

#[test]
fn prune_by_size_that_cannot_be_reached() {
    let cache = Cache::new();
    let (used, idle) = (
        cache.save("example", 3, 0, b"plan"),
        cache.save("example", 4, 1, b"plan"),
    );
    let reader = tensoracle_store::SavedEngine::open_file(&used, OpenOptions::default()).unwrap();
    let output = cache.run(&["cache", "prune", "--max-size", "0.5KiB"]);
    assert!(used.exists() && !idle.exists());
    drop(reader);
    settings(&cache).bind(|| assert_snapshot!(output));
}

#[test]
fn prune_wants_a_rule() {
    let cache = Cache::new();
    for words in [
        &["cache", "prune"][..],
        &["cache", "prune", "--unused-for", "-1"],
        &["cache", "prune", "--max-size", "1 GB"],
        &["cache", "prune", "--unused-for", "soon"],
    ] {
        let output = cache.run(words);
        assert!(output.starts_with("exit status 2"), "{words:?}: {output}");
    }
    settings(&cache).bind(|| {
        assert_snapshot!(cache.run(&["cache", "prune", "--max-size", "1 GB"]));
    });
}

#[test]
fn verify() {
    let cache = Cache::new();
    let engine = cache.save("example", 3, 0, b"plan");
    assert!(cache.run(&["cache", "verify"]).starts_with("exit status 0"));
    let mut bytes = std::fs::read(&engine).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&engine, bytes).unwrap();
    settings(&cache).bind(|| {
        assert_snapshot!(cache.run(&["cache", "verify", "example"]));
    });
}

#[test]
fn path_and_its_errors() {
    let cache = Cache::new();
    cache.save("example", 3, 0, b"plan");
    cache.save("twice", 3, 0, b"plan");
    cache.save("twice", 4, 0, b"plan");
    let outputs: Vec<String> = [
        &["cache", "path"][..],
        &["cache", "path", "example"],
        &["cache", "path", "twice"],
        &["cache", "path", "absent"],
    ]
    .iter()
    .map(|words| cache.run(words))
    .collect();
    settings(&cache).bind(|| assert_snapshot!(outputs.join("\n")));
}

#[test]
fn remove_takes_what_nobody_uses() {
    let cache = Cache::new();
    let engine = cache.save("example", 3, 0, b"plan");
    let selector = Selector::Name("example".to_owned());
    let reader = cache
        .store()
        .open_selected(&selector, OpenOptions::default())
        .unwrap();
    let refused = cache.run(&["cache", "remove", "example"]);
    assert!(engine.exists());
    drop(reader);
    let removed = cache.run(&["cache", "remove", "example"]);
    assert!(!engine.exists());
    settings(&cache).bind(|| assert_snapshot!(format!("{refused}\n{removed}")));
}

#[test]
fn export_and_import() {
    let (here, there) = (Cache::new(), Cache::new());
    let engine = here.save("example", 3, 0, b"plan");
    let file = there.path().join("exported.engine");
    let exported = here.run(&["cache", "export", "example", file.to_str().unwrap()]);
    assert!(exported.starts_with("exit status 0"), "{exported}");
    let outputs = [
        there.run(&["cache", "import", "exported.engine"]),
        there.run(&["cache", "import", "exported.engine"]),
        there.run(&["cache", "import", "absent.engine"]),
    ];
    let copy = there.store().folder().join(engine.file_name().unwrap());
    assert_eq!(std::fs::read(copy).unwrap(), std::fs::read(engine).unwrap());
    settings(&there).bind(|| assert_snapshot!(outputs.join("\n")));
}

#[test]
fn help() {
    let cache = Cache::new();
    settings(&cache).bind(|| {
        assert_snapshot!("help_cache", cache.run(&["cache", "--help"]));
        assert_snapshot!("help_prune", cache.run(&["cache", "prune", "--help"]));
    });
}
