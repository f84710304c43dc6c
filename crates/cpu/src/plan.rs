//! The plan: a compiled graph with the constants it needs, as bytes that stand alone.
//!
//! Layout, little-endian: the magic, the header's length (8 bytes), the header as JSON, then each
//! constant in the order the program needs them, every one at a multiple of 64 bytes. Where each
//! lies follows from the graph, so a header cannot lie about it. The engine reads constants where
//! they are: a plan that is mapped from a file is never copied.

use crate::constants::{Maker, required_len};
use crate::program::{Form, Program};
use crate::storage::{Buffer, Class, Elements};
use crate::{CpuError, Mode, Session};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;
use tensoracle_graph::{Graph, GraphDefinition, InputShape};
use tensoracle_kernels::{Real, cpu_level};
use tensoracle_progress::{Progress, Silent, Unit};

/// The first bytes of a plan; the digit is the layout's version.
const MAGIC: &[u8; 8] = b"TOCPUPL1";

/// Constants start at multiples of a cache line, which is also enough for every vector register.
const ALIGNMENT: usize = 64;

/// Longest header accepted. MiniLM's has 60 KB.
const MAX_HEADER: usize = 1 << 28;

/// Bytes of a plan: a mapped file, or memory.
pub type PlanBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

#[derive(Serialize, Deserialize)]
struct Header {
    mode: Mode,
    level: String,
    /// The sizes that inputs may have; nothing for plans that take any.
    inputs: BTreeMap<String, InputShape>,
    graph: GraphDefinition,
}

/// An executable graph with its constants. Cheap to clone.
#[derive(Clone)]
pub struct Plan {
    pub(crate) engine: Engine,
    inputs: Arc<BTreeMap<String, InputShape>>,
}

/// Where a constant lies among the plan's bytes, and what its elements are.
type Place = (Class, Range<usize>);

/// What a plan is built for.
#[derive(Debug, Clone, Default)]
pub struct BuildOptions {
    /// How exactly the plan executes.
    pub mode: Mode,
    /// The sizes that each input may have. Without any entry, inputs take all sizes that the graph
    /// allows.
    pub inputs: BTreeMap<String, InputShape>,
}

/// A plan in the width of its mode.
#[derive(Clone)]
pub(crate) enum Engine {
    Single(Arc<Loaded<f32>>),
    Double(Arc<Loaded<f64>>),
}

pub(crate) struct Loaded<T> {
    pub(crate) program: Program,
    bytes: PlanBytes,
    ranges: Vec<Place>,
    width: std::marker::PhantomData<T>,
}

/// Compiles `graph` and writes its plan to `out`, one constant at a time.
///
/// # Errors
/// A graph without outputs, constants that cannot be read, a full disk, or cancellation.
pub fn build(
    graph: &Graph,
    options: &BuildOptions,
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<(), CpuError> {
    if !options.inputs.is_empty() {
        let check = graph.check_input_shapes(&options.inputs);
        check.map_err(|(name, fault)| CpuError::DeclaredShape { name, fault })?;
    }
    match options.mode {
        Mode::Fast => write_plan::<f32>(graph, options, progress, out),
        Mode::Typed | Mode::Exact => write_plan::<f64>(graph, options, progress, out),
    }
}

fn write_plan<T: Real>(
    graph: &Graph,
    options: &BuildOptions,
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<(), CpuError> {
    let mode = options.mode;
    // Compiled from what the header says, so that loading comes to the same program.
    let definition = graph.definition()?;
    let graph = Graph::from_definition(&definition, graph.live_constants()).map_err(|error| {
        CpuError::Plan {
            problem: error.to_string(),
        }
    })?;
    let program = Program::compile(graph, mode)?;
    let header = Header {
        mode,
        level: cpu_level().name().to_owned(),
        inputs: options.inputs.clone(),
        graph: definition,
    };
    let header = serde_json::to_vec(&header).map_err(|error| CpuError::Plan {
        problem: error.to_string(),
    })?;
    let (ranges, total) = layout::<T>(&program, data_start(header.len()))?;

    out.write_all(MAGIC)?;
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    let mut position = 16 + header.len();
    let mut maker = Maker::<T>::new(&program);
    progress.begin("building", Some(total as u64), Unit::Bytes);
    for (required, (_, range)) in program.constants.iter().zip(&ranges) {
        if progress.is_cancelled() {
            return Err(CpuError::Cancelled);
        }
        out.write_all(&[0; ALIGNMENT][..range.start - position])?;
        write_constant::<T>(&*maker.make(*required)?, out)?;
        progress.advance((range.end - position) as u64);
        position = range.end;
    }
    progress.finish();
    Ok(())
}

fn write_constant<T: Real>(buffer: &Buffer<T>, out: &mut dyn Write) -> Result<(), CpuError> {
    match buffer {
        Buffer::Real(elements) => out.write_all(bytemuck::cast_slice(elements))?,
        Buffer::Integer(elements) => out.write_all(bytemuck::cast_slice(elements))?,
        Buffer::Boolean(elements) => out.write_all(elements)?,
    }
    Ok(())
}

fn data_start(header: usize) -> usize {
    (MAGIC.len() + 8 + header).next_multiple_of(ALIGNMENT)
}

/// Where each constant lies, and the plan's whole length.
fn layout<T: Real>(program: &Program, start: usize) -> Result<(Vec<Place>, usize), CpuError> {
    let too_large = || CpuError::Plan {
        problem: "its constants exceed the address space".into(),
    };
    let mut end = start;
    let mut ranges = Vec::with_capacity(program.constants.len());
    for required in &program.constants {
        let class = class(program, required.tensor);
        let width = match class {
            Class::Real => size_of::<T>(),
            Class::Integer => size_of::<i64>(),
            Class::Boolean => 1,
        };
        let start = end
            .checked_next_multiple_of(ALIGNMENT)
            .ok_or_else(too_large)?;
        end = required_len::<T>(program, *required)
            .and_then(|len| len.checked_mul(width)?.checked_add(start))
            .filter(|&end| isize::try_from(end).is_ok())
            .ok_or_else(too_large)?;
        ranges.push((class, start..end));
    }
    Ok((ranges, end))
}

fn class(program: &Program, tensor: usize) -> Class {
    program.tensors[tensor].map_or(Class::Boolean, |tensor| {
        Class::of(program.graph.data_type(tensor))
    })
}

impl Plan {
    /// Builds `graph` in memory and loads it: for trying, testing and measuring. Use [`build`] and
    /// [`Self::load`] to save plans.
    ///
    /// # Errors
    /// As [`build`].
    pub fn compile(graph: &Graph, mode: Mode) -> Result<Self, CpuError> {
        let mut bytes = Vec::new();
        let options = BuildOptions {
            mode,
            ..BuildOptions::default()
        };
        build(graph, &options, &Silent, &mut bytes)?;
        Self::load(Arc::new(bytes))
    }

    /// Loads a plan that [`build`] wrote. Bytes that start at a multiple of 64 are used where they
    /// are; others are copied once.
    ///
    /// # Errors
    /// Bytes that are no plan, are damaged, or were written for another level of processor.
    pub fn load(bytes: PlanBytes) -> Result<Self, CpuError> {
        let (header, data) = read_header((*bytes).as_ref())?;
        if header.level != cpu_level().name() {
            return Err(CpuError::Level {
                found: header.level,
                expected: cpu_level().name(),
            });
        }
        let graph = header
            .graph
            .without_weights()
            .map_err(|error| CpuError::Plan {
                problem: error.to_string(),
            })?;
        if !header.inputs.is_empty() {
            let check = graph.check_input_shapes(&header.inputs);
            check.map_err(|(name, fault)| CpuError::DeclaredShape { name, fault })?;
        }
        let program = Program::compile(graph, header.mode)?;
        let bytes = aligned(bytes);
        let engine = match header.mode {
            Mode::Fast => Engine::Single(Arc::new(Loaded::new(program, bytes, data)?)),
            Mode::Typed | Mode::Exact => {
                Engine::Double(Arc::new(Loaded::new(program, bytes, data)?))
            }
        };
        Ok(Self {
            engine,
            inputs: Arc::new(header.inputs),
        })
    }

    /// The graph that the plan executes. Its constants are described only.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        match &self.engine {
            Engine::Single(loaded) => &loaded.program.graph,
            Engine::Double(loaded) => &loaded.program.graph,
        }
    }

    /// The sizes that inputs may have; empty for a plan that takes all that the graph allows.
    #[must_use]
    pub fn input_shapes(&self) -> &BTreeMap<String, InputShape> {
        &self.inputs
    }

    /// How exactly the plan executes.
    #[must_use]
    pub fn mode(&self) -> Mode {
        match &self.engine {
            Engine::Single(loaded) => loaded.program.mode,
            Engine::Double(loaded) => loaded.program.mode,
        }
    }

    /// An execution unit of its own, on the threads of rayon's global pool.
    #[must_use]
    pub fn session(&self) -> Session {
        Session::new(self.clone())
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Plan")
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}

fn read_header(bytes: &[u8]) -> Result<(Header, usize), CpuError> {
    let fault = |problem: &str| CpuError::Plan {
        problem: problem.to_owned(),
    };
    let rest = bytes
        .strip_prefix(MAGIC)
        .ok_or_else(|| fault("it does not start like one"))?;
    let (len, rest) = rest
        .split_first_chunk::<8>()
        .ok_or_else(|| fault("it is truncated"))?;
    let len = usize::try_from(u64::from_le_bytes(*len))
        .ok()
        .filter(|&len| len <= MAX_HEADER)
        .ok_or_else(|| fault("its header is implausibly long"))?;
    let header = rest.get(..len).ok_or_else(|| fault("it is truncated"))?;
    let header = serde_json::from_slice(header).map_err(|error| CpuError::Plan {
        problem: format!("its header is damaged: {error}"),
    })?;
    Ok((header, data_start(len)))
}

/// Bytes at an address that is a multiple of [`ALIGNMENT`].
fn aligned(bytes: PlanBytes) -> PlanBytes {
    let slice = (*bytes).as_ref();
    if slice.as_ptr().addr().is_multiple_of(ALIGNMENT) {
        return bytes;
    }
    Arc::new(Lines::copied(slice))
}

/// Owned bytes, in whole cache lines.
struct Lines {
    lines: Vec<Line>,
    len: usize,
}

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct Line([u8; ALIGNMENT]);

impl Lines {
    fn copied(bytes: &[u8]) -> Self {
        let mut lines = vec![Line([0; ALIGNMENT]); bytes.len().div_ceil(ALIGNMENT)];
        bytemuck::cast_slice_mut::<Line, u8>(&mut lines)[..bytes.len()].copy_from_slice(bytes);
        Self {
            lines,
            len: bytes.len(),
        }
    }
}

impl AsRef<[u8]> for Lines {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}

impl<T: Real> Loaded<T> {
    fn new(program: Program, bytes: PlanBytes, start: usize) -> Result<Self, CpuError> {
        let (ranges, expected) = layout::<T>(&program, start)?;
        let found = (*bytes).as_ref().len();
        // Without constants nothing follows the header, not even its padding.
        if found < expected && !ranges.is_empty() {
            return Err(CpuError::Plan {
                problem: format!("it has {found} bytes, expected {expected}"),
            });
        }
        let loaded = Self {
            program,
            bytes,
            ranges,
            width: std::marker::PhantomData,
        };
        let is_boolean = |elements| match elements {
            Elements::Boolean(bytes) => bytes.iter().all(|&byte| byte <= 1),
            Elements::Real(_) | Elements::Integer(_) => true,
        };
        if !(0..loaded.ranges.len()).all(|number| is_boolean(loaded.constant(number))) {
            return Err(CpuError::Plan {
                problem: "a boolean constant holds a byte that is neither 0 nor 1".into(),
            });
        }
        Ok(loaded)
    }

    pub(crate) fn is_packed(&self, number: usize) -> bool {
        self.program.constants[number].form != Form::Plain
    }

    pub(crate) fn class_of(&self, tensor: usize) -> Class {
        class(&self.program, tensor)
    }

    /// The elements of a constant of the plan.
    pub(crate) fn constant(&self, number: usize) -> Elements<'_, T> {
        let (class, range) = &self.ranges[number];
        let bytes = &(*self.bytes).as_ref()[range.clone()];
        match class {
            Class::Real => Elements::Real(bytemuck::cast_slice(bytes)),
            Class::Integer => Elements::Integer(bytemuck::cast_slice(bytes)),
            Class::Boolean => Elements::Boolean(bytes),
        }
    }
}
