//! The index of a sharded folder, `model.safetensors.index.json`: which shard holds which tensor.

use crate::signature::FileKind;
use crate::text::{Name, Names};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Component, Path, PathBuf};

/// The longest index read: as long as the longest header.
const INDEX_LIMIT: u64 = 100_000_000;

/// What is wrong with an index of shards.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexFault {
    /// The index is longer than any real one.
    #[error("the index has {found} bytes, more than the limit of {limit}")]
    TooLong {
        /// Its size.
        found: u64,
        /// The longest index read.
        limit: u64,
    },
    /// The file is of another kind.
    #[error("the file is {0}, not an index of shards")]
    OtherKind(FileKind),
    /// Not the JSON that an index is.
    #[error("the index is not valid: {message}")]
    InvalidJson {
        /// What the JSON reader found, with line and column.
        message: String,
    },
    /// Two entries have one name.
    #[error("{} stands twice in the index", Name(name))]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// An index without tensors.
    #[error("the index lists no tensors")]
    Empty,
    /// A shard outside the index's folder.
    #[error("shard {} does not lie in the folder of its index", Name(shard))]
    ShardOutside {
        /// The shard's name in the index.
        shard: String,
    },
    /// Shards that are not there.
    #[error("{} of {total} shards are missing: {}", shards.len(), Names(shards))]
    MissingShards {
        /// The shards' names in the index.
        shards: Vec<String>,
        /// How many shards the index names.
        total: usize,
    },
    /// Tensors that their shards do not hold.
    #[error("{} of {total} tensors are not in the shards named for them: {}", names.len(), Names(names))]
    MissingTensors {
        /// The tensors' names.
        names: Vec<String>,
        /// How many tensors the index names.
        total: usize,
    },
}

impl IndexFault {
    /// What to do about it, where there is something to do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::OtherKind(kind) => Some(kind.hint().to_owned()),
            Self::MissingShards { .. } => Some("put the missing files beside the index".to_owned()),
            Self::MissingTensors { .. } => {
                Some("index and shards are of different models or versions; fetch both".to_owned())
            }
            _ => None,
        }
    }
}

/// A checked index: every shard lies in the index's folder and exists.
pub(crate) struct Index {
    /// Shard of each tensor, by the names in the index.
    weight_map: BTreeMap<String, String>,
    folder: PathBuf,
}

impl Index {
    /// Reads the index at `path`.
    pub(crate) fn open(path: &Path) -> std::io::Result<Result<Self, IndexFault>> {
        let found = std::fs::metadata(path)?.len();
        if found > INDEX_LIMIT {
            return Ok(Err(IndexFault::TooLong {
                found,
                limit: INDEX_LIMIT,
            }));
        }
        let json = std::fs::read(path)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Ok(Self::parse(&json, folder))
    }

    fn parse(json: &[u8], folder: PathBuf) -> Result<Self, IndexFault> {
        let raw: RawIndex =
            serde_json::from_slice(json).map_err(|error| match FileKind::recognise(json) {
                Some(kind) if kind != FileKind::Json => IndexFault::OtherKind(kind),
                _ => IndexFault::InvalidJson {
                    message: error.to_string(),
                },
            })?;
        let WeightMap {
            shards: weight_map,
            duplicate,
        } = raw.weight_map;
        if let Some(name) = duplicate {
            return Err(IndexFault::DuplicateName { name });
        }
        if weight_map.is_empty() {
            return Err(IndexFault::Empty);
        }
        let index = Self { weight_map, folder };
        let shards = index.shard_names();
        let is_inside = |shard: &str| {
            !shard.is_empty()
                && Path::new(shard)
                    .components()
                    .all(|part| matches!(part, Component::Normal(_)))
        };
        if let Some(shard) = shards.iter().find(|shard| !is_inside(shard)) {
            return Err(IndexFault::ShardOutside {
                shard: (*shard).to_owned(),
            });
        }
        let missing: Vec<String> = shards
            .iter()
            .filter(|shard| !index.folder.join(shard).exists())
            .map(|&shard| shard.to_owned())
            .collect();
        if !missing.is_empty() {
            return Err(IndexFault::MissingShards {
                shards: missing,
                total: shards.len(),
            });
        }
        Ok(index)
    }

    fn shard_names(&self) -> BTreeSet<&str> {
        self.weight_map.values().map(String::as_str).collect()
    }

    /// The shards' paths, each once, in the order of their names.
    pub(crate) fn shards(&self) -> Vec<PathBuf> {
        self.shard_names()
            .into_iter()
            .map(|shard| self.folder.join(shard))
            .collect()
    }

    /// Checks that each tensor is where the index says; `holds` answers whether a shard holds a
    /// tensor.
    pub(crate) fn check(&self, holds: impl Fn(&Path, &str) -> bool) -> Result<(), IndexFault> {
        let names: Vec<String> = self
            .weight_map
            .iter()
            .filter(|(name, shard)| !holds(&self.folder.join(shard), name))
            .map(|(name, _)| name.clone())
            .collect();
        match names.len() {
            0 => Ok(()),
            _ => Err(IndexFault::MissingTensors {
                names,
                total: self.weight_map.len(),
            }),
        }
    }
}

/// The parts of the JSON that matter; its `metadata` holds a total size that tools get wrong.
#[derive(serde::Deserialize)]
struct RawIndex {
    weight_map: WeightMap,
}

struct WeightMap {
    shards: BTreeMap<String, String>,
    /// The first name that stands twice.
    duplicate: Option<String>,
}

impl<'de> Deserialize<'de> for WeightMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MapVisitor;

        impl<'de> Visitor<'de> for MapVisitor {
            type Value = WeightMap;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object that names each tensor's shard")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WeightMap, A::Error> {
                let mut found = WeightMap {
                    shards: BTreeMap::new(),
                    duplicate: None,
                };
                while let Some(name) = map.next_key::<String>()? {
                    let shard = map.next_value().map_err(|error| {
                        A::Error::custom(format_args!("{}: {error}", Name(&name)))
                    })?;
                    if found.shards.insert(name.clone(), shard).is_some() {
                        found.duplicate.get_or_insert(name);
                    }
                }
                Ok(found)
            }
        }

        deserializer.deserialize_map(MapVisitor)
    }
}
