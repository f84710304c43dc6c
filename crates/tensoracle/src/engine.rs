//! Building and opening engines.
//!
//! The whole way from a graph function to an engine: define, check, identify, reuse or build,
//! publish, load. What is left out: the disk (the `store` crate) and the backends.

use crate::backend::{Backend, LoadedEngine, PlanBytes};
use crate::backends::backend_of;
use crate::digests::StoredDigests;
use crate::{
    EngineBuild, Error, InputShape, OpenOptions, OpenPolicy, Session, TensorInfo, identity, io,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tensoracle_graph::Graph;
use tensoracle_progress::{Progress, Silent};
use tensoracle_store::{
    BuildGuard, BuildOptions, Conditions, Explanation, Header, OnDamage, Outcome, SavedEngine,
    Selector, Store, differences,
};
use tensoracle_weights::UsedWeights;

/// What a graph function returns, and the functions that it is made of: `?` takes errors of any kind.
pub type DefineResult<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Builds an engine and gives its plan's bytes, saving nothing.
///
/// # Errors
/// What the graph function, the declaration's checks or the backend refuse.
pub fn build_plan(
    backend: &dyn Backend,
    build: &EngineBuild,
    define: impl FnOnce(&mut Graph) -> DefineResult,
) -> Result<Vec<u8>, Error> {
    build_plan_with(backend, build, &Silent, define)
}

/// As [`build_plan`], reporting to `progress`.
///
/// # Errors
/// As [`build_plan`], or cancellation.
pub fn build_plan_with(
    backend: &dyn Backend,
    build: &EngineBuild,
    progress: &dyn Progress,
    define: impl FnOnce(&mut Graph) -> DefineResult,
) -> Result<Vec<u8>, Error> {
    let graph = defined(build, define)?;
    let weights = UsedWeights::of(&graph.live_constants());
    weights.digest(progress)?;
    let mut plan = Vec::new();
    let built = backend.build(&graph, build, progress, &mut plan);
    built.map_err(Error::backend(backend.name()))?;
    weights.unchanged()?;
    Ok(plan)
}

fn defined(
    build: &EngineBuild,
    define: impl FnOnce(&mut Graph) -> DefineResult,
) -> Result<Graph, Error> {
    let mut graph = Graph::new();
    define(&mut graph).map_err(Error::Define)?;
    build.check(&graph)?;
    Ok(graph)
}

/// An engine ready to run. Cheap to clone; clones share the loaded plan.
#[derive(Clone)]
pub struct Engine {
    loaded: Arc<dyn LoadedEngine>,
    backend: &'static str,
    saved: Option<Arc<SavedEngine>>,
    reused: bool,
    build_time: Option<Duration>,
}

impl Engine {
    /// Opens the engine of a graph: reuses the saved one, or builds and saves it.
    ///
    /// `define` is called every time. It is cheap, since defining a graph reads no weights, and it
    /// is what the identity is computed from: whatever changes in the graph, its weights, the
    /// declaration or the backend leads to another engine by itself.
    ///
    /// # Errors
    /// What the graph function, the declaration's checks, the backend, the folder of saved engines
    /// or the expectations on inputs and outputs refuse. Nothing half-built is saved.
    pub fn open(
        backend: &dyn Backend,
        build: &EngineBuild,
        options: OpenOptions<'_>,
        define: impl FnOnce(&mut Graph) -> DefineResult,
    ) -> Result<Self, Error> {
        let store = options.resolved_store()?;
        let wanted = Wanted::new(backend, build, &options, &store, define)?;
        if options.policy == OpenPolicy::ReuseOnly {
            let found = store.find(&wanted.conditions, options.read())?;
            let Some(saved) = found else {
                let explanation = store.explain(&wanted.conditions)?;
                return Err(Error::NotSaved {
                    name: options.name.clone(),
                    folder: store.folder().to_owned(),
                    nearest: nearest(explanation),
                });
            };
            return Self::from_saved(backend, saved, true, None, &options, &build.inputs);
        }
        let mut rebuilding = options.policy == OpenPolicy::ForceRebuild;
        loop {
            let how = BuildOptions {
                open: options.read(),
                on_damage: options.on_damage,
                wait: options.wait,
                force: rebuilding,
            };
            match store.begin_build(&wanted.conditions, how, options.progress)? {
                Outcome::Saved(saved) => {
                    let opened =
                        Self::from_saved(backend, saved, true, None, &options, &build.inputs);
                    // An intact file whose plan the backend refuses is damaged in its own way.
                    match opened {
                        Err(Error::Backend { error, .. })
                            if options.on_damage == OnDamage::Rebuild && !rebuilding =>
                        {
                            tracing::warn!(%error, "the saved engine does not load; building it anew");
                            rebuilding = true;
                        }
                        opened => return opened,
                    }
                }
                Outcome::Build(guard) => {
                    let started = Instant::now();
                    let saved = wanted.build(backend, build, guard, options.progress)?;
                    let took = Some(started.elapsed());
                    return Self::from_saved(backend, saved, false, took, &options, &build.inputs);
                }
            }
        }
    }

    /// Opens a saved engine without its graph: by name, by the beginning of its identity, or from
    /// an exported file. It runs on the backend that it was built by. Never builds.
    ///
    /// # Errors
    /// No such engine, several of that name, a damaged file, or one that was built by a backend
    /// that is not here, in another version or for another device.
    pub fn open_saved(selector: &Selector, options: OpenOptions<'_>) -> Result<Self, Error> {
        let saved = options
            .resolved_store()?
            .open_selected(selector, options.read())?;
        let backend = backend_of(saved.header())?;
        Self::from_selected(&*backend, saved, &options)
    }

    /// As [`Self::open_saved`], on a backend of the caller's making.
    ///
    /// # Errors
    /// As [`Self::open_saved`]; the backend must be the one that the engine was built by.
    pub fn open_saved_on(
        backend: &dyn Backend,
        selector: &Selector,
        options: OpenOptions<'_>,
    ) -> Result<Self, Error> {
        let saved = options
            .resolved_store()?
            .open_selected(selector, options.read())?;
        Self::from_selected(backend, saved, &options)
    }

    fn from_selected(
        backend: &dyn Backend,
        saved: SavedEngine,
        options: &OpenOptions<'_>,
    ) -> Result<Self, Error> {
        Self::check_backend(backend, &saved)?;
        Self::from_saved(backend, saved, true, None, options, &BTreeMap::new())
    }

    /// Loads a plan that [`build_plan`] gave.
    ///
    /// # Errors
    /// What the backend refuses.
    pub fn load(backend: &dyn Backend, plan: PlanBytes) -> Result<Self, Error> {
        let loaded = backend.load(plan).map_err(Error::backend(backend.name()))?;
        let backend = backend.name();
        Ok(Self {
            loaded,
            backend,
            saved: None,
            reused: false,
            build_time: None,
        })
    }

    /// Says why an engine will or will not be reused, field by field. Builds nothing.
    ///
    /// # Errors
    /// What the graph function, the declaration's checks or the folder of saved engines refuse.
    pub fn explain(
        backend: &dyn Backend,
        build: &EngineBuild,
        options: OpenOptions<'_>,
        define: impl FnOnce(&mut Graph) -> DefineResult,
    ) -> Result<Explanation, Error> {
        let store = options.resolved_store()?;
        let wanted = Wanted::new(backend, build, &options, &store, define)?;
        Ok(store.explain(&wanted.conditions)?)
    }

    /// Compares the backend that a saved engine was built by with the one at hand, before any of
    /// the plan reaches it.
    fn check_backend(backend: &dyn Backend, saved: &SavedEngine) -> Result<(), Error> {
        let mut here = saved.header().conditions.clone();
        here.set(&["backend"], identity::backend_conditions(backend));
        here.set(&["os"], std::env::consts::OS);
        here.set(&["architecture"], std::env::consts::ARCH);
        let differences = differences(&saved.header().conditions, &here);
        match differences.is_empty() {
            true => Ok(()),
            false => Err(Error::Incompatible {
                path: saved.path().to_owned(),
                differences,
            }),
        }
    }

    fn from_saved(
        backend: &dyn Backend,
        saved: SavedEngine,
        reused: bool,
        build_time: Option<Duration>,
        options: &OpenOptions<'_>,
        profiles: &BTreeMap<String, InputShape>,
    ) -> Result<Self, Error> {
        let saved = Arc::new(saved);
        let plan: PlanBytes = Arc::new(SavedPlan(Arc::clone(&saved)));
        let loaded = backend.load(plan).map_err(Error::backend(backend.name()))?;
        if let Some(expected) = &options.io {
            io::check(loaded.tensors(), expected, profiles).map_err(|error| {
                crate::EngineIoError {
                    path: Some(saved.path().to_owned()),
                    ..error
                }
            })?;
        }
        if reused {
            saved.record_use();
        }
        let backend = backend.name();
        Ok(Self {
            loaded,
            backend,
            saved: Some(saved),
            reused,
            build_time,
        })
    }

    /// All inputs and outputs.
    #[must_use]
    pub fn tensors(&self) -> &[TensorInfo] {
        self.loaded.tensors()
    }

    /// The backend's name.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        self.backend
    }

    /// Whether a saved engine was reused rather than built.
    #[must_use]
    pub fn was_reused(&self) -> bool {
        self.reused
    }

    /// How long building took, if this call built it.
    #[must_use]
    pub fn build_time(&self) -> Option<Duration> {
        self.build_time
    }

    /// The saved engine's file; `None` for a plan that was never saved.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.saved.as_ref().map(|saved| saved.path())
    }

    /// What the saved engine says about itself; `None` for a plan that was never saved.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        self.saved.as_ref().map(|saved| saved.header())
    }

    /// The graph, for backends whose plans hold it. Its constants are described only.
    #[must_use]
    pub fn graph(&self) -> Option<&Graph> {
        self.loaded.graph()
    }

    /// An execution unit of its own.
    ///
    /// # Errors
    /// When the backend has no room for another.
    pub fn session(&self) -> Result<Session, Error> {
        let execution = self
            .loaded
            .create_execution()
            .map_err(Error::backend(self.backend))?;
        Ok(Session::new(self.clone(), execution))
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Engine")
            .field("backend", &self.backend)
            .field("path", &self.path())
            .field("reused", &self.reused)
            .finish_non_exhaustive()
    }
}

/// A defined graph and what identifies its engine.
struct Wanted {
    graph: Graph,
    weights: UsedWeights,
    conditions: Conditions,
}

impl Wanted {
    fn new(
        backend: &dyn Backend,
        build: &EngineBuild,
        options: &OpenOptions<'_>,
        store: &Store,
        define: impl FnOnce(&mut Graph) -> DefineResult,
    ) -> Result<Self, Error> {
        let graph = defined(build, define)?;
        let weights = UsedWeights::of(&graph.live_constants());
        weights.use_digest_cache(&(Arc::new(StoredDigests(store.digest_records())) as _));
        weights.digest(options.progress)?;
        let version = options.graph_version.as_deref();
        let conditions = identity::conditions(&options.name, &graph, version, build, backend)?;
        Ok(Self {
            graph,
            weights,
            conditions,
        })
    }

    /// Builds and publishes. Weights that changed meanwhile stop it: the identity would name what
    /// was not built from.
    fn build(
        &self,
        backend: &dyn Backend,
        build: &EngineBuild,
        mut guard: BuildGuard,
        progress: &dyn Progress,
    ) -> Result<SavedEngine, Error> {
        let started = Instant::now();
        let built = backend.build(&self.graph, build, progress, &mut guard);
        let mut reference = built.map_err(Error::backend(backend.name()))?;
        self.weights.unchanged()?;
        reference.insert(
            "workspace_limit".into(),
            build.settings.workspace_limit.into(),
        );
        let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        reference.insert("build_ms".into(), milliseconds.into());
        let paths: Vec<String> = self
            .weights
            .stamps()
            .map(|stamp| stamp.path.display().to_string())
            .collect();
        reference.insert("weight_paths".into(), paths.into());
        Ok(guard.publish(reference)?)
    }
}

/// The fields in which the nearest saved engine differs.
fn nearest(explanation: Explanation) -> Vec<tensoracle_store::Difference> {
    explanation
        .nearest
        .into_iter()
        .next()
        .map(|near| near.differences)
        .unwrap_or_default()
}

/// The plan of an open saved engine, which stays locked and mapped while a backend uses it.
struct SavedPlan(Arc<SavedEngine>);

impl AsRef<[u8]> for SavedPlan {
    fn as_ref(&self) -> &[u8] {
        self.0.plan()
    }
}
