//! Opening a saved engine: found, locked against removal, mapped, verified.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tensoracle_mapping::{FileBytes, Read};

use crate::conditions::Conditions;
use crate::container::{self, Detail};
use crate::disk::Disk;
use crate::error::{CorruptEngineError, Damage, EngineConditionError, StoreError};
use crate::explain::differences;
use crate::header::Header;
use crate::lock::{leads_to, lock_shared};
use crate::store::Store;

/// How much of a saved engine is checked before it is handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verify {
    /// The header and every byte of the plan.
    #[default]
    Full,
    /// The header and the file's length. Bits that changed in the plan go unnoticed.
    Header,
}

/// What to do about a damaged saved engine when building is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDamage {
    /// Set it aside with a warning and build anew.
    #[default]
    Rebuild,
    /// Answer with the error.
    Error,
}

/// How to read a saved engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenOptions {
    /// What is checked.
    pub verify: Verify,
    /// How its bytes come into memory.
    pub read: Read,
}

/// An open saved engine. While it lives, pruning and removing leave its file alone.
#[derive(Debug)]
pub struct SavedEngine {
    header: Header,
    bytes: FileBytes,
    path: PathBuf,
    /// Holds the reader's lock.
    file: File,
    disk: Disk,
}

impl SavedEngine {
    /// What the engine says about itself.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The file it was read from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The plan, page-aligned when mapped.
    #[must_use]
    pub fn plan(&self) -> &[u8] {
        &self.bytes[self.header.plan.offset as usize..]
    }

    /// The whole file.
    pub(crate) fn file_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the plan is a mapping of the file rather than a copy.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.bytes.is_mapped()
    }

    /// Writes the present as the file's modification time, which is the time of the last use.
    /// Call it when the plan has been loaded. A cache that cannot be written keeps the old time.
    pub fn record_use(&self) {
        if let Err(error) = self
            .disk
            .set_modified(&self.file, &self.path, SystemTime::now())
        {
            tracing::debug!(path = %self.path.display(), %error, "time of use not recorded");
        }
    }

    /// Opens a saved engine anywhere, such as an exported one.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is damaged, [`StoreError::Io`] when it cannot be read or
    /// does not exist.
    pub fn open_file(path: &Path, options: OpenOptions) -> Result<Self, StoreError> {
        open(path, options, &Disk::default())?.ok_or_else(|| StoreError::Io {
            doing: "open",
            path: path.to_owned(),
            // Asked again for the system's own words.
            cause: std::fs::metadata(path)
                .err()
                .unwrap_or_else(|| io::ErrorKind::NotFound.into()),
        })
    }

    /// Wraps a file that this process just wrote and still holds the reader's lock of.
    pub(crate) fn from_published(
        file: File,
        path: PathBuf,
        header: Header,
        read: Read,
        disk: Disk,
    ) -> Result<Self, StoreError> {
        let bytes = FileBytes::from_file(&file, read).map_err(|cause| StoreError::Io {
            doing: "read",
            path: path.clone(),
            cause,
        })?;
        Ok(Self {
            header,
            bytes,
            path,
            file,
            disk,
        })
    }
}

impl Drop for SavedEngine {
    fn drop(&mut self) {
        // Closing alone would leave the lock with any process that was forked meanwhile, until it
        // closes its copy.
        let _ = self.file.unlock();
    }
}

impl Store {
    /// The saved engine with these conditions, or `None` where there is none. Builds nothing and
    /// changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the file is damaged, [`StoreError::Condition`] when its header
    /// has other conditions, [`StoreError::Io`] when it cannot be read.
    pub fn find(
        &self,
        conditions: &Conditions,
        options: OpenOptions,
    ) -> Result<Option<SavedEngine>, StoreError> {
        let path = self.engine_path(conditions);
        let Some(engine) = open(&path, options, &self.disk)? else {
            return Ok(None);
        };
        let expected = conditions.identity();
        let found = engine.header.identity();
        if found != expected {
            return Err(EngineConditionError {
                path,
                expected: expected.to_string(),
                found,
                differences: differences(&engine.header.conditions, conditions),
            }
            .into());
        }
        Ok(Some(engine))
    }
}

/// Checks that a file in a store has the identity that its name states.
pub(crate) fn check_file_name(path: &Path, header: &Header) -> Result<(), StoreError> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if stem == header.conditions.file_stem() {
        return Ok(());
    }
    let digits = stem.rsplit_once('-').map_or(&*stem, |(_, digits)| digits);
    Err(EngineConditionError {
        path: path.to_owned(),
        expected: digits.to_owned(),
        found: header.identity(),
        differences: Vec::new(),
    }
    .into())
}

/// Opens the file at `path` if there is one, with a reader's lock, verified as asked.
pub(crate) fn open(
    path: &Path,
    options: OpenOptions,
    disk: &Disk,
) -> Result<Option<SavedEngine>, StoreError> {
    let failed = |doing| {
        move |cause| StoreError::Io {
            doing,
            path: path.to_owned(),
            cause,
        }
    };
    let file = loop {
        let Some(file) = open_regular(path)? else {
            return Ok(None);
        };
        lock_shared(&file, path);
        // Removed or replaced between opening and locking: the lock protects the wrong file.
        if leads_to(path, &file).map_err(failed("open"))? {
            break file;
        }
    };
    let corrupt = |damage| CorruptEngineError {
        path: path.to_owned(),
        damage,
    };
    let bytes = FileBytes::from_file(&file, options.read).map_err(failed("read"))?;
    let header = container::decode(&bytes).map_err(corrupt)?;
    if options.verify == Verify::Full {
        container::verify_plan(&header, &bytes[header.plan.offset as usize..]).map_err(corrupt)?;
    }
    Ok(Some(SavedEngine {
        header,
        bytes,
        path: path.to_owned(),
        file,
        disk: disk.clone(),
    }))
}

/// Opens a file that is there and is a regular one; a named pipe would block, a folder cannot be
/// read.
fn open_regular(path: &Path) -> Result<Option<File>, StoreError> {
    let failed = |cause| StoreError::Io {
        doing: "open",
        path: path.to_owned(),
        cause,
    };
    let absent = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    match std::fs::metadata(path) {
        Err(error) if absent(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
        Ok(found) if !found.is_file() => {
            return Err(CorruptEngineError {
                path: path.to_owned(),
                damage: Damage::Foreign,
            }
            .into());
        }
        Ok(_) => {}
    }
    match File::open(path) {
        Err(error) if absent(&error) => Ok(None),
        opened => opened.map(Some).map_err(failed),
    }
}

/// Reads only the header of the file at `path`, without locking it; `None` where there is none.
pub(crate) fn read_header(path: &Path, detail: Detail) -> Result<Option<Header>, StoreError> {
    let Some(file) = open_regular(path)? else {
        return Ok(None);
    };
    let failed = |cause| StoreError::Io {
        doing: "read",
        path: path.to_owned(),
        cause,
    };
    let length = file.metadata().map_err(failed)?.len();
    header_of(&file, length, detail)
        .map_err(failed)?
        .map(Some)
        .map_err(|damage| {
            CorruptEngineError {
                path: path.to_owned(),
                damage,
            }
            .into()
        })
}

/// Reads only the header, from a file of `length` bytes.
pub(crate) fn header_of(
    file: &File,
    length: u64,
    detail: Detail,
) -> io::Result<Result<Header, Damage>> {
    let mut lines = Vec::with_capacity(container::PRELUDE);
    file.take(container::PRELUDE as u64)
        .read_to_end(&mut lines)?;
    let prelude = match container::decode_prelude(&lines, length)
        .and_then(|prelude| container::check_header_length(&prelude, length).map(|()| prelude))
    {
        Ok(prelude) => prelude,
        Err(damage) => return Ok(Err(damage)),
    };
    let mut body = Vec::with_capacity(prelude.header_length as usize);
    file.take(prelude.header_length).read_to_end(&mut body)?;
    Ok(container::decode_body(&prelude, &body, length, detail))
}
