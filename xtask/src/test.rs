//! `cargo xtask test`: fetches what tests read, runs all tests and doc tests, and counts what was
//! skipped and why.
//!
//! How a test skips and finds its files is the subject of the crate `tensoracle-test-support`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use tensoracle_test_support::{FETCHED, REQUIRE_ALL, SKIPS};

use crate::packages::ALL;
use crate::{fetch, workspace};

/// Arguments of `cargo xtask test`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Given to `cargo test`; without any, the whole workspace is tested
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    cargo: Vec<String>,
}

/// `cargo xtask test`.
pub(crate) fn run(args: &Args) -> Result<()> {
    let required = std::env::var_os(REQUIRE_ALL).is_some_and(|value| value == "1");
    if let Err(error) = fetch::fetch(ALL) {
        if required {
            return Err(error);
        }
        eprintln!("warning: {error:#}\nwarning: tests that read these files will be skipped");
    }
    let skips = workspace::target().join(format!("skips-{}.txt", std::process::id()));
    std::fs::write(&skips, "").with_context(|| format!("cannot write {}", skips.display()))?;

    let whole: &[String] = &["--workspace", "--all-features", "--no-fail-fast"].map(str::to_owned);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut child = Command::new(cargo)
        .current_dir(workspace::root())
        .arg("test")
        .args(if args.cargo.is_empty() {
            whole
        } else {
            &args.cargo
        })
        .env(FETCHED, fetch::folder())
        .env(SKIPS, &skips)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run cargo")?;
    let mut tally = Tally::default();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            tally.read(&line);
        }
    }
    let status = child.wait()?;
    report(tally, &skips)?;
    ensure!(status.success(), "cargo test failed ({status})");
    Ok(())
}

/// Prints the skipped tests with their reasons and the closing line.
fn report(tally: Tally, skips: &Path) -> Result<()> {
    let text = std::fs::read_to_string(skips)
        .with_context(|| format!("cannot read {}", skips.display()))?;
    std::fs::remove_file(skips)?;
    let mut skipped: Vec<_> = text
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .collect();
    skipped.sort_unstable();
    println!();
    for (test, reason) in &skipped {
        println!("skipped: {test}: {reason}");
    }
    // The harness counts a test that skips as passed.
    let passed = tally.passed.saturating_sub(skipped.len());
    println!(
        "{passed} passed, {} failed, {} skipped",
        tally.failed,
        skipped.len()
    );
    Ok(())
}

/// Counts summed over the closing lines of all test programs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Tally {
    passed: usize,
    failed: usize,
}

impl Tally {
    /// Adds `test result: ok. 3 passed; 0 failed; ...`; other lines add nothing.
    fn read(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else {
            return;
        };
        let count = |what: &str| -> usize {
            let before = counts.split(what).next().filter(|before| *before != counts);
            let number = before.and_then(|before| before.split_whitespace().last());
            number.and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        self.passed += count(" passed");
        self.failed += count(" failed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_summed() {
        let mut tally = Tally::default();
        tally.read("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out");
        tally.read("test something ... ok");
        tally.read("test result: FAILED. 3 passed; 21 failed; 0 ignored; 0 measured");
        assert_eq!(
            tally,
            Tally {
                passed: 15,
                failed: 21
            }
        );
    }
}
