//! Where this workspace and its build folder lie.

use std::path::{Path, PathBuf};

/// The root folder of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or(Path::new("."))
}

/// The folder that cargo builds into, where fetched files and virtual environments go as well.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// The folder of the Python scripts that developer tasks run.
pub(crate) fn scripts() -> PathBuf {
    root().join("xtask/python")
}

/// A path as a person wants to read it: relative to the workspace where it lies inside.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}
