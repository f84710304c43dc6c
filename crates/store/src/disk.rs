//! Every change that the store makes on a disk, each behind a named step.
//!
//! A thin layer over `std::fs`: before each write, fsync, rename or removal a [`Watch`] is asked,
//! which in production says yes and in tests counts, fails or stops. What is left out: reading,
//! which changes nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// A kind of change on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Step {
    /// Making the folder of saved engines.
    CreateFolder,
    /// Making or opening the lock file of a key.
    OpenLock,
    /// Writing who holds the lock.
    WriteOwner,
    /// Renaming a damaged engine out of the way.
    SetAside,
    /// Making the file that a plan is written to.
    CreateFile,
    /// Writing a piece of a plan.
    WritePlan,
    /// Writing the header.
    WriteHeader,
    /// Waiting until a file's bytes are on the disk.
    SyncFile,
    /// Renaming a complete file to its final name.
    Publish,
    /// Waiting until a folder's entries are on the disk.
    SyncFolder,
    /// Removing a file that a dead or finished builder left.
    RemoveLeftover,
    /// Removing a lock file that its holder no longer needs.
    RemoveLock,
    /// Removing a saved engine.
    RemoveEngine,
    /// Writing a record of weight digests.
    WriteRecord,
    /// Writing the time of the last use.
    RecordUse,
}

/// Asked before every step; an error is answered as if the step had failed with it.
///
/// This is how tests fail each write in turn or stop a process at a named step.
pub trait Watch: Send + Sync {
    /// The store is about to do `step` to `path`.
    ///
    /// # Errors
    /// The error with which the step shall fail.
    fn before(&self, step: Step, path: &Path) -> io::Result<()>;
}

/// Lets everything pass.
struct Pass;

impl Watch for Pass {
    fn before(&self, _: Step, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Clone)]
pub(crate) struct Disk(Arc<dyn Watch>);

impl Disk {
    pub(crate) fn watched(watch: Arc<dyn Watch>) -> Self {
        Self(watch)
    }

    pub(crate) fn create_folder(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        self.0.before(Step::CreateFolder, path)?;
        std::fs::create_dir_all(path)
    }

    /// Opens a lock file, making it where it is missing. Another user's lock file that may only
    /// be read serves as well: a lock needs no right to write.
    pub(crate) fn open_lock(&self, path: &Path) -> io::Result<File> {
        self.0.before(Step::OpenLock, path)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                File::open(path).map_err(|_| error)
            }
            opened => opened,
        }
    }

    /// Makes a file that is not there yet, for reading and writing, with the mode that the
    /// process's umask asks for.
    pub(crate) fn create_new(&self, path: &Path) -> io::Result<File> {
        self.0.before(Step::CreateFile, path)?;
        OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
    }

    pub(crate) fn write_all(
        &self,
        step: Step,
        mut file: &File,
        path: &Path,
        bytes: &[u8],
    ) -> io::Result<()> {
        self.0.before(step, path)?;
        file.write_all(bytes)
    }

    pub(crate) fn sync_file(&self, file: &File, path: &Path) -> io::Result<()> {
        self.0.before(Step::SyncFile, path)?;
        file.sync_all()
    }

    /// Makes a rename durable. Systems that cannot open a folder keep it durable themselves.
    pub(crate) fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.0.before(Step::SyncFolder, path)?;
        #[cfg(unix)]
        File::open(path)?.sync_all()?;
        Ok(())
    }

    pub(crate) fn rename(&self, step: Step, from: &Path, to: &Path) -> io::Result<()> {
        self.0.before(step, to)?;
        std::fs::rename(from, to)
    }

    pub(crate) fn remove(&self, step: Step, path: &Path) -> io::Result<()> {
        self.0.before(step, path)?;
        std::fs::remove_file(path)
    }

    /// Removes a file that may be missing.
    pub(crate) fn remove_if_there(&self, step: Step, path: &Path) -> io::Result<()> {
        match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            _ => self.remove(step, path),
        }
    }

    pub(crate) fn set_modified(
        &self,
        file: &File,
        path: &Path,
        time: std::time::SystemTime,
    ) -> io::Result<()> {
        self.0.before(Step::RecordUse, path)?;
        file.set_modified(time)
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self(Arc::new(Pass))
    }
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Disk")
    }
}
