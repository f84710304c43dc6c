//! Python for developer tasks: the system's interpreter with pip, and virtual environments with
//! pinned requirements under the build folder. Nothing is ever installed into the system.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::lock::Lock;
use crate::workspace;

/// The interpreter found on the search path.
pub(crate) const SYSTEM: &str = "python3";

/// A virtual environment with pinned requirements, at `target/venv-NAME`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Venv {
    /// Tells it from other environments.
    pub(crate) name: &'static str,
    /// Requirements, as in a requirements file; their dependencies come along.
    pub(crate) requirements: &'static [&'static str],
    /// Requirements installed without their dependencies and whatever Python they ask for.
    pub(crate) alone: &'static [&'static str],
}

impl Venv {
    /// The environment's interpreter; the environment is made first if it is not there or its
    /// requirements or the system's Python changed.
    pub(crate) fn python(&self) -> Result<PathBuf> {
        let folder = workspace::target().join(format!("venv-{}", self.name));
        self.python_in(&folder)
    }

    fn python_in(&self, folder: &Path) -> Result<PathBuf> {
        let what = format!("the Python environment {}", workspace::shown(folder));
        let _lock = Lock::take(&folder.with_extension("lock"), &what)?;
        let python = folder.join("bin/python");
        // Written last, so an environment without it was not finished.
        let stamp = folder.join("made-from.txt");
        let made_from = format!(
            "{}\n{}\nalone:\n{}\n",
            version()?,
            self.requirements.join("\n"),
            self.alone.join("\n")
        );
        if python.exists() && std::fs::read_to_string(&stamp).is_ok_and(|text| text == made_from) {
            return Ok(python);
        }
        let all: Vec<_> = self
            .requirements
            .iter()
            .chain(self.alone)
            .copied()
            .collect();
        eprintln!("making {what} with {}", all.join(", "));
        let status = Command::new(SYSTEM)
            .args(["-m", "venv", "--clear"])
            .arg(folder)
            .stdout(Stdio::from(std::io::stderr()))
            .status()?;
        ensure!(
            status.success(),
            "`{SYSTEM} -m venv` failed ({status}): it needs the venv module; \
             on Debian and Ubuntu `apt-get install python3-venv` brings it"
        );
        install(&python, self.requirements, &["--prefer-binary"])?;
        install(
            &python,
            self.alone,
            &["--no-deps", "--ignore-requires-python"],
        )?;
        std::fs::write(&stamp, made_from)
            .with_context(|| format!("cannot write {}", stamp.display()))?;
        Ok(python)
    }
}

fn install(python: &Path, requirements: &[&str], options: &[&str]) -> Result<()> {
    if requirements.is_empty() {
        return Ok(());
    }
    let mut pip = pip(python)?;
    pip.arg("install").args(options);
    if !std::io::stderr().is_terminal() {
        pip.arg("--quiet");
    }
    let status = pip
        .args(requirements)
        .stdout(Stdio::from(std::io::stderr()))
        .status()?;
    ensure!(
        status.success(),
        "pip could not install {} ({status}): what it printed above says why; when the package \
         index cannot be reached, check the network and pip's settings and run this again",
        requirements.join(", ")
    );
    Ok(())
}

/// A command that runs the given interpreter's pip.
pub(crate) fn pip(python: impl AsRef<Path>) -> Result<Command> {
    let python = python.as_ref();
    let probe = Command::new(python)
        .args(["-m", "pip", "--version"])
        .output();
    let probe = probe.with_context(|| {
        format!(
            "cannot run {}: install Python 3.9 or newer with pip",
            python.display()
        )
    })?;
    ensure!(
        probe.status.success(),
        "{} has no pip: on Debian and Ubuntu `apt-get install python3-pip python3-venv` brings it",
        python.display()
    );
    let mut command = Command::new(python);
    command.args(["-m", "pip", "--disable-pip-version-check", "--no-input"]);
    Ok(command)
}

fn version() -> Result<String> {
    let output = Command::new(SYSTEM)
        .arg("--version")
        .output()
        .with_context(|| {
            format!("cannot run {SYSTEM}: install Python 3.9 or newer with its venv module")
        })?;
    ensure!(
        output.status.success(),
        "`{SYSTEM} --version` failed ({})",
        output.status
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_reused_until_its_requirements_change() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("venv");
        // pip itself is in every new environment, so this test needs no package index.
        let venv = Venv {
            name: "test",
            requirements: &["pip"],
            alone: &[],
        };
        let python = venv.python_in(&folder).unwrap();
        let marker = folder.join("marker");
        std::fs::write(&marker, "").unwrap();
        assert_eq!(venv.python_in(&folder).unwrap(), python);
        assert!(
            marker.exists(),
            "the environment was made again without need"
        );

        let changed = Venv {
            requirements: &["pip", "pip>=1"],
            ..venv
        };
        changed.python_in(&folder).unwrap();
        assert!(!marker.exists(), "the environment was not made again");
    }

    #[test]
    fn a_missing_interpreter_is_named() {
        let error = pip("/nowhere/python3").unwrap_err().to_string();
        assert!(error.contains("/nowhere/python3"), "{error}");
    }
}
