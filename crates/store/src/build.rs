//! Building: one builder a key, everybody else waits; published by rename, or not at all.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write};
use std::time::{Duration, Instant, SystemTime};

use tensoracle_progress::{Progress, Unit};

use crate::conditions::Conditions;
use crate::container;
use crate::disk::Step;
use crate::error::StoreError;
use crate::header::{Blake3, Header, PlanRecord};
use crate::lock::{Attempt, KeyLock, Owner, lock_shared};
use crate::open::{OnDamage, OpenOptions, SavedEngine};
use crate::store::{KeyPaths, Store};
use crate::time::nanoseconds;
use crate::value::Map;

/// How long to wait for another builder of the same engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wait {
    /// Until it has finished, failed or died.
    #[default]
    Forever,
    /// At most so long, then [`StoreError::BeingBuilt`].
    AtMost(Duration),
    /// Not at all: [`StoreError::BeingBuilt`] at once.
    No,
}

/// How to build, or to reuse what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BuildOptions {
    /// How an engine that is there is read.
    pub open: OpenOptions,
    /// What to do about a damaged one.
    pub on_damage: OnDamage,
    /// How long to wait for another builder.
    pub wait: Wait,
    /// Build even if an intact engine is there; it is replaced when the new one is complete.
    pub force: bool,
}

/// What came of asking to build.
#[derive(Debug)]
pub enum Outcome {
    /// It is there already.
    Saved(SavedEngine),
    /// It is not, and this caller is the one to build it.
    Build(BuildGuard),
}

/// How often a waiting process looks whether the builder is done.
const POLL: Duration = Duration::from_millis(50);

/// How long waiting may take before the user is told.
const QUIET_WAIT: Duration = Duration::from_millis(200);

/// Room for reference values that are known only when the plan is complete.
const HEADER_ROOM: usize = 4096;

/// Pieces in which a plan is digested and written.
const PIECE: usize = 4 << 20;

impl Store {
    /// Opens the engine with these conditions, or gives the caller the exclusive right to build
    /// it. While another process or thread builds it, waits, reporting for whom.
    ///
    /// # Errors
    /// Those of [`Store::find`], where `options` do not turn them into a build;
    /// [`StoreError::BeingBuilt`] and [`StoreError::Cancelled`] instead of waiting (longer);
    /// [`StoreError::NotWritable`] when there is nothing to reuse and the folder cannot be
    /// written; [`StoreError::Unstorable`] when the conditions cannot be written as a header.
    pub fn begin_build(
        &self,
        conditions: &Conditions,
        options: BuildOptions,
        progress: &dyn Progress,
    ) -> Result<Outcome, StoreError> {
        let paths = self.paths(conditions);
        let mut waiting = Waiting::new(conditions.name(), options.wait, progress);
        let mut damage = None;
        loop {
            // Before asking for the lock, so that a folder that cannot be written serves too. Not
            // again at each turn of waiting when it is damaged: it may be large.
            if !options.force && damage.is_none() {
                match self.reusable(conditions, options)? {
                    Reusable::Yes(engine) => return Ok(Outcome::Saved(*engine)),
                    Reusable::Absent => {}
                    Reusable::Damaged(error) => damage = Some(error),
                }
            }
            match self.lock_key(&paths) {
                Ok(Attempt::Held(lock)) => {
                    return self.under_lock(conditions, options, paths, lock);
                }
                Ok(Attempt::Busy(owner)) => waiting.step(owner)?,
                Err(error) => {
                    if let Some(damage) = damage {
                        tracing::warn!(error = %damage, "a damaged saved engine stays in place");
                    }
                    return Err(error);
                }
            }
        }
    }

    fn lock_key(&self, paths: &KeyPaths) -> Result<Attempt, StoreError> {
        let not_writable = |cause| StoreError::NotWritable {
            folder: self.folder().to_owned(),
            cause,
        };
        self.disk
            .create_folder(self.folder())
            .map_err(not_writable)?;
        KeyLock::attempt(&self.disk, &paths.lock).map_err(not_writable)
    }

    /// Decides again now that nobody else can: the engine may have come while the lock was taken.
    fn under_lock(
        &self,
        conditions: &Conditions,
        options: BuildOptions,
        paths: KeyPaths,
        lock: KeyLock,
    ) -> Result<Outcome, StoreError> {
        if !options.force {
            match self.reusable(conditions, options)? {
                Reusable::Yes(engine) => return Ok(Outcome::Saved(*engine)),
                Reusable::Absent => {}
                Reusable::Damaged(error) => self.set_aside(&paths, &error)?,
            }
        }
        lock.announce();
        self.clean_up();
        BuildGuard::new(self, conditions, options.open, paths, lock).map(Outcome::Build)
    }

    fn reusable(
        &self,
        conditions: &Conditions,
        options: BuildOptions,
    ) -> Result<Reusable, StoreError> {
        match self.find(conditions, options.open) {
            Ok(Some(engine)) => Ok(Reusable::Yes(Box::new(engine))),
            Ok(None) => Ok(Reusable::Absent),
            Err(error @ (StoreError::Corrupt(_) | StoreError::Condition(_)))
                if options.on_damage == OnDamage::Rebuild =>
            {
                Ok(Reusable::Damaged(error))
            }
            Err(error) => Err(error),
        }
    }

    fn set_aside(&self, paths: &KeyPaths, error: &StoreError) -> Result<(), StoreError> {
        tracing::warn!(%error, "a damaged saved engine is set aside and built again");
        self.disk
            .rename(Step::SetAside, &paths.engine, &paths.damaged)
            .map_err(|cause| StoreError::Io {
                doing: "set aside",
                path: paths.engine.clone(),
                cause,
            })
    }
}

enum Reusable {
    Yes(Box<SavedEngine>),
    Absent,
    Damaged(StoreError),
}

/// Waiting for another builder, within what the caller allows.
struct Waiting<'a> {
    name: &'a str,
    wait: Wait,
    progress: &'a dyn Progress,
    start: Instant,
    reported: Option<Owner>,
}

impl<'a> Waiting<'a> {
    fn new(name: &'a str, wait: Wait, progress: &'a dyn Progress) -> Self {
        Self {
            name,
            wait,
            progress,
            start: Instant::now(),
            reported: None,
        }
    }

    fn step(&mut self, owner: Owner) -> Result<(), StoreError> {
        let waited = self.start.elapsed();
        let name = || self.name.to_owned();
        let left = match self.wait {
            Wait::Forever => POLL,
            Wait::AtMost(limit) => limit.saturating_sub(waited),
            Wait::No => Duration::ZERO,
        };
        if left.is_zero() {
            return Err(StoreError::BeingBuilt {
                name: name(),
                owner,
                waited,
            });
        }
        if self.progress.is_cancelled() {
            return Err(StoreError::Cancelled { name: name() });
        }
        if waited >= QUIET_WAIT && self.reported.as_ref() != Some(&owner) {
            if self.reported.is_none() {
                self.progress
                    .begin("waiting for another build", None, Unit::Items);
            }
            self.progress.note(&format!("waiting for {owner}"));
            self.reported = Some(owner);
        }
        std::thread::sleep(left.min(POLL));
        Ok(())
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.reported.is_some() {
            self.progress.finish();
        }
    }
}

/// The exclusive right to build one engine, and the file that its plan is written to.
///
/// The plan goes in through [`Write`]; [`publish`](Self::publish) makes it the saved engine.
/// Dropped before that, it leaves everything as it was.
#[derive(Debug)]
pub struct BuildGuard {
    store: Store,
    conditions: Conditions,
    open: OpenOptions,
    paths: KeyPaths,
    file: File,
    plan_offset: u64,
    length: u64,
    hasher: Box<blake3::Hasher>,
    failed: bool,
    published: bool,
    /// Last, so that it is released after the file is gone.
    _lock: KeyLock,
}

impl BuildGuard {
    fn new(
        store: &Store,
        conditions: &Conditions,
        open: OpenOptions,
        paths: KeyPaths,
        lock: KeyLock,
    ) -> Result<Self, StoreError> {
        let without_plan = Header {
            conditions: conditions.clone(),
            reference: Map::new(),
            created_at_ns: 0,
            plan: PlanRecord {
                offset: 0,
                length: 0,
                blake3: Blake3(blake3::hash(&[])),
            },
        };
        let plan_offset = container::plan_offset_for(storable(&without_plan)?.len() + HEADER_ROOM);
        let not_writable = |cause| StoreError::NotWritable {
            folder: store.folder().to_owned(),
            cause,
        };
        let mut file = store
            .disk
            .remove_if_there(Step::RemoveLeftover, &paths.building)
            .and_then(|()| store.disk.create_new(&paths.building))
            .map_err(not_writable)?;
        file.seek(SeekFrom::Start(plan_offset))
            .map_err(not_writable)?;
        Ok(Self {
            store: store.clone(),
            conditions: conditions.clone(),
            open,
            paths,
            file,
            plan_offset,
            length: 0,
            hasher: Box::new(blake3::Hasher::new()),
            failed: false,
            published: false,
            _lock: lock,
        })
    }

    /// The conditions of the engine to build.
    #[must_use]
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Completes the file with its header, waits until it is on the disk, and renames it to its
    /// place. `reference` is recorded beside the conditions. Whoever has the old engine open
    /// keeps it.
    ///
    /// # Errors
    /// [`StoreError::Io`] when writing or renaming fails, [`StoreError::EmptyPlan`] when nothing
    /// was written, [`StoreError::UnfinishedPlan`] when an earlier write failed,
    /// [`StoreError::Unstorable`] when `reference` cannot be written. An engine that was there
    /// stays in all these cases.
    pub fn publish(self, reference: Map) -> Result<SavedEngine, StoreError> {
        self.publish_as_created(reference, nanoseconds(SystemTime::now()))
    }

    /// [`publish`](Self::publish) with the time of an earlier build.
    pub(crate) fn publish_as_created(
        mut self,
        reference: Map,
        created_at_ns: i64,
    ) -> Result<SavedEngine, StoreError> {
        if self.failed {
            return Err(StoreError::UnfinishedPlan { name: self.name() });
        }
        if self.length == 0 {
            return Err(StoreError::EmptyPlan { name: self.name() });
        }
        let header = self.write_header(reference, created_at_ns)?;
        let disk = &self.store.disk;
        disk.sync_file(&self.file, &self.paths.building)
            .map_err(self.io("save"))?;
        // Before the engine has its name, so that pruning never finds it unlocked.
        lock_shared(&self.file, &self.paths.engine);
        // The clone shares the lock and keeps it when this guard closes its own.
        let file = self.file.try_clone().map_err(self.io("save"))?;
        disk.rename(Step::Publish, &self.paths.building, &self.paths.engine)
            .map_err(self.io("save"))?;
        self.published = true;
        if let Err(error) = disk.sync_folder(self.store.folder()) {
            // Whole and in place; a crash of the machine might bring the old one back.
            tracing::warn!(path = %self.paths.engine.display(), %error, "folder not synced");
        }
        let _ = disk.remove_if_there(Step::RemoveLeftover, &self.paths.damaged);
        SavedEngine::from_published(
            file,
            self.paths.engine.clone(),
            header,
            self.open.read,
            disk.clone(),
        )
    }

    fn name(&self) -> String {
        self.conditions.name().to_owned()
    }

    fn write_header(&mut self, reference: Map, created_at_ns: i64) -> Result<Header, StoreError> {
        let plan = PlanRecord {
            offset: self.plan_offset,
            length: self.length,
            blake3: Blake3(self.hasher.finalize()),
        };
        let mut header = Header {
            conditions: self.conditions.clone(),
            reference,
            created_at_ns,
            plan,
        };
        let mut json = storable(&header)?;
        if container::plan_offset_for(json.len()) > self.plan_offset {
            self.make_room(container::plan_offset_for(json.len() + HEADER_ROOM))?;
            header.plan.offset = self.plan_offset;
            json = storable(&header)?;
        }
        let bytes = container::encode(&json, self.plan_offset);
        let disk = &self.store.disk;
        (&self.file)
            .rewind()
            .and_then(|()| {
                disk.write_all(Step::WriteHeader, &self.file, &self.paths.building, &bytes)
            })
            .map_err(self.io("write"))?;
        Ok(header)
    }

    /// Moves the plan to begin at `plan_offset`, from its end backwards. Happens only when the
    /// reference turned out larger than the room left for it.
    fn make_room(&mut self, plan_offset: u64) -> Result<(), StoreError> {
        let mut file = &self.file;
        let mut piece = vec![0; PIECE];
        let mut left = self.length;
        while left > 0 {
            let size = left.min(PIECE as u64);
            left -= size;
            let piece = &mut piece[..size as usize];
            file.seek(SeekFrom::Start(self.plan_offset + left))
                .and_then(|_| io::Read::read_exact(&mut file, piece))
                .and_then(|()| file.seek(SeekFrom::Start(plan_offset + left)))
                .and_then(|_| {
                    let disk = &self.store.disk;
                    disk.write_all(Step::WritePlan, file, &self.paths.building, piece)
                })
                .map_err(self.io("write"))?;
        }
        self.plan_offset = plan_offset;
        Ok(())
    }

    fn io(&self, doing: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        let path = self.paths.engine.clone();
        move |cause| StoreError::Io { doing, path, cause }
    }
}

/// Appends to the plan. A failed write makes publishing impossible.
impl Write for BuildGuard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE)];
        let (file, disk) = (&self.file, &self.store.disk);
        let hasher = &mut self.hasher;
        let building = &self.paths.building;
        let (written, _) = rayon::join(
            || disk.write_all(Step::WritePlan, file, building, piece),
            || hasher.update_rayon(piece),
        );
        if let Err(error) = written {
            self.failed = true;
            return Err(error);
        }
        self.length += piece.len() as u64;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for BuildGuard {
    fn drop(&mut self) {
        if !self.published {
            // Failing leaves a file that the next builder removes.
            let _ = self
                .store
                .disk
                .remove_if_there(Step::RemoveLeftover, &self.paths.building);
        }
    }
}

/// The header's JSON, after making sure that it can be read back.
fn storable(header: &Header) -> Result<Vec<u8>, StoreError> {
    let unstorable = |reason| StoreError::Unstorable {
        name: header.name().to_owned(),
        reason,
    };
    let json = container::json(header).map_err(|error| unstorable(error.to_string()))?;
    if json.len() as u64 > container::MAX_HEADER / 2 {
        return Err(unstorable(format!(
            "they take {} bytes, more than {}",
            json.len(),
            container::MAX_HEADER / 2
        )));
    }
    container::check_readable(&json).map_err(|error| unstorable(error.to_string()))?;
    Ok(json)
}
