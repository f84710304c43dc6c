//! Execution: inputs in, layers one after another, outputs out.

use crate::bind::Bound;
use crate::inputs::{all_names, bind_names, check_inputs, unknown, wide};
use crate::layers::{self, Call, Operand};
use crate::plan::{Engine, Loaded};
use crate::program::{Home, Source, Step};
use crate::storage::{Buffer, Elements};
use crate::{CpuError, Mode, Plan, convert};
use std::collections::BTreeMap;
use tensoracle_graph::{DataType, Node, Tensor};
use tensoracle_kernels::Real;

/// A network input: packed little-endian elements, row-major.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The input's name.
    pub name: &'a str,
    /// The type of the elements.
    pub data_type: DataType,
    /// The elements.
    pub bytes: &'a [u8],
}

/// A network output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The output's name.
    pub name: String,
    /// The type of the elements.
    pub data_type: DataType,
    /// The shape.
    pub dims: Vec<u64>,
    /// The elements: packed, little-endian, row-major.
    pub bytes: Vec<u8>,
}

/// What a layer just computed.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// The layer.
    pub node: &'a Node,
    /// The type that its output is declared to have.
    pub data_type: DataType,
    /// The output's shape.
    pub dims: &'a [usize],
    /// The output's elements.
    pub values: Values<'a>,
}

impl Observation<'_> {
    /// The elements as a caller would get them: packed as the declared type, rounded to it where
    /// they are wider.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        convert::pack(
            self.data_type,
            match self.values {
                Values::Real(values) => Elements::Real(values),
                Values::Integer(values) => Elements::Integer(values),
                Values::Boolean(values) => Elements::Boolean(values),
            },
        )
    }
}

/// Elements as the engine holds them.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// Floating point of any type.
    Real(&'a [f64]),
    /// Integers of any type.
    Integer(&'a [i64]),
    /// Booleans, 0 or 1.
    Boolean(&'a [u8]),
}

impl<'a> Values<'a> {
    fn of(elements: Elements<'a, f64>) -> Self {
        match elements {
            Elements::Real(values) => Self::Real(values),
            Elements::Integer(values) => Self::Integer(values),
            Elements::Boolean(values) => Self::Boolean(values),
        }
    }
}

/// An execution unit: memory of its own over a shared plan. One run at a time.
pub struct Session {
    plan: Plan,
    state: State,
    names: BTreeMap<String, i64>,
    bound: Option<Bound>,
    threads: Threads,
}

enum State {
    Single(Vec<Buffer<f32>>),
    Double(Vec<Buffer<f64>>),
}

/// Called after each layer in the modes that do not fuse layers.
type Observer<'a> = dyn FnMut(Observation<'_>) + Send + 'a;

/// Multiplications above which a whole run moves into the thread pool, rather than each large layer
/// by itself.
const POOL_WORK: u64 = 1 << 24;

impl Session {
    pub(crate) fn new(plan: Plan) -> Self {
        let state = match &plan.engine {
            Engine::Single(_) => State::Single(Vec::new()),
            Engine::Double(_) => State::Double(Vec::new()),
        };
        Self {
            plan,
            state,
            names: BTreeMap::new(),
            bound: None,
            threads: Threads::Shared,
        }
    }

    /// Runs on threads of its own instead of rayon's global pool: as many as there are cores for 0.
    /// The results do not depend on how many there are.
    ///
    /// # Errors
    /// When the system refuses to start the threads.
    pub fn with_threads(mut self, threads: usize) -> Result<Self, CpuError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| CpuError::Threads {
            threads,
            reason: error.to_string(),
        })?;
        self.threads = Threads::Own(pool);
        Ok(self)
    }

    /// The plan that this session executes.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Sets the shapes of all inputs with named dimensions together. Inputs that can have only one
    /// shape may be left out.
    ///
    /// # Errors
    /// A shape that does not fit its declaration or is outside the range that the plan was built
    /// for, one size for a name and another elsewhere, or
    /// sizes with which a layer cannot run. The session then has no shapes until a call succeeds.
    pub fn set_input_shapes(&mut self, shapes: &[(&str, &[u64])]) -> Result<(), CpuError> {
        self.bound = None;
        for (name, shape) in shapes {
            let declared = self.plan.input_shapes().get(*name);
            if let Some(declared) = declared.filter(|declared| declared.min.len() == shape.len())
                && let Some(axis) = declared.out_of_range(shape)
            {
                return Err(CpuError::OutOfRange {
                    name: (*name).to_owned(),
                    found: shape.to_vec(),
                    axis,
                    declared: Box::new(declared.clone()),
                });
            }
        }
        let given = |name: &str| shapes.iter().any(|(given, _)| *given == name);
        let single: Vec<(String, Vec<u64>)> = self
            .plan
            .input_shapes()
            .iter()
            .filter(|(name, _)| !given(name))
            .filter_map(|(name, declared)| Some((name.clone(), declared.single()?.to_vec())))
            .collect();
        let mut all = shapes.to_vec();
        all.extend(
            single
                .iter()
                .map(|(name, shape)| (name.as_str(), shape.as_slice())),
        );
        self.names = bind_names(self.plan.graph(), &all)?;
        self.bind()
    }

    fn bind(&mut self) -> Result<(), CpuError> {
        let bound = match (&self.plan.engine, &mut self.state) {
            (Engine::Single(loaded), State::Single(memory)) => {
                let bound = Bound::new(loaded, &self.names)?;
                bound.prepare(memory)?;
                bound
            }
            (Engine::Double(loaded), State::Double(memory)) => {
                let bound = Bound::new(loaded, &self.names)?;
                bound.prepare(memory)?;
                bound
            }
            _ => unreachable!("the state is made for the plan"),
        };
        self.bound = Some(bound);
        Ok(())
    }

    fn ensure_bound(&mut self) -> Result<(), CpuError> {
        if self.bound.is_some() {
            return Ok(());
        }
        self.set_input_shapes(&[])
    }

    /// The concrete shape of an input or output under the shapes that are set.
    ///
    /// # Errors
    /// An unknown name, or shapes that are not set.
    pub fn tensor_shape(&mut self, name: &str) -> Result<Vec<u64>, CpuError> {
        self.ensure_bound()?;
        let graph = self.plan.graph();
        let mut all = graph.inputs().iter().chain(graph.outputs());
        let Some((_, tensor)) = all.find(|(found, _)| found == name) else {
            return Err(unknown("input or output", name, all_names(graph)));
        };
        let bound = self.bound.as_ref();
        Ok(bound
            .map(|bound| wide(&bound.dims[tensor.index()]))
            .unwrap_or_default())
    }

    /// Runs the graph on `inputs`, all of them, in any order.
    ///
    /// # Errors
    /// Inputs that are missing, unknown, given twice, of another type or size, or shapes that are
    /// not set.
    pub fn run(&mut self, inputs: &[Input<'_>]) -> Result<Vec<Output>, CpuError> {
        self.execute(inputs, None)
    }

    /// As [`Self::run`], and calls `observe` with what each layer computed.
    ///
    /// # Errors
    /// As [`Self::run`], or a plan in the fast mode.
    pub fn run_observed(
        &mut self,
        inputs: &[Input<'_>],
        observe: &mut (dyn FnMut(Observation<'_>) + Send),
    ) -> Result<Vec<Output>, CpuError> {
        if self.plan.mode() == Mode::Fast {
            return Err(CpuError::NotObservable(Mode::Fast));
        }
        self.execute(inputs, Some(observe))
    }

    /// An output of the last run as the engine holds it, not rounded to its declared type. `None`
    /// in the fast mode, before a run, and for unknown names.
    #[must_use]
    pub fn output_values(&self, name: &str) -> Option<Values<'_>> {
        let (Engine::Double(loaded), State::Double(memory)) = (&self.plan.engine, &self.state)
        else {
            return None;
        };
        let bound = self.bound.as_ref()?;
        let outputs = loaded.program.graph.outputs();
        let (_, tensor) = outputs.iter().find(|(found, _)| found == name)?;
        let root = loaded.program.root(tensor.index());
        let elements = match loaded.program.homes[root] {
            Home::Constant => loaded.constant(loaded.program.plain[&root]),
            _ => memory.get(bound.slots[root]?)?.elements(bound.len(root)),
        };
        Some(Values::of(elements))
    }

    fn execute(
        &mut self,
        inputs: &[Input<'_>],
        observe: Option<&mut Observer<'_>>,
    ) -> Result<Vec<Output>, CpuError> {
        self.ensure_bound()?;
        let Some(bound) = &self.bound else {
            return Ok(Vec::new());
        };
        check_inputs(self.plan.graph(), bound, inputs)?;
        match (&self.plan.engine, &mut self.state) {
            (Engine::Single(loaded), State::Single(memory)) => {
                // The fast mode has no observers.
                let mut run = Run {
                    loaded,
                    bound,
                    memory,
                };
                Ok(self.threads.run(bound.work, || run.all(inputs, |_, _| {})))
            }
            (Engine::Double(loaded), State::Double(memory)) => {
                let mut run = Run {
                    loaded,
                    bound,
                    memory,
                };
                let mut observe = observe;
                Ok(self.threads.run(bound.work, || {
                    run.all(inputs, |step, buffer| {
                        if let Some(observe) = &mut observe {
                            observe(observation(loaded, bound, step, buffer));
                        }
                    })
                }))
            }
            _ => unreachable!("the state is made for the plan"),
        }
    }
}

/// The threads that a session computes on.
enum Threads {
    /// Rayon's global pool, shared with the rest of the process.
    Shared,
    /// A pool of its own.
    Own(rayon::ThreadPool),
}

impl Threads {
    /// Runs a whole graph. Large ones move into the pool once, so that the layers inside divide
    /// without waiting for threads to wake.
    fn run<R: Send>(&self, work: u64, run: impl FnOnce() -> R + Send) -> R {
        match self {
            Self::Own(pool) => pool.install(run),
            Self::Shared if work > POOL_WORK => {
                let mut result = None;
                rayon::scope(|_| result = Some(run()));
                match result {
                    Some(result) => result,
                    None => unreachable!("a scope runs its body"),
                }
            }
            Self::Shared => run(),
        }
    }
}

struct Run<'a, T> {
    loaded: &'a Loaded<T>,
    bound: &'a Bound,
    memory: &'a mut [Buffer<T>],
}

impl<T: Real> Run<'_, T> {
    fn all(
        &mut self,
        inputs: &[Input<'_>],
        mut done: impl FnMut(&Step, &Buffer<T>),
    ) -> Vec<Output> {
        let program = &self.loaded.program;
        for (name, tensor) in program.graph.inputs() {
            let len = self.bound.len(tensor.index());
            if let Some(input) = inputs.iter().find(|input| input.name == name)
                && let Some(slot) = self.bound.slots[tensor.index()]
            {
                convert::unpack(
                    input.data_type,
                    input.bytes,
                    self.memory[slot].elements_mut(len),
                );
            }
        }
        for (number, step) in program.steps.iter().enumerate() {
            let Some(slot) = self.bound.slots[step.output.index()] else {
                continue;
            };
            let class = self.memory[slot].class();
            let mut output = std::mem::replace(&mut self.memory[slot], Buffer::empty(class));
            let operands: Vec<_> = step
                .inputs
                .iter()
                .map(|input| self.operand(*input))
                .collect();
            self.step(number, step, &operands, &mut output);
            done(step, &output);
            self.memory[slot] = output;
        }
        self.outputs()
    }

    fn step(
        &self,
        number: usize,
        step: &Step,
        operands: &[Option<Operand<'_, T>>],
        output: &mut Buffer<T>,
    ) {
        let program = &self.loaded.program;
        let data_type = program.graph.data_type(step.output);
        let len = self.bound.len(step.output.index());
        let node = &program.graph.nodes()[step.node];
        layers::run(
            node.layer(),
            &mut Call {
                inputs: operands,
                dims: &self.bound.dims[step.output.index()],
                data_type,
                output: output.elements_mut(len),
                bias: step.bias.map(|number| self.loaded.constant(number).real()),
                activation: step.activation.as_ref().map(layers::activation_kernel),
                slice: self.bound.slices[number].as_ref(),
            },
        );
        convert::round(program.mode, data_type, output.elements_mut(len));
    }

    fn operand(&self, input: Option<(Tensor, Source)>) -> Option<Operand<'_, T>> {
        let (tensor, source) = input?;
        let (elements, packed) = match source {
            Source::Constant(number) => {
                (self.loaded.constant(number), self.loaded.is_packed(number))
            }
            Source::Tensor(root) => (self.elements(root), false),
        };
        Some(Operand {
            dims: &self.bound.dims[tensor.index()],
            elements,
            packed,
        })
    }

    fn elements(&self, root: usize) -> Elements<'_, T> {
        let len = self.bound.len(root);
        match self.bound.slots[root] {
            Some(slot) => self.memory[slot].elements(len),
            None => unreachable!("every tensor that is read has a slot"),
        }
    }

    fn outputs(&self) -> Vec<Output> {
        let program = &self.loaded.program;
        let output = |(name, tensor): &(String, Tensor)| {
            let root = program.root(tensor.index());
            let elements = match program.homes[root] {
                Home::Constant => self.loaded.constant(program.plain[&root]),
                _ => self.elements(root),
            };
            let data_type = program.graph.data_type(*tensor);
            Output {
                name: name.clone(),
                data_type,
                dims: wide(&self.bound.dims[tensor.index()]),
                bytes: convert::pack(data_type, elements),
            }
        };
        program.graph.outputs().iter().map(output).collect()
    }
}

fn observation<'a>(
    loaded: &'a Loaded<f64>,
    bound: &'a Bound,
    step: &Step,
    buffer: &'a Buffer<f64>,
) -> Observation<'a> {
    let graph = &loaded.program.graph;
    let values = Values::of(buffer.elements(bound.len(step.output.index())));
    Observation {
        node: &graph.nodes()[step.node],
        data_type: graph.data_type(step.output),
        dims: &bound.dims[step.output.index()],
        values,
    }
}
