//! What a layer's inference sees: its input tensors, and the checks that layers share.
//!
//! A check that depends on named sizes cannot be decided while a graph is defined; it becomes a
//! [`Constraint`] that is checked when the sizes are bound. What is left out: the rules of each
//! layer (`layers`).

use crate::graph::{TensorId, TensorRecord};
use crate::{DataType, Dim, Dims, Fault, Graph, TensorLabel};

/// Something that must hold once the named sizes are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Constraint {
    /// The two sizes are equal.
    Equal(Dim, Dim),
    /// The first size is at most the second.
    AtMost(Dim, Dim),
}

/// The type and shape of a tensor that a layer produces.
#[derive(Debug, Clone)]
pub(crate) struct Inferred {
    pub(crate) data_type: DataType,
    pub(crate) dims: Dims,
    /// The elements, where they are computed from shapes and constants alone.
    pub(crate) value: Option<Vec<Dim>>,
}

impl Inferred {
    pub(crate) fn new(data_type: DataType, dims: Dims) -> Self {
        Self {
            data_type,
            dims,
            value: None,
        }
    }

    /// With the elements, where they are few, surely as many as the shape has, and the type holds
    /// each of them.
    pub(crate) fn with_value(self, value: Option<Vec<Dim>>) -> Self {
        let holds = |dim: &Dim| match self.data_type {
            DataType::Int64 => true,
            DataType::Int32 => dim.fixed().is_none_or(|size| i32::try_from(size).is_ok()),
            _ => false,
        };
        let count = self.dims.volume().and_then(|volume| volume.fixed());
        let fits = |len: usize| len <= SHAPE_ELEMENTS && count == i64::try_from(len).ok();
        let value = value.filter(|value| fits(value.len()) && value.iter().all(holds));
        Self { value, ..self }
    }
}

pub(crate) struct Infer<'a> {
    graph: &'a Graph,
    inputs: &'a [Option<TensorId>],
    constraints: Vec<Constraint>,
}

impl<'a> Infer<'a> {
    pub(crate) fn new(graph: &'a Graph, inputs: &'a [Option<TensorId>]) -> Self {
        Self {
            graph,
            inputs,
            constraints: Vec::new(),
        }
    }

    pub(crate) fn into_constraints(self) -> Vec<Constraint> {
        self.constraints
    }

    pub(crate) fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// Refuses more inputs than the layer has roles for.
    pub(crate) fn at_most(&self, count: usize) -> Result<(), Fault> {
        if self.inputs.len() > count {
            return Err(Fault::InputCount {
                found: self.inputs.len(),
                expected: format!("at most {count}"),
            });
        }
        Ok(())
    }

    pub(crate) fn input_count(&self) -> usize {
        self.inputs.len()
    }

    pub(crate) fn input(&self, index: usize, role: &'static str) -> Result<Input<'a>, Fault> {
        self.optional(index, role)
            .ok_or(Fault::MissingTensor { role })
    }

    pub(crate) fn optional(&self, index: usize, role: &'static str) -> Option<Input<'a>> {
        let id = (*self.inputs.get(index)?)?;
        Some(Input {
            record: self.graph.record(id),
            label: self.graph.label(id),
            role,
        })
    }

    /// Requires two sizes to be equal: refused where they surely differ, left to be checked at
    /// run time where they may. Gives the fixed one of the two where one is fixed.
    pub(crate) fn equal(&mut self, left: &Dim, right: &Dim) -> Option<Dim> {
        if left == right {
            return Some(left.clone());
        }
        if left.surely_differs(right) {
            return None;
        }
        self.constraints
            .push(Constraint::Equal(left.clone(), right.clone()));
        Some(if right.fixed().is_some() {
            right.clone()
        } else {
            left.clone()
        })
    }

    /// Requires `low <= high`; false where that surely fails.
    pub(crate) fn at_most_dim(&mut self, low: &Dim, high: &Dim) -> bool {
        let difference = high.sub(low);
        match difference.as_ref().and_then(Dim::fixed) {
            Some(difference) => difference >= 0,
            None if difference.is_some_and(|dim| dim.is_never_negative()) => true,
            None => {
                self.constraints
                    .push(Constraint::AtMost(low.clone(), high.clone()));
                true
            }
        }
    }

    /// The shape to which both broadcast: equal sizes, or one of them fixed at 1.
    pub(crate) fn broadcast(&mut self, left: &Input, right: &Input) -> Result<Dims, Fault> {
        right.rank_is(left.dims().len())?;
        let axes = left.dims().iter().zip(right.dims().iter()).enumerate();
        axes.map(|(axis, (a, b))| self.broadcast_dim(a, b, right, axis))
            .collect()
    }

    /// The size to which `a` and the size `b` of `right` along `axis` broadcast.
    pub(crate) fn broadcast_dim(
        &mut self,
        a: &Dim,
        b: &Dim,
        right: &Input,
        axis: usize,
    ) -> Result<Dim, Fault> {
        match (a.fixed(), b.fixed()) {
            (Some(1), _) => Ok(b.clone()),
            (_, Some(1)) => Ok(a.clone()),
            _ => self
                .equal(a, b)
                .ok_or_else(|| right.dim_fault(axis, format!("{a} or 1"))),
        }
    }
}

/// One input tensor of a layer, with the role it plays there.
#[derive(Clone)]
pub(crate) struct Input<'a> {
    record: &'a TensorRecord,
    label: TensorLabel,
    role: &'static str,
}

impl<'a> Input<'a> {
    pub(crate) fn data_type(&self) -> DataType {
        self.record.data_type
    }

    pub(crate) fn dims(&self) -> &'a Dims {
        &self.record.dims
    }

    pub(crate) fn rank(&self) -> usize {
        self.record.dims.len()
    }

    pub(crate) fn role(&self) -> &'static str {
        self.role
    }

    pub(crate) fn label(&self) -> TensorLabel {
        self.label.clone()
    }

    /// The elements, where they are computed from shapes and constants alone.
    pub(crate) fn value(&self) -> Option<&'a [Dim]> {
        self.record.value.as_deref()
    }

    /// The elements of a tensor that gives a shape: rank 1, `Int32` or `Int64`.
    pub(crate) fn shape_value(&self) -> Result<&'a [Dim], Fault> {
        self.type_in(INDICES)?;
        self.rank_is(1)?;
        self.value().ok_or_else(|| Fault::NotAShape {
            role: self.role,
            tensor: self.label(),
        })
    }

    /// As [`Self::shape_value`] where every element is a plain number.
    pub(crate) fn fixed_value(&self) -> Result<Vec<i64>, Fault> {
        let value = self.shape_value()?;
        value
            .iter()
            .map(Dim::fixed)
            .collect::<Option<_>>()
            .ok_or_else(|| Fault::NotAShape {
                role: self.role,
                tensor: self.label(),
            })
    }

    pub(crate) fn type_in(&self, types: &[DataType]) -> Result<(), Fault> {
        if types.contains(&self.data_type()) {
            return Ok(());
        }
        let names: Vec<_> = types.iter().map(|data_type| data_type.name()).collect();
        Err(self.type_fault(names.join(" or ")))
    }

    pub(crate) fn same_type_as(&self, other: &Input) -> Result<(), Fault> {
        if self.data_type() == other.data_type() {
            return Ok(());
        }
        Err(self.type_fault(format!("{} as {} has", other.data_type(), other.role)))
    }

    fn type_fault(&self, expected: String) -> Fault {
        Fault::DataType {
            role: self.role,
            tensor: self.label(),
            expected,
        }
    }

    pub(crate) fn rank_is(&self, rank: usize) -> Result<(), Fault> {
        if self.rank() == rank {
            Ok(())
        } else {
            Err(self.rank_fault(rank.to_string()))
        }
    }

    pub(crate) fn rank_at_least(&self, rank: usize) -> Result<(), Fault> {
        if self.rank() >= rank {
            Ok(())
        } else {
            Err(self.rank_fault(format!("at least {rank}")))
        }
    }

    pub(crate) fn rank_fault(&self, expected: String) -> Fault {
        Fault::Rank {
            role: self.role,
            tensor: self.label(),
            expected,
        }
    }

    pub(crate) fn dim_fault(&self, axis: usize, expected: String) -> Fault {
        Fault::Dim {
            role: self.role,
            tensor: self.label(),
            axis,
            found: self.dims()[axis].clone(),
            expected,
        }
    }

    /// The axis counted from the front: `axis` from `-rank` to `rank - 1`.
    pub(crate) fn axis(&self, argument: &'static str, axis: i64) -> Result<usize, Fault> {
        resolve_axis(axis, self.rank()).ok_or_else(|| Fault::Argument {
            argument,
            found: axis.to_string(),
            expected: match self.rank() {
                0 => "no axis, since the input is a scalar".to_owned(),
                rank => format!("an axis from -{rank} to {}", rank - 1),
            },
        })
    }

    /// Several axes, each from the front, in rising order; refused when one stands twice.
    pub(crate) fn axes(&self, argument: &'static str, axes: &[i64]) -> Result<Vec<usize>, Fault> {
        let mut found = Vec::with_capacity(axes.len());
        for &axis in axes {
            let resolved = self.axis(argument, axis)?;
            if found.contains(&resolved) {
                return Err(Fault::Argument {
                    argument,
                    found: format!("{axes:?}"),
                    expected: "each axis once".into(),
                });
            }
            found.push(resolved);
        }
        Ok(found)
    }
}

fn resolve_axis(axis: i64, rank: usize) -> Option<usize> {
    let rank_signed = i64::try_from(rank).ok()?;
    let axis = if axis < 0 {
        axis.checked_add(rank_signed)?
    } else {
        axis
    };
    usize::try_from(axis).ok().filter(|&axis| axis < rank)
}

/// The types that arithmetic in floating point takes.
pub(crate) const FLOATS: &[DataType] = &[DataType::Float, DataType::Half, DataType::BFloat16];

/// The types that arithmetic in floating point or integers takes.
pub(crate) const NUMBERS: &[DataType] = &[
    DataType::Float,
    DataType::Half,
    DataType::BFloat16,
    DataType::Int32,
    DataType::Int64,
];

/// Elements are followed through at most this many, the limit that TensorRT documents for shape
/// tensors.
pub(crate) const SHAPE_ELEMENTS: usize = 64;

/// The types of indices and shapes.
pub(crate) const INDICES: &[DataType] = &[DataType::Int32, DataType::Int64];
