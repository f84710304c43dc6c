//! Read-only file contents, mapped into memory or read into it.
//!
//! The one place where a file is mapped: the `unsafe` that mapping needs, and the contract that
//! comes with it, are stated here once. What is left out: any format, any writing, any locking.
//!
//! # Contract of a mapped file
//!
//! While a [`FileBytes`] opened with [`Read::Mapped`] lives, nobody may change or truncate the
//! file in place. A file that is replaced by renaming another over it is safe: the mapping keeps
//! the old contents. A file that shrinks under the mapping ends the process with `SIGBUS` at the
//! next access; one that is rewritten in place changes under the reader. Where that cannot be
//! promised (network file systems, a directory that hostile neighbours write to), open with
//! [`Read::Owned`].

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Deref;
use std::path::Path;

/// How a file's contents come into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Read {
    /// Mapped: pages are read when touched and shared between processes. See the crate's
    /// contract.
    #[default]
    Mapped,
    /// Read whole into memory that this process owns; later changes to the file have no effect.
    Owned,
}

/// A file's contents as bytes. Page-aligned when mapped; 64-byte-aligned when owned.
#[derive(Debug)]
pub struct FileBytes {
    contents: Contents,
}

#[derive(Debug)]
enum Contents {
    // A mapping of length zero is an error on some systems.
    Empty,
    Mapped(memmap2::Mmap),
    Owned {
        buffer: Vec<u8>,
        start: usize,
        len: usize,
    },
}

/// Alignment of owned contents: a cache line, and enough for every element type.
const OWNED_ALIGNMENT: usize = 64;

impl FileBytes {
    /// Opens `path` and brings in its contents.
    ///
    /// # Errors
    /// Whatever opening, measuring, mapping or reading the file answers.
    pub fn open(path: &Path, read: Read) -> io::Result<Self> {
        Self::from_file(&File::open(path)?, read)
    }

    /// The contents of an open file, from its beginning.
    ///
    /// # Errors
    /// Whatever measuring, mapping or reading the file answers; a file that grows or shrinks
    /// while it is read into memory is `InvalidData`.
    pub fn from_file(file: &File, read: Read) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let len = usize::try_from(len).map_err(|_| {
            io::Error::new(
                io::ErrorKind::OutOfMemory,
                "file is larger than the address space",
            )
        })?;
        let contents = match read {
            _ if len == 0 => Contents::Empty,
            Read::Mapped => {
                // SAFETY: the file is opened for reading and mapped privately and read-only; that
                // nobody changes it in place meanwhile is the contract stated at the crate's head,
                // which callers pass on to their users and which `Read::Owned` avoids.
                Contents::Mapped(unsafe { memmap2::Mmap::map(file)? })
            }
            Read::Owned => read_owned(file, len)?,
        };
        Ok(Self { contents })
    }

    /// Whether the bytes are a mapping of the file rather than a copy.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        matches!(self.contents, Contents::Mapped(_))
    }

    /// Tells the system that `range` will be wanted soon, so that it reads ahead. A hint: errors
    /// and ranges outside the file are ignored.
    pub fn will_need(&self, range: std::ops::Range<usize>) {
        #[cfg(unix)]
        if let Contents::Mapped(map) = &self.contents
            && range.start < range.end
            && range.end <= map.len()
        {
            let _ = map.advise_range(
                memmap2::Advice::WillNeed,
                range.start,
                range.end - range.start,
            );
        }
        #[cfg(not(unix))]
        let _ = range;
    }
}

fn read_owned(file: &File, len: usize) -> io::Result<Contents> {
    let mut buffer: Vec<u8> = Vec::new();
    buffer
        .try_reserve_exact(
            len.checked_add(OWNED_ALIGNMENT)
                .ok_or(io::ErrorKind::OutOfMemory)?,
        )
        .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    let start = buffer.as_ptr().align_offset(OWNED_ALIGNMENT);
    buffer.resize(start, 0);
    let mut reader = file;
    let found = reader.by_ref().take(len as u64).read_to_end(&mut buffer)?;
    if found != len || reader.read(&mut [0])? != 0 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the file changed its size while it was read",
        ));
    }
    Ok(Contents::Owned { buffer, start, len })
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.contents {
            Contents::Empty => &[],
            Contents::Mapped(map) => map,
            Contents::Owned { buffer, start, len } => &buffer[*start..*start + *len],
        }
    }
}

impl AsRef<[u8]> for FileBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file_with(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn both_ways_give_the_same_bytes() {
        let bytes: Vec<u8> = (0..10_007u32).map(|i| (i * 7 % 251) as u8).collect();
        let file = file_with(&bytes);
        for read in [Read::Mapped, Read::Owned] {
            let found = FileBytes::open(file.path(), read).unwrap();
            assert_eq!(&*found, &bytes[..], "{read:?}");
            assert_eq!(found.is_mapped(), read == Read::Mapped);
            assert_eq!(found.as_ptr().align_offset(OWNED_ALIGNMENT), 0, "{read:?}");
        }
    }

    #[test]
    fn an_empty_file_is_empty_either_way() {
        let file = file_with(&[]);
        for read in [Read::Mapped, Read::Owned] {
            assert!(FileBytes::open(file.path(), read).unwrap().is_empty());
        }
    }

    #[test]
    fn a_mapping_outlives_the_replacement_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights");
        std::fs::write(&path, b"old").unwrap();
        let old = FileBytes::open(&path, Read::Mapped).unwrap();
        std::fs::write(folder.path().join("new"), b"new!").unwrap();
        std::fs::rename(folder.path().join("new"), &path).unwrap();
        assert_eq!(&*old, b"old");
        assert_eq!(&*FileBytes::open(&path, Read::Mapped).unwrap(), b"new!");
    }
}
