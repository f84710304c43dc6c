//! Element-wise: broadcasting over the kernels' contiguous runs.

use super::Call;
use super::strided::{Nest, broadcast, row_major};
use crate::storage::{Elements, ElementsMut};
use rayon::prelude::*;
use tensoracle_graph::{ElementWise, ElementWiseOperation};
use tensoracle_kernels::{Binary, Real, binary, binary_scalar, scalar_binary};

pub(super) fn run<T: Real>(layer: &ElementWise, call: &mut Call<'_, T>) {
    let (first, second) = (call.input(0), call.input(1));
    let strides = [
        broadcast(first.dims, call.dims),
        broadcast(second.dims, call.dims),
    ];
    let walk = Walk::new(call.dims, &strides);
    match (first.elements, second.elements, &mut call.output) {
        (Elements::Real(a), Elements::Real(b), ElementsMut::Real(out)) => {
            walk.real(kernel(layer.operation), a, b, out);
        }
        (Elements::Real(a), Elements::Real(b), ElementsMut::Boolean(out)) => {
            let compare = match layer.operation {
                ElementWiseOperation::Equal => |a: T, b: T| a == b,
                ElementWiseOperation::Greater => |a: T, b: T| a > b,
                _ => |a: T, b: T| a < b,
            };
            walk.each(a, b, out, |a, b| u8::from(compare(a, b)));
        }
        (Elements::Integer(a), Elements::Integer(b), ElementsMut::Integer(out)) => {
            walk.each(a, b, out, integer(layer.operation));
        }
        (Elements::Integer(a), Elements::Integer(b), ElementsMut::Boolean(out)) => {
            let compare = match layer.operation {
                ElementWiseOperation::Equal => |a: i64, b: i64| a == b,
                ElementWiseOperation::Greater => |a: i64, b: i64| a > b,
                _ => |a: i64, b: i64| a < b,
            };
            walk.each(a, b, out, |a, b| u8::from(compare(a, b)));
        }
        (Elements::Boolean(a), Elements::Boolean(b), ElementsMut::Boolean(out)) => {
            let combine = match layer.operation {
                ElementWiseOperation::And => |a: u8, b: u8| a & b,
                ElementWiseOperation::Or => |a: u8, b: u8| a | b,
                ElementWiseOperation::Xor => |a: u8, b: u8| a ^ b,
                _ => |a: u8, b: u8| u8::from(a == b),
            };
            walk.each(a, b, out, combine);
        }
        _ => unreachable!("inference gives both inputs one type"),
    }
}

fn kernel(operation: ElementWiseOperation) -> Binary {
    match operation {
        ElementWiseOperation::Sum => Binary::Sum,
        ElementWiseOperation::Prod => Binary::Prod,
        ElementWiseOperation::Max => Binary::Max,
        ElementWiseOperation::Min => Binary::Min,
        ElementWiseOperation::Sub => Binary::Sub,
        ElementWiseOperation::Div => Binary::Div,
        ElementWiseOperation::Pow => Binary::Pow,
        ElementWiseOperation::FloorDiv => Binary::FloorDiv,
        _ => unreachable!("the others give booleans"),
    }
}

/// Integer arithmetic wraps at 64 bits (narrower types wrap when the output is rounded). Division
/// by zero gives zero, since it has no value and must not stop the program.
fn integer(operation: ElementWiseOperation) -> fn(i64, i64) -> i64 {
    match operation {
        ElementWiseOperation::Sum => i64::wrapping_add,
        ElementWiseOperation::Prod => i64::wrapping_mul,
        ElementWiseOperation::Max => i64::max,
        ElementWiseOperation::Min => i64::min,
        ElementWiseOperation::Sub => i64::wrapping_sub,
        ElementWiseOperation::Div => |a, b| if b == 0 { 0 } else { a.wrapping_div(b) },
        ElementWiseOperation::FloorDiv => |a, b| match b {
            0 => 0,
            _ => {
                let quotient = a.wrapping_div(b);
                let inexact = a.wrapping_rem(b) != 0;
                quotient - i64::from(inexact && (a < 0) != (b < 0))
            }
        },
        ElementWiseOperation::Pow => power,
        _ => unreachable!("the others give booleans"),
    }
}

/// A negative power of an integer is a fraction, which truncates to 0 but for bases 1 and -1.
fn power(base: i64, exponent: i64) -> i64 {
    match (base, exponent) {
        (1, _) => 1,
        (-1, _) => {
            if exponent % 2 == 0 {
                1
            } else {
                -1
            }
        }
        (_, ..0) => 0,
        _ => {
            let (mut result, mut factor, mut rest) = (1i64, base, exponent);
            while rest > 0 {
                if rest % 2 == 1 {
                    result = result.wrapping_mul(factor);
                }
                factor = factor.wrapping_mul(factor);
                rest /= 2;
            }
            result
        }
    }
}

/// Elements below which threads do not pay.
const PARALLEL_ELEMENTS: usize = 1 << 16;

/// Two inputs broadcast to one output, as runs.
struct Walk {
    outer: Nest<3>,
    run: usize,
    steps: [isize; 3],
}

impl Walk {
    fn new(dims: &[usize], [a, b]: &[Vec<isize>; 2]) -> Self {
        let out = row_major(dims);
        let (outer, run, steps) = Nest::new(dims, [a, b, &out]).split_inner();
        Self { outer, run, steps }
    }

    /// Calls `combine` with each run's starts in the inputs and its part of `out`.
    fn runs<E: Send>(&self, out: &mut [E], combine: impl Fn(usize, usize, &mut [E]) + Sync) {
        if out.is_empty() {
            return;
        }
        let at = |index: usize, out: &mut [E]| {
            let [a, b, _] = self.outer.offsets(index);
            combine(a as usize, b as usize, out);
        };
        let runs = (PARALLEL_ELEMENTS / 4).div_ceil(self.run);
        if self.outer.count() > 1
            && out.len() >= PARALLEL_ELEMENTS
            && rayon::current_num_threads() > 1
        {
            out.par_chunks_mut(self.run * runs)
                .enumerate()
                .for_each(|(block, out)| {
                    for (index, out) in out.chunks_mut(self.run).enumerate() {
                        at(block * runs + index, out);
                    }
                });
        } else {
            out.chunks_mut(self.run)
                .enumerate()
                .for_each(|(index, out)| at(index, out));
        }
    }

    fn real<T: Real>(&self, operation: Binary, a: &[T], b: &[T], out: &mut [T]) {
        let [a_step, b_step, _] = self.steps;
        self.runs(out, |at_a, at_b, out| match (a_step, b_step) {
            (0, 0) => {
                let mut result = [a[at_a]];
                binary(operation, &[a[at_a]], &[b[at_b]], &mut result);
                out.fill(result[0]);
            }
            (_, 0) => binary_scalar(operation, &a[at_a..][..out.len()], b[at_b], out),
            (0, _) => scalar_binary(operation, a[at_a], &b[at_b..][..out.len()], out),
            _ => binary(
                operation,
                &a[at_a..][..out.len()],
                &b[at_b..][..out.len()],
                out,
            ),
        });
    }

    fn each<A: Copy + Sync, E: Send>(
        &self,
        a: &[A],
        b: &[A],
        out: &mut [E],
        combine: impl Fn(A, A) -> E + Sync,
    ) {
        let [a_step, b_step, _] = self.steps.map(|step| step as usize);
        self.runs(out, |at_a, at_b, out| {
            for (index, out) in out.iter_mut().enumerate() {
                *out = combine(a[at_a + index * a_step], b[at_b + index * b_step]);
            }
        });
    }
}
