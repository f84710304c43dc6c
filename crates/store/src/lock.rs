//! Locks: one builder a key, many readers a file.
//!
//! All are locks of the operating system on open files (`File::lock`), so the kernel releases
//! those of a process that dies. A key's lock lies on a file beside the engine; whoever holds it
//! removes that file before letting go, and whoever then gets the lock of the removed file sees
//! that the name leads elsewhere and starts anew. Where the two cannot be told apart (systems
//! other than Unix), lock files stay. A reader's lock lies on the engine itself, which also works
//! in a folder that cannot be written.
//!
//! On network file systems the locks are as good as the system makes them: NFS since Linux 2.6.12
//! carries them to the server, as byte-range locks. Where locks are not supported at all, engines
//! are still reused, without protection from pruning, and building answers with an error.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use crate::disk::{Disk, Step};
use crate::time::{nanoseconds, utc_text};

/// Who holds a key's lock, as it wrote itself into the lock's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The process's number, 0 when unknown.
    pub process: u32,
    /// The machine's name, where known: the number means something there only.
    pub host: Option<String>,
    /// When it took the lock, in nanoseconds since 1970; 0 when unknown.
    pub since_ns: i64,
}

impl Owner {
    fn this_process() -> Self {
        Self {
            process: std::process::id(),
            host: host_name(),
            since_ns: nanoseconds(SystemTime::now()),
        }
    }

    fn unknown() -> Self {
        Self {
            process: 0,
            host: None,
            since_ns: 0,
        }
    }
}

/// `process 4711, building since 2026-11-29T12:03:20Z`, with the machine where it is another one.
impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.process == 0 {
            return f.write_str("another process");
        }
        write!(f, "process {}", self.process)?;
        if let Some(host) = &self.host
            && Some(host) != host_name().as_ref()
        {
            write!(f, " on {host}")?;
        }
        write!(f, ", building since {}", utc_text(self.since_ns))
    }
}

#[cfg(target_os = "linux")]
fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

#[cfg(not(target_os = "linux"))]
fn host_name() -> Option<String> {
    std::env::var("COMPUTERNAME")
        .or_else(|_| std::env::var("HOSTNAME"))
        .ok()
}

/// The exclusive right to build, replace or clean up what belongs to one key.
#[derive(Debug)]
pub(crate) struct KeyLock {
    /// Holds the lock while it is open.
    _file: File,
    path: PathBuf,
    disk: Disk,
}

/// The answer to asking for a key's lock.
pub(crate) enum Attempt {
    Held(KeyLock),
    Busy(Owner),
}

impl KeyLock {
    /// Takes the lock at `path` if it is free.
    pub(crate) fn attempt(disk: &Disk, path: &Path) -> io::Result<Attempt> {
        // A holder that is only cleaning up, or has not written itself in yet, is gone in a moment.
        let patience = Instant::now() + Duration::from_millis(50);
        loop {
            let file = disk.open_lock(path)?;
            match file.try_lock() {
                Ok(()) if leads_to(path, &file)? => {
                    let lock = Self {
                        _file: file,
                        path: path.to_owned(),
                        disk: disk.clone(),
                    };
                    lock.clear_owner();
                    return Ok(Attempt::Held(lock));
                }
                // The last holder removed this file: the next one counts.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => match read_owner(&file) {
                    Some(owner) => return Ok(Attempt::Busy(owner)),
                    None if Instant::now() > patience => {
                        return Ok(Attempt::Busy(Owner::unknown()));
                    }
                    None => std::thread::sleep(Duration::from_millis(1)),
                },
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Writes this process into the lock's file, for those who wait. A file that only another
    /// user may write keeps saying nothing.
    pub(crate) fn announce(&self) {
        if let Ok(text) = serde_json::to_vec(&Owner::this_process()) {
            let _ = self
                .disk
                .write_all(Step::WriteOwner, &self._file, &self.path, &text);
        }
    }

    /// Forgets the last holder, who may have died before it could.
    fn clear_owner(&self) {
        if self._file.metadata().is_ok_and(|found| found.len() > 0) {
            let _ = self._file.set_len(0);
        }
    }
}

impl Drop for KeyLock {
    fn drop(&mut self) {
        if cfg!(unix) {
            // Failing leaves an unlocked file, which the next builder takes or cleans up.
            let _ = self.disk.remove(Step::RemoveLock, &self.path);
        }
    }
}

fn read_owner(mut file: &File) -> Option<Owner> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Whether `path` still leads to the file that is open as `file`.
pub(crate) fn leads_to(path: &Path, file: &File) -> io::Result<bool> {
    let there = match std::fs::metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let here = file.metadata()?;
        Ok((there.dev(), there.ino()) == (here.dev(), here.ino()))
    }
    // Lock files stay; of an engine it is enough that it has not been removed.
    #[cfg(not(unix))]
    {
        let _ = (there, file);
        Ok(true)
    }
}

/// How long a reader lets a remover finish before it reads without a lock. A remover holds its
/// lock for the time of one `unlink`; only a hostile neighbour holds it longer.
const READER_PATIENCE: Duration = Duration::from_secs(5);

/// Takes a reader's lock, which keeps pruning away while `file` is open. Where the file system
/// has no locks, there is none.
pub(crate) fn lock_shared(file: &File, path: &Path) {
    let start = Instant::now();
    loop {
        match file.try_lock_shared() {
            Ok(()) => return,
            Err(TryLockError::WouldBlock) if start.elapsed() < READER_PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => {
                tracing::debug!(path = %path.display(), %error, "reading without a lock");
                return;
            }
        }
    }
}
