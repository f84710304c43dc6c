//! Moving engines between stores: one self-contained file out, the same file in.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use tensoracle_progress::{Progress, Unit};

use crate::build::{BuildOptions, Outcome};
use crate::disk::Step;
use crate::error::StoreError;
use crate::header::Header;
use crate::lock::lock_shared;
use crate::open::{OpenOptions, SavedEngine};
use crate::select::Selector;
use crate::store::Store;

/// What came of importing a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Imported {
    /// It is saved now, here.
    Saved(PathBuf),
    /// An intact engine with the same identity was there and stays.
    AlreadyThere(PathBuf),
}

/// Pieces in which files are copied.
const PIECE: usize = 8 << 20;

impl Store {
    /// Copies the engine that `selector` names, verified, to `target`: a file, which is replaced
    /// when the copy is complete, or a folder, in which it gets its own file name. Returns the
    /// file and what its header says.
    ///
    /// # Errors
    /// Those of [`Store::open_selected`], [`StoreError::Cancelled`], and [`StoreError::Io`] when
    /// the copy cannot be written.
    pub fn export(
        &self,
        selector: &Selector,
        target: &Path,
        progress: &dyn Progress,
    ) -> Result<(PathBuf, Header), StoreError> {
        let engine = self.open_selected(selector, OpenOptions::default())?;
        let target = if target.is_dir() {
            target.join(engine.path().file_name().unwrap_or_default())
        } else {
            target.to_owned()
        };
        let mut temporary = target.clone().into_os_string();
        temporary.push(format!(".{}.tmp", std::process::id()));
        let temporary = PathBuf::from(temporary);
        let result = self.copy_out(&engine, &temporary, &target, progress);
        if result.is_err() {
            let _ = self.disk.remove_if_there(Step::RemoveLeftover, &temporary);
        }
        result.map(|()| (target, engine.header().clone()))
    }

    fn copy_out(
        &self,
        engine: &SavedEngine,
        temporary: &Path,
        target: &Path,
        progress: &dyn Progress,
    ) -> Result<(), StoreError> {
        let failed = |cause| StoreError::Io {
            doing: "export to",
            path: target.to_owned(),
            cause,
        };
        let bytes = engine.file_bytes();
        let file = self.disk.create_new(temporary).map_err(failed)?;
        // Exporting into a store's own folder must not be cleaned up meanwhile.
        lock_shared(&file, temporary);
        progress.begin("exporting", Some(bytes.len() as u64), Unit::Bytes);
        for piece in bytes.chunks(PIECE) {
            if progress.is_cancelled() {
                return Err(StoreError::Cancelled {
                    name: engine.header().name().to_owned(),
                });
            }
            self.disk
                .write_all(Step::WritePlan, &file, temporary, piece)
                .map_err(failed)?;
            progress.advance(piece.len() as u64);
        }
        self.disk.sync_file(&file, temporary).map_err(failed)?;
        self.disk
            .rename(Step::Publish, temporary, target)
            .map_err(failed)?;
        progress.finish();
        Ok(())
    }

    /// Saves a copy of the exported engine `file` under its identity, verified, with the header
    /// it has. A damaged engine in its place is replaced.
    ///
    /// # Errors
    /// Those of [`SavedEngine::open_file`], of [`Store::begin_build`], and of [`publish`](crate::BuildGuard::publish).
    pub fn import(&self, file: &Path, progress: &dyn Progress) -> Result<Imported, StoreError> {
        let engine = SavedEngine::open_file(file, OpenOptions::default())?;
        let header = engine.header();
        let mut build =
            match self.begin_build(&header.conditions, BuildOptions::default(), progress)? {
                Outcome::Saved(there) => {
                    return Ok(Imported::AlreadyThere(there.path().to_owned()));
                }
                Outcome::Build(build) => build,
            };
        progress.begin("importing", Some(header.plan.length), Unit::Bytes);
        for piece in engine.plan().chunks(PIECE) {
            if progress.is_cancelled() {
                return Err(StoreError::Cancelled {
                    name: header.name().to_owned(),
                });
            }
            build.write_all(piece).map_err(|cause| StoreError::Io {
                doing: "import into",
                path: self.folder().to_owned(),
                cause,
            })?;
            progress.advance(piece.len() as u64);
        }
        let saved = build.publish_as_created(header.reference.clone(), header.created_at_ns)?;
        progress.finish();
        Ok(Imported::Saved(saved.path().to_owned()))
    }
}
