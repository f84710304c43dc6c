//! Weights files put together byte by byte, without the code under test.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tensoracle_weights::WeightsError;

/// A file of the given header text and data.
pub(crate) fn file_bytes(header: &str, data: &[u8]) -> Vec<u8> {
    [
        &(header.len() as u64).to_le_bytes(),
        header.as_bytes(),
        data,
    ]
    .concat()
}

/// A header entry.
pub(crate) fn entry(name: &str, dtype: &str, dims: &[u64], begin: u64, end: u64) -> String {
    format!(r#""{name}":{{"dtype":"{dtype}","shape":{dims:?},"data_offsets":[{begin},{end}]}}"#)
}

/// A valid file of tensors one after another; `padding` spaces lengthen the header, so that the
/// data begin at any address.
pub(crate) fn tensors(tensors: &[(&str, &str, &[u64], &[u8])], padding: usize) -> Vec<u8> {
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    for (name, dtype, dims, bytes) in tensors {
        let begin = data.len() as u64;
        data.extend_from_slice(bytes);
        entries.push(entry(name, dtype, dims, begin, data.len() as u64));
    }
    let header = format!("{{{}}}{}", entries.join(","), " ".repeat(padding));
    file_bytes(&header, &data)
}

/// Little-endian bytes of `f32`s.
pub(crate) fn f32s(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// A folder that is gone after the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

/// Message and hint, with the folder left out.
pub(crate) fn told(folder: &Folder, error: &WeightsError) -> String {
    let mut text = error.to_string();
    if let Some(hint) = error.hint() {
        let _ = write!(text, "\n  hint: {hint}");
    }
    text.replace(&format!("{}/", folder.path().display()), "")
        .replace(&folder.path().display().to_string(), "FOLDER")
}
