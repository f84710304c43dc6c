//! Builds a program of this workspace in release mode, with cargo's own progress shown.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// The path of the release build of a package's program that bears the package's name.
pub(crate) fn program(package: &str) -> Result<PathBuf> {
    program_named(package, package)
}

/// The path of the release build of a package's program of another name.
pub(crate) fn program_named(package: &str, name: &str) -> Result<PathBuf> {
    build(package, &["--bin", name])?;
    Ok(built(name))
}

/// The path of the release build of a package's example.
pub(crate) fn example(package: &str, example: &str) -> Result<PathBuf> {
    build(package, &["--example", example])?;
    Ok(built(&format!("examples/{example}")))
}

fn build(package: &str, what: &[&str]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(workspace::root())
        .args(["build", "--release", "--package", package])
        .args(what)
        // The standard output belongs to whoever asked for --json.
        .stdout(Stdio::from(std::io::stderr()))
        .status()
        .context("cannot run cargo")?;
    ensure!(
        status.success(),
        "building {package} failed ({status}): see cargo's messages above"
    );
    Ok(())
}

fn built(name: &str) -> PathBuf {
    workspace::target()
        .join("release")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}
