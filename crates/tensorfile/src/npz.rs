//! `.npz` archives: where each member lies, and the inflating of deflated ones.
//!
//! Members are found by the archive's central directory, so data descriptors and zip64 sizes, both
//! of which Python writes, need no care. Checksums are verified where a member is inflated; one
//! that is stored is mapped unread.

use crate::npy::{self, Header};
use crate::rearrange::Spool;
use crate::{Entry, Held, Limits, Place, SharedBytes};
use std::io::{self, Cursor, Read};
use zip::CompressionMethod;
use zip::read::ZipArchive;

/// An open archive. Cloning shares the directory.
#[derive(Debug, Clone)]
pub(crate) struct Archive {
    bytes: SharedBytes,
    zip: ZipArchive<Cursor<SharedBytes>>,
}

impl Archive {
    pub(crate) fn open(bytes: SharedBytes) -> Result<Self, String> {
        let zip = ZipArchive::new(Cursor::new(bytes.clone())).map_err(|error| error.to_string())?;
        if zip.has_duplicate_names() {
            return Err("two members have the same name".to_owned());
        }
        Ok(Self { bytes, zip })
    }

    /// The arrays in the archive, in its order; members that are not `.npy` are passed over.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, String> {
        let file = self.bytes.as_ref();
        let mut zip = self.zip.clone();
        let mut entries = Vec::new();
        for index in 0..zip.len() {
            let member = zip.by_index_raw(index).map_err(|error| error.to_string())?;
            let file_name = member
                .name()
                .map_err(|error| error.to_string())?
                .into_owned();
            let Some(name) = file_name.strip_suffix(".npy") else {
                continue;
            };
            let of_member = |reason: String| format!("member `{file_name}`: {reason}");
            if member.encrypted() {
                return Err(of_member("it is encrypted".to_owned()));
            }
            let (start, size) = (member.data_start(), member.compressed_size());
            match member.compression() {
                CompressionMethod::Stored => {
                    let range = start.and_then(|start| {
                        let end = usize::try_from(start.checked_add(size)?).ok()?;
                        (end <= file.len()).then_some(start as usize..end)
                    });
                    let range =
                        range.ok_or_else(|| of_member("it goes beyond the file".to_owned()))?;
                    entries.push(npy::entry_at(file, range, name.to_owned()).map_err(of_member)?);
                }
                CompressionMethod::Deflated => {
                    drop(member);
                    let header = read_header(&mut zip, index).map_err(of_member)?;
                    let Header {
                        element,
                        dims,
                        order,
                        len,
                    } = header;
                    entries.push(Entry {
                        name: name.to_owned(),
                        element,
                        dims,
                        place: Place::Deflated {
                            member: index,
                            skip: len,
                            order,
                        },
                    });
                }
                other => return Err(of_member(format!("its compression is {other}"))),
            }
        }
        Ok(entries)
    }

    /// The `needed` bytes of a deflated member that follow its header of `skip` bytes.
    pub(crate) fn inflate(
        &self,
        member: usize,
        skip: usize,
        needed: u64,
        limits: Limits,
    ) -> io::Result<Held<'static>> {
        let mut zip = self.zip.clone();
        let mut reader = zip.by_index(member)?;
        io::copy(&mut reader.by_ref().take(skip as u64), &mut io::sink())?;
        let mut spool = Spool::new(limits);
        let found = io::copy(&mut reader.by_ref().take(needed), &mut spool)?;
        if found != needed {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("its elements take {needed} bytes; the member inflates to {found}"),
            ));
        }
        // Reading on to the end has the checksum verified; a little at most may follow.
        let rest = io::copy(
            &mut reader.by_ref().take(npy::MAX_HEADER as u64),
            &mut io::sink(),
        )?;
        if rest > 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("more than its {needed} bytes of elements follow the header"),
            ));
        }
        spool.finish()
    }
}

/// Inflates no more of a member than its array header.
fn read_header(zip: &mut ZipArchive<Cursor<SharedBytes>>, member: usize) -> Result<Header, String> {
    let reader = zip.by_index(member).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    // A short read is no error here: what is missing shows when the header is read.
    reader
        .take(npy::MAX_HEADER as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    Header::read(&bytes)
}
