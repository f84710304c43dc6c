//! The text files of the repository, by their path from its root.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// Text files by path; files that are not UTF-8 have no text.
#[derive(Debug, Default)]
pub(super) struct Tree {
    files: BTreeMap<String, Option<String>>,
}

impl Tree {
    /// The files that git tracks or would track: neither ignored nor deleted.
    pub(super) fn tracked() -> Result<Self> {
        let output = Command::new("git")
            .current_dir(workspace::root())
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .output()
            .context("cannot run git")?;
        ensure!(
            output.status.success(),
            "git ls-files failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        let mut files = BTreeMap::new();
        for path in String::from_utf8(output.stdout)?.split_terminator('\0') {
            let full = workspace::root().join(path);
            if full.is_file() {
                let bytes = std::fs::read(&full).with_context(|| format!("cannot read {path}"))?;
                files.insert(path.to_owned(), String::from_utf8(bytes).ok());
            }
        }
        Ok(Self { files })
    }

    /// A tree of the given paths and texts.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let own = |&(path, text): &(&str, &str)| (path.to_owned(), Some(text.to_owned()));
        Self {
            files: files.iter().map(own).collect(),
        }
    }

    /// How many files there are.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is such a file.
    pub(super) fn contains(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Whether there is a file in such a folder; `folder` ends with a slash.
    pub(super) fn has_folder(&self, folder: &str) -> bool {
        self.files
            .range(folder.to_owned()..)
            .next()
            .is_some_and(|(path, _)| path.starts_with(folder))
    }

    /// A file's text.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// All text files.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// The Rust files that people wrote: those whose first lines do not say `@generated`.
    pub(super) fn written_rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, text)| {
            path.ends_with(".rs") && !text.lines().take(5).any(|line| line.contains("@generated"))
        })
    }
}
