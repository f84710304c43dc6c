//! Deflated storages, inflated once each into a nameless file beside the destination, so that
//! views of them can be read anywhere and memory stays bounded.
//!
//! What is left out: records that no tensor uses.

use crate::container::inflate::{Deflated, InflateError};
use crate::entry::{Data, TensorEntry};
use crate::error::Error;
use crate::source::SourceFile;
use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::Path;
use tensoracle_mapping::{FileBytes, Read};
use tensoracle_progress::{Progress, Unit};

/// Inflated records by source file and place.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    records: HashMap<(usize, usize), FileBytes>,
}

impl Spool {
    /// Inflates every record that an entry uses.
    pub(crate) fn fill(
        entries: &[TensorEntry],
        sources: &[SourceFile],
        folder: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let mut wanted: HashMap<(usize, usize), &Deflated> = HashMap::new();
        for entry in entries {
            if let Data::Deflated(record, _) = &entry.data {
                wanted.insert((entry.file, record.range.start), record);
            }
        }
        if wanted.is_empty() {
            return Ok(Self::default());
        }
        let total = wanted.values().map(|record| record.size).sum();
        progress.begin("inflating storages", Some(total), Unit::Bytes);
        let mut records = HashMap::new();
        for (key, record) in wanted {
            let inflated = inflate(&sources[key.0], record, folder, progress)?;
            records.insert(key, inflated);
        }
        progress.finish();
        Ok(Self { records })
    }

    /// The inflated bytes of `record` of source `file`.
    pub(crate) fn get(&self, file: usize, record: &Deflated) -> &[u8] {
        self.records
            .get(&(file, record.range.start))
            .map_or(&[], |bytes| bytes)
    }
}

fn inflate(
    source: &SourceFile,
    record: &Deflated,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<FileBytes, Error> {
    let failed = |action| Error::io(action, folder);
    let file = tempfile::tempfile_in(folder).map_err(failed("create a temporary file in"))?;
    let mut writer = BufWriter::new(&file);
    let outcome = record.inflate(&source.bytes, |piece| {
        if progress.is_cancelled() {
            return Err(Error::Cancelled);
        }
        progress.advance(piece.len() as u64);
        writer
            .write_all(piece)
            .map_err(failed("write a temporary file in"))
    });
    match outcome {
        Ok(()) => {}
        Err(InflateError::Record(problem)) => return Err(problem.in_file(&source.path)),
        Err(InflateError::Sink(error)) => return Err(error),
    }
    writer
        .flush()
        .map_err(failed("write a temporary file in"))?;
    drop(writer);
    FileBytes::from_file(&file, Read::Mapped).map_err(failed("map a temporary file in"))
}
