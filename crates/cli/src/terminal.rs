//! What a person sees besides results: progress, notes, warnings, errors with their hints.
//!
//! Everything here goes to standard error. Progress is drawn only where that is a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tensoracle_progress::{Progress, Unit};
use tensoracle_store::StoreError;
use tensoracle_tensorfile::TensorFileError;

/// The place where progress and notes go.
pub(crate) struct Terminal {
    quiet: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Terminal {
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            bar: Mutex::new(None),
        }
    }

    /// Reports an error with everything that caused it, and what to do about it.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        self.finish();
        let mut output = io::stderr().lock();
        let _ = writeln!(output, "error: {}", with_causes(error));
        if let Some(hint) = hint(error) {
            let _ = writeln!(output, "hint: {hint}");
        }
    }

    fn bar(&self) -> std::sync::MutexGuard<'_, Option<ProgressBar>> {
        self.bar
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// An error's text with those of its causes, as far as it does not contain them already.
fn with_causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// The advice that comes with the errors of our libraries.
fn hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<StoreError>() {
            return error.hint();
        }
        if let Some(error) = cause.downcast_ref::<TensorFileError>() {
            return error.hint();
        }
        if let Some(error) = cause.downcast_ref::<tensoracle::Error>() {
            return error.hint();
        }
        cause.downcast_ref::<tensoracle_checkpoint::Error>()?.hint()
    })
}

impl Progress for Terminal {
    fn begin(&self, phase: &str, total: Option<u64>, unit: Unit) {
        self.finish();
        if self.quiet || !io::stderr().is_terminal() {
            return;
        }
        let (bar, template) = match (total, unit) {
            (None, _) => (ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}"),
            (Some(total), Unit::Bytes) => (
                ProgressBar::new(total),
                "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}",
            ),
            (Some(total), Unit::Items) => (ProgressBar::new(total), "{msg} {wide_bar} {pos}/{len}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(phase.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        *self.bar() = Some(bar);
    }

    fn advance(&self, units: u64) {
        if let Some(bar) = &*self.bar() {
            bar.inc(units);
        }
    }

    fn note(&self, message: &str) {
        if self.quiet {
            return;
        }
        match &*self.bar() {
            Some(bar) => bar.suspend(|| {
                let _ = writeln!(io::stderr(), "{message}");
            }),
            None => {
                let _ = writeln!(io::stderr(), "{message}");
            }
        }
    }

    fn finish(&self) {
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
    }
}

/// Sends warnings to standard error, and more with each `-v`.
pub(crate) fn log(verbose: u8) {
    let level = match verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .without_time()
        .init();
}

/// Whether results are read by a person.
pub(crate) fn is_for_people() -> bool {
    io::stdout().is_terminal()
}

/// Prints one result as indented JSON.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&serde_json::to_string_pretty(value)?)
}

/// Prints one line, or lines, of a result. A reader that has gone is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
