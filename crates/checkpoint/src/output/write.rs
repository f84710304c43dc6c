//! The bytes of one output file, written by several threads, each at its own place.
//!
//! Tensors whose bytes lie in the source as they will lie in the output are written straight from
//! the mapping; all others pass through buffers of bounded size. What is left out: creating,
//! syncing and naming the file, in [`super::publish`].

use super::cast::cast;
use super::gather::{Gather, swap_bytes};
use super::layout::{OutputFile, Placed};
use super::spool::Spool;
use crate::entry::{Data, TensorEntry};
use crate::error::Error;
use crate::source::SourceFile;
use std::fs::File;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tensoracle_progress::Progress;

/// Bytes of output that one step of a thread covers, so that progress moves and cancelling works.
const STEP: u64 = 4 << 20;

/// Bytes of source or output that pass through a buffer at a time.
const BUFFER: usize = 512 << 10;

/// Threads that write. More do not make a disk faster, and each has its buffers.
const MAX_THREADS: usize = 8;

/// What the tensors of an output file are made from.
pub(crate) struct Inputs<'a> {
    pub(crate) entries: &'a [TensorEntry],
    pub(crate) sources: &'a [SourceFile],
    pub(crate) spool: &'a Spool,
}

impl Inputs<'_> {
    /// The bytes from the entry's first element on.
    fn bytes(&self, entry: &TensorEntry) -> &[u8] {
        let (all, start) = match &entry.data {
            Data::Empty => (&[][..], 0),
            Data::Stored(start) => (&self.sources[entry.file].bytes[..], *start),
            Data::Deflated(record, start) => (self.spool.get(entry.file, record), *start),
        };
        all.get(start..).unwrap_or(&[])
    }
}

/// A run of elements of one tensor.
struct Step {
    tensor: usize,
    first: u64,
    count: u64,
}

/// Writes head and tensors of `output` to `file`, which has its final length.
pub(crate) fn write_file(
    file: &File,
    output: &OutputFile,
    inputs: &Inputs<'_>,
    progress: &dyn Progress,
) -> Result<(), Error> {
    write_at(file, &output.head, 0).map_err(Error::io("write", &output.path))?;
    let batches = batches(&output.tensors);
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let work = || {
        let mut buffers = Buffers::default();
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            for step in batch {
                let tensor = &output.tensors[step.tensor];
                let outcome = if progress.is_cancelled() {
                    Err(Error::Cancelled)
                } else {
                    write_step(file, tensor, step, inputs, &mut buffers)
                        .map_err(Error::io("write", &output.path))
                };
                if let Err(error) = outcome {
                    next.store(batches.len(), Ordering::Relaxed);
                    let mut failure = failure.lock().unwrap_or_else(|held| held.into_inner());
                    failure.get_or_insert(error);
                    return;
                }
                progress.advance(step.count * tensor.dtype.size());
            }
        }
    };
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MAX_THREADS)
        .min(batches.len());
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    match failure
        .into_inner()
        .unwrap_or_else(|held| held.into_inner())
    {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// The work in portions of about [`STEP`] bytes: pieces of large tensors, or many small ones.
fn batches(tensors: &[Placed]) -> Vec<Vec<Step>> {
    let mut batches = vec![Vec::new()];
    let mut filled = 0;
    for (number, tensor) in tensors.iter().enumerate() {
        let size = tensor.dtype.size();
        let elements = tensor.len / size;
        let mut first = 0;
        while first < elements {
            let count = (STEP / size).min(elements - first);
            if filled + count * size > STEP {
                batches.push(Vec::new());
                filled = 0;
            }
            if let Some(batch) = batches.last_mut() {
                batch.push(Step {
                    tensor: number,
                    first,
                    count,
                });
            }
            filled += count * size;
            first += count;
        }
    }
    batches
}

#[derive(Default)]
struct Buffers {
    gathered: Vec<u8>,
    cast: Vec<u8>,
}

fn write_step(
    file: &File,
    tensor: &Placed,
    step: &Step,
    inputs: &Inputs<'_>,
    buffers: &mut Buffers,
) -> io::Result<()> {
    let entry = &inputs.entries[tensor.entry];
    let bytes = inputs.bytes(entry);
    let size = entry.dtype.size() as usize;
    let gather = Gather::new(&entry.shape, &entry.strides, size);
    let swap = entry.big_endian && entry.dtype.swapped_size() > 1;
    let recast = entry.dtype != tensor.dtype;
    if gather.is_contiguous() && !swap && !recast {
        let start = step.first as usize * size;
        let run = &bytes[start..start + step.count as usize * size];
        return write_at(file, run, tensor.at + start as u64);
    }
    let written_size = tensor.dtype.size();
    let per_buffer = (BUFFER / size.max(written_size as usize)) as u64;
    let end = step.first + step.count;
    let mut first = step.first;
    while first < end {
        let count = per_buffer.min(end - first);
        buffers.gathered.resize(count as usize * size, 0);
        gather.copy(bytes, first, &mut buffers.gathered);
        if swap {
            swap_bytes(&mut buffers.gathered, entry.dtype.swapped_size());
        }
        let at = tensor.at + first * written_size;
        if recast {
            buffers.cast.clear();
            cast(
                entry.dtype,
                tensor.dtype,
                &buffers.gathered,
                &mut buffers.cast,
            );
            write_at(file, &buffers.cast, at)?;
        } else {
            write_at(file, &buffers.gathered, at)?;
        }
        first += count;
    }
    Ok(())
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
fn write_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, at)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
        at += written as u64;
    }
    Ok(())
}
