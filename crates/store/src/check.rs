//! Verifying saved engines where they lie, every byte of them.

use serde::Serialize;

use tensoracle_progress::{Progress, Unit};

use crate::error::StoreError;
use crate::open::{OpenOptions, check_file_name, open};
use crate::store::{ENGINE, Store};

/// What came of verifying one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Its name.
    pub file: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// What is wrong with it, `None` where it is intact.
    pub problem: Option<String>,
}

impl Store {
    /// Verifies all saved engines, header and plan, changing nothing. Ends early, with what is
    /// done, when `progress` asks for it.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the folder cannot be read.
    pub fn verify_all(&self, progress: &dyn Progress) -> Result<Vec<Checked>, StoreError> {
        let files = self.files(&[ENGINE])?;
        Ok(self.verify_files(&files, progress))
    }

    /// Verifies the files of these names in the folder; see [`Store::verify_all`]. Files that
    /// have gone are left out.
    #[must_use]
    pub fn verify_files(&self, files: &[String], progress: &dyn Progress) -> Vec<Checked> {
        let size = |file: &String| {
            std::fs::metadata(self.folder().join(file)).map_or(0, |found| found.len())
        };
        progress.begin(
            "verifying saved engines",
            Some(files.iter().map(size).sum()),
            Unit::Bytes,
        );
        let mut checked = Vec::new();
        for file in files {
            if progress.is_cancelled() {
                break;
            }
            let path = self.folder().join(file);
            let size_bytes = size(file);
            let problem = match open(&path, OpenOptions::default(), &self.disk) {
                Ok(None) => continue,
                Ok(Some(engine)) => check_file_name(&path, engine.header()).err(),
                Err(error) => Some(error),
            };
            checked.push(Checked {
                file: file.clone(),
                size_bytes,
                problem: problem.map(|error| error.to_string()),
            });
            progress.advance(size_bytes);
        }
        progress.finish();
        checked
    }
}
