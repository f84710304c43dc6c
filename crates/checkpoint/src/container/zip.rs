//! The central directory of a zip archive, with zip64, as the format's specification (APPNOTE
//! 6.3) gives it.
//!
//! Sizes come from the central directory, so data descriptors do not matter. Archives that no
//! checkpoint writer makes are refused: two records of one name, records that overlap, names that
//! leave their folder, encryption, several disks. What is left out: what the records mean, in
//! [`super::torch_zip`].

use super::Location;
use super::inflate::Deflated;
use crate::budget::Budget;
use crate::bytes::{slice_at, u16_at, u32_at, u64_at};
use crate::error::Problem;
use std::collections::HashMap;

const END: &[u8] = b"PK\x05\x06";
const END_LEN: usize = 22;
const ZIP64_LOCATOR: &[u8] = b"PK\x06\x07";
const ZIP64_LOCATOR_LEN: usize = 20;
const ZIP64_END: &[u8] = b"PK\x06\x06";
const CENTRAL: &[u8] = b"PK\x01\x02";
const CENTRAL_LEN: usize = 46;
const LOCAL: &[u8] = b"PK\x03\x04";
const LOCAL_LEN: usize = 30;
/// The extra field that holds 64-bit sizes.
const ZIP64_EXTRA: u16 = 1;
const ENCRYPTED: u16 = 1;

/// How a record is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Stored,
    Deflated,
}

/// A record as the central directory describes it.
#[derive(Debug, Clone, Copy)]
struct Record<'a> {
    name: &'a str,
    method: Method,
    crc: u32,
    compressed: u64,
    size: u64,
    /// Offset of its local header.
    header: u64,
}

/// A zip archive's records by name.
#[derive(Debug)]
pub(crate) struct Archive<'a> {
    bytes: &'a [u8],
    records: Vec<Record<'a>>,
    by_name: HashMap<&'a str, u32>,
}

/// Where the central directory lies.
struct Directory {
    start: usize,
    len: usize,
    count: u64,
}

impl<'a> Archive<'a> {
    /// Reads the central directory.
    pub(crate) fn open(bytes: &'a [u8], budget: &mut Budget) -> Result<Self, Problem> {
        let directory = find_directory(bytes)?;
        let mut entries = slice_at(bytes, directory.start, directory.len)
            .ok_or_else(|| Problem::archive("its central directory lies outside of it"))?;
        if directory.count > (directory.len / CENTRAL_LEN) as u64 {
            return Err(Problem::archive(format!(
                "a central directory of {} bytes cannot list {} records",
                directory.len, directory.count
            )));
        }
        let count = directory.count as usize;
        budget.take_many::<Record<'_>>(count)?;
        // An entry of a hash map, of which at most 7 in 8 and at least 7 in 16 are in use.
        budget.take_many::<[usize; 3]>(count * 2)?;
        let mut archive = Self {
            bytes,
            records: Vec::with_capacity(count),
            by_name: HashMap::with_capacity(count),
        };
        for _ in 0..count {
            let (record, rest) = read_entry(entries)?;
            entries = rest;
            check_name(record.name)?;
            let number = archive.records.len() as u32;
            if archive.by_name.insert(record.name, number).is_some() {
                return Err(Problem::archive(format!(
                    "two records are named {:?}",
                    record.name
                )));
            }
            archive.records.push(record);
        }
        check_overlap(
            &mut archive.records.iter().collect::<Vec<_>>(),
            directory.start,
        )?;
        Ok(archive)
    }

    /// Names of all records, in the directory's order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.records.iter().map(|record| record.name)
    }

    /// Where the bytes of record `name` lie, and how many they are.
    pub(crate) fn find(&self, name: &str) -> Result<Option<(Location, u64)>, Problem> {
        let Some(number) = self.by_name.get(name) else {
            return Ok(None);
        };
        let record = &self.records[*number as usize];
        let outside = || Problem::truncated(format!("record {name:?} reaches past its end"));
        let header = usize::try_from(record.header).map_err(|_| outside())?;
        let local = slice_at(self.bytes, header, LOCAL_LEN).ok_or_else(outside)?;
        let name_len = usize::from(u16_at(local, 26).unwrap_or(0));
        let extra_len = usize::from(u16_at(local, 28).unwrap_or(0));
        if !local.starts_with(LOCAL)
            || slice_at(self.bytes, header + LOCAL_LEN, name_len) != Some(name.as_bytes())
        {
            return Err(Problem::archive(format!(
                "the directory and the header of record {name:?} disagree"
            )));
        }
        let start = header + LOCAL_LEN + name_len + extra_len;
        let end = usize::try_from(record.compressed)
            .ok()
            .and_then(|len| start.checked_add(len))
            .filter(|end| *end <= self.bytes.len())
            .ok_or_else(outside)?;
        let location = match record.method {
            Method::Stored => Location::Stored(start..end),
            Method::Deflated => Location::Deflated(Deflated {
                range: start..end,
                size: record.size,
                crc: record.crc,
            }),
        };
        Ok(Some((location, record.size)))
    }
}

fn find_directory(bytes: &[u8]) -> Result<Directory, Problem> {
    // The end record is followed by a comment of up to 65535 bytes, whose length it states.
    let first = bytes.len().saturating_sub(END_LEN + usize::from(u16::MAX));
    let end = (first..(bytes.len() + 1).saturating_sub(END_LEN))
        .rev()
        .find(|at| {
            bytes[*at..].starts_with(END)
                && u16_at(bytes, at + 20).map(usize::from) == Some(bytes.len() - at - END_LEN)
        })
        .ok_or_else(|| Problem::truncated("the zip archive has no central directory at its end"))?;
    let short = |at: usize| u64::from(u16_at(bytes, end + at).unwrap_or(0));
    let long = |at: usize| u64::from(u32_at(bytes, end + at).unwrap_or(0));
    let (mut disks, mut count) = ([short(4), short(6)], short(10));
    let (mut len, mut start) = (long(12), long(16));
    let locator = end
        .checked_sub(ZIP64_LOCATOR_LEN)
        .map(|at| &bytes[at..end])
        .filter(|locator| locator.starts_with(ZIP64_LOCATOR));
    if let Some(locator) = locator {
        let at = u64_at(locator, 8)
            .and_then(|at| usize::try_from(at).ok())
            .unwrap_or(usize::MAX);
        let zip64 = slice_at(bytes, at, 56)
            .filter(|record| record.starts_with(ZIP64_END))
            .ok_or_else(|| Problem::archive("its zip64 end record is not where it should be"))?;
        let long = |at: usize| u64_at(zip64, at).unwrap_or(0);
        disks = [16, 20].map(|at| u64::from(u32_at(zip64, at).unwrap_or(0)));
        (count, len, start) = (long(32), long(40), long(48));
    }
    if disks != [0, 0] {
        return Err(Problem::archive("it spans several disks"));
    }
    let as_usize = |value: u64| {
        usize::try_from(value)
            .map_err(|_| Problem::archive("its central directory lies outside of it"))
    };
    let (start, len) = (as_usize(start)?, as_usize(len)?);
    if start.checked_add(len).is_none_or(|after| after > end) {
        return Err(Problem::archive("its central directory lies outside of it"));
    }
    Ok(Directory { start, len, count })
}

/// Reads one entry of the central directory; the entries after it.
fn read_entry(bytes: &[u8]) -> Result<(Record<'_>, &[u8]), Problem> {
    let cut = || Problem::archive("an entry of its central directory is cut short");
    let fixed = slice_at(bytes, 0, CENTRAL_LEN).ok_or_else(cut)?;
    if !fixed.starts_with(CENTRAL) {
        return Err(Problem::archive(
            "an entry of its central directory has no signature",
        ));
    }
    let short = |at: usize| u16_at(fixed, at).unwrap_or(0);
    let long = |at: usize| u32_at(fixed, at).unwrap_or(0);
    let [name_len, extra_len, comment_len] = [28, 30, 32].map(|at| usize::from(short(at)));
    let name = slice_at(bytes, CENTRAL_LEN, name_len).ok_or_else(cut)?;
    let name = std::str::from_utf8(name)
        .map_err(|_| Problem::archive("the name of a record is not UTF-8"))?;
    let extra = slice_at(bytes, CENTRAL_LEN + name_len, extra_len).ok_or_else(cut)?;
    let rest = bytes
        .get(CENTRAL_LEN + name_len + extra_len + comment_len..)
        .ok_or_else(cut)?;

    // The zip64 field holds, in this order, those of the three that do not fit in 32 bits.
    let mut wide = Zip64Field::of(extra);
    let mut widen = |narrow: u32| match narrow {
        u32::MAX => wide.next().unwrap_or(u64::from(narrow)),
        fits => u64::from(fits),
    };
    let (size, compressed, header) = (widen(long(24)), widen(long(20)), widen(long(42)));
    if short(8) & ENCRYPTED != 0 {
        return Err(Problem::archive(format!("record {name:?} is encrypted")));
    }
    let method = match short(10) {
        0 if size == compressed => Method::Stored,
        0 => {
            return Err(Problem::archive(format!(
                "record {name:?} is stored and has two sizes, {size} and {compressed}"
            )));
        }
        8 => Method::Deflated,
        other => {
            return Err(Problem::archive(format!(
                "record {name:?} is compressed with method {other}; 0 (stored) and 8 (deflated) \
                 are known"
            )));
        }
    };
    let record = Record {
        name,
        method,
        crc: long(16),
        compressed,
        size,
        header,
    };
    Ok((record, rest))
}

/// The 64-bit numbers of the zip64 extra field, one after the other.
struct Zip64Field<'a>(&'a [u8]);

impl<'a> Zip64Field<'a> {
    fn of(mut extra: &'a [u8]) -> Self {
        while let (Some(id), Some(len)) = (u16_at(extra, 0), u16_at(extra, 2)) {
            let Some(body) = slice_at(extra, 4, len.into()) else {
                break;
            };
            if id == ZIP64_EXTRA {
                return Self(body);
            }
            extra = &extra[4 + usize::from(len)..];
        }
        Self(&[])
    }

    fn next(&mut self) -> Option<u64> {
        let value = u64_at(self.0, 0)?;
        self.0 = &self.0[8..];
        Some(value)
    }
}

/// Refuses names that would leave the folder they are extracted into. Nothing is extracted here;
/// no checkpoint has such names, so a file that does is not what it seems.
fn check_name(name: &str) -> Result<(), Problem> {
    let leaves = name.starts_with('/')
        || name.contains(['\\', '\0'])
        || name.split('/').any(|part| part == "..");
    if leaves {
        return Err(Problem::archive(format!(
            "the name of record {name:?} leaves the archive"
        )));
    }
    Ok(())
}

/// Refuses records that share bytes with each other or with the directory.
fn check_overlap(records: &mut [&Record<'_>], directory: usize) -> Result<(), Problem> {
    records.sort_unstable_by_key(|record| record.header);
    let next_headers = records
        .iter()
        .skip(1)
        .map(|record| record.header)
        .chain([directory as u64]);
    for (record, next) in records.iter().zip(next_headers) {
        let least = (LOCAL_LEN + record.name.len()) as u64;
        let end = record
            .header
            .checked_add(least)
            .and_then(|start| start.checked_add(record.compressed));
        if end.is_none_or(|end| end > next) {
            return Err(Problem::archive(format!(
                "record {:?} overlaps what follows it",
                record.name
            )));
        }
    }
    Ok(())
}
