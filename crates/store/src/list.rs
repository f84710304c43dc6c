//! Listing saved engines: what their headers say, read on all cores. Plans are not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use crate::container::Detail;
use crate::error::StoreError;
use crate::header::Header;
use crate::open::header_of;
use crate::store::{ENGINE, Store};
use crate::time::{nanoseconds, utc_text};
use crate::value::Value;

/// All saved engines of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// The folder that was listed. It may not exist: then it has no entries.
    pub directory: PathBuf,
    /// The `.engine` files, sorted by name.
    pub entries: Vec<Entry>,
    /// Their bytes.
    pub total_size_bytes: u64,
}

/// One `.engine` file. As JSON it has the fields that `tensoracle cache list` documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The file's name in the folder.
    pub file: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// The last time that it was saved or opened with success, in nanoseconds since 1970.
    pub recorded_at_ns: i64,
    /// What it is.
    pub status: Status,
}

/// What an `.engine` file is, as far as its header tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// A saved engine with an intact header.
    Recognized {
        /// What it says, without what describes its conditions.
        header: Box<Header>,
        /// For each weight digest that it names, the files that are recorded to have it.
        weight_paths: Vec<WeightPaths>,
    },
    /// No bytes: left by something that died, or being written by something else.
    Empty,
    /// Anything else.
    Unrecognized {
        /// Why it is not a saved engine.
        reason: String,
    },
}

impl Status {
    /// The word for it in a listing.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Recognized { .. } => "recognized",
            Self::Empty => "building or leftover",
            Self::Unrecognized { .. } => "unrecognized",
        }
    }
}

/// Where weights with a digest were last seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WeightPaths {
    /// The digest as it stands in the header.
    pub digest: String,
    /// Paths of files recorded to have it, sorted; none means unknown.
    pub paths: Vec<PathBuf>,
}

/// The reference field that a listing shows by itself.
const WORKSPACE_LIMIT: &str = "workspace_limit";

impl Entry {
    /// The header, where it is intact, without what describes its conditions.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        match &self.status {
            Status::Recognized { header, .. } => Some(header),
            _ => None,
        }
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("file", &self.file)?;
        map.serialize_entry("status", self.status.label())?;
        map.serialize_entry("size_bytes", &self.size_bytes)?;
        map.serialize_entry("recorded_at", &utc_text(self.recorded_at_ns))?;
        map.serialize_entry("recorded_at_ns", &self.recorded_at_ns)?;
        match &self.status {
            Status::Recognized {
                header,
                weight_paths,
            } => {
                map.serialize_entry("name", header.name())?;
                map.serialize_entry("identity", &header.identity())?;
                map.serialize_entry("created_at", &utc_text(header.created_at_ns))?;
                map.serialize_entry("conditions", header.conditions.fields())?;
                let unknown = Value::from("unknown");
                let limit = header.reference.get(WORKSPACE_LIMIT).unwrap_or(&unknown);
                map.serialize_entry(WORKSPACE_LIMIT, limit)?;
                map.serialize_entry("reference", &header.reference)?;
                map.serialize_entry("weight_paths", weight_paths)?;
            }
            Status::Empty => {}
            Status::Unrecognized { reason } => map.serialize_entry("reason", reason)?,
        }
        map.end()
    }
}

impl Store {
    /// Lists the saved engines. Files that vanish meanwhile are left out.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the folder cannot be read.
    pub fn list(&self) -> Result<Listing, StoreError> {
        let mut entries: Vec<Entry> = self
            .files(&[ENGINE])?
            .into_par_iter()
            .filter_map(|file| entry(&self.folder().join(&file), file))
            .collect();
        self.find_weight_paths(&mut entries)?;
        Ok(Listing {
            directory: self.folder().to_owned(),
            total_size_bytes: entries.iter().map(|entry| entry.size_bytes).sum(),
            entries,
        })
    }

    fn find_weight_paths(&self, entries: &mut [Entry]) -> Result<(), StoreError> {
        let mut paths: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
        for record in self.digest_records().all()? {
            for digest in record.digests.into_values() {
                paths.entry(digest).or_default().insert(record.path.clone());
            }
        }
        for entry in entries {
            if let Status::Recognized {
                header,
                weight_paths,
            } = &mut entry.status
            {
                *weight_paths = weight_digests(header)
                    .into_iter()
                    .map(|digest| WeightPaths {
                        digest: digest.to_owned(),
                        paths: paths
                            .get(digest)
                            .map(|found| found.iter().cloned().collect())
                            .unwrap_or_default(),
                    })
                    .collect();
            }
        }
        Ok(())
    }
}

/// The digests of weights that the header names: every text called `blake3` below `weights`, among
/// the conditions or in the reference.
fn weight_digests(header: &Header) -> BTreeSet<&str> {
    fn collect<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
        match value {
            Value::List(items) => items.iter().for_each(|item| collect(item, found)),
            Value::Map(map) => {
                for (name, value) in map {
                    match value {
                        Value::Text(digest) if name == "blake3" => {
                            found.insert(digest);
                        }
                        value => collect(value, found),
                    }
                }
            }
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    for fields in [header.conditions.fields(), &header.reference] {
        if let Some(weights) = fields.get("weights") {
            collect(weights, &mut found);
        }
    }
    found
}

/// The entry of the file at `path`, `None` where it has gone.
pub(crate) fn entry(path: &Path, file: String) -> Option<Entry> {
    match look(path) {
        Ok((found, status)) => Some(Entry {
            file,
            size_bytes: found.len(),
            recorded_at_ns: found.modified().map(nanoseconds).unwrap_or_default(),
            status,
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Entry {
            file,
            size_bytes: 0,
            recorded_at_ns: 0,
            status: Status::Unrecognized {
                reason: error.to_string(),
            },
        }),
    }
}

fn look(path: &Path) -> io::Result<(Metadata, Status)> {
    let unrecognized = |reason: String| Status::Unrecognized { reason };
    let found = std::fs::metadata(path)?;
    if !found.is_file() {
        return Ok((found, unrecognized("not a regular file".to_owned())));
    }
    if found.len() == 0 {
        return Ok((found, Status::Empty));
    }
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Ok((found, unrecognized(error.to_string())));
        }
        opened => opened?,
    };
    // Of the open file: a rename may have put another in its place.
    let found = file.metadata()?;
    let status = match header_of(&file, found.len(), Detail::Conditions)? {
        Err(damage) => unrecognized(damage.to_string()),
        Ok(header)
            if path.file_stem().and_then(|stem| stem.to_str())
                != Some(&header.conditions.file_stem()) =>
        {
            unrecognized(format!(
                "its name is not that of its conditions, {}.{ENGINE}",
                header.conditions.file_stem()
            ))
        }
        Ok(header) => Status::Recognized {
            header: Box::new(header),
            weight_paths: Vec::new(),
        },
    };
    Ok((found, status))
}
