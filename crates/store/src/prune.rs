//! Pruning: choosing saved engines by age and size, then removing them, safely beside use.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Serialize, Serializer};

use crate::error::StoreError;
use crate::list::{Entry, Status};
use crate::removal::Removal;
use crate::store::Store;
use crate::time::{nanoseconds, utc_text};

/// Which engines to remove. Both rules together remove what either chooses; none removes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PruneRules {
    /// Those whose last recorded use is longer ago.
    pub unused_for: Option<Duration>,
    /// Those used longest ago, until all `.engine` files together take at most so many bytes.
    pub max_size: Option<u64>,
}

/// What pruning is about to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PrunePlan {
    /// The folder.
    pub directory: PathBuf,
    /// The engines to remove, those used longest ago first.
    pub selected: Vec<Selected>,
    /// The files that are never removed and why, sorted by name.
    pub excluded: Vec<Excluded>,
    /// What removing means.
    pub notice: &'static str,
    /// Bytes of all `.engine` files.
    pub total_size_bytes: u64,
    /// Bytes that would remain.
    pub projected_size_bytes: u64,
    #[serde(skip)]
    max_size: Option<u64>,
}

/// An engine to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    entry: Entry,
}

impl Selected {
    /// What the listing says about it.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }
}

impl Serialize for Selected {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Json<'a> {
            file: &'a str,
            name: Option<&'a str>,
            size_bytes: u64,
            recorded_at: String,
            recorded_at_ns: i64,
        }
        Json {
            file: &self.entry.file,
            name: self.entry.header().map(crate::header::Header::name),
            size_bytes: self.entry.size_bytes,
            recorded_at: utc_text(self.entry.recorded_at_ns),
            recorded_at_ns: self.entry.recorded_at_ns,
        }
        .serialize(serializer)
    }
}

/// A file that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Excluded {
    /// Its name.
    pub file: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Why it stays.
    pub reason: String,
}

/// A file that was to be removed and is still there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotRemoved {
    /// Its name.
    pub file: String,
    /// Why it is still there.
    pub reason: String,
}

/// What pruning did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PruneResult {
    /// Whether nothing was touched.
    pub dry_run: bool,
    /// Files that were removed, or would have been.
    pub removed: Vec<String>,
    /// Files that stay by the rules, or because they came into use.
    pub excluded: Vec<Excluded>,
    /// Files that could not be removed.
    pub failed: Vec<NotRemoved>,
    /// Files that had gone already.
    pub missing: Vec<String>,
    /// Bytes that were removed: 0 in a dry run.
    pub removed_size_bytes: u64,
    /// Bytes of the `.engine` files that are there now.
    pub remaining_size_bytes: u64,
    /// In a dry run, the bytes that would remain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projected_size_bytes: Option<u64>,
    #[serde(skip)]
    max_size: Option<u64>,
}

impl PruneResult {
    /// Whether everything chosen is gone and the size limit, if any, is kept.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        let size = self
            .projected_size_bytes
            .unwrap_or(self.remaining_size_bytes);
        self.failed.is_empty() && self.max_size.is_none_or(|limit| size <= limit)
    }
}

const NOTICE: &str = "Removed engines are built again the next time they are used.";

impl Store {
    /// Chooses what to remove and touches nothing. Empty and unrecognised files, and engines that
    /// some process has open, are never chosen but count toward the size.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the folder cannot be read.
    pub fn plan_prune(&self, rules: &PruneRules, now: SystemTime) -> Result<PrunePlan, StoreError> {
        let listing = self.list()?;
        let mut excluded = Vec::new();
        let mut candidates = Vec::new();
        for entry in listing.entries {
            match &entry.status {
                Status::Recognized { .. } => candidates.push(entry),
                Status::Empty => excluded.push(exclude(&entry, entry.status.label())),
                Status::Unrecognized { reason } => {
                    excluded.push(exclude(&entry, &format!("unrecognized: {reason}")));
                }
            }
        }
        candidates.sort_by(|a, b| (a.recorded_at_ns, &a.file).cmp(&(b.recorded_at_ns, &b.file)));
        let cutoff_ns = rules
            .unused_for
            .and_then(|age| now.checked_sub(age))
            .map(nanoseconds);
        let mut projected_size_bytes = listing.total_size_bytes;
        let mut selected = Vec::new();
        for entry in candidates {
            let unused = cutoff_ns.is_some_and(|cutoff| entry.recorded_at_ns < cutoff);
            let too_much = rules
                .max_size
                .is_some_and(|limit| projected_size_bytes > limit);
            if !unused && !too_much {
                continue;
            }
            if Self::is_in_use(&self.folder().join(&entry.file)) {
                excluded.push(exclude(&entry, "in use"));
            } else {
                projected_size_bytes -= entry.size_bytes;
                selected.push(Selected { entry });
            }
        }
        excluded.sort_by(|a, b| a.file.cmp(&b.file));
        Ok(PrunePlan {
            directory: listing.directory,
            selected,
            excluded,
            notice: NOTICE,
            total_size_bytes: listing.total_size_bytes,
            projected_size_bytes,
            max_size: rules.max_size,
        })
    }

    /// Removes what `plan` chose, unless it came into use, was used, replaced or removed since;
    /// then what dead builders left. In a dry run only tells what it would do.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the folder cannot be read.
    pub fn prune(&self, plan: &PrunePlan, dry_run: bool) -> Result<PruneResult, StoreError> {
        let mut result = PruneResult {
            dry_run,
            removed: Vec::new(),
            excluded: plan.excluded.clone(),
            failed: Vec::new(),
            missing: Vec::new(),
            removed_size_bytes: 0,
            remaining_size_bytes: plan.total_size_bytes,
            projected_size_bytes: dry_run.then_some(plan.projected_size_bytes),
            max_size: plan.max_size,
        };
        if dry_run {
            result.removed = plan.selected.iter().map(|s| s.entry.file.clone()).collect();
            return Ok(result);
        }
        for Selected { entry } in &plan.selected {
            let file = entry.file.clone();
            let failed = |file, reason: String| NotRemoved { file, reason };
            match self.remove_engine(&self.folder().join(&file), Some(entry)) {
                Removal::Removed { size_bytes } => {
                    result.removed_size_bytes += size_bytes;
                    result.removed.push(file);
                }
                Removal::Missing => result.missing.push(file),
                Removal::InUse => result.excluded.push(exclude(entry, "in use")),
                Removal::Changed => result.failed.push(failed(
                    file,
                    "the file was used or replaced after it was chosen".to_owned(),
                )),
                Removal::Failed(error) => result.failed.push(failed(file, error.to_string())),
            }
        }
        self.clean_up();
        result.remaining_size_bytes = self.list()?.total_size_bytes;
        Ok(result)
    }
}

fn exclude(entry: &Entry, reason: &str) -> Excluded {
    Excluded {
        file: entry.file.clone(),
        size_bytes: entry.size_bytes,
        reason: reason.to_owned(),
    }
}
