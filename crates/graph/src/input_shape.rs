//! The sizes that an input may have when an engine runs: one, or a range with the size to optimise
//! for.
//!
//! What is left out: how a graph declares an input's dimensions (`dims`).

use crate::{Dims, Graph};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The sizes that an input may have when an engine runs: TensorRT's optimization profile of one
/// input.
///
/// ```
/// use tensoracle_graph::InputShape;
///
/// let features = InputShape::ranged([1, 1, 2], [1, 64, 2], [1, 448, 2]);
/// assert_eq!(features.to_string(), "[1, 1..448, 2] optimised for [1, 64, 2]");
/// assert_eq!(InputShape::fixed([1, 64, 2]).to_string(), "[1, 64, 2]");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputShape {
    /// The smallest size along each axis.
    pub min: Vec<u64>,
    /// The size along each axis that the engine is optimised for.
    pub opt: Vec<u64>,
    /// The largest size along each axis.
    pub max: Vec<u64>,
}

/// Why an input's sizes do not go with its graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputShapeFault {
    /// Smallest, optimal and largest sizes are not in this order, or not of one length.
    #[error("{0} is no range: each size must be at least the smallest and at most the largest")]
    Order(InputShape),
    /// A number of axes that the input does not have.
    #[error("{shape} has {} axes, expected {} as the graph declares: {declared}", shape.min.len(), declared.len())]
    Rank {
        /// The sizes.
        shape: InputShape,
        /// What the graph declares.
        declared: Dims,
    },
    /// A size that is not the one that the graph fixes.
    #[error("{shape} along axis {axis}, expected {fixed} as the graph declares: {declared}")]
    Fixed {
        /// The sizes.
        shape: InputShape,
        /// The axis, from 0.
        axis: usize,
        /// The size that the graph fixes.
        fixed: i64,
        /// What the graph declares.
        declared: Dims,
    },
    /// A name with one range here and another elsewhere.
    #[error(
        "dimension `{name}` is {}..{} here, expected {}..{} as for input `{other}`",
        found.0, found.2, expected.0, expected.2
    )]
    Name {
        /// The dimension's name.
        name: String,
        /// Smallest, optimal and largest size here.
        found: (u64, u64, u64),
        /// Smallest, optimal and largest size there.
        expected: (u64, u64, u64),
        /// The input where it was met first.
        other: String,
    },
    /// An input of the graph without an entry.
    #[error("no shape is declared")]
    Missing,
    /// An entry without an input in the graph.
    #[error("the graph has no such input; it has: {known}")]
    Unknown {
        /// The inputs that it has.
        known: String,
    },
}

impl InputShape {
    /// One size only.
    #[must_use]
    pub fn fixed(dims: impl Into<Vec<u64>>) -> Self {
        let dims = dims.into();
        Self {
            min: dims.clone(),
            opt: dims.clone(),
            max: dims,
        }
    }

    /// From `min` to `max`, optimised for `opt`.
    #[must_use]
    pub fn ranged(
        min: impl Into<Vec<u64>>,
        opt: impl Into<Vec<u64>>,
        max: impl Into<Vec<u64>>,
    ) -> Self {
        Self {
            min: min.into(),
            opt: opt.into(),
            max: max.into(),
        }
    }

    /// The one size, if there is only one.
    #[must_use]
    pub fn single(&self) -> Option<&[u64]> {
        (self.min == self.max).then_some(&self.min)
    }

    /// The first axis along which a shape of the right length is out of range.
    #[must_use]
    pub fn out_of_range(&self, dims: &[u64]) -> Option<usize> {
        let ranges = self.min.iter().zip(&self.max);
        dims.iter()
            .zip(ranges)
            .position(|(size, (min, max))| !(min..=max).contains(&size))
    }

    fn check(&self, declared: &Dims) -> Result<(), InputShapeFault> {
        let length = self.min.len();
        let ordered = self.opt.len() == length
            && self.max.len() == length
            && (0..length)
                .all(|axis| self.min[axis] <= self.opt[axis] && self.opt[axis] <= self.max[axis]);
        if !ordered {
            return Err(InputShapeFault::Order(self.clone()));
        }
        if length != declared.len() {
            let (shape, declared) = (self.clone(), declared.clone());
            return Err(InputShapeFault::Rank { shape, declared });
        }
        for (axis, dim) in declared.iter().enumerate() {
            if let Some(fixed) = dim.fixed()
                && (i64::try_from(self.min[axis]) != Ok(fixed)
                    || i64::try_from(self.max[axis]) != Ok(fixed))
            {
                let (shape, declared) = (self.clone(), declared.clone());
                return Err(InputShapeFault::Fixed {
                    shape,
                    axis,
                    fixed,
                    declared,
                });
            }
        }
        Ok(())
    }
}

impl Graph {
    /// Checks that `shapes` has an entry for each input and no other, that each goes with what the
    /// graph declares, and that inputs that name the same dimension give it the same range.
    ///
    /// # Errors
    /// The name of the input and what is wrong with its entry.
    pub fn check_input_shapes(
        &self,
        shapes: &BTreeMap<String, InputShape>,
    ) -> Result<(), (String, Box<InputShapeFault>)> {
        let known = |name: &str| self.inputs().iter().any(|(input, _)| input == name);
        if let Some(name) = shapes.keys().find(|name| !known(name)) {
            let known: Vec<_> = self
                .inputs()
                .iter()
                .map(|(name, _)| name.as_str())
                .collect();
            let known = known.join(", ");
            return Err((name.clone(), Box::new(InputShapeFault::Unknown { known })));
        }
        let mut ranges: BTreeMap<&str, ((u64, u64, u64), &str)> = BTreeMap::new();
        for (input, tensor) in self.inputs() {
            let fault = |fault| (input.clone(), Box::new(fault));
            let shape = shapes
                .get(input)
                .ok_or_else(|| fault(InputShapeFault::Missing))?;
            shape.check(self.dims(*tensor)).map_err(fault)?;
            for (axis, dim) in self.dims(*tensor).iter().enumerate() {
                let Some(name) = dim.name() else { continue };
                let found = (shape.min[axis], shape.opt[axis], shape.max[axis]);
                let (expected, other) = *ranges.entry(name).or_insert((found, input));
                if found != expected {
                    let (name, other) = (name.to_owned(), other.to_owned());
                    return Err(fault(InputShapeFault::Name {
                        name,
                        found,
                        expected,
                        other,
                    }));
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for InputShape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[")?;
        for (axis, (min, max)) in self.min.iter().zip(&self.max).enumerate() {
            let separator = if axis == 0 { "" } else { ", " };
            match min == max {
                true => write!(formatter, "{separator}{min}")?,
                false => write!(formatter, "{separator}{min}..{max}")?,
            }
        }
        formatter.write_str("]")?;
        match self.single() {
            Some(_) => Ok(()),
            None => write!(formatter, " optimised for {:?}", self.opt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataType, dims};

    fn check(entries: &[(&str, InputShape)]) -> Result<(), (String, Box<InputShapeFault>)> {
        let mut graph = Graph::new();
        graph
            .add_input("ids", DataType::Int64, dims!["batch", "n"])
            .unwrap();
        graph
            .add_input("mask", DataType::Int64, dims![1, "n"])
            .unwrap();
        let entries = entries
            .iter()
            .map(|(name, shape)| ((*name).to_owned(), shape.clone()));
        graph.check_input_shapes(&entries.collect())
    }

    #[test]
    fn shapes_go_with_their_graph_or_say_why_not() {
        let ids = InputShape::ranged([1, 1], [2, 8], [4, 16]);
        let mask = InputShape::ranged([1, 1], [1, 8], [1, 16]);
        assert_eq!(
            check(&[("ids", ids.clone()), ("mask", mask.clone())]),
            Ok(())
        );

        let fault = |entries: &[(&str, InputShape)]| {
            let (name, fault) = check(entries).unwrap_err();
            format!("{name}: {fault}")
        };
        assert_eq!(fault(&[("ids", ids.clone())]), "mask: no shape is declared");
        assert_eq!(
            fault(&[
                ("ids", ids.clone()),
                ("mask", mask.clone()),
                ("x", mask.clone())
            ]),
            "x: the graph has no such input; it has: ids, mask"
        );
        assert_eq!(
            fault(&[("ids", ids.clone()), ("mask", InputShape::fixed([1, 8]))]),
            "mask: dimension `n` is 8..8 here, expected 1..16 as for input `ids`"
        );
        assert_eq!(
            fault(&[
                ("ids", ids.clone()),
                ("mask", InputShape::ranged([2, 1], [2, 8], [2, 16]))
            ]),
            "mask: [2, 1..16] optimised for [2, 8] along axis 0, expected 1 as the graph \
             declares: [1, n]"
        );
        assert_eq!(
            fault(&[
                ("ids", InputShape::ranged([1, 9], [2, 8], [4, 16])),
                ("mask", mask.clone())
            ]),
            "ids: [1..4, 9..16] optimised for [2, 8] is no range: each size must be at least the \
             smallest and at most the largest"
        );
        assert_eq!(
            fault(&[("ids", InputShape::fixed([1])), ("mask", mask)]),
            "ids: [1] has 1 axes, expected 2 as the graph declares: [batch, n]"
        );
    }
}
