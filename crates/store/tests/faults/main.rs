//! The fault suite: processes that race, die, run out of disk and meet damaged files.
//!
//! After each fault: never a wrong engine, never a stuck one, and after the next build the folder
//! holds exactly the engines. Prints what was done and how often. Arguments choose scenarios by
//! part of their name; `TENSORACLE_RACE_SECONDS` sets how long pruning races openers.

#![expect(clippy::print_stdout, reason = "the counts are what the suite is for")]

#[path = "../common/mod.rs"]
mod common;
mod damage;
mod disk;
mod kills;
mod races;
mod worker;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{conditions, names, plan};
use tensoracle_progress::Silent;
use tensoracle_store::{BuildOptions, Map, Outcome, Store, Wait};

/// A scenario by name. It panics where the store fails, and says what it did.
type Scenario = (&'static str, fn() -> String);

const SCENARIOS: &[Scenario] = &[
    ("one key: 8 processes", races::one_key),
    ("two keys: 8 processes", races::two_keys),
    ("kill -9 of the builder", kills::kills),
    ("truncation", damage::truncations),
    ("bit flips", damage::bit_flips),
    ("foreign files", damage::foreign_files),
    ("disk full and I/O errors", disk::failing_steps),
    ("pruning beside openers", races::pruning),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "worker") {
        worker::run(&arguments[1..]);
        return;
    }
    let filters: Vec<&String> = arguments
        .iter()
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let start = Instant::now();
    let mut done = 0;
    for (name, scenario) in SCENARIOS {
        if filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str())) {
            let start = Instant::now();
            let summary = scenario();
            println!("{name} ({:.1} s): {summary}", start.elapsed().as_secs_f64());
            done += 1;
        }
    }
    println!(
        "{done} fault scenarios passed in {:.1} s",
        start.elapsed().as_secs_f64()
    );
}

/// The engine's name in all scenarios.
const NAME: &str = "example";

/// Bytes of the plans: several pieces of one write each, in one builder's chunks.
const PLAN_BYTES: usize = 96 << 10;

/// The plan that key `key` has in its `generation`-th build.
fn plan_of(key: i64, generation: u64) -> Vec<u8> {
    plan(key as u64 * 1000 + generation, PLAN_BYTES)
}

/// What the file system looks like before a builder starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// No engine.
    Nothing,
    /// An intact engine of generation 0, to be replaced by force.
    Old,
    /// An engine of generation 0 with a flipped bit.
    Damaged,
}

impl Before {
    const ALL: [Self; 3] = [Self::Nothing, Self::Old, Self::Damaged];

    fn prepare(self, base: &Path) -> Store {
        let store = Store::at(base);
        if self != Self::Nothing {
            let wanted = conditions(NAME, 1);
            let path = common::build(&store, &wanted, &plan_of(1, 0))
                .path()
                .to_owned();
            if self == Self::Damaged {
                let mut bytes = std::fs::read(&path).unwrap();
                let middle = bytes.len() - PLAN_BYTES / 2;
                bytes[middle] ^= 1;
                std::fs::write(&path, bytes).unwrap();
            }
        }
        store
    }

    fn options(self) -> BuildOptions {
        BuildOptions {
            force: self == Self::Old,
            ..BuildOptions::default()
        }
    }

    /// Whether `find` may answer so after a builder of generation 1 failed or died.
    fn allows(self, found: &Found) -> bool {
        match found {
            Found::Generation(1) => true,
            Found::Generation(_) => self == Self::Old,
            Found::Nothing => self != Self::Old,
            Found::Damaged => self == Self::Damaged,
        }
    }
}

/// What a reader finds.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    Damaged,
    Generation(u64),
}

fn look(store: &Store) -> Found {
    match common::find(store, &conditions(NAME, 1)) {
        Ok(None) => Found::Nothing,
        Ok(Some(engine)) => (0..3)
            .find(|generation| engine.plan() == plan_of(1, *generation))
            .map(Found::Generation)
            .expect("an engine with a plan that nobody wrote"),
        Err(_) => Found::Damaged,
    }
}

/// Checks what is found after a fault, that the next process opens or builds without waiting,
/// and that the build after that leaves exactly the engines. Returns what was found first.
fn check_aftermath(store: &Store, before: Before, fault: &str) -> Found {
    let found = look(store);
    assert!(
        before.allows(&found),
        "{before:?}, {fault}: found {found:?}"
    );

    let options = BuildOptions {
        wait: Wait::AtMost(Duration::from_secs(10)),
        ..BuildOptions::default()
    };
    let next = |version: i64, generation: u64| {
        let wanted = conditions(NAME, version);
        match store.begin_build(&wanted, options, &Silent) {
            Ok(Outcome::Saved(engine)) => engine,
            Ok(Outcome::Build(mut build)) => {
                std::io::Write::write_all(&mut build, &plan_of(version, generation)).unwrap();
                build.publish(Map::new()).unwrap()
            }
            Err(error) => panic!("{before:?}, {fault}: the next builder failed: {error}"),
        }
    };
    drop(next(1, 2));
    assert!(matches!(look(store), Found::Generation(_)));
    drop(next(2, 0));
    let mut expected =
        [1, 2].map(|version| format!("{}.engine", conditions(NAME, version).file_stem()));
    expected.sort();
    assert_eq!(names(store.folder()), expected, "{before:?}, {fault}");
    found
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    /// A number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        let hash = blake3::hash(&self.0.to_le_bytes());
        self.0 += 1;
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hash.as_bytes()[..8]);
        u64::from_le_bytes(bytes) % limit
    }
}
