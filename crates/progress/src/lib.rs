//! The one trait through which long work reports how far it is and learns that it should stop.
//!
//! Libraries call it; they never draw. The command line draws it. What is left out: any notion of
//! a terminal, of time, or of nested bars.

#![forbid(unsafe_code)]

/// What a phase counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes read, written or hashed.
    Bytes,
    /// Discrete things: layers, tensors, files.
    Items,
}

/// Receives the progress of long work.
///
/// All methods take `&self` and may be called from any thread, so an implementation that keeps
/// state does so behind its own synchronisation. Phases do not nest: `begin` ends the one before.
///
/// ```
/// use tensoracle_progress::{Progress, Silent, Unit};
///
/// fn hash_all(progress: &dyn Progress) {
///     progress.begin("hashing weights", Some(2), Unit::Items);
///     for _ in 0..2 {
///         if progress.is_cancelled() {
///             return;
///         }
///         progress.advance(1);
///     }
///     progress.finish();
/// }
///
/// hash_all(&Silent);
/// ```
pub trait Progress: Send + Sync {
    /// A phase starts: its name as a person reads it ("hashing weights"), and how many units it
    /// will count where that is known.
    fn begin(&self, phase: &str, total: Option<u64>, unit: Unit) {
        let _ = (phase, total, unit);
    }

    /// `units` more of the current phase are done.
    fn advance(&self, units: u64) {
        let _ = units;
    }

    /// Something a person should know that is neither an error nor a count, such as
    /// "waiting for process 4711, building since 12:03:20".
    fn note(&self, message: &str) {
        let _ = message;
    }

    /// The current phase is over.
    fn finish(&self) {}

    /// Whether the caller wants the work to stop. Work asks this between units and answers with
    /// its own typed error.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Reports nothing and never cancels.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Counter(AtomicU64);

    impl Progress for Counter {
        fn advance(&self, units: u64) {
            self.0.fetch_add(units, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_shared_implementation_counts_from_many_threads() {
        let counter = Counter(AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| counter.advance(3)));
            }
        });
        assert_eq!(counter.0.into_inner(), 1200);
    }
}
