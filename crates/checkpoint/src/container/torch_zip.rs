//! The zip layout of torch 1.6 and later: one folder that holds `data.pkl`, one record a storage
//! under `data/`, and `byteorder`.
//!
//! What is left out: the archive itself, in [`super::zip`].

use super::inflate::InflateError;
use super::zip::Archive;
use super::{Location, Storages, storage_of_id};
use crate::budget::Budget;
use crate::error::Problem;
use crate::pickle::value::Root;
use crate::pickle::{Heap, Persistent, Value, run};
use std::borrow::Cow;

/// Bytes that a record holding one word may have.
const WORD: u64 = 16;

/// An opened archive.
#[derive(Debug)]
pub(crate) struct TorchZip<'a> {
    bytes: &'a [u8],
    archive: Archive<'a>,
    /// The folder, with its slash.
    folder: String,
    big_endian: bool,
}

impl<'a> TorchZip<'a> {
    /// Reads the directory and finds the checkpoint in it.
    pub(crate) fn open(bytes: &'a [u8], budget: &mut Budget) -> Result<Self, Problem> {
        let archive = Archive::open(bytes, budget)?;
        let folder = find_folder(&archive)?;
        let mut this = Self {
            bytes,
            archive,
            folder,
            big_endian: false,
        };
        this.big_endian = match this.word("byteorder")?.as_deref() {
            None | Some(b"little") => false,
            Some(b"big") => true,
            Some(other) => {
                return Err(Problem::layout(format!(
                    "its byte order is {:?}; little and big are known",
                    String::from_utf8_lossy(other)
                )));
            }
        };
        Ok(this)
    }

    /// The bytes of `data.pkl`: as they lie in the file, or inflated.
    pub(crate) fn pickle(&self, budget: &mut Budget) -> Result<Cow<'a, [u8]>, Problem> {
        match self.record("data.pkl", |size| budget.take(size))? {
            Some(pickle) => Ok(pickle),
            None => Err(Problem::archive("it has no data.pkl")),
        }
    }

    /// A record that holds a short word, without white space around it.
    fn word(&self, name: &str) -> Result<Option<Vec<u8>>, Problem> {
        let word = self.record(name, |size| {
            if size > WORD {
                return Err(Problem::layout(format!("its {name} has {size} bytes")));
            }
            Ok(())
        })?;
        Ok(word.map(|word| word.trim_ascii().to_vec()))
    }

    /// A whole record; `allow` is asked with its size before it is inflated.
    fn record(
        &self,
        name: &str,
        allow: impl FnOnce(u64) -> Result<(), Problem>,
    ) -> Result<Option<Cow<'a, [u8]>>, Problem> {
        let Some((location, size)) = self.archive.find(&format!("{}{name}", self.folder))? else {
            return Ok(None);
        };
        Ok(Some(match location {
            Location::Stored(range) => Cow::Borrowed(&self.bytes[range]),
            Location::Deflated(deflated) => {
                deflated.check_ratio()?;
                allow(size)?;
                let mut whole = Vec::with_capacity(size as usize);
                let outcome = deflated.inflate(self.bytes, |piece| {
                    whole.extend_from_slice(piece);
                    Ok::<(), std::convert::Infallible>(())
                });
                match outcome {
                    Ok(()) => Cow::Owned(whole),
                    Err(InflateError::Record(problem)) => return Err(problem),
                    Err(InflateError::Sink(never)) => match never {},
                }
            }
        }))
    }
}

/// The one folder with a `data.pkl` in it.
fn find_folder(archive: &Archive<'_>) -> Result<String, Problem> {
    let mut folders = archive.names().filter_map(|name| {
        let (folder, file) = name.split_once('/')?;
        match file {
            "data.pkl" => Some(folder),
            _ => None,
        }
    });
    let folder = folders.next();
    if folders.next().is_some() {
        return Err(Problem::archive("it holds more than one data.pkl"));
    }
    // TorchScript keeps its constants beside its data; an exported program has no data.pkl.
    let is_script = archive.names().any(|name| {
        name.split_once('/')
            .is_some_and(|(_, file)| file == "constants.pkl" || file.starts_with("code/"))
    });
    if is_script {
        return Err(Problem::TorchScript);
    }
    match folder {
        Some(folder) => Ok(format!("{folder}/")),
        None => Err(Problem::NotACheckpoint {
            found: "a zip archive without a data.pkl in a folder".into(),
        }),
    }
}

impl Storages for TorchZip<'_> {
    fn locate(&self, root: Root<'_>) -> Result<Location, Problem> {
        let name = match root.key {
            crate::pickle::value::Key::Text(key) => format!("{}data/{key}", self.folder),
            crate::pickle::value::Key::Number(key) => format!("{}data/{key}", self.folder),
        };
        let Some((location, size)) = self.archive.find(&name)? else {
            return Err(Problem::StorageMissing {
                key: root.key.to_string(),
            });
        };
        // Bytes that do not fill an element may follow the last whole one.
        if size < root.len || size - root.len >= root.element_size {
            return Err(Problem::StorageSize {
                key: root.key.to_string(),
                expected: root.len,
                found: size,
            });
        }
        if let Location::Deflated(deflated) = &location {
            deflated.check_ratio()?;
        }
        Ok(location)
    }

    fn is_big_endian(&self) -> bool {
        self.big_endian
    }
}

/// Persistent ids of the zip layout.
pub(crate) struct StorageIds;

impl<'p> Persistent<'p> for StorageIds {
    fn load(
        &mut self,
        heap: &mut Heap<'p>,
        id: Value<'p>,
    ) -> Result<Result<Value<'p>, String>, Problem> {
        match id {
            Value::Tuple(items) if items.len == 5 => storage_of_id(heap, items),
            _ => Ok(Err(
                "a persistent id that does not describe a storage".into()
            )),
        }
    }
}

/// Runs `data.pkl`.
pub(crate) fn load<'p>(heap: &mut Heap<'p>, pickle: &'p [u8]) -> Result<Value<'p>, Problem> {
    run(heap, pickle, 0, &mut StorageIds).map(|(value, _)| value)
}
