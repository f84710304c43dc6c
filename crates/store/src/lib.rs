//! tensoracle's saved engines on disk: identity, container format, locks, atomic publish, list,
//! prune.
//!
//! A saved engine is one file: a readable header with everything that it was built from, and the
//! plan. It is found by the digest of those [`Conditions`], built by one process while others
//! wait, published by rename, mapped and verified on reading. The store knows nothing of graphs
//! or backends.
//!
//! ```
//! use std::io::Write as _;
//! use tensoracle_progress::Silent;
//! use tensoracle_store::{BuildOptions, Conditions, Map, Outcome, Store};
//!
//! # let folder = tempfile::tempdir()?;
//! let store = Store::at(folder.path());
//! let mut conditions = Conditions::new("example")?;
//! conditions.set(&["backend", "name"], "cpu");
//! let engine = match store.begin_build(&conditions, BuildOptions::default(), &Silent)? {
//!     Outcome::Saved(engine) => engine,
//!     Outcome::Build(mut build) => {
//!         build.write_all(b"the plan")?;
//!         build.publish(Map::new())?
//!     }
//! };
//! assert_eq!(engine.plan(), b"the plan");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod build;
mod check;
mod cleanup;
mod conditions;
pub mod container;
pub mod disk;
mod error;
mod explain;
mod header;
mod inspect;
mod list;
mod lock;
mod open;
mod prune;
mod records;
mod removal;
mod select;
mod store;
mod time;
mod transfer;
mod value;

pub use build::{BuildGuard, BuildOptions, Outcome, Wait};
pub use check::Checked;
pub use conditions::{Conditions, Identity, MAX_NAME, NotAnIdentity};
pub use error::{CorruptEngineError, Damage, EngineConditionError, StoreError};
pub use explain::{Difference, Explanation, Near, differences};
pub use header::{Blake3, Header, PlanRecord};
pub use inspect::{
    FileKind, Flavour, Inspected, PlanInfo, PlanVersion, Wrapper, inspect, recognize,
};
pub use list::{Entry, Listing, Status, WeightPaths};
pub use lock::Owner;
pub use open::{OnDamage, OpenOptions, SavedEngine, Verify};
pub use prune::{Excluded, NotRemoved, PrunePlan, PruneResult, PruneRules, Selected};
pub use records::{DigestRecords, Recorded, WeightsRecord};
pub use select::{MIN_PREFIX, Selector};
pub use store::{Store, default_base};
pub use time::utc_text;
pub use transfer::Imported;
pub use value::{Map, Value};

/// How a saved engine's bytes come into memory, and the contract of a mapped one.
pub use tensoracle_mapping::Read;
