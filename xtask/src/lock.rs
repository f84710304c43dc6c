//! A lock file that keeps two developer tasks from preparing the same folder at the same time.
//! The system drops the lock when its holder ends, however it ends.

use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::{Context, Result};

/// Holds the lock until dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock at `path`, waiting for whoever holds it; `what` says what is being prepared.
    pub(crate) fn take(path: &Path, what: &str) -> Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .with_context(|| format!("cannot open the lock file {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                eprintln!("waiting: another process is preparing {what}");
                file.lock()
                    .with_context(|| format!("cannot lock {}", path.display()))?;
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_second_taker_waits_for_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.lock");
        let first = Lock::take(&path, "a test").unwrap();
        let released = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let _second = Lock::take(&path, "a test").unwrap();
                assert!(
                    released.load(Ordering::SeqCst),
                    "the lock was held by two at once"
                );
            });
            std::thread::sleep(std::time::Duration::from_millis(50));
            released.store(true, Ordering::SeqCst);
            drop(first);
            second.join().unwrap();
        });
    }
}
