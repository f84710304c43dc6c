//! What every hostile file is held to: time, memory, and nothing left behind.
//!
//! What is left out: the files.

use crate::forge::{checkpoint, tensor};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use tensoracle_checkpoint::{Error, Kind, Options, Problem, Summary, convert};
use tensoracle_progress::Silent;

const SECOND: f64 = 1.0;

const MEMORY_KIB: u64 = 64 << 10;

/// Only one test runs at a time, since memory is that of the process.
static TURN: Mutex<()> = Mutex::new(());

/// Waits for a turn and keeps it; every test starts with it.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number of /proc/self/status in KiB, where there is one.
pub(crate) fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':')
        .trim()
        .split(' ')
        .next()?
        .parse()
        .ok()
}

/// Seconds of processor time that this thread has taken, where the system tells.
pub(crate) fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().ok()? + fields[12].parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

/// Converts `bytes` and checks time, memory and, on refusal, that nothing is left behind.
pub(crate) fn attempt(bytes: &[u8], options: &Options) -> Result<Summary, Error> {
    assert!(
        matches!(TURN.try_lock(), Err(TryLockError::WouldBlock)),
        "the test has not taken its turn"
    );
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    std::fs::write(&source, bytes).unwrap();
    let destination = folder.path().join("out.safetensors");
    // Makes the peak the present size; without that the peak is of the whole process, which is
    // checked all the same.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let (memory, time) = (status("VmRSS"), processor_seconds());
    let outcome = convert(&source, &destination, options, &Silent);
    if let (Some(before), Some(after)) = (time, processor_seconds()) {
        assert!(after - before < SECOND, "{} s", after - before);
    }
    if let (Some(before), Some(peak)) = (memory, status("VmHWM")) {
        // The mapped source is not counted.
        let mapped = bytes.len() as u64 / 1024;
        let grown = peak.saturating_sub(before + mapped);
        assert!(grown < MEMORY_KIB, "{grown} KiB");
    }
    if outcome.is_err() {
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    outcome
}

pub(crate) fn refuse(bytes: &[u8]) -> Error {
    attempt(bytes, &Options::default()).unwrap_err()
}

pub(crate) fn problem(bytes: &[u8]) -> Problem {
    match refuse(bytes) {
        Error::InFile { problem, .. } => problem,
        other => panic!("{other:?}"),
    }
}

/// What is wrong with a pickle, of one whose value is a mapping.
pub(crate) fn pickle_problem(body: &[u8]) -> String {
    match problem(&checkpoint(body)) {
        Problem::Pickle { problem, .. } => problem,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn entries(bytes: &[u8]) -> Vec<(Option<String>, Kind)> {
    match refuse(bytes) {
        Error::Refused { refusal, .. } => refusal
            .entries
            .into_iter()
            .map(|entry| (entry.path, entry.kind))
            .collect(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn one_tensor() -> Vec<u8> {
    tensor(4, 0, &[4], &[1])
}

pub(crate) fn too_much(bytes: &[u8]) -> bool {
    matches!(problem(bytes), Problem::TooMuchMetadata { .. })
}
