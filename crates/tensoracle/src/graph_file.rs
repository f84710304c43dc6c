//! Graphs in files of their own: exported to be printed, drawn or compared elsewhere.
//!
//! An exported graph describes its constants (type, shape, digest, where they come from) and holds
//! none of their elements but those that give shapes.

use crate::{Error, Graph, GraphDefinition};
use std::io::Write;
use std::path::Path;

/// Writes a graph as JSON. A file that is there is replaced at once or not at all.
///
/// # Errors
/// A constant whose digest cannot be had, or a file that cannot be written.
pub fn export_graph(graph: &Graph, path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let fault = |problem: String| Error::GraphFile {
        path: path.to_owned(),
        problem,
    };
    let definition = graph.definition()?;
    let json = serde_json::to_vec_pretty(&definition).map_err(|error| fault(error.to_string()))?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let write = || -> std::io::Result<()> {
        let mut builder = tempfile::Builder::new();
        // Readable by others as far as the umask allows, like any file that is written.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(&json)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|error| fault(error.to_string()))
}

/// Reads an exported graph. It can be printed, drawn and digested, but not built or run.
///
/// # Errors
/// A file that cannot be read, is no exported graph, or describes one that the rules refuse.
pub fn import_graph(path: impl AsRef<Path>) -> Result<Graph, Error> {
    let path = path.as_ref();
    let fault = |problem: String| Error::GraphFile {
        path: path.to_owned(),
        problem,
    };
    let json = std::fs::read(path).map_err(|error| fault(error.to_string()))?;
    let definition: GraphDefinition =
        serde_json::from_slice(&json).map_err(|error| fault(error.to_string()))?;
    definition
        .without_weights()
        .map_err(|error| fault(error.to_string()))
}
