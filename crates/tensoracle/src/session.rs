//! Running an engine on tensors in host memory.

use crate::backend::HostExecution;
use crate::{Engine, Error, HostTensor, TensorMode};

/// An execution unit: runs an engine on owned tensors. One run at a time; an engine can have many.
pub struct Session {
    engine: Engine,
    execution: Box<dyn HostExecution>,
    shapes: Vec<(String, Vec<u64>)>,
}

/// The outputs of a run, in the engine's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outputs(Vec<(String, HostTensor)>);

impl Session {
    pub(crate) fn new(engine: Engine, execution: Box<dyn HostExecution>) -> Self {
        Self {
            engine,
            execution,
            shapes: Vec::new(),
        }
    }

    /// The engine that this session runs.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Sets the shapes of all inputs that can have several, together; inputs with one possible
    /// shape may be left out. [`Self::run`] does this by itself from the tensors it is given; call
    /// it to learn output shapes beforehand or to refuse a shape before there is data.
    ///
    /// # Errors
    /// Shapes out of the declared range or that do not go together. No run is possible then until
    /// a call succeeds.
    pub fn set_input_shapes(&mut self, shapes: &[(&str, &[u64])]) -> Result<(), Error> {
        self.shapes.clear();
        let set = self.execution.set_input_shapes(shapes);
        set.map_err(Error::backend(self.engine.backend()))?;
        self.shapes = shapes
            .iter()
            .map(|&(name, dims)| (name.into(), dims.to_vec()))
            .collect();
        Ok(())
    }

    /// The concrete shape of an input or output under the shapes that are set.
    ///
    /// # Errors
    /// An unknown name, or shapes that are not set.
    pub fn tensor_shape(&mut self, name: &str) -> Result<Vec<u64>, Error> {
        let shape = self.execution.tensor_shape(name);
        shape.map_err(Error::backend(self.engine.backend()))
    }

    /// Runs the engine on all its inputs, given in any order. Shapes are taken from the tensors.
    ///
    /// # Errors
    /// Inputs that are missing, unknown, given twice, of another type, or of a shape that is out of
    /// range or does not go with the others; nothing has run then.
    pub fn run(&mut self, inputs: &[(&str, &HostTensor)]) -> Result<Outputs, Error> {
        let given = |name: &str| inputs.iter().any(|(given, _)| *given == name);
        let mut needed = self.engine.tensors().iter();
        let missing = needed.find(|info| info.mode == TensorMode::Input && !given(&info.name));
        if let Some(info) = missing {
            return Err(Error::MissingInput {
                name: info.name.clone(),
            });
        }
        let known = inputs.len() == self.shapes.len()
            && inputs.iter().all(|(name, tensor)| {
                self.shapes
                    .iter()
                    .any(|(n, d)| n == name && d == tensor.dims())
            });
        if !known {
            let shapes: Vec<_> = inputs
                .iter()
                .map(|&(name, tensor)| (name, tensor.dims()))
                .collect();
            self.set_input_shapes(&shapes)?;
        }
        let outputs = self
            .execution
            .run(inputs)
            .map_err(Error::backend(self.engine.backend()))?;
        Ok(Outputs(outputs))
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Session")
            .field("engine", &self.engine)
            .finish_non_exhaustive()
    }
}

impl Outputs {
    /// The output called `name`.
    ///
    /// # Errors
    /// [`Error::NoOutput`] with the names that there are.
    pub fn get(&self, name: &str) -> Result<&HostTensor, Error> {
        let found = self.0.iter().find(|(found, _)| found == name);
        found
            .map(|(_, tensor)| tensor)
            .ok_or_else(|| Error::NoOutput {
                name: name.to_owned(),
                known: self
                    .0
                    .iter()
                    .map(|(name, _)| name.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            })
    }

    /// All outputs with their names, in the engine's order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &HostTensor)> {
        self.0.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// All outputs with their names, in the engine's order.
    #[must_use]
    pub fn into_vec(self) -> Vec<(String, HostTensor)> {
        self.0
    }
}
