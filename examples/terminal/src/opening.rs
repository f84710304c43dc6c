//! What there is to tell about an engine that was just opened.

use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use tensoracle::Engine;

/// How an engine came to be open.
#[derive(Debug, Clone, Serialize)]
pub struct Opening {
    /// What computes.
    pub backend: &'static str,
    /// Whether a saved engine was reused.
    pub reused: bool,
    /// Milliseconds that building and saving took; `None` when a saved engine was reused.
    pub build_ms: Option<f64>,
    /// Milliseconds until the engine was open, with building where that was necessary.
    pub open_ms: f64,
    /// Where the engine is saved.
    pub engine_path: Option<PathBuf>,
}

impl Opening {
    /// Of an engine that took so long to open.
    #[must_use]
    pub fn new(engine: &Engine, took: Duration) -> Self {
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        Self {
            backend: engine.backend(),
            reused: engine.was_reused(),
            build_ms: engine.build_time().map(milliseconds),
            open_ms: milliseconds(took),
            engine_path: engine.path().map(Into::into),
        }
    }
}

impl fmt::Display for Opening {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.build_ms {
            Some(build_ms) => write!(
                formatter,
                "built and saved in {build_ms:.0} ms; the next run reuses it"
            ),
            None => write!(
                formatter,
                "saved engine reused, open after {:.1} ms",
                self.open_ms
            ),
        }?;
        match &self.engine_path {
            Some(path) => write!(formatter, "\n         {}", path.display()),
            None => Ok(()),
        }
    }
}
