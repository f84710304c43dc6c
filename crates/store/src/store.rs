//! The folder of saved engines and the names in it.
//!
//! For an engine `NAME-ID` (the sanitised name and the identity's first 32 digits):
//!
//! | file | what it is | lives |
//! | --- | --- | --- |
//! | `NAME-ID.engine` | the saved engine | until pruned, removed or replaced |
//! | `NAME-ID.lock` | the builder's lock | while someone builds |
//! | `NAME-ID.building` | what is being written | while someone builds |
//! | `NAME-ID.damaged` | a damaged engine, set aside | until the rebuilt one is published |
//! | `weights-HASH.json` | digests of the tensors of one weights file | until it changes |
//! | `*.tmp` | a record or import being written | while someone writes |
//!
//! What the last four leave when their process dies is removed by the next builder.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::conditions::Conditions;
use crate::container::{Detail, FORMAT};
use crate::disk::{Disk, Watch};
use crate::error::StoreError;
use crate::header::Header;

pub(crate) const ENGINE: &str = "engine";
pub(crate) const LOCK: &str = "lock";
pub(crate) const BUILDING: &str = "building";
pub(crate) const DAMAGED: &str = "damaged";
pub(crate) const TEMPORARY: &str = "tmp";

/// A folder of saved engines. Cheap to clone; making one touches no disk.
#[derive(Debug, Clone)]
pub struct Store {
    folder: Arc<Path>,
    pub(crate) disk: Disk,
}

impl Store {
    /// The store under `base`. Engines lie in a folder below it that is named for the format's
    /// version, and nothing else in `base` is touched. The folder is made by the first build.
    pub fn at(base: impl AsRef<Path>) -> Self {
        Self {
            folder: base.as_ref().join(format!("engines-v{FORMAT}")).into(),
            disk: Disk::default(),
        }
    }

    /// The store in the user's cache: [`default_base`].
    ///
    /// # Errors
    /// [`StoreError::NoDefaultFolder`].
    pub fn in_user_cache() -> Result<Self, StoreError> {
        Ok(Self::at(default_base()?))
    }

    /// The same store with every change on the disk going past `watch` first.
    #[must_use]
    pub fn watched(self, watch: Arc<dyn Watch>) -> Self {
        Self {
            disk: Disk::watched(watch),
            ..self
        }
    }

    /// The folder in which the engines lie. It may not exist yet.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the engine with these conditions is saved, whether it is or not.
    #[must_use]
    pub fn engine_path(&self, conditions: &Conditions) -> PathBuf {
        self.paths(conditions).engine
    }

    pub(crate) fn paths(&self, conditions: &Conditions) -> KeyPaths {
        KeyPaths::new(&self.folder, &conditions.file_stem())
    }

    /// The file names in the folder with one of these extensions, sorted. A folder that does not
    /// exist has none.
    pub(crate) fn files(&self, extensions: &[&str]) -> Result<Vec<String>, StoreError> {
        let failed = |cause| StoreError::Io {
            doing: "list",
            path: self.folder.to_path_buf(),
            cause,
        };
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            // Names that are not Unicode are none of ours.
            if let Ok(name) = entry.map_err(failed)?.file_name().into_string()
                && let Some(extension) = Path::new(&name).extension().and_then(OsStr::to_str)
                && extensions.contains(&extension)
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// The intact headers of the saved engines called `name`, with their file names, sorted.
    pub(crate) fn headers_named(
        &self,
        name: &str,
        detail: Detail,
    ) -> Result<Vec<(String, Header)>, StoreError> {
        let prefix = Conditions::new(name)?.file_stem();
        let prefix = &prefix[..prefix.len() - crate::conditions::DIGITS_IN_FILE_NAME];
        let found = self
            .files(&[ENGINE])?
            .into_iter()
            .filter(|file| file.starts_with(prefix))
            .filter_map(|file| {
                let header = crate::open::read_header(&self.folder.join(&file), detail).ok()??;
                (header.name() == name).then_some((file, header))
            })
            .collect();
        Ok(found)
    }
}

/// `$XDG_CACHE_HOME/tensoracle`, or `~/.cache/tensoracle` where that variable is unset, empty or
/// relative; the same on every system.
///
/// # Errors
/// [`StoreError::NoDefaultFolder`] when there is no home directory either.
pub fn default_base() -> Result<PathBuf, StoreError> {
    std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(std::env::home_dir()?.join(".cache")))
        .filter(|path| path.is_absolute())
        .map(|cache| cache.join("tensoracle"))
        .ok_or(StoreError::NoDefaultFolder)
}

/// The files of one key.
#[derive(Debug, Clone)]
pub(crate) struct KeyPaths {
    pub(crate) engine: PathBuf,
    pub(crate) lock: PathBuf,
    pub(crate) building: PathBuf,
    pub(crate) damaged: PathBuf,
}

impl KeyPaths {
    pub(crate) fn new(folder: &Path, stem: &str) -> Self {
        let file = |extension: &str| folder.join(format!("{stem}.{extension}"));
        Self {
            engine: file(ENGINE),
            lock: file(LOCK),
            building: file(BUILDING),
            damaged: file(DAMAGED),
        }
    }

    /// The engine's file name.
    pub(crate) fn file_name(&self) -> String {
        self.engine
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    }
}
