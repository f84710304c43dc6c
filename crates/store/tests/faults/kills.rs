//! Builders that are killed: at every step that they take, and at random moments.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::worker::Worker;
use crate::{Before, Found, Numbers, check_aftermath};

/// Kills in all.
const KILLS: usize = 200;

/// A worker's pause at each step when it is killed at a random moment.
const PACE_MS: u64 = 2;

pub(crate) fn kills() -> String {
    let mut at: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeMap::new();
    let mut count = |step: String, outcome: Found| {
        *at.entry(step).or_insert(0) += 1;
        *found.entry(format!("{outcome:?}")).or_insert(0) += 1;
    };
    let mut kills = 0;
    for before in Before::ALL {
        let steps = steps_of(before);
        for (index, step) in steps.iter().enumerate() {
            let outcome = kill_at(before, index, step);
            count(step.clone(), outcome);
            kills += 1;
        }
    }
    let named = kills;
    let mut numbers = Numbers(1);
    while kills < KILLS {
        let before = Before::ALL[numbers.below(3) as usize];
        let delay = Duration::from_micros(numbers.below(20 * PACE_MS * 1000));
        if let Some((step, outcome)) = kill_after(before, delay) {
            count(step, outcome);
            kills += 1;
        }
    }
    format!(
        "{kills} kills, {named} at each step in turn and {} at random moments; last step begun: \
         {}; readers then found: {}",
        kills - named,
        listed(&at),
        listed(&found)
    )
}

fn listed(counts: &BTreeMap<String, usize>) -> String {
    let items: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    items.join(", ")
}

fn force(before: Before) -> &'static str {
    if before.options().force { "force" } else { "" }
}

/// The steps that a builder takes when nobody kills it.
fn steps_of(before: Before) -> Vec<String> {
    let base = tempfile::tempdir().unwrap();
    before.prepare(base.path());
    let never = usize::MAX.to_string();
    let worker = Worker::start(base.path(), &["build", &never, "0", force(before)]);
    let steps: Vec<String> = worker
        .finish()
        .into_iter()
        .filter(|line| line != "published")
        .collect();
    assert!(steps.len() > 8, "{steps:?}");
    steps
}

fn kill_at(before: Before, index: usize, step: &str) -> Found {
    let base = tempfile::tempdir().unwrap();
    let store = before.prepare(base.path());
    let stop = index.to_string();
    let mut worker = Worker::start(base.path(), &["build", &stop, "0", force(before)]);
    while let Some(line) = worker.line() {
        if line == "stopped" {
            let (_, killed) = worker.kill();
            assert!(killed);
            return check_aftermath(&store, before, &format!("killed before {step}"));
        }
    }
    panic!("{before:?}: the builder ended before step {index}, {step}");
}

/// Kills a builder after `delay`; `None` when it had ended by then.
fn kill_after(before: Before, delay: Duration) -> Option<(String, Found)> {
    let base = tempfile::tempdir().unwrap();
    let store = before.prepare(base.path());
    let never = usize::MAX.to_string();
    let pace = PACE_MS.to_string();
    let mut worker = Worker::start(base.path(), &["build", &never, &pace, force(before)]);
    let first = worker.line();
    std::thread::sleep(delay);
    let (rest, killed) = worker.kill();
    if !killed {
        return None;
    }
    let last = rest
        .into_iter()
        .rev()
        .find(|line| line != "published")
        .or(first)?;
    let outcome = check_aftermath(&store, before, &format!("killed {delay:?} after the start"));
    Some((last, outcome))
}
