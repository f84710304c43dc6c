//! The bytes of one output file, made by several threads and written each at its own place.
//!
//! The file is cut into windows of one size. A thread fills a buffer with a window's bytes, which
//! may be those of many small tensors or of a part of a large one, and writes it at once: copying
//! from the mapping into a buffer that stays in the cache and writing that is faster than writing
//! from the mapping, where the system faults in every page while it holds the file. Memory is
//! bounded by the buffers. What is left out: creating, syncing and naming the file, in
//! [`super::publish`].

use super::cast::cast;
use super::gather::{Gather, swap_bytes};
use super::layout::{OutputFile, Placed};
use super::spool::Spool;
use crate::entry::{Data, TensorEntry};
use crate::error::Error;
use crate::source::SourceFile;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tensoracle_progress::Progress;

/// Bytes of a window. It is a multiple of the size of every element, and the place of a tensor is
/// a multiple of the size of its own, so that no window cuts an element. It is the largest run of
/// pages that Linux keeps ready on each processor; for larger ones the system looks for memory
/// that, on a virtual machine, the host often has to provide first, which takes several times as
/// long.
const WINDOW: u64 = 32 << 10;

/// Bytes after which what is written is sent to the disk, while other threads go on, so that
/// little is left for the end.
const FLUSH: u64 = 32 << 20;

/// Threads that write. More do not make a disk faster, and each has its buffers.
const MAX_THREADS: u64 = 8;

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

/// Writes head and tensors of `output` to `file`, which has its final length.
pub(crate) fn write_file(
    file: &File,
    output: &OutputFile,
    inputs: &Inputs<'_>,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let windows = output.len.div_ceil(WINDOW);
    let next = AtomicU64::new(0);
    let failure = Mutex::new(None);
    // File systems let one thread write to a file at a time, and those that wait there spin.
    let turn = Mutex::new(());
    let written = AtomicU64::new(0);
    let flushed = Mutex::new(0);
    let work = || {
        let mut filler = Filler {
            output,
            inputs,
            window: Vec::new(),
            uncast: Vec::new(),
        };
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= windows {
                return;
            }
            let start = number * WINDOW;
            let outcome = if progress.is_cancelled() {
                Err(Error::Cancelled)
            } else {
                let tensor_bytes = filler.fill(start..output.len.min(start + WINDOW));
                write_in_turn(file, &filler.window, start, &turn)
                    .and_then(|()| {
                        progress.advance(tensor_bytes);
                        let len = filler.window.len() as u64;
                        let written = written.fetch_add(len, Ordering::Relaxed) + len;
                        flush_now_and_then(file, written, &flushed)
                    })
                    .map_err(Error::io("write", &output.path))
            };
            if let Err(error) = outcome {
                next.store(windows, Ordering::Relaxed);
                let mut failure = failure.lock().unwrap_or_else(|held| held.into_inner());
                failure.get_or_insert(error);
                return;
            }
        }
    };
    // One thread may wait for the disk.
    let threads = std::thread::available_parallelism()
        .map_or(1, |count| count.get() as u64)
        .clamp(2, MAX_THREADS)
        .min(windows);
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

fn write_in_turn(file: &File, bytes: &[u8], at: u64, turn: &Mutex<()>) -> io::Result<()> {
    let _turn = turn.lock().unwrap_or_else(|held| held.into_inner());
    write_at(file, bytes, at)
}

/// Sends to the disk what is written, if that is much and no other thread is at it.
fn flush_now_and_then(file: &File, written: u64, flushed: &Mutex<u64>) -> io::Result<()> {
    let Ok(mut flushed) = flushed.try_lock() else {
        return Ok(());
    };
    if written.saturating_sub(*flushed) < FLUSH {
        return Ok(());
    }
    *flushed = written;
    file.sync_data()
}

/// Makes the bytes of windows.
struct Filler<'a> {
    output: &'a OutputFile,
    inputs: &'a Inputs<'a>,
    window: Vec<u8>,
    /// Elements before their conversion.
    uncast: Vec<u8>,
}

impl Filler<'_> {
    /// Fills the window with the file's bytes in `range`; how many of them belong to tensors.
    fn fill(&mut self, range: Range<u64>) -> u64 {
        self.window.resize((range.end - range.start) as usize, 0);
        let head = &self.output.head;
        let head_end = range.end.min(head.len() as u64);
        if range.start < head_end {
            let part = &head[range.start as usize..head_end as usize];
            self.window[..part.len()].copy_from_slice(part);
        }
        let tensors = &self.output.tensors;
        let first = tensors.partition_point(|tensor| tensor.at + tensor.len <= range.start);
        let mut filled = 0;
        for tensor in tensors[first..]
            .iter()
            .take_while(|tensor| tensor.at < range.end)
        {
            let part = range.start.max(tensor.at)..range.end.min(tensor.at + tensor.len);
            filled += part.end - part.start;
            let place = (part.start - range.start) as usize..(part.end - range.start) as usize;
            self.fill_part(tensor, part.start - tensor.at, place);
        }
        filled
    }

    /// Fills `place` in the window with the bytes of `tensor` from `start` on.
    fn fill_part(&mut self, tensor: &Placed, start: u64, place: Range<usize>) {
        let out = &mut self.window[place];
        if out.is_empty() {
            return;
        }
        let entry = &self.inputs.entries[tensor.entry];
        let source = self.inputs.bytes(entry);
        let size = entry.dtype.size();
        let first = start / tensor.dtype.size();
        let gather = Gather::new(&entry.shape, &entry.strides, size as usize);
        let swapped = entry.big_endian.then(|| entry.dtype.swapped_size());
        if entry.dtype == tensor.dtype {
            gather.copy(source, first, out);
            swap_bytes(out, swapped.unwrap_or(1));
        } else {
            let elements = out.len() as u64 / tensor.dtype.size();
            self.uncast.resize((elements * size) as usize, 0);
            gather.copy(source, first, &mut self.uncast);
            swap_bytes(&mut self.uncast, swapped.unwrap_or(1));
            cast(entry.dtype, tensor.dtype, &self.uncast, out);
        }
    }
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
