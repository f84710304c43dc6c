//! One number for all names, types, shapes and values of an output, whatever its files.
//!
//! SHA-256 over the tensors sorted by the bytes of their names; for each: name, NUL, safetensors
//! type name, NUL, sizes in decimal with commas between them, NUL, number of bytes in 8 bytes
//! little-endian, bytes. What is left out: everything else in the files, such as their order.

use super::layout::{Output, Placed};
use super::publish::Prepared;
use crate::entry::TensorEntry;
use crate::error::Error;
use sha2::{Digest, Sha256};
use tensoracle_mapping::{FileBytes, Read};
use tensoracle_progress::{Progress, Unit};

/// Bytes hashed between two looks at the progress.
const STEP: usize = 4 << 20;

/// The digest of the files as they were written, in hexadecimal.
pub(crate) fn digest(
    output: &Output,
    prepared: &[Prepared],
    entries: &[TensorEntry],
    progress: &dyn Progress,
) -> Result<String, Error> {
    progress.begin("hashing", Some(output.bytes), Unit::Bytes);
    let mut contents = Vec::with_capacity(prepared.len());
    for (file, planned) in prepared.iter().zip(&output.files) {
        contents.push(
            FileBytes::from_file(file.file.as_file(), Read::Mapped)
                .map_err(Error::io("map", &planned.path))?,
        );
    }
    let mut tensors: Vec<(&str, &Placed, &[u8])> = output
        .files
        .iter()
        .zip(&contents)
        .flat_map(|(file, bytes)| {
            file.tensors
                .iter()
                .map(|tensor| (entries[tensor.entry].name.as_str(), tensor, &bytes[..]))
        })
        .collect();
    tensors.sort_unstable_by_key(|(name, _, _)| *name);
    let mut hash = Sha256::new();
    for (name, tensor, file) in tensors {
        let shape: Vec<String> = entries[tensor.entry]
            .shape
            .iter()
            .map(u64::to_string)
            .collect();
        hash.update(format!("{name}\0{}\0{}\0", tensor.dtype, shape.join(",")));
        hash.update(tensor.len.to_le_bytes());
        for piece in file[tensor.at as usize..][..tensor.len as usize].chunks(STEP) {
            if progress.is_cancelled() {
                return Err(Error::Cancelled);
            }
            hash.update(piece);
            progress.advance(piece.len() as u64);
        }
    }
    progress.finish();
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
