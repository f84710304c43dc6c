//! Deflated zip records, inflated in bounded pieces and checked against size and CRC.
//!
//! What is left out: keeping what comes out; the caller's sink does that.

use crate::error::Problem;
use flate2::{Crc, Decompress, FlushDecompress, Status};
use std::ops::Range;

/// Bytes inflated at a time.
const PIECE: usize = 64 << 10;

/// No deflate stream expands further than this (258 bytes from 2 bits, less headers).
const MAX_RATIO: u64 = 1032;

/// A deflated record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deflated {
    /// Its compressed bytes in the file.
    pub(crate) range: Range<usize>,
    /// Bytes it inflates to, as the directory says.
    pub(crate) size: u64,
    /// CRC-32 of what it inflates to.
    pub(crate) crc: u32,
}

/// Why inflating stopped.
pub(crate) enum InflateError<E> {
    /// The record is not what its directory entry says.
    Record(Problem),
    /// The sink refused a piece.
    Sink(E),
}

impl Deflated {
    /// Checks, without inflating, that the compressed bytes can hold the size.
    pub(crate) fn check_ratio(&self) -> Result<(), Problem> {
        let most = (self.range.len() as u64).saturating_mul(MAX_RATIO);
        if self.size > most {
            return Err(Problem::archive(format!(
                "{} deflated bytes cannot hold the {} bytes announced",
                self.range.len(),
                self.size
            )));
        }
        Ok(())
    }

    /// Inflates the record of the file `bytes` into `sink`, piece by piece.
    pub(crate) fn inflate<E>(
        &self,
        bytes: &[u8],
        mut sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), InflateError<E>> {
        let broken = |problem: &str| InflateError::Record(Problem::archive(problem));
        let mut rest = bytes
            .get(self.range.clone())
            .ok_or_else(|| broken("a deflated record lies outside of it"))?;
        let mut inflater = Decompress::new(false);
        let mut crc = Crc::new();
        let mut piece = vec![0; PIECE];
        loop {
            let (read_before, made_before) = (inflater.total_in(), inflater.total_out());
            let status = inflater
                .decompress(rest, &mut piece, FlushDecompress::None)
                .map_err(|_| broken("a deflated record is damaged"))?;
            let read = (inflater.total_in() - read_before) as usize;
            let made = (inflater.total_out() - made_before) as usize;
            rest = &rest[read..];
            if inflater.total_out() > self.size {
                return Err(broken("a deflated record inflates past its size"));
            }
            crc.update(&piece[..made]);
            sink(&piece[..made]).map_err(InflateError::Sink)?;
            match status {
                Status::StreamEnd => break,
                _ if read == 0 && made == 0 => {
                    return Err(broken("a deflated record ends early"));
                }
                _ => {}
            }
        }
        if inflater.total_out() != self.size {
            return Err(broken("a deflated record inflates to less than its size"));
        }
        if crc.sum() != self.crc {
            return Err(broken("a deflated record does not match its checksum"));
        }
        Ok(())
    }
}
