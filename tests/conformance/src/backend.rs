//! What runs cases: the trait of backends, and the loop over all cases.

use crate::compare::difference;
use crate::{Array, Case, Sizes};
use tensoracle_graph::Graph;

/// How exactly a backend computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// In f32 or the declared type.
    Fast,
    /// In f64 inside a layer, rounded at its output to the declared type.
    Typed,
    /// In f64, rounded only as the outputs are packed.
    Exact,
}

/// Something that runs graphs.
pub trait Backend {
    /// Runs `graph` on `inputs`, whose shapes bind the names in the graph's shapes, and gives the
    /// outputs by name.
    ///
    /// # Errors
    /// Whatever went wrong, in words.
    fn run(
        &self,
        precision: Precision,
        graph: &Graph,
        inputs: &[(String, Array)],
    ) -> Result<Vec<(String, Array)>, String>;
}

/// Runs all cases, and gives one line for each that fails. With [`Sizes::Named`], cases that have
/// nothing to name are passed over.
pub fn failures(
    backend: &dyn Backend,
    precision: Precision,
    sizes: Sizes,
    cases: &[Case],
) -> Vec<String> {
    let failure = |case: &Case| run(backend, precision, sizes, case).err();
    cases
        .iter()
        .filter_map(|case| failure(case).map(|problem| format!("{}: {problem}", case.name)))
        .collect()
}

fn run(
    backend: &dyn Backend,
    precision: Precision,
    sizes: Sizes,
    case: &Case,
) -> Result<(), String> {
    let graph = case.graph(sizes).map_err(|error| error.to_string())?;
    let Some(graph) = graph else { return Ok(()) };
    let named = |(index, array): (usize, &Array)| (Case::tensor_name('x', index), array.clone());
    let inputs: Vec<_> = case.inputs.iter().enumerate().map(named).collect();
    let outputs = backend.run(precision, &graph, &inputs)?;
    for (index, expected) in case.expected.iter().enumerate() {
        let name = Case::tensor_name('y', index);
        let found = outputs.iter().find(|(found, _)| *found == name);
        let (_, found) = found.ok_or_else(|| format!("output `{name}` is missing"))?;
        if let Some(problem) = difference(found, expected, case.bound, precision) {
            return Err(format!("`{name}` {problem}"));
        }
    }
    Ok(())
}
