//! Source files: opening them, reading what they hold, and finding the files of a sharded
//! checkpoint.
//!
//! What is left out: writing anything.

use crate::budget::Budget;
use crate::container::torch_zip::TorchZip;
use crate::container::{Layout, Storages, layout, legacy, tar, torch_zip};
use crate::entry::{TensorEntry, resolve};
use crate::error::{Error, Problem};
use crate::flatten::{Flat, flatten};
use crate::options::Options;
use crate::pickle::{Heap, Value};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use tensoracle_mapping::{FileBytes, Read};

/// What the index of a sharded checkpoint is called, after the name of the whole.
const INDEX_SUFFIX: &str = ".index.json";

/// What files of checkpoints are called.
const EXTENSIONS: [&str; 5] = ["bin", "pt", "pth", "ckpt", "tar"];

/// Bytes that an index may have: enough for a million names.
const MAX_INDEX: u64 = 256 << 20;

/// An open, mapped source file.
#[derive(Debug)]
pub(crate) struct SourceFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: FileBytes,
}

impl SourceFile {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let bytes = FileBytes::open(path, Read::Mapped).map_err(Error::io("open", path))?;
        Ok(Self {
            path: path.to_owned(),
            bytes,
        })
    }

    /// What the file holds, as number `number` of the sources.
    pub(crate) fn read(
        &self,
        number: usize,
        options: &Options,
    ) -> Result<(Vec<TensorEntry>, Flat), Error> {
        read(&self.bytes, number, options).map_err(|problem| problem.in_file(&self.path))
    }
}

/// The tensors of a checkpoint in memory, and what became of everything else.
pub(crate) fn read(
    bytes: &[u8],
    number: usize,
    options: &Options,
) -> Result<(Vec<TensorEntry>, Flat), Problem> {
    let mut budget = Budget::new(options.max_metadata, bytes.len() as u64);
    match layout(bytes)? {
        Layout::Zip => {
            let zip = TorchZip::open(bytes, &mut budget)?;
            let pickle = zip.pickle(&mut budget)?;
            let mut heap = Heap::new(budget);
            let object = torch_zip::load(&mut heap, &pickle)?;
            finish(heap, object, &zip, number, options)
        }
        Layout::Legacy => {
            let mut heap = Heap::new(budget);
            let (object, ranges) = legacy::load(&mut heap, bytes)?;
            finish(heap, object, &ranges, number, options)
        }
        Layout::Tar => {
            let mut heap = Heap::new(budget);
            let (object, ranges) = tar::load(&mut heap, bytes)?;
            finish(heap, object, &ranges, number, options)
        }
    }
}

fn finish<'p>(
    mut heap: Heap<'p>,
    object: Value<'p>,
    storages: &dyn Storages,
    number: usize,
    options: &Options,
) -> Result<(Vec<TensorEntry>, Flat), Problem> {
    let mut flat = flatten(&mut heap, object, options)?;
    let entries = resolve(&heap, storages, &mut flat, number)?;
    Ok((entries, flat))
}

/// The files of a checkpoint, and which file an index says each tensor is in.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) files: Vec<SourceFile>,
    /// Numbers of files by tensor name; empty without an index.
    pub(crate) index: BTreeMap<String, usize>,
}

impl Sources {
    /// Opens the file, the files of the index, or the files of the folder at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let meta = std::fs::metadata(path).map_err(Error::io("open", path))?;
        if meta.is_dir() {
            return Self::open_folder(path);
        }
        if path.to_string_lossy().ends_with(INDEX_SUFFIX) {
            return Self::open_index(path);
        }
        Ok(Self {
            files: vec![SourceFile::open(path)?],
            index: BTreeMap::new(),
        })
    }

    fn open_folder(folder: &Path) -> Result<Self, Error> {
        let mut indexes = Vec::new();
        let mut checkpoints = Vec::new();
        let entries = std::fs::read_dir(folder).map_err(Error::io("list", folder))?;
        for entry in entries {
            let path = entry.map_err(Error::io("list", folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_checkpoint = path
                .extension()
                .is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known));
            if name.ends_with(INDEX_SUFFIX) && !name.contains(".safetensors.") {
                indexes.push(path);
            } else if is_checkpoint && path.is_file() && name != "training_args.bin" {
                checkpoints.push(path);
            }
        }
        match indexes.as_slice() {
            [index] => return Self::open_index(index),
            [] => {}
            _ => {
                return Err(Error::Sources {
                    path: folder.to_owned(),
                    problem: format!(
                        "the folder holds {} indexes; name the one to convert",
                        indexes.len()
                    ),
                });
            }
        }
        if checkpoints.is_empty() {
            return Err(Error::Sources {
                path: folder.to_owned(),
                problem: format!(
                    "the folder holds no checkpoint (a file named .{})",
                    EXTENSIONS.join(", .")
                ),
            });
        }
        checkpoints.sort();
        Ok(Self {
            files: open_all(&checkpoints)?,
            index: BTreeMap::new(),
        })
    }

    fn open_index(path: &Path) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Index {
            weight_map: BTreeMap<String, String>,
        }
        let wrong = |problem: String| Error::Sources {
            path: path.to_owned(),
            problem,
        };
        let len = std::fs::metadata(path)
            .map_err(Error::io("open", path))?
            .len();
        if len > MAX_INDEX {
            return Err(wrong(format!(
                "an index has at most {MAX_INDEX} bytes, and this file has {len}"
            )));
        }
        let text = std::fs::read(path).map_err(Error::io("read", path))?;
        let index: Index = serde_json::from_slice(&text)
            .map_err(|error| wrong(format!("it is not an index of shards: {error}")))?;
        let names: BTreeSet<&String> = index.weight_map.values().collect();
        let names: Vec<&String> = names.into_iter().collect();
        for name in &names {
            let mut parts = Path::new(name).components();
            let is_plain = matches!(parts.next(), Some(Component::Normal(_)))
                && parts.next().is_none()
                && !name.contains('\\');
            if !is_plain {
                return Err(wrong(format!("its shard {name:?} is not a file beside it")));
            }
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let paths: Vec<_> = names.iter().map(|name| folder.join(name)).collect();
        let files = open_all(&paths)?;
        let index = index
            .weight_map
            .iter()
            .filter_map(|(name, shard)| Some((name.clone(), names.binary_search(&shard).ok()?)))
            .collect();
        Ok(Self { files, index })
    }

    /// Checks that the tensors are those of the index, each in the file that it names.
    pub(crate) fn check_index(&self, path: &Path, entries: &[TensorEntry]) -> Result<(), Error> {
        if self.index.is_empty() {
            return Ok(());
        }
        let found: BTreeMap<&str, usize> = entries
            .iter()
            .map(|entry| (entry.name.as_str(), entry.file))
            .collect();
        let missing: Vec<&str> = self
            .index
            .iter()
            .filter(|(name, file)| found.get(name.as_str()) != Some(file))
            .map(|(name, _)| name.as_str())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::Sources {
            path: path.to_owned(),
            problem: format!(
                "its shards lack {} of the tensors it lists: {}",
                missing.len(),
                missing.join(", ")
            ),
        })
    }
}

fn open_all(paths: &[PathBuf]) -> Result<Vec<SourceFile>, Error> {
    paths.iter().map(|path| SourceFile::open(path)).collect()
}
