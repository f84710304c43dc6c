//! What a file is that is not safetensors: recognised by its first bytes.
//!
//! Asked only once a file has proved not to be safetensors, because any bytes may begin a
//! safetensors file (they are its header's length).

use std::fmt;

/// A kind of file that people take for safetensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// The text that stands for a file which Git LFS has not fetched.
    GitLfsPointer,
    /// A ZIP archive that `torch.save` wrote.
    TorchZip,
    /// Another ZIP archive, such as an `.npz`.
    Zip,
    /// A Python pickle: a checkpoint of old PyTorch.
    Pickle,
    /// A tar archive: a checkpoint of very old PyTorch.
    Tar,
    /// Bytes compressed by gzip.
    Gzip,
    /// HDF5: Keras weights.
    Hdf5,
    /// A GGUF model.
    Gguf,
    /// A single NumPy array, `.npy`.
    Npy,
    /// A web page, as a failed download leaves behind.
    Html,
    /// JSON: an index or a configuration.
    Json,
}

impl FileKind {
    /// The kind that a file's beginning shows. A few kilobytes are enough.
    #[must_use]
    pub fn recognise(start: &[u8]) -> Option<Self> {
        const ZIP_NAMES: usize = 4096;
        let head = &start[..start.len().min(ZIP_NAMES)];
        let text = head.trim_ascii_start();
        let lower = text[..text.len().min(14)].to_ascii_lowercase();
        if head.starts_with(b"version https://git-lfs.github.com/spec/") {
            Some(Self::GitLfsPointer)
        } else if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
            let is_torch = head.windows(9).any(|window| window == b"/data.pkl");
            Some(if is_torch { Self::TorchZip } else { Self::Zip })
        } else if matches!(head, [0x80, 2..=5, ..]) {
            Some(Self::Pickle)
        } else if head.get(257..262) == Some(b"ustar") {
            Some(Self::Tar)
        } else if head.starts_with(b"\x1f\x8b") {
            Some(Self::Gzip)
        } else if head.starts_with(b"\x89HDF\r\n\x1a\n") {
            Some(Self::Hdf5)
        } else if head.starts_with(b"GGUF") {
            Some(Self::Gguf)
        } else if head.starts_with(b"\x93NUMPY") {
            Some(Self::Npy)
        } else if lower.starts_with(b"<!doctype html") || lower.starts_with(b"<html") {
            Some(Self::Html)
        } else if text.starts_with(b"{") {
            Some(Self::Json)
        } else {
            None
        }
    }

    pub(crate) fn hint(self) -> &'static str {
        match self {
            Self::GitLfsPointer => "fetch the file itself with `git lfs pull`",
            Self::TorchZip | Self::Pickle | Self::Tar => {
                "convert the checkpoint to safetensors first; renaming it does not"
            }
            Self::Html | Self::Gzip => "download the file again and check its size",
            Self::Json => "a sharded folder's index ends in `.safetensors.index.json`",
            Self::Zip | Self::Hdf5 | Self::Gguf | Self::Npy => {
                "write the tensors to safetensors with the tool that made the file"
            }
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::GitLfsPointer => "a Git LFS pointer",
            Self::TorchZip => "a PyTorch checkpoint (ZIP)",
            Self::Zip => "a ZIP archive",
            Self::Pickle => "a Python pickle (an old PyTorch checkpoint)",
            Self::Tar => "a tar archive",
            Self::Gzip => "gzip-compressed",
            Self::Hdf5 => "an HDF5 file",
            Self::Gguf => "a GGUF model",
            Self::Npy => "a NumPy array",
            Self::Html => "a web page",
            Self::Json => "a JSON file",
        })
    }
}
