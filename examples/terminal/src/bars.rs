//! Progress as bars on standard error, where that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Mutex, PoisonError};
use tensoracle::{Progress, Unit};

/// Draws a bar for each phase and removes it when the phase is over.
#[derive(Debug, Default)]
pub struct Bars(Mutex<Option<ProgressBar>>);

impl Bars {
    fn with(&self, act: impl FnOnce(&mut Option<ProgressBar>)) {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Progress for Bars {
    fn begin(&self, phase: &str, total: Option<u64>, unit: Unit) {
        self.finish();
        let template = match (total, unit) {
            (None, _) => "{msg} {spinner}",
            (Some(_), Unit::Bytes) => "{msg} {wide_bar} {bytes}/{total_bytes}",
            (Some(_), Unit::Items) => "{msg} {wide_bar} {pos}/{len}",
        };
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(phase.to_owned());
        self.with(|current| *current = Some(bar));
    }

    fn advance(&self, units: u64) {
        self.with(|bar| bar.iter().for_each(|bar| bar.inc(units)));
    }

    fn note(&self, message: &str) {
        self.with(|bar| match bar {
            Some(bar) => bar.suspend(|| eprintln!("{message}")),
            None => eprintln!("{message}"),
        });
    }

    fn finish(&self) {
        self.with(|bar| bar.take().iter().for_each(ProgressBar::finish_and_clear));
    }
}
