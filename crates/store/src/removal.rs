//! Removing saved engines, never under a reader or a builder.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::Step;
use crate::error::StoreError;
use crate::list::Entry;
use crate::lock::{Attempt, KeyLock, leads_to};
use crate::select::Selector;
use crate::store::{LOCK, Store};
use crate::time::nanoseconds;

/// What became of an engine that was to be removed.
#[derive(Debug)]
pub(crate) enum Removal {
    Removed {
        size_bytes: u64,
    },
    Missing,
    InUse,
    /// It is not the one any more that was chosen.
    Changed,
    Failed(io::Error),
}

impl Store {
    /// Removes the saved engine that `selector` names and returns its path.
    ///
    /// # Errors
    /// Those of [`Store::locate`]; [`StoreError::NotFound`] also for a file outside the store;
    /// [`StoreError::InUse`] when some process has it open; [`StoreError::Io`] when the system
    /// refuses.
    pub fn remove(&self, selector: &Selector) -> Result<PathBuf, StoreError> {
        let path = self.locate(selector)?;
        if path.parent() != Some(self.folder()) {
            return Err(self.not_found(selector));
        }
        match self.remove_engine(&path, None) {
            Removal::Removed { .. } => Ok(path),
            Removal::Missing | Removal::Changed => Err(self.not_found(selector)),
            Removal::InUse => Err(StoreError::InUse { path }),
            Removal::Failed(cause) => Err(StoreError::Io {
                doing: "remove",
                path,
                cause,
            }),
        }
    }

    /// Whether some process has the engine at `path` open. Unreadable files are not in use.
    pub(crate) fn is_in_use(path: &Path) -> bool {
        File::open(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Removes the file at `path` if nobody has it open and, where `chosen` is given, if it is
    /// still in the state that was chosen.
    ///
    /// Two locks are held until the file's name is removed. The key's lock keeps builders from
    /// putting a new engine in its place. The exclusive lock on the file says that no reader has
    /// it; whoever opened it without having locked it yet finds that the name is gone, and starts
    /// anew.
    pub(crate) fn remove_engine(&self, path: &Path, chosen: Option<&Entry>) -> Removal {
        let removed = || -> io::Result<Removal> {
            let file = File::open(path)?;
            let _key = match KeyLock::attempt(&self.disk, &path.with_extension(LOCK))? {
                Attempt::Held(key) => key,
                Attempt::Busy(_) => return Ok(Removal::InUse),
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Removal::InUse),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            if !leads_to(path, &file)? {
                return Ok(Removal::Changed);
            }
            let found = file.metadata()?;
            let size_bytes = found.len();
            if let Some(chosen) = chosen
                && (chosen.size_bytes, chosen.recorded_at_ns)
                    != (size_bytes, nanoseconds(found.modified()?))
            {
                return Ok(Removal::Changed);
            }
            self.disk.remove(Step::RemoveEngine, path)?;
            Ok(Removal::Removed { size_bytes })
        };
        match removed() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Removal::Missing,
            Err(error) => Removal::Failed(error),
            Ok(removal) => removal,
        }
    }
}
