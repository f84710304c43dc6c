//! What stands where in the output: which tensor in which file, at which byte, under which header.
//!
//! A file starts with the length of its header in 8 bytes, then the header, padded to a multiple
//! of 8, then the tensors without gaps. Tensors of larger elements stand first, in the order of
//! the format's own writer, so that each is aligned to its elements when the file is mapped. What
//! is left out: the tensors' bytes.

use crate::dtype::Dtype;
use crate::entry::TensorEntry;
use crate::error::Error;
use crate::options::Options;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Bytes of header that the safetensors reader accepts.
const MAX_HEADER: u64 = 100_000_000;

/// The limit on output is this many times the source and [`MAX_OUTPUT_EXTRA`] bytes.
const MAX_OUTPUT_FACTOR: u64 = 4;
const MAX_OUTPUT_EXTRA: u64 = 1 << 30;

/// What other libraries look for before they load a file as torch's.
const METADATA: &str = r#""__metadata__":{"format":"pt"}"#;

/// A tensor's place in an output file.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    /// Number of its [`TensorEntry`].
    pub(crate) entry: usize,
    /// Type of the written elements.
    pub(crate) dtype: Dtype,
    /// Its first byte in the file.
    pub(crate) at: u64,
    /// Its bytes.
    pub(crate) len: u64,
}

/// One file of the output.
#[derive(Debug)]
pub(crate) struct OutputFile {
    pub(crate) path: PathBuf,
    /// Everything before the tensors.
    pub(crate) head: Vec<u8>,
    /// In the order of their places.
    pub(crate) tensors: Vec<Placed>,
    /// Bytes of the whole file.
    pub(crate) len: u64,
}

/// All files of the output.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) files: Vec<OutputFile>,
    /// Bytes of all tensors.
    pub(crate) bytes: u64,
}

/// The type of an entry's elements in the output.
pub(crate) fn output_dtype(entry: &TensorEntry, options: &Options) -> Dtype {
    match options.dtype {
        Some(cast) if entry.dtype.is_floating() => cast.dtype(),
        _ => entry.dtype,
    }
}

/// Bytes that an entry takes in the output; `u64::MAX` where the number does not fit.
pub(crate) fn output_bytes(entry: &TensorEntry, options: &Options) -> u64 {
    entry
        .elements()
        .and_then(|elements| elements.checked_mul(output_dtype(entry, options).size()))
        .unwrap_or(u64::MAX)
}

/// Refuses output beyond the limit for `source_bytes` of sources.
pub(crate) fn check_size(
    entries: &[TensorEntry],
    source_bytes: u64,
    options: &Options,
) -> Result<(), Error> {
    let limit = options.max_output.unwrap_or(
        source_bytes
            .saturating_mul(MAX_OUTPUT_FACTOR)
            .saturating_add(MAX_OUTPUT_EXTRA),
    );
    let sizes = entries.iter().map(|entry| output_bytes(entry, options));
    let needed = sizes.clone().fold(0, u64::saturating_add);
    if needed <= limit {
        return Ok(());
    }
    let largest = sizes.zip(entries).max_by_key(|(size, _)| *size);
    Err(Error::OutputTooLarge {
        needed,
        limit,
        largest: largest.map_or_else(String::new, |(_, entry)| entry.name.clone()),
        largest_bytes: largest.map_or(0, |(size, _)| size),
    })
}

/// Lays the entries out in one file at `destination`, or in shards named after it.
pub(crate) fn lay_out(
    entries: &[TensorEntry],
    destination: &Path,
    options: &Options,
) -> Result<Output, Error> {
    let shards = assign(entries, options);
    let paths = match shards.len() {
        1 => vec![destination.to_owned()],
        count => (1..=count)
            .map(|number| shard_path(destination, number, count))
            .collect(),
    };
    let files = shards
        .into_iter()
        .zip(paths)
        .map(|(shard, path)| lay_out_file(entries, shard, path, options))
        .collect::<Result<Vec<_>, _>>()?;
    let bytes = files
        .iter()
        .flat_map(|file| &file.tensors)
        .map(|tensor| tensor.len)
        .sum();
    Ok(Output { files, bytes })
}

/// Numbers of the entries of each file; at least one file.
fn assign(entries: &[TensorEntry], options: &Options) -> Vec<Vec<usize>> {
    let limit = options.shard_size.unwrap_or(u64::MAX);
    let mut shards = vec![Vec::new()];
    let mut filled = 0u64;
    for (number, entry) in entries.iter().enumerate() {
        let bytes = output_bytes(entry, options);
        let current = shards.len() - 1;
        if shards[current].is_empty() || filled.saturating_add(bytes) <= limit {
            shards[current].push(number);
            filled = filled.saturating_add(bytes);
        } else {
            shards.push(vec![number]);
            filled = bytes;
        }
    }
    shards
}

/// The destination's name without `.safetensors`.
fn stem(destination: &Path) -> OsString {
    let stem = match destination.extension() {
        Some(extension) if extension == "safetensors" => destination.file_stem(),
        _ => destination.file_name(),
    };
    stem.unwrap_or_default().to_owned()
}

/// `model-00001-of-00003.safetensors` beside `model.safetensors`.
fn shard_path(destination: &Path, number: usize, count: usize) -> PathBuf {
    let mut name = stem(destination);
    name.push(format!("-{number:05}-of-{count:05}.safetensors"));
    destination.with_file_name(name)
}

/// `model.safetensors.index.json` beside `model.safetensors`.
pub(crate) fn index_path(destination: &Path) -> PathBuf {
    let mut name = stem(destination);
    name.push(".safetensors.index.json");
    destination.with_file_name(name)
}

fn lay_out_file(
    entries: &[TensorEntry],
    mut numbers: Vec<usize>,
    path: PathBuf,
    options: &Options,
) -> Result<OutputFile, Error> {
    numbers.sort_by(|left, right| {
        let key = |number: usize| {
            let entry = &entries[number];
            (std::cmp::Reverse(output_dtype(entry, options)), &entry.name)
        };
        key(*left).cmp(&key(*right))
    });
    let mut tensors = Vec::with_capacity(numbers.len());
    let mut header = format!("{{{METADATA}");
    let mut at = 0;
    for number in numbers {
        let entry = &entries[number];
        let (dtype, len) = (output_dtype(entry, options), output_bytes(entry, options));
        write_description(&mut header, entry, dtype, at, at + len);
        tensors.push(Placed {
            entry: number,
            dtype,
            at,
            len,
        });
        at += len;
    }
    header.push('}');
    while !header.len().is_multiple_of(8) {
        header.push(' ');
    }
    if header.len() as u64 > MAX_HEADER {
        return Err(Error::HeaderTooLarge {
            found: header.len() as u64,
            limit: MAX_HEADER,
        });
    }
    let mut head = (header.len() as u64).to_le_bytes().to_vec();
    head.extend_from_slice(header.as_bytes());
    for tensor in &mut tensors {
        tensor.at += head.len() as u64;
    }
    Ok(OutputFile {
        path,
        len: head.len() as u64 + at,
        head,
        tensors,
    })
}

fn write_description(header: &mut String, entry: &TensorEntry, dtype: Dtype, from: u64, to: u64) {
    let shape: Vec<String> = entry.shape.iter().map(u64::to_string).collect();
    // Writing to a string does not fail.
    let _ = write!(
        header,
        r#",{}:{{"dtype":"{dtype}","shape":[{}],"data_offsets":[{from},{to}]}}"#,
        serde_json::Value::from(entry.name.as_str()),
        shape.join(",")
    );
}
