//! What the examples share on the command line: progress bars, what there is to tell about an opened
//! engine, golden files, and errors with their hints.
//!
//! What is left out: anything about one model.

#![forbid(unsafe_code)]
#![allow(clippy::print_stderr)] // Notes and errors are for the person at the terminal.

mod bars;
mod exit;
mod golden;
mod mode;
mod opening;

pub use bars::Bars;
pub use exit::{Cause, exit};
pub use golden::Golden;
pub use mode::ModeArgument;
pub use opening::Opening;

/// Columns of the terminal on standard output, or a page's width where there is none.
#[must_use]
pub fn width() -> usize {
    const PAGE: usize = 80;
    let size = console::Term::stdout().size_checked();
    size.map_or(PAGE, |(_, columns)| usize::from(columns))
}
