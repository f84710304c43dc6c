//! Entry points for fuzzing, which keep everything in memory: reading a checkpoint or a bare
//! pickle, and passing the first bytes of what was found through every step of writing.
//!
//! Not part of the public interface. What is left out: files.

use crate::budget::Budget;
use crate::container::inflate::InflateError;
use crate::container::torch_zip::StorageIds;
use crate::container::{Location, Storages};
use crate::dtype::Dtype;
use crate::entry::{Data, TensorEntry, resolve};
use crate::error::Problem;
use crate::flatten::flatten;
use crate::options::Options;
use crate::output::cast::cast;
use crate::output::gather::{Gather, swap_bytes};
use crate::pickle::value::Root;
use crate::pickle::{Heap, run};

/// Elements of each tensor that are passed on.
const ELEMENTS: u64 = 256;

/// Bytes of storages that are inflated, and tensors that are passed on.
const INFLATED: u64 = 1 << 20;
const TENSORS: usize = 256;

/// Reads a checkpoint of any layout; the number of its tensors.
///
/// # Errors
/// As [`crate::inspect`].
pub fn checkpoint(bytes: &[u8], options: &Options) -> Result<usize, Problem> {
    let (entries, _) = crate::source::read(bytes, 0, options)?;
    pass_on(&entries, bytes)?;
    Ok(entries.len())
}

/// Reads a bare pickle whose storages are all there, full of zeros; the number of its tensors.
///
/// # Errors
/// As [`crate::inspect`].
pub fn pickle(bytes: &[u8], options: &Options) -> Result<usize, Problem> {
    /// Any storage of up to 64 KiB.
    struct Zeros;

    impl Storages for Zeros {
        fn locate(&self, root: Root<'_>) -> Result<Location, Problem> {
            match usize::try_from(root.len) {
                Ok(len) if len <= 1 << 16 => Ok(Location::Stored(0..len)),
                _ => Err(Problem::StorageMissing {
                    key: root.key.to_string(),
                }),
            }
        }
    }

    let budget = Budget::new(options.max_metadata, bytes.len() as u64);
    let mut heap = Heap::new(budget);
    let (object, _) = run(&mut heap, bytes, 0, &mut StorageIds)?;
    let mut flat = flatten(&mut heap, object, options)?;
    let entries = resolve(&heap, &Zeros, &mut flat, 0)?;
    pass_on(&entries, &vec![0; 1 << 16])?;
    Ok(entries.len())
}

fn pass_on(entries: &[TensorEntry], bytes: &[u8]) -> Result<(), Problem> {
    let mut inflated = Vec::new();
    for entry in entries.iter().take(TENSORS) {
        let source = match &entry.data {
            Data::Empty => continue,
            Data::Stored(start) => &bytes[*start..],
            Data::Deflated(record, start) => {
                if record.size > INFLATED {
                    continue;
                }
                inflated.clear();
                let outcome = record.inflate(bytes, |piece| {
                    inflated.extend_from_slice(piece);
                    Ok::<(), std::convert::Infallible>(())
                });
                match outcome {
                    Ok(()) => &inflated[*start..],
                    Err(InflateError::Record(problem)) => return Err(problem),
                    Err(InflateError::Sink(never)) => match never {},
                }
            }
        };
        let Some(elements) = entry.elements() else {
            continue;
        };
        let size = entry.dtype.size();
        let gather = Gather::new(&entry.shape, &entry.strides, size as usize);
        let count = elements.min(ELEMENTS);
        let mut buffer = vec![0; (count * size) as usize];
        gather.copy(source, 0, &mut buffer);
        gather.copy(source, elements - count, &mut buffer);
        swap_bytes(&mut buffer, entry.dtype.swapped_size());
        if entry.dtype.is_floating() {
            let mut output = vec![0; count as usize * 4];
            for to in [Dtype::F16, Dtype::Bf16, Dtype::F32] {
                cast(entry.dtype, to, &buffer, &mut output);
            }
        }
    }
    Ok(())
}
