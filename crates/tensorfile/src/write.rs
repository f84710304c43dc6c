//! Writing of tensors: a whole file at once, put in place by a rename.

use crate::{Element, Format, TensorFileError, npy, safe};
use safetensors::tensor::{Metadata, TensorInfo};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, DateTime};

/// A tensor to be written.
#[derive(Debug, Clone, Copy)]
pub struct TensorData<'a> {
    /// Its name; a `.npy` file does not keep it.
    pub name: &'a str,
    /// The type of its elements.
    pub element: Element,
    /// Its extents, outermost first; empty for a scalar.
    pub dims: &'a [u64],
    /// Its elements, row-major and little-endian.
    pub bytes: &'a [u8],
}

/// Size of the buffer before the file: large, since tensors are.
const BUFFER: usize = 1 << 20;

/// Sizes from which an archive member needs 64-bit fields, with room for its header.
const LARGE_MEMBER: usize = (u32::MAX as usize) - (1 << 20);

/// Writes `tensors` to `path` in the format that its extension names. A reader sees the file that
/// was there or the whole new one: it is written beside, synchronised and renamed. An archive's
/// members are stored uncompressed, their elements at multiples of 64 bytes, so that they can be
/// mapped; the same tensors give the same bytes.
///
/// # Errors
/// An extension that names no format, a type that the format lacks, bytes that are not as many as
/// type and shape say, two tensors of one name, more or less than one tensor for a `.npy` file, or
/// a file that cannot be written.
pub fn write(path: &Path, tensors: &[TensorData<'_>]) -> Result<(), TensorFileError> {
    let Some(format) = Format::of_extension(path) else {
        return Err(TensorFileError::UnknownExtension {
            path: path.to_owned(),
        });
    };
    check(path, tensors)?;
    if format == Format::Npy && tensors.len() != 1 {
        return Err(TensorFileError::NotOneTensor {
            path: path.to_owned(),
            found: tensors.len(),
        });
    }
    let headers = match format {
        Format::Safetensors => Vec::new(),
        _ => headers(path, format, tensors)?,
    };
    let failed = |source| TensorFileError::Write {
        path: path.to_owned(),
        source,
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let file = temporary_in(folder).map_err(failed)?;
    match format {
        Format::Safetensors => write_safetensors(file.as_file(), tensors),
        Format::Npz => write_npz(file.as_file(), tensors, &headers),
        Format::Npy | Format::Raw => write_npy(file.as_file(), tensors, &headers),
    }
    .and_then(|()| file.as_file().sync_all())
    .map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// A temporary file with the permissions of one made the usual way: the rename keeps them.
fn temporary_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tensors-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

fn check(path: &Path, tensors: &[TensorData<'_>]) -> Result<(), TensorFileError> {
    let mut names = HashSet::new();
    for tensor in tensors {
        let expected = tensor.element.bytes_for(tensor.dims);
        if expected != Some(tensor.bytes.len() as u64) {
            return Err(TensorFileError::WrongLength {
                name: tensor.name.to_owned(),
                element: tensor.element,
                dims: tensor.dims.to_vec(),
                found: tensor.bytes.len(),
            });
        }
        if !names.insert(tensor.name) {
            return Err(TensorFileError::DuplicateName {
                path: path.to_owned(),
                name: tensor.name.to_owned(),
            });
        }
    }
    Ok(())
}

fn headers(
    path: &Path,
    format: Format,
    tensors: &[TensorData<'_>],
) -> Result<Vec<Vec<u8>>, TensorFileError> {
    let header = |tensor: &TensorData<'_>| {
        npy::header(tensor.element, tensor.dims).ok_or_else(|| TensorFileError::Unrepresentable {
            path: path.to_owned(),
            name: tensor.name.to_owned(),
            element: tensor.element,
            format,
        })
    };
    tensors.iter().map(header).collect()
}

fn write_npy(mut file: &File, tensors: &[TensorData<'_>], headers: &[Vec<u8>]) -> io::Result<()> {
    for (tensor, header) in tensors.iter().zip(headers) {
        file.write_all(header)?;
        file.write_all(tensor.bytes)?;
    }
    Ok(())
}

fn write_npz(file: &File, tensors: &[TensorData<'_>], headers: &[Vec<u8>]) -> io::Result<()> {
    let mut zip = ZipWriter::new(BufWriter::with_capacity(BUFFER, file));
    for (tensor, header) in tensors.iter().zip(headers) {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .with_alignment(64)
            .large_file(tensor.bytes.len() >= LARGE_MEMBER);
        zip.start_file(format!("{}.npy", tensor.name), options)?;
        zip.write_all(header)?;
        zip.write_all(tensor.bytes)?;
    }
    zip.finish()?.flush()
}

fn write_safetensors(file: &File, tensors: &[TensorData<'_>]) -> io::Result<()> {
    // Widest first keeps every tensor aligned to its element size; then by name.
    let mut sorted: Vec<&TensorData<'_>> = tensors.iter().collect();
    sorted.sort_by_key(|tensor| (std::cmp::Reverse(tensor.element.size()), tensor.name));
    let mut end = 0usize;
    let infos = sorted.iter().map(|tensor| {
        let start = end;
        end += tensor.bytes.len();
        let info = TensorInfo {
            dtype: safe::dtype_of(tensor.element),
            // Checked: the product of the extents is the length of a slice, or one of them is 0.
            shape: tensor.dims.iter().map(|&dim| dim as usize).collect(),
            data_offsets: (start, end),
        };
        (tensor.name.to_owned(), info)
    });
    let metadata = Metadata::new(None, infos.collect()).map_err(io::Error::other)?;
    let mut header = serde_json::to_vec(&metadata)?;
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut file = BufWriter::with_capacity(BUFFER, file);
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(&header)?;
    for tensor in sorted {
        file.write_all(tensor.bytes)?;
    }
    file.flush()
}
