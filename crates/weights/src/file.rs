//! One open safetensors file: its bytes, its checked header, its stamp, its tensors' digests.

use crate::digest::FileDigests;
use crate::error::WeightsError;
use crate::header::{Header, StoredTensor};
use crate::stamp::FileStamp;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tensoracle_mapping::{FileBytes, Read};

/// An open file.
pub(crate) struct WeightsFile {
    /// The path as the user gave it, for messages.
    path: PathBuf,
    handle: File,
    stamp: FileStamp,
    was_settled: bool,
    bytes: FileBytes,
    header: Header,
    digests: FileDigests,
}

impl WeightsFile {
    pub(crate) fn open(path: &Path, read: Read) -> Result<Self, WeightsError> {
        let io = |cause| WeightsError::Io {
            path: path.to_path_buf(),
            cause,
        };
        // Asked before opening, because opening a pipe waits for a writer.
        if !std::fs::metadata(path).map_err(io)?.is_file() {
            return Err(WeightsError::NotAFile {
                path: path.to_path_buf(),
            });
        }
        let absolute = std::path::absolute(path).map_err(io)?;
        let handle = File::open(path).map_err(io)?;
        let stamp = FileStamp::new(&absolute, &handle.metadata().map_err(io)?);
        let was_settled = stamp.is_settled(SystemTime::now());
        let bytes = FileBytes::from_file(&handle, read).map_err(io)?;
        let header = Header::parse(&bytes).map_err(|fault| WeightsError::Header {
            path: path.to_path_buf(),
            fault,
        })?;
        let digests = FileDigests::new(header.tensors().len());
        let path = path.to_path_buf();
        let file = Self {
            path,
            handle,
            stamp,
            was_settled,
            bytes,
            header,
            digests,
        };
        // What was read into memory is one state of the file only if nothing changed meanwhile.
        if read == Read::Owned {
            file.unchanged()?;
        }
        Ok(file)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    pub(crate) fn stamp(&self) -> &FileStamp {
        &self.stamp
    }

    /// Whether the file had rested long enough when it was opened for its stamp to be trusted: any
    /// change since then shows in the stamp.
    pub(crate) fn was_settled(&self) -> bool {
        self.was_settled
    }

    pub(crate) fn digests(&self) -> &FileDigests {
        &self.digests
    }

    pub(crate) fn tensor(&self, position: usize) -> &StoredTensor {
        &self.header.tensors()[position]
    }

    /// The stored bytes of a tensor, which begin at any address.
    pub(crate) fn tensor_bytes(&self, position: usize) -> &[u8] {
        &self.bytes[self.tensor(position).range.clone()]
    }

    /// Lets the system read ahead what will soon be read.
    pub(crate) fn will_need(&self, position: usize) {
        self.bytes.will_need(self.tensor(position).range.clone());
    }

    /// Whether the open file, and the file now at its path, are as they were when opened.
    pub(crate) fn unchanged(&self) -> Result<(), WeightsError> {
        let io = |cause| WeightsError::Io {
            path: self.path.clone(),
            cause,
        };
        let by_handle = self.handle.metadata().map_err(io)?;
        let by_path = std::fs::metadata(&self.stamp.path).map_err(io)?;
        // By path first: after a rename the old file's change time has moved too, but that
        // another file is there is what a person wants to hear.
        for metadata in [by_path, by_handle] {
            let now = FileStamp::new(&self.stamp.path, &metadata);
            if let Some((field, before, after)) = self.stamp.difference(&now) {
                return Err(WeightsError::Changed {
                    path: self.path.clone(),
                    field,
                    before,
                    after,
                });
            }
        }
        Ok(())
    }
}

impl fmt::Debug for WeightsFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WeightsFile")
            .field("path", &self.path)
            .field("tensors", &self.header.tensors().len())
            .finish_non_exhaustive()
    }
}
