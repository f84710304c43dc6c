//! What can go wrong with saved engines, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::conditions::Identity;
use crate::explain::Difference;
use crate::header::Blake3;
use crate::lock::Owner;

/// Why a file is no intact saved engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// Zero bytes: left by something that died, or cut.
    #[error("the file is empty")]
    Empty,
    /// Shorter than it says, or its header was never written.
    #[error("the file is incomplete: {}found {found} bytes", expected_bytes(*expected))]
    Incomplete {
        /// Bytes that the file should have, where it says so.
        expected: Option<u64>,
        /// Bytes that it has.
        found: u64,
    },
    /// Longer than it says.
    #[error("the file is too long: expected {expected} bytes, found {found}")]
    TooLong {
        /// Bytes that the file should have.
        expected: u64,
        /// Bytes that it has.
        found: u64,
    },
    /// Something else than a saved engine.
    #[error("the file is not a saved engine of tensoracle")]
    Foreign,
    /// A saved engine of another version of the format.
    #[error("the file has format {found}, this version reads format {supported}")]
    OtherFormat {
        /// The file's format.
        found: u32,
        /// The format that this version reads.
        supported: u32,
    },
    /// The header's bytes are not those that were written.
    #[error("the header is damaged: expected BLAKE3 {expected}, found {found}")]
    HeaderChecksum {
        /// The digest in the file.
        expected: Blake3,
        /// The digest of the bytes.
        found: Blake3,
    },
    /// The header's bytes are as written but make no sense.
    #[error("the header is not readable: {reason}")]
    Unreadable {
        /// What makes no sense.
        reason: String,
    },
    /// The header states an identity that is not that of its conditions.
    #[error("the header states identity {found}, its conditions have {expected}")]
    Identity {
        /// The identity of the conditions.
        expected: Identity,
        /// The identity that the header states.
        found: Identity,
    },
    /// The plan's bytes are not those that were written.
    #[error("the plan is damaged: expected BLAKE3 {expected}, found {found}")]
    PlanChecksum {
        /// The digest in the header.
        expected: Blake3,
        /// The digest of the bytes.
        found: Blake3,
    },
}

fn expected_bytes(expected: Option<u64>) -> String {
    expected.map_or_else(String::new, |bytes| format!("expected {bytes} bytes, "))
}

/// A saved file is incomplete, damaged, or something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("saved engine {}: {damage}", path.display())]
pub struct CorruptEngineError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub damage: Damage,
}

/// A saved header has other conditions than its place says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "saved engine {}: expected conditions with identity {expected}, found {found}{}",
    path.display(),
    listed(differences)
)]
pub struct EngineConditionError {
    /// The file.
    pub path: PathBuf,
    /// The identity that was looked for, or as much of it as the file's name holds.
    pub expected: String,
    /// The identity of the conditions in the header.
    pub found: Identity,
    /// The fields that differ, where the wanted conditions are known.
    pub differences: Vec<Difference>,
}

fn listed(differences: &[Difference]) -> String {
    differences.iter().map(|d| format!("; {d}")).collect()
}

/// Anything that the store answers instead of an engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The saved file is damaged.
    #[error(transparent)]
    Corrupt(#[from] CorruptEngineError),
    /// The saved file was built under other conditions.
    #[error(transparent)]
    Condition(#[from] EngineConditionError),
    /// The name cannot be an engine's.
    #[error("engine name {name:?} {problem}")]
    InvalidName {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Neither `XDG_CACHE_HOME` nor a home directory is known.
    #[error("no folder for saved engines: neither XDG_CACHE_HOME nor a home directory is set")]
    NoDefaultFolder,
    /// The folder cannot be written, so nothing can be built into it.
    #[error("cannot save engines in {}: {cause}", folder.display())]
    NotWritable {
        /// The folder.
        folder: PathBuf,
        /// What the system said. Part of the message, not a further source.
        cause: io::Error,
    },
    /// Another process or thread builds this engine, and the caller does not wait (any longer).
    #[error(
        "engine {name:?} is not there yet: waited {:.1} s for {owner}",
        waited.as_secs_f64()
    )]
    BeingBuilt {
        /// The engine's name.
        name: String,
        /// Who builds it.
        owner: Owner,
        /// How long this call waited.
        waited: Duration,
    },
    /// The caller asked for the work to stop.
    #[error("cancelled while waiting for engine {name:?}")]
    Cancelled {
        /// The engine's name.
        name: String,
    },
    /// Nothing saved answers to what was asked for.
    #[error("no saved engine {wanted} in {}", folder.display())]
    NotFound {
        /// What was asked for, as a person reads it.
        wanted: String,
        /// The folder that was searched.
        folder: PathBuf,
    },
    /// Several saved engines answer to what was asked for.
    #[error(
        "{} saved engines answer to {wanted}, expected one: {}",
        candidates.len(),
        candidates.join(", ")
    )]
    Ambiguous {
        /// What was asked for, as a person reads it.
        wanted: String,
        /// The file names of those that answer, sorted.
        candidates: Vec<String>,
    },
    /// The engine is open in some process, or being built, and stays.
    #[error("saved engine {} is in use", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The header cannot be written so that it reads back the same.
    #[error("the conditions of engine {name:?} cannot be stored: {reason}")]
    Unstorable {
        /// The engine's name.
        name: String,
        /// Why not.
        reason: String,
    },
    /// A plan of no bytes was to be saved.
    #[error("the plan of engine {name:?} is empty")]
    EmptyPlan {
        /// The engine's name.
        name: String,
    },
    /// The plan was not written whole before it was to be published.
    #[error("the plan of engine {name:?} was not written whole: an earlier write failed")]
    UnfinishedPlan {
        /// The engine's name.
        name: String,
    },
    /// The system refused something.
    #[error("cannot {doing} {}: {cause}", path.display())]
    Io {
        /// What was being done, as a verb.
        doing: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// What the system said. Part of the message, not a further source.
        cause: io::Error,
    },
}

impl StoreError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Corrupt(error) => Some(match error.damage {
                Damage::OtherFormat { found, supported } if found > supported => {
                    "a newer version of tensoracle wrote it; upgrade, or build the engine again"
                        .to_owned()
                }
                _ => "build the engine again: the damaged file is then replaced".to_owned(),
            }),
            Self::Condition(_) => Some(
                "the file was renamed or copied by hand; import it instead, or build again"
                    .to_owned(),
            ),
            Self::Io { cause, .. } | Self::NotWritable { cause, .. }
                if cause.kind() == io::ErrorKind::StorageFull =>
            {
                Some(
                    "free space, for instance with `tensoracle cache prune --unused-for 30`"
                        .to_owned(),
                )
            }
            Self::NotWritable { .. } | Self::NoDefaultFolder => Some(
                "set XDG_CACHE_HOME to a folder that can be written, or build the plan without \
                 saving it"
                    .to_owned(),
            ),
            Self::BeingBuilt { .. } => {
                Some("wait longer, or build the plan without saving it".to_owned())
            }
            Self::Ambiguous { .. } => {
                Some("give the file name or the first digits of the identity".to_owned())
            }
            Self::NotFound { .. } => Some("`tensoracle cache list` shows what is saved".to_owned()),
            Self::InUse { .. } => Some("try again when it is closed".to_owned()),
            _ => None,
        }
    }
}
