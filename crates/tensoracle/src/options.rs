//! How an engine is opened: under which name, from which folder, and what may happen on the way.

use crate::{EngineIo, Error};
use tensoracle_progress::{Progress, Silent};
use tensoracle_store::{OnDamage, Store, Verify, Wait};

/// Whether a saved engine is reused and whether one may be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OpenPolicy {
    /// Reuses a saved engine; builds and saves one where there is none.
    #[default]
    BuildIfAbsent,
    /// Reuses a saved engine and never builds.
    ReuseOnly,
    /// Builds, and replaces a saved engine once the new one is complete.
    ForceRebuild,
}

/// How to open an engine.
///
/// ```no_run
/// use tensoracle::{OpenOptions, OpenPolicy, Store};
///
/// let options = OpenOptions::named("example")
///     .policy(OpenPolicy::ReuseOnly)
///     .store(Store::at("/var/lib/engines"));
/// ```
#[derive(Clone)]
pub struct OpenOptions<'a> {
    pub(crate) name: String,
    pub(crate) graph_version: Option<String>,
    pub(crate) io: Option<EngineIo>,
    pub(crate) policy: OpenPolicy,
    pub(crate) store: Option<Store>,
    pub(crate) verify: Verify,
    pub(crate) on_damage: OnDamage,
    pub(crate) wait: Wait,
    pub(crate) progress: &'a dyn Progress,
}

impl<'a> OpenOptions<'a> {
    /// The engine called `name`, with the defaults: build if absent, in the user's cache.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            graph_version: None,
            io: None,
            policy: OpenPolicy::default(),
            store: None,
            verify: Verify::default(),
            on_damage: OnDamage::default(),
            wait: Wait::default(),
            progress: &Silent,
        }
    }

    /// Adds an ingredient to the identity. The graph is in it already; this is for what the graph
    /// cannot show.
    #[must_use]
    pub fn graph_version(self, version: impl Into<String>) -> Self {
        Self {
            graph_version: Some(version.into()),
            ..self
        }
    }

    /// Checks the engine's inputs and outputs on opening.
    #[must_use]
    pub fn io(self, io: EngineIo) -> Self {
        Self {
            io: Some(io),
            ..self
        }
    }

    /// Sets whether to reuse and whether to build.
    #[must_use]
    pub fn policy(self, policy: OpenPolicy) -> Self {
        Self { policy, ..self }
    }

    /// Saves in `store` instead of the user's cache.
    #[must_use]
    pub fn store(self, store: Store) -> Self {
        Self {
            store: Some(store),
            ..self
        }
    }

    /// Sets how much of a saved engine is verified before it is used.
    #[must_use]
    pub fn verify(self, verify: Verify) -> Self {
        Self { verify, ..self }
    }

    /// Sets what happens to a damaged saved engine.
    #[must_use]
    pub fn on_damage(self, on_damage: OnDamage) -> Self {
        Self { on_damage, ..self }
    }

    /// Sets how long to wait for another process that builds the same engine.
    #[must_use]
    pub fn wait(self, wait: Wait) -> Self {
        Self { wait, ..self }
    }

    /// Reports hashing, waiting and building to `progress`.
    #[must_use]
    pub fn progress<'b>(self, progress: &'b dyn Progress) -> OpenOptions<'b>
    where
        'a: 'b,
    {
        OpenOptions { progress, ..self }
    }

    pub(crate) fn resolved_store(&self) -> Result<Store, Error> {
        Ok(match &self.store {
            Some(store) => store.clone(),
            None => Store::in_user_cache()?,
        })
    }

    pub(crate) fn read(&self) -> tensoracle_store::OpenOptions {
        tensoracle_store::OpenOptions {
            verify: self.verify,
            ..tensoracle_store::OpenOptions::default()
        }
    }
}
