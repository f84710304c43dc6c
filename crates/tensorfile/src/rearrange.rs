//! Turns an array's bytes into row-major little-endian order, and holds what is unpacked: in
//! memory while small, in an unnamed temporary file once large.

use crate::npy::Order;
use crate::{Element, Held, Limits};
use std::io::{self, Write};
use tempfile::{SpooledData, SpooledTempFile};
use tensoracle_mapping::{FileBytes, Read};

/// Bytes gathered between two writes.
const CHUNK: usize = 1 << 16;

/// Receives unpacked bytes.
pub(crate) struct Spool(SpooledTempFile);

impl Spool {
    pub(crate) fn new(limits: Limits) -> Self {
        Self(SpooledTempFile::new(limits.memory_bytes))
    }

    /// What was written, mapped where it went to a file.
    pub(crate) fn finish(mut self) -> io::Result<Held<'static>> {
        self.0.flush()?;
        match self.0.into_inner() {
            SpooledData::InMemory(cursor) => Ok(Held::Memory(cursor.into_inner())),
            // Unnamed and ours alone: nobody else can change it under the mapping.
            SpooledData::OnDisk(file) => {
                Ok(Held::Temporary(FileBytes::from_file(&file, Read::Mapped)?))
            }
        }
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The elements of `bytes`, which lie in `order`, in row-major little-endian order. `bytes` is as
/// long as `element` and `dims` say.
pub(crate) fn row_major_little_endian(
    bytes: &[u8],
    element: Element,
    dims: &[u64],
    order: Order,
    limits: Limits,
) -> io::Result<Held<'static>> {
    let size = element.size();
    let count = bytes.len() / size;
    let steps = element_steps(dims, order.column_major);
    let mut spool = Spool::new(limits);
    let mut chunk = Vec::with_capacity(CHUNK.min(bytes.len()));
    let mut position = vec![0u64; dims.len()];
    let mut source = 0usize;
    for _ in 0..count {
        let start = chunk.len();
        chunk.extend_from_slice(&bytes[source * size..(source + 1) * size]);
        if order.big_endian {
            chunk[start..].reverse();
        }
        if chunk.len() >= CHUNK {
            spool.write_all(&chunk)?;
            chunk.clear();
        }
        // Counts up like an odometer, moving `source` along.
        for axis in (0..dims.len()).rev() {
            position[axis] += 1;
            source += steps[axis];
            if position[axis] < dims[axis] {
                break;
            }
            source -= steps[axis] * position[axis] as usize;
            position[axis] = 0;
        }
    }
    spool.write_all(&chunk)?;
    spool.finish()
}

/// How many elements apart neighbours along each axis lie.
fn element_steps(dims: &[u64], column_major: bool) -> Vec<usize> {
    let mut steps = vec![0; dims.len()];
    let mut step = 1;
    let mut visit = |axis: usize| {
        steps[axis] = step;
        step *= dims[axis] as usize;
    };
    if column_major {
        (0..dims.len()).for_each(&mut visit);
    } else {
        (0..dims.len()).rev().for_each(&mut visit);
    }
    steps
}
