//! The backends, and which of them a saved engine belongs to.

mod cpu;

pub use cpu::CpuBackend;

use crate::backend::Backend;
use crate::{Error, Mode};
use tensoracle_store::Header;

/// The backend that a saved engine was built by, with the settings that it was built with.
///
/// # Errors
/// [`Error::UnknownBackend`].
pub(crate) fn backend_of(header: &Header) -> Result<Box<dyn Backend>, Error> {
    let field = |name: &str| header.conditions.get(&["backend", name])?.as_text();
    let mode = [Mode::Fast, Mode::Typed, Mode::Exact]
        .into_iter()
        .find(|mode| Some(mode.name()) == field("mode"));
    match (field("name"), mode) {
        (Some("cpu"), Some(mode)) => Ok(Box::new(CpuBackend::new().mode(mode))),
        (Some("cpu"), None) => Err(Error::UnknownBackend {
            found: format!("cpu with mode {}", field("mode").unwrap_or("none")),
        }),
        (name, _) => Err(Error::UnknownBackend {
            found: name.unwrap_or("none").to_owned(),
        }),
    }
}
