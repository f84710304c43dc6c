//! Output files: made under other names beside the destination, synced, and renamed when all are
//! complete, so that whoever looks sees the old files or the new ones.
//!
//! What is left out: what is in the files.

use super::layout::{Output, index_path};
use super::write::{Inputs, write_file};
use crate::error::Error;
use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use tensoracle_progress::{Progress, Unit};

/// A complete file that does not have its name yet.
pub(crate) struct Prepared {
    pub(crate) file: NamedTempFile,
    path: PathBuf,
}

/// Where a destination really is: a symbolic link is followed, so that the link stays.
pub(crate) fn resolve(destination: &Path) -> Result<PathBuf, Error> {
    if destination.file_name().is_none() || destination.is_dir() {
        return Err(Error::Destination {
            path: destination.to_owned(),
            problem: "it is a folder".into(),
        });
    }
    match fs::symlink_metadata(destination) {
        Ok(meta) if meta.is_symlink() && destination.exists() => {
            fs::canonicalize(destination).map_err(Error::io("follow", destination))
        }
        _ => Ok(destination.to_owned()),
    }
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

fn create(path: &Path) -> Result<NamedTempFile, Error> {
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    let replaced = fs::metadata(path).ok().map(|meta| meta.permissions());
    #[cfg(unix)]
    let new = <Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(new);
    let folder = folder_of(path);
    fs::metadata(folder).map_err(Error::io("find the folder", folder))?;
    let file = builder
        .tempfile_in(folder)
        .map_err(Error::io("create a file in", folder))?;
    if let Some(permissions) = replaced {
        keep_mode(file.as_file(), permissions).map_err(Error::io("set the mode of", path))?;
    }
    Ok(file)
}

#[cfg(unix)]
fn keep_mode(file: &File, replaced: Permissions) -> io::Result<()> {
    file.set_permissions(replaced)
}

// A read-only file could not be written; the new one gets the folder's permissions.
#[cfg(not(unix))]
fn keep_mode(_: &File, _: Permissions) -> io::Result<()> {
    Ok(())
}

/// Writes and syncs all output files under temporary names.
pub(crate) fn prepare(
    output: &Output,
    inputs: &Inputs<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Prepared>, Error> {
    let phase = match inputs.entries.len() {
        1 => "writing 1 tensor".to_owned(),
        count => format!("writing {count} tensors"),
    };
    progress.begin(&phase, Some(output.bytes), Unit::Bytes);
    let mut prepared = Vec::with_capacity(output.files.len());
    for planned in &output.files {
        let file = create(&planned.path)?;
        let failed = |action| Error::io(action, &planned.path);
        file.as_file()
            .set_len(planned.len)
            .map_err(failed("make room for"))?;
        write_file(file.as_file(), planned, inputs, progress)?;
        file.as_file().sync_all().map_err(failed("sync"))?;
        prepared.push(Prepared {
            file,
            path: planned.path.clone(),
        });
    }
    progress.finish();
    Ok(prepared)
}

/// The index of a sharded output: which tensor is in which file.
pub(crate) fn prepare_index(
    output: &Output,
    inputs: &Inputs<'_>,
    destination: &Path,
) -> Result<Prepared, Error> {
    let mut weight_map = BTreeMap::new();
    for file in &output.files {
        let shard = file.path.file_name().unwrap_or_default().to_string_lossy();
        for tensor in &file.tensors {
            weight_map.insert(&inputs.entries[tensor.entry].name, shard.clone());
        }
    }
    let index = serde_json::json!({
        "metadata": { "total_size": output.bytes },
        "weight_map": weight_map,
    });
    let path = index_path(destination);
    let mut file = create(&path)?;
    let failed = |action| Error::io(action, &path);
    writeln!(file, "{index:#}").map_err(failed("write"))?;
    file.as_file().sync_all().map_err(failed("sync"))?;
    Ok(Prepared { file, path })
}

/// Gives all files their names, in order.
pub(crate) fn publish(prepared: Vec<Prepared>) -> Result<Vec<PathBuf>, Error> {
    let mut paths = Vec::with_capacity(prepared.len());
    for Prepared { file, path } in prepared {
        file.persist(&path)
            .map_err(|failure| Error::io("rename a file to", &path)(failure.error))?;
        paths.push(path);
    }
    if let Some(path) = paths.first() {
        sync_folder(folder_of(path));
    }
    Ok(paths)
}

/// Makes the renaming last through a power failure, where the system can.
fn sync_folder(folder: &Path) {
    // The files are complete and have their names; some file systems cannot sync a folder.
    #[cfg(unix)]
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    #[cfg(not(unix))]
    let _ = folder;
}
