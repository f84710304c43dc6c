//! Finding a saved engine without its conditions: by name, identity, file name or path.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::conditions::Identity;
use crate::container::Detail;
use crate::error::StoreError;
use crate::open::{OpenOptions, SavedEngine, check_file_name, open, read_header};
use crate::store::{ENGINE, Store};

/// Fewest digits of an identity that select by it: fewer could be meant as a name.
pub const MIN_PREFIX: usize = 4;

/// What names one saved engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// The engine of this name, where there is one only.
    Name(String),
    /// The engine with this identity.
    Identity(Identity),
    /// The engine whose identity begins with these hexadecimal digits, at least [`MIN_PREFIX`].
    Prefix(String),
    /// A file anywhere, such as an exported engine.
    File(PathBuf),
    /// What a user typed: an engine's name, its file name in the store, the beginning of its
    /// identity, or the path of a file, the first of these that fits something.
    Typed(String),
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "named {name:?}"),
            Self::Identity(identity) => write!(f, "with identity {identity}"),
            Self::Prefix(digits) => write!(f, "with an identity that begins with {digits}"),
            Self::File(path) => write!(f, "at {}", path.display()),
            Self::Typed(text) => write!(f, "{text:?}"),
        }
    }
}

impl Store {
    /// The file of the saved engine that `selector` names. Only names and headers are read.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is none, [`StoreError::Ambiguous`] with the candidates
    /// when there are several, [`StoreError::Io`] when the folder cannot be read.
    pub fn locate(&self, selector: &Selector) -> Result<PathBuf, StoreError> {
        let one = |files: Vec<String>| match files.as_slice() {
            [] => Err(self.not_found(selector)),
            [file] => Ok(self.folder().join(file)),
            _ => Err(StoreError::Ambiguous {
                wanted: selector.to_string(),
                candidates: files,
            }),
        };
        match selector {
            Selector::Name(name) => one(self.named(name)?),
            Selector::Identity(identity) => one(self.with_prefix(&identity.to_string())?),
            Selector::Prefix(digits) if digits.len() < MIN_PREFIX => one(Vec::new()),
            Selector::Prefix(digits) => one(self.with_prefix(digits)?),
            Selector::File(path) => {
                if path.is_file() {
                    Ok(path.clone())
                } else {
                    Err(self.not_found(selector))
                }
            }
            Selector::Typed(text) => {
                let named = self.named(text)?;
                if !named.is_empty() {
                    return one(named);
                }
                if self.files(&[ENGINE])?.contains(text) {
                    return Ok(self.folder().join(text));
                }
                if text.len() >= MIN_PREFIX {
                    let found = self.with_prefix(text)?;
                    if !found.is_empty() {
                        return one(found);
                    }
                }
                let path = Path::new(text);
                if path.is_file() {
                    Ok(path.to_owned())
                } else {
                    Err(self.not_found(selector))
                }
            }
        }
    }

    /// Opens the saved engine that `selector` names. It is built from what its header says: no
    /// conditions are compared, and needs none of the code that made the graph.
    ///
    /// # Errors
    /// Those of [`Store::locate`]; [`StoreError::Corrupt`] when the file is damaged;
    /// [`StoreError::Condition`] when a file in the store is not what its name says.
    pub fn open_selected(
        &self,
        selector: &Selector,
        options: OpenOptions,
    ) -> Result<SavedEngine, StoreError> {
        let path = self.locate(selector)?;
        let engine = open(&path, options, &self.disk)?.ok_or_else(|| self.not_found(selector))?;
        if path.parent() == Some(self.folder()) {
            check_file_name(&path, engine.header())?;
        }
        Ok(engine)
    }

    pub(crate) fn not_found(&self, selector: &Selector) -> StoreError {
        StoreError::NotFound {
            wanted: selector.to_string(),
            folder: self.folder().to_owned(),
        }
    }

    fn named(&self, name: &str) -> Result<Vec<String>, StoreError> {
        match self.headers_named(name, Detail::Conditions) {
            Ok(found) => Ok(found.into_iter().map(|(file, _)| file).collect()),
            // Such a name has no engine.
            Err(StoreError::InvalidName { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The files whose identity begins with `digits`: file names hold half of the digits, headers
    /// the rest.
    fn with_prefix(&self, digits: &str) -> Result<Vec<String>, StoreError> {
        let digits = digits.to_ascii_lowercase();
        let fits = |file: &String| {
            let stem = file.strip_suffix(".engine").unwrap_or(file);
            let Some((_, in_name)) = stem.rsplit_once('-') else {
                return false;
            };
            if digits.len() <= in_name.len() {
                return in_name.starts_with(&digits);
            }
            digits.starts_with(in_name)
                && read_header(&self.folder().join(file), Detail::Conditions)
                    .ok()
                    .flatten()
                    .is_some_and(|header| header.identity().to_string().starts_with(&digits))
        };
        Ok(self.files(&[ENGINE])?.into_iter().filter(fits).collect())
    }
}
