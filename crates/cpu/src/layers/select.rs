//! Select: one of two inputs by a condition, all three broadcast.

use super::Call;
use super::strided::{Nest, broadcast};
use crate::storage::{Elements, ElementsMut};
use tensoracle_graph::Select;
use tensoracle_kernels::Real;

pub(super) fn run<T: Real>(_: &Select, call: &mut Call<'_, T>) {
    let (condition, yes, no) = (call.input(0), call.input(1), call.input(2));
    let strides = [condition, yes, no].map(|operand| broadcast(operand.dims, call.dims));
    let nest = Nest::new(call.dims, [&strides[0], &strides[1], &strides[2]]);
    let condition = condition.elements.boolean();
    match (yes.elements, no.elements, &mut call.output) {
        (Elements::Real(yes), Elements::Real(no), ElementsMut::Real(to)) => {
            select(nest, condition, yes, no, to);
        }
        (Elements::Integer(yes), Elements::Integer(no), ElementsMut::Integer(to)) => {
            select(nest, condition, yes, no, to);
        }
        (Elements::Boolean(yes), Elements::Boolean(no), ElementsMut::Boolean(to)) => {
            select(nest, condition, yes, no, to);
        }
        _ => unreachable!("inference gives both inputs one type"),
    }
}

fn select<E: Copy>(nest: Nest<3>, condition: &[u8], yes: &[E], no: &[E], to: &mut [E]) {
    if to.is_empty() {
        return;
    }
    let (outer, run, steps) = nest.split_inner();
    for (index, to) in to.chunks_mut(run).enumerate() {
        let mut at = outer.offsets(index);
        for to in to {
            let from = if condition[at[0] as usize] != 0 {
                yes[at[1] as usize]
            } else {
                no[at[2] as usize]
            };
            *to = from;
            (0..3).for_each(|t| at[t] += steps[t]);
        }
    }
}
