//! The bytes of a pickle, taken one argument at a time.
//!
//! What is left out: what the bytes mean.

use super::machine::{Stop, here};
use crate::bytes::{slice_at, u16_at, u32_at, u64_at};

/// A place in a pickle.
#[derive(Debug)]
pub(crate) struct Cursor<'p> {
    bytes: &'p [u8],
    next: usize,
}

impl<'p> Cursor<'p> {
    pub(crate) fn new(bytes: &'p [u8], start: usize) -> Self {
        Self { bytes, next: start }
    }

    /// Offset of the next byte.
    pub(crate) fn position(&self) -> usize {
        self.next
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'p [u8], Stop> {
        let taken = slice_at(self.bytes, self.next, len).ok_or(Stop::CutShort)?;
        self.next += len;
        Ok(taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Stop> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Stop> {
        u16_at(self.take(2)?, 0).ok_or(Stop::CutShort)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Stop> {
        u32_at(self.take(4)?, 0).ok_or(Stop::CutShort)
    }

    /// A length of 1, 4 or 8 bytes, and so many bytes after it.
    pub(crate) fn sized(&mut self, length_bytes: usize) -> Result<&'p [u8], Stop> {
        let length = match length_bytes {
            1 => u64::from(self.u8()?),
            4 => u64::from(self.u32()?),
            _ => u64_at(self.take(8)?, 0).ok_or(Stop::CutShort)?,
        };
        self.take(usize::try_from(length).map_err(|_| Stop::CutShort)?)
    }

    pub(crate) fn line(&mut self) -> Result<&'p str, Stop> {
        let rest = self.bytes.get(self.next..).ok_or(Stop::CutShort)?;
        let len = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or(Stop::CutShort)?;
        self.next += len + 1;
        std::str::from_utf8(&rest[..len]).or_else(|_| here("a line that is not UTF-8"))
    }
}
