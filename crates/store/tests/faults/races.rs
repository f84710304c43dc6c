//! Processes that want the same engine, another one, or a smaller folder at the same time.

use std::time::{Duration, SystemTime};

use tensoracle_store::{PruneRules, Store};

use crate::NAME;
use crate::common::{conditions, names};
use crate::worker::Worker;

/// Starts one process for each of `keys` at once and counts those that built and that reused.
fn race(keys: &[i64]) -> (usize, usize) {
    let base = tempfile::tempdir().unwrap();
    let mut workers: Vec<Worker> = keys
        .iter()
        .map(|key| Worker::start(base.path(), &["share", &key.to_string()]))
        .collect();
    for worker in &mut workers {
        assert_eq!(worker.line().as_deref(), Some("ready"));
    }
    workers.iter_mut().for_each(Worker::go);
    let said: Vec<String> = workers.into_iter().flat_map(Worker::finish).collect();
    let mut expected: Vec<String> = keys
        .iter()
        .map(|key| format!("{}.engine", conditions(NAME, *key).file_stem()))
        .collect();
    expected.sort();
    expected.dedup();
    assert_eq!(names(Store::at(base.path()).folder()), expected);
    let count = |word: &str| said.iter().filter(|line| *line == word).count();
    (count("built"), count("reused"))
}

const ROUNDS: usize = 10;

pub(crate) fn one_key() -> String {
    for _ in 0..ROUNDS {
        assert_eq!(race(&[1; 8]), (1, 7));
    }
    format!("{ROUNDS} rounds, each 1 build and 7 reuses")
}

pub(crate) fn two_keys() -> String {
    for _ in 0..ROUNDS {
        assert_eq!(race(&[1, 2, 1, 2, 1, 2, 1, 2]), (2, 6));
    }
    format!("{ROUNDS} rounds, each 2 builds and 6 reuses")
}

const OPENERS: usize = 4;

pub(crate) fn pruning() -> String {
    let seconds = std::env::var("TENSORACLE_RACE_SECONDS").unwrap_or_else(|_| "5".to_owned());
    let base = tempfile::tempdir().unwrap();
    let store = Store::at(base.path());
    let openers: Vec<Worker> = (0..OPENERS)
        .map(|_| Worker::start(base.path(), &["open", &seconds]))
        .collect();
    let rules = PruneRules {
        unused_for: None,
        max_size: Some(0),
    };
    let seconds: u64 = seconds.parse().unwrap();
    let end = SystemTime::now() + Duration::from_secs(seconds);
    let (mut rounds, mut removed, mut spared) = (0, 0, 0);
    while SystemTime::now() < end {
        let plan = store.plan_prune(&rules, SystemTime::now()).unwrap();
        let result = store.prune(&plan, false).unwrap();
        rounds += 1;
        removed += result.removed.len();
        spared += result.excluded.len() + result.failed.len() + result.missing.len();
    }
    let mut counts = [0_u64; 2];
    for opener in openers {
        let said = opener.finish();
        for (count, line) in counts.iter_mut().zip(&said) {
            *count += line.parse::<u64>().unwrap();
        }
    }
    let [opened, built] = counts;
    assert!(removed > 0 && opened > 0, "{removed} {opened}");
    format!(
        "{seconds} s, {OPENERS} openers without an error: {opened} reuses, {built} builds; \
         {rounds} prunings removed {removed} engines and spared {spared}"
    )
}
