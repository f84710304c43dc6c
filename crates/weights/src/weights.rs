//! Opening weights, one file or many, and finding tensors in them by name.

use crate::digest::{DigestCache, hash_all};
use crate::error::WeightsError;
use crate::file::WeightsFile;
use crate::index::Index;
use crate::nearest::nearest;
use crate::source::WeightConstant;
use crate::stamp::FileStamp;
use crate::view::WeightTensor;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tensoracle_graph::ContentDigest;
use tensoracle_mapping::Read;
use tensoracle_progress::Progress;

/// The index that a sharded folder has by custom.
const INDEX_NAME: &str = "model.safetensors.index.json";

/// The file that an unsharded folder has by custom.
const FILE_NAME: &str = "model.safetensors";

/// How weights are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WeightsOptions {
    /// Whether files are mapped or read into memory.
    pub read: Read,
}

/// The tensors of one or more open safetensors files. Cheap to clone.
#[derive(Clone)]
pub struct Weights {
    files: Arc<[Arc<WeightsFile>]>,
    /// File, and position in its header, of each tensor.
    places: Arc<BTreeMap<String, (usize, usize)>>,
}

impl Weights {
    /// Opens a `.safetensors` file, a sharded folder by its `….safetensors.index.json`, or a
    /// folder that holds `model.safetensors.index.json` or `model.safetensors`.
    ///
    /// The files are mapped: see the crate's contract.
    ///
    /// # Errors
    /// When a file cannot be read, is not valid safetensors, or does not match its index.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, WeightsError> {
        Self::open_with(&[path], WeightsOptions::default())
    }

    /// Opens several files, each as [`open`](Self::open) does, as one set of tensors.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), [`WeightsError::InTwoFiles`] when files share a tensor's
    /// name, and [`WeightsError::NoFiles`].
    pub fn open_all(paths: &[impl AsRef<Path>]) -> Result<Self, WeightsError> {
        Self::open_with(paths, WeightsOptions::default())
    }

    /// Opens files as [`open_all`](Self::open_all) does, with options.
    ///
    /// # Errors
    /// Those of [`open_all`](Self::open_all).
    pub fn open_with(
        paths: &[impl AsRef<Path>],
        options: WeightsOptions,
    ) -> Result<Self, WeightsError> {
        let mut opening = Opening {
            options,
            files: Vec::new(),
            places: BTreeMap::new(),
        };
        for path in paths {
            opening.add(path.as_ref())?;
        }
        if opening.files.is_empty() {
            return Err(WeightsError::NoFiles);
        }
        Ok(Self {
            files: opening.files.into(),
            places: Arc::new(opening.places),
        })
    }

    /// The tensor of that name; nothing is read yet.
    ///
    /// # Errors
    /// [`WeightsError::NoSuchTensor`], whose hint lists near names.
    pub fn tensor(&self, name: &str) -> Result<WeightTensor, WeightsError> {
        let (file, position) = self.place(name)?;
        let file = &self.files[file];
        file.digests().mark_used(position);
        Ok(WeightTensor::stored(Arc::clone(file), position))
    }

    /// The tensor of that name as a constant for a graph.
    ///
    /// # Errors
    /// Those of [`tensor`](Self::tensor) and of [`WeightTensor::into_constant`].
    pub fn constant(&self, name: &str) -> Result<WeightConstant, WeightsError> {
        self.tensor(name)?.into_constant()
    }

    /// Whether there is a tensor of that name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// The names of all tensors, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// How many tensors there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no tensors, which a valid file may say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The free-form text that the files carry (`__metadata__`). Where files differ, the first
    /// file's entry stands.
    #[must_use]
    pub fn metadata(&self) -> BTreeMap<&str, &str> {
        let entries = self
            .files
            .iter()
            .rev()
            .flat_map(|file| file.header().metadata());
        entries
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect()
    }

    /// The open files as they were when opened.
    pub fn stamps(&self) -> impl ExactSizeIterator<Item = &FileStamp> {
        self.files.iter().map(|file| file.stamp())
    }

    /// Whether every file is as it was when opened, both the one held open and the one that its
    /// path names now.
    ///
    /// # Errors
    /// [`WeightsError::Changed`] with the file and the field that differs;
    /// [`WeightsError::Io`] when a file is gone.
    pub fn unchanged(&self) -> Result<(), WeightsError> {
        self.files.iter().try_for_each(|file| file.unchanged())
    }

    /// Takes a record of digests into use: what it holds for these files need not be hashed again,
    /// and what [`digest_all`](Self::digest_all) and [`digest_used`](Self::digest_used) hash is
    /// added to it. Files that changed within two seconds before they were opened stay without.
    /// A second call is without effect.
    pub fn use_digest_cache(&self, cache: &Arc<dyn DigestCache>) {
        self.files.iter().for_each(|file| file.use_cache(cache));
    }

    /// Hashes the stored bytes of the named tensors on all cores, as far as they are not known.
    ///
    /// # Errors
    /// [`WeightsError::NoSuchTensor`]; [`WeightsError::Cancelled`] when `progress` says so.
    pub fn digest_all<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
        progress: &dyn Progress,
    ) -> Result<(), WeightsError> {
        let places: Vec<_> = names
            .into_iter()
            .map(|name| self.place(name))
            .collect::<Result<_, _>>()?;
        hash_all(&self.files, &places, progress)
    }

    /// Hashes the stored bytes of every tensor that [`tensor`](Self::tensor) has handed out, as
    /// far as they are not known: after a graph is defined, what its identity needs.
    ///
    /// # Errors
    /// [`WeightsError::Cancelled`] when `progress` says so.
    pub fn digest_used(&self, progress: &dyn Progress) -> Result<(), WeightsError> {
        let files = self.files.iter().enumerate();
        let used = files
            .flat_map(|(file, open)| open.digests().used().map(move |position| (file, position)));
        hash_all(&self.files, &used.collect::<Vec<_>>(), progress)
    }

    /// The digest of a tensor's stored bytes, hashed now unless it is known.
    ///
    /// # Errors
    /// [`WeightsError::NoSuchTensor`].
    pub fn digest(&self, name: &str) -> Result<ContentDigest, WeightsError> {
        let (file, position) = self.place(name)?;
        Ok(self.files[file].digest(position))
    }

    fn place(&self, name: &str) -> Result<(usize, usize), WeightsError> {
        self.places
            .get(name)
            .copied()
            .ok_or_else(|| WeightsError::NoSuchTensor {
                name: name.to_owned(),
                file: match &*self.files {
                    [file] => file.path().display().to_string(),
                    files => format!("{} files", files.len()),
                },
                count: self.len(),
                near: nearest(name, self.names()),
            })
    }
}

impl fmt::Debug for Weights {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Weights")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

/// Weights being opened.
struct Opening {
    options: WeightsOptions,
    files: Vec<Arc<WeightsFile>>,
    places: BTreeMap<String, (usize, usize)>,
}

impl Opening {
    /// Adds what a path given by the user stands for.
    fn add(&mut self, path: &Path) -> Result<(), WeightsError> {
        let is_index = |path: &Path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        };
        if path.is_dir() {
            let found = [INDEX_NAME, FILE_NAME].map(|name| path.join(name));
            match found.into_iter().find(|path| path.exists()) {
                Some(path) => self.add(&path),
                None => Err(WeightsError::NoWeightsInFolder {
                    path: path.to_path_buf(),
                }),
            }
        } else if is_index(path) {
            self.add_shards(path)
        } else {
            self.add_file(path).map(drop)
        }
    }

    fn add_shards(&mut self, path: &Path) -> Result<(), WeightsError> {
        let in_index = |fault| WeightsError::Index {
            path: path.to_path_buf(),
            fault,
        };
        let index = Index::open(path)
            .map_err(|cause| WeightsError::Io {
                path: path.to_path_buf(),
                cause,
            })?
            .map_err(in_index)?;
        let mut shards: BTreeMap<PathBuf, Arc<WeightsFile>> = BTreeMap::new();
        for shard in index.shards() {
            let file = self.add_file(&shard)?;
            shards.insert(shard, file);
        }
        let holds = |shard: &Path, name: &str| {
            shards
                .get(shard)
                .is_some_and(|file| file.header().position(name).is_some())
        };
        index.check(holds).map_err(in_index)
    }

    fn add_file(&mut self, path: &Path) -> Result<Arc<WeightsFile>, WeightsError> {
        let file = Arc::new(WeightsFile::open(path, self.options.read)?);
        for (position, tensor) in file.header().tensors().iter().enumerate() {
            match self.places.entry(tensor.name.clone()) {
                Entry::Vacant(place) => place.insert((self.files.len(), position)),
                Entry::Occupied(place) => {
                    return Err(WeightsError::InTwoFiles {
                        name: tensor.name.clone(),
                        first: self.files[place.get().0].path().to_path_buf(),
                        second: path.to_path_buf(),
                    });
                }
            };
        }
        self.files.push(Arc::clone(&file));
        Ok(file)
    }
}
