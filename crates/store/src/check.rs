//! Verifying saved engines where they lie, every byte of them.

use std::path::PathBuf;

use serde::Serialize;

use tensoracle_progress::{Progress, Unit};

use crate::error::StoreError;
use crate::open::{OpenOptions, check_file_name, open};
use crate::store::{ENGINE, Store};

/// What came of verifying one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Its name in the store's folder, or its path where it lies elsewhere.
    pub file: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// What is wrong with it, `None` where it is intact.
    pub problem: Option<String>,
}

impl Store {
    /// Verifies all saved engines, as [`Store::verify`] does.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the folder cannot be read.
    pub fn verify_all(&self, progress: &dyn Progress) -> Result<Vec<Checked>, StoreError> {
        let paths: Vec<PathBuf> = self
            .files(&[ENGINE])?
            .into_iter()
            .map(|file| self.folder().join(file))
            .collect();
        Ok(self.verify(&paths, progress))
    }

    /// Verifies the files at `paths`, header and plan, changing nothing. Files that have gone are
    /// left out. Ends early, with what is done, when `progress` asks for it.
    #[must_use]
    pub fn verify(&self, paths: &[PathBuf], progress: &dyn Progress) -> Vec<Checked> {
        let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |found| found.len());
        progress.begin(
            "verifying saved engines",
            Some(paths.iter().map(size).sum()),
            Unit::Bytes,
        );
        let mut checked = Vec::new();
        for path in paths {
            if progress.is_cancelled() {
                break;
            }
            let size_bytes = size(path);
            let in_store = path.strip_prefix(self.folder()).ok();
            let problem = match open(path, OpenOptions::default(), &self.disk) {
                Ok(None) => continue,
                Ok(Some(engine)) if in_store.is_some() => {
                    check_file_name(path, engine.header()).err()
                }
                Ok(Some(_)) => None,
                Err(error) => Some(error),
            };
            checked.push(Checked {
                file: in_store.unwrap_or(path).display().to_string(),
                size_bytes,
                problem: problem.map(|error| error.to_string()),
            });
            progress.advance(size_bytes);
        }
        progress.finish();
        checked
    }
}
