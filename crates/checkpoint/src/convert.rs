//! The conversion as a whole, and the same without writing.
//!
//! What is left out: each of the steps.

use crate::dtype::Dtype;
use crate::entry::TensorEntry;
use crate::error::Error;
use crate::options::Options;
use crate::output::digest::digest;
use crate::output::layout::{check_size, lay_out, output_dtype};
use crate::output::publish::{folder_of, prepare, prepare_index, publish, resolve};
use crate::output::spool::Spool;
use crate::output::write::Inputs;
use crate::refusal::{Entry, Kind, Refusal};
use crate::source::Sources;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use tensoracle_progress::{Progress, Unit};

/// What a conversion did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Number of tensors written.
    pub tensors: usize,
    /// Bytes of the tensors written.
    pub bytes: u64,
    /// Entries left out, as asked.
    pub skipped: Vec<Entry>,
    /// SHA-256 over names, types, shapes and values, in hexadecimal, where asked for: over the
    /// tensors sorted by name, for each its name, NUL, its safetensors type, NUL, its sizes in
    /// decimal with commas between them, NUL, its number of bytes as 8 bytes little-endian, and
    /// its bytes.
    pub digest: Option<String>,
    /// The files written; the index of a sharded output is the last.
    pub files: Vec<PathBuf>,
}

/// What a conversion would write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The tensors, in the order of the sources.
    pub tensors: Vec<TensorInfo>,
    /// Bytes of all tensors.
    pub bytes: u64,
    /// Entries that would be left out, as asked.
    pub skipped: Vec<Entry>,
}

/// A tensor as a conversion would write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// Type of its elements.
    pub dtype: Dtype,
    /// Sizes of its dimensions.
    pub shape: Vec<u64>,
}

/// A checkpoint that can be converted.
struct Accepted {
    sources: Sources,
    entries: Vec<TensorEntry>,
    skipped: Vec<Entry>,
}

/// Converts the checkpoint at `source` to a safetensors file at `destination`.
///
/// `source` is a file that torch wrote, a folder of such files, or the index of a sharded
/// checkpoint (`pytorch_model.bin.index.json`). It is mapped: nobody may change it in place
/// meanwhile. Nothing in it is executed. The destination, which may be the source, is replaced
/// when everything is written, and only then; with several shards, one after the other and the
/// index last.
///
/// # Errors
/// See [`Error`]. The destination is as it was, unless renaming one of several shards fails.
pub fn convert(
    source: &Path,
    destination: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Summary, Error> {
    let destination = resolve(destination)?;
    let Accepted {
        sources,
        entries,
        skipped,
    } = accept(source, options, progress)?;
    let output = lay_out(&entries, &destination, options)?;
    let spool = Spool::fill(&entries, &sources.files, folder_of(&destination), progress)?;
    let inputs = Inputs {
        entries: &entries,
        sources: &sources.files,
        spool: &spool,
    };
    let mut prepared = prepare(&output, &inputs, progress)?;
    let digest = if options.digest {
        Some(digest(&output, &prepared, &entries, progress)?)
    } else {
        None
    };
    if output.files.len() > 1 {
        prepared.push(prepare_index(&output, &inputs, &destination)?);
    }
    if progress.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let files = publish(prepared)?;
    Ok(Summary {
        tensors: entries.len(),
        bytes: output.bytes,
        skipped,
        digest,
        files,
    })
}

/// What [`convert`] would write, without writing. Deflated storages are not inflated, so damage
/// inside them is not noticed.
///
/// # Errors
/// Those of [`convert`], except for those of writing.
pub fn inspect(
    source: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Listing, Error> {
    let accepted = accept(source, options, progress)?;
    let output = lay_out(&accepted.entries, Path::new("output"), options)?;
    Ok(Listing {
        tensors: accepted
            .entries
            .iter()
            .map(|entry| TensorInfo {
                name: entry.name.clone(),
                dtype: output_dtype(entry, options),
                shape: entry.shape.to_vec(),
            })
            .collect(),
        bytes: output.bytes,
        skipped: accepted.skipped,
    })
}

/// Reads the sources and refuses what cannot be converted.
fn accept(source: &Path, options: &Options, progress: &dyn Progress) -> Result<Accepted, Error> {
    let sources = Sources::open(source)?;
    progress.begin(
        "reading checkpoints",
        Some(sources.files.len() as u64),
        Unit::Items,
    );
    let mut accepted = Accepted {
        sources,
        entries: Vec::new(),
        skipped: Vec::new(),
    };
    let mut refused = Vec::new();
    for (number, file) in accepted.sources.files.iter().enumerate() {
        if progress.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let (entries, flat) = file.read(number, options)?;
        accepted.entries.extend(entries);
        accepted.skipped.extend(flat.skipped);
        refused.extend(flat.refused);
        progress.advance(1);
    }
    progress.finish();
    if accepted.sources.files.len() > 1 {
        refuse_duplicates(&accepted.entries, &mut refused);
    }
    if !refused.is_empty() {
        return Err(Error::Refused {
            path: source.to_owned(),
            refusal: Refusal { entries: refused },
        });
    }
    if options.select.is_empty() {
        accepted.sources.check_index(source, &accepted.entries)?;
    }
    let source_bytes = accepted
        .sources
        .files
        .iter()
        .map(|file| file.bytes.len() as u64)
        .sum();
    check_size(&accepted.entries, source_bytes, options)?;
    Ok(accepted)
}

/// Refuses names that stand in more than one of the files.
fn refuse_duplicates(entries: &[TensorEntry], refused: &mut Vec<Entry>) {
    let mut names = HashSet::new();
    for entry in entries {
        if !names.insert(entry.name.as_str()) {
            refused.push(Entry {
                path: Some(entry.name.clone()),
                kind: Kind::Duplicate,
            });
        }
    }
}
