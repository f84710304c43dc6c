//! What tests of all crates share: where golden and fetched files lie, and skips that are counted.
//!
//! A test that needs something this machine may lack skips with a reason:
//!
//! ```no_run
//! use tensoracle_test_support::{fetched, skip};
//!
//! fn reads_real_weights() {
//!     let path = fetched!("silero-vad/silero_vad_16k.safetensors");
//!     assert!(path.is_file());
//! }
//!
//! fn compiles_with_gpp() {
//!     if std::process::Command::new("g++").arg("--version").output().is_err() {
//!         skip!("g++ is not installed");
//!     }
//! }
//! ```
//!
//! `cargo xtask test` sets the variables named here, fetches the files, and prints and counts the
//! skips. Under plain `cargo test` the files are those that `cargo xtask fetch` left, and a skip
//! is a line on the standard error.

#![forbid(unsafe_code)]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Names the file to which each skip appends one line: test, tab, reason.
pub const SKIPS: &str = "TENSORACLE_SKIPS";

/// Turns skips into failures when it is set to `1`, but for those for lack of hardware.
pub const REQUIRE_ALL: &str = "TENSORACLE_REQUIRE_ALL";

/// Names the folder that holds fetched files.
pub const FETCHED: &str = "TENSORACLE_FETCHED";

/// Leaves the test with a reason, which is counted and printed, unless `TENSORACLE_REQUIRE_ALL=1`
/// makes it a failure. Takes what `format!` takes. Only for test functions that return `()`.
#[macro_export]
macro_rules! skip {
    ($($reason:tt)*) => {{
        $crate::record_skip($crate::Lacking::Installable, &::std::format!($($reason)*));
        return;
    }};
}

/// Like [`skip!`], for lack of hardware, which nobody can install: `TENSORACLE_REQUIRE_ALL=1` lets
/// it pass, counted and printed.
#[macro_export]
macro_rules! skip_hardware {
    ($($reason:tt)*) => {{
        $crate::record_skip($crate::Lacking::Hardware, &::std::format!($($reason)*));
        return;
    }};
}

/// The path of a fetched file, given as `PACKAGE/FILE`; skips the test where it is not there.
#[macro_export]
macro_rules! fetched {
    ($file:expr) => {
        match $crate::find_fetched($file) {
            ::std::result::Result::Ok(path) => path,
            ::std::result::Result::Err(reason) => $crate::skip!("{reason}"),
        }
    };
}

/// The path of the golden file `NAME.safetensors`. Goldens are part of the repository, so nothing
/// is ever skipped for lack of one.
pub fn golden(name: &str) -> PathBuf {
    root()
        .join("tests/data/golden")
        .join(format!("{name}.safetensors"))
}

/// The path of a fetched file, or the reason why it is not there.
pub fn find_fetched(file: &str) -> Result<PathBuf, String> {
    let folder = match std::env::var_os(FETCHED) {
        Some(folder) => PathBuf::from(folder),
        None => match std::env::var_os("CARGO_TARGET_DIR") {
            Some(target) => root().join(target).join("fetch"),
            None => root().join("target/fetch"),
        },
    };
    let path = folder.join(file);
    if path.is_file() {
        return Ok(path);
    }
    let package = file.split('/').next().unwrap_or(file);
    Err(format!(
        "{file} is not fetched: run `cargo xtask fetch {package}`"
    ))
}

/// What sort of thing a skipped test lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lacking {
    /// A program or a file that can be installed or fetched.
    Installable,
    /// A device, such as a GPU.
    Hardware,
}

/// What [`skip!`] and [`skip_hardware!`] do before they leave the test.
///
/// # Panics
///
/// When `TENSORACLE_REQUIRE_ALL=1` is set and the lack could be mended, or the file named by `TENSORACLE_SKIPS` cannot be
/// written: the test then fails.
#[track_caller]
pub fn record_skip(lacking: Lacking, reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let required = std::env::var_os(REQUIRE_ALL).is_some_and(|value| value == "1");
    let tolerated = !required || lacking == Lacking::Hardware;
    assert!(
        tolerated,
        "{test} may not be skipped ({REQUIRE_ALL}=1), but {reason}"
    );
    let line = format!("{test}\t{}\n", reason.replace(['\n', '\t'], " "));
    match std::env::var_os(SKIPS) {
        Some(path) => append(Path::new(&path), &line),
        // The harness captures this unless asked not to; the runner's file is what counts.
        None => std::io::stderr().write_all(format!("SKIPPED {line}").as_bytes()),
    }
    .unwrap_or_else(|error| panic!("cannot record that {test} was skipped: {error}"));
}

/// Appends in one write, so that lines of tests in other processes do not mix.
fn append(path: &Path, line: &str) -> std::io::Result<()> {
    File::options()
        .create(true)
        .append(true)
        .open(path)?
        .write_all(line.as_bytes())
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Runs one of the ignored tests below in a process of its own, with its own environment.
    fn run_ignored(test: &str, variables: &[(&str, &str)]) -> std::process::Output {
        Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", test, "--nocapture"])
            .env_remove(REQUIRE_ALL)
            .env_remove(SKIPS)
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }

    #[test]
    #[ignore = "run by the tests that look at what it leaves"]
    fn skipping() {
        let file = fetched!("no-package/no-file");
        panic!(
            "there is no such file, yet it was found: {}",
            file.display()
        );
    }

    #[test]
    #[ignore = "run by the test that looks at what it leaves"]
    fn skipping_for_hardware() {
        skip_hardware!("there is no GPU");
    }

    #[test]
    fn a_skip_passes_and_is_recorded_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let skips = folder.path().join("skips");
        let output = run_ignored("tests::skipping", &[(SKIPS, skips.to_str().unwrap())]);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
        assert_eq!(
            std::fs::read_to_string(skips).unwrap(),
            "tests::skipping\tno-package/no-file is not fetched: \
             run `cargo xtask fetch no-package`\n"
        );
    }

    #[test]
    fn without_a_runner_a_skip_is_told_on_the_standard_error() {
        let output = run_ignored("tests::skipping", &[]);
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            text.contains("SKIPPED tests::skipping\tno-package/no-file"),
            "{text}"
        );
    }

    #[test]
    fn a_skip_fails_where_all_is_required() {
        let output = run_ignored("tests::skipping", &[(REQUIRE_ALL, "1")]);
        assert!(!output.status.success());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("may not be skipped"), "{text}");
    }

    #[test]
    fn a_skip_for_lack_of_hardware_never_fails() {
        let output = run_ignored("tests::skipping_for_hardware", &[(REQUIRE_ALL, "1")]);
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            text.contains("SKIPPED tests::skipping_for_hardware\tthere is no GPU"),
            "{text}"
        );
    }

    #[test]
    fn goldens_are_there() {
        for name in ["silero_vad", "minilm_l6", "effnet_lite0"] {
            assert!(golden(name).is_file(), "{name}");
        }
    }
}
