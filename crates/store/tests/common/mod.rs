//! What the tests of saved engines share.
#![allow(dead_code, unreachable_pub)] // Each test binary uses a part.

use std::io::Write as _;
use std::path::Path;

use tensoracle_progress::Silent;
use tensoracle_store::{
    BuildGuard, BuildOptions, Conditions, Map, Outcome, SavedEngine, Store, StoreError,
};

/// Conditions of one engine of a family: `version` tells its members apart.
pub fn conditions(name: &str, version: i64) -> Conditions {
    let mut conditions = Conditions::new(name).unwrap();
    conditions
        .set(&["backend", "name"], "cpu")
        .set(&["version"], version);
    conditions
}

/// Bytes that are different everywhere and for every seed.
pub fn plan(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.finalize_xof().fill(&mut bytes);
    bytes
}

pub fn begin(store: &Store, conditions: &Conditions, options: BuildOptions) -> Outcome {
    store.begin_build(conditions, options, &Silent).unwrap()
}

pub fn guard(outcome: Outcome) -> BuildGuard {
    match outcome {
        Outcome::Build(guard) => guard,
        Outcome::Saved(engine) => panic!("expected to build, found {}", engine.path().display()),
    }
}

pub fn saved(outcome: Outcome) -> SavedEngine {
    match outcome {
        Outcome::Saved(engine) => engine,
        Outcome::Build(_) => panic!("expected a saved engine, was asked to build"),
    }
}

/// Builds and publishes `plan`.
pub fn build(store: &Store, conditions: &Conditions, plan: &[u8]) -> SavedEngine {
    let mut guard = guard(begin(store, conditions, BuildOptions::default()));
    guard.write_all(plan).unwrap();
    guard.publish(Map::new()).unwrap()
}

/// Opens `conditions` without building.
pub fn find(store: &Store, conditions: &Conditions) -> Result<Option<SavedEngine>, StoreError> {
    store.find(conditions, tensoracle_store::OpenOptions::default())
}

/// The names in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
