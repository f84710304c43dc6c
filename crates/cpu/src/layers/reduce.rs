//! Reduce: neighbouring axes at once, the innermost first.

use super::{Call, resolved};
use crate::storage::{Elements, ElementsMut};
use tensoracle_graph::{DataType, Reduce, ReduceOperation};
use tensoracle_kernels as kernels;
use tensoracle_kernels::Real;

pub(super) fn run<T: Real>(layer: &Reduce, call: &mut Call<'_, T>) {
    let input = call.input(0);
    let steps = steps(input.dims, layer);
    match (input.elements, &mut call.output) {
        (Elements::Real(from), ElementsMut::Real(to)) => {
            let operation = kernel(layer.operation);
            staged(from, to, &steps, |from, shape, to| {
                kernels::reduce(operation, from, shape, to);
            });
            // The mean of means of equal counts is the mean.
        }
        (Elements::Integer(from), ElementsMut::Integer(to)) => {
            let (neutral, combine) = integer(layer.operation, call.data_type);
            staged(from, to, &steps, |from, [outer, axis, inner], to| {
                to.fill(neutral);
                for (index, &value) in from[..outer * axis * inner].iter().enumerate() {
                    let to = &mut to[index / (axis * inner) * inner + index % inner];
                    *to = combine(*to, value);
                }
            });
        }
        _ => unreachable!("inference admits only numbers"),
    }
}

/// Each run of neighbouring reduced axes, innermost first, as `[outer, axis, inner]` of what is
/// left by then.
fn steps(dims: &[usize], layer: &Reduce) -> Vec<[usize; 3]> {
    let mut axes: Vec<usize> = layer.axes.iter().map(|&axis| resolved(axis)).collect();
    axes.sort_unstable();
    let mut steps: Vec<[usize; 3]> = Vec::new();
    let mut end = dims.len();
    // What lies behind the axes handled so far, once they are reduced away.
    let mut inner = 1;
    while let Some(last) = axes.pop() {
        inner *= dims[last + 1..end].iter().product::<usize>();
        let mut first = last;
        while axes.last().is_some_and(|&axis| axis + 1 == first) {
            first -= 1;
            axes.pop();
        }
        let axis = dims[first..=last].iter().product();
        steps.push([dims[..first].iter().product(), axis, inner]);
        end = first;
    }
    steps
}

/// Runs the steps through intermediate buffers into `to`.
fn staged<E: Copy + Default>(
    from: &[E],
    to: &mut [E],
    steps: &[[usize; 3]],
    reduce: impl Fn(&[E], [usize; 3], &mut [E]),
) {
    let Some((last, earlier)) = steps.split_last() else {
        return;
    };
    let mut held: Option<Vec<E>> = None;
    for &step in earlier {
        let [outer, _, inner] = step;
        let mut next = vec![E::default(); outer * inner];
        reduce(held.as_deref().unwrap_or(from), step, &mut next);
        held = Some(next);
    }
    reduce(held.as_deref().unwrap_or(from), *last, to);
}

fn kernel(operation: ReduceOperation) -> kernels::Reduce {
    match operation {
        ReduceOperation::Sum => kernels::Reduce::Sum,
        ReduceOperation::Prod => kernels::Reduce::Prod,
        ReduceOperation::Max => kernels::Reduce::Max,
        ReduceOperation::Min => kernels::Reduce::Min,
        ReduceOperation::Avg => kernels::Reduce::Mean,
    }
}

/// What nothing reduces to, and how two integers combine; sums and products wrap.
fn integer(operation: ReduceOperation, data_type: DataType) -> (i64, fn(i64, i64) -> i64) {
    let (lowest, highest) = match data_type {
        DataType::Int32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    match operation {
        ReduceOperation::Prod => (1, i64::wrapping_mul),
        ReduceOperation::Max => (lowest, i64::max),
        ReduceOperation::Min => (highest, i64::min),
        // Averages are of floating point.
        ReduceOperation::Sum | ReduceOperation::Avg => (0, i64::wrapping_add),
    }
}
