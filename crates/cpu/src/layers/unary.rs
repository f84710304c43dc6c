//! Unary: a function of each element.

use super::Call;
use crate::storage::{Elements, ElementsMut};
use tensoracle_graph::{Unary, UnaryOperation};
use tensoracle_kernels as kernels;
use tensoracle_kernels::Real;

pub(super) fn run<T: Real>(layer: &Unary, call: &mut Call<'_, T>) {
    match (call.input(0).elements, &mut call.output) {
        (Elements::Real(from), ElementsMut::Real(to)) => {
            kernels::unary(kernel(layer.operation), from, to);
        }
        (Elements::Real(from), ElementsMut::Boolean(to)) => {
            let test = match layer.operation {
                UnaryOperation::IsInf => f64::is_infinite,
                _ => f64::is_nan,
            };
            to.iter_mut()
                .zip(from)
                .for_each(|(to, x)| *to = u8::from(test(x.to_f64())));
        }
        (Elements::Integer(from), ElementsMut::Integer(to)) => {
            let function = match layer.operation {
                UnaryOperation::Abs => i64::wrapping_abs,
                UnaryOperation::Neg => i64::wrapping_neg,
                _ => i64::signum,
            };
            to.iter_mut()
                .zip(from)
                .for_each(|(to, x)| *to = function(*x));
        }
        (from, to) => {
            let to = to.boolean();
            to.iter_mut()
                .zip(from.boolean())
                .for_each(|(to, x)| *to = u8::from(*x == 0));
        }
    }
}

fn kernel(operation: UnaryOperation) -> kernels::Unary {
    match operation {
        UnaryOperation::Exp => kernels::Unary::Exp,
        UnaryOperation::Log => kernels::Unary::Log,
        UnaryOperation::Sqrt => kernels::Unary::Sqrt,
        UnaryOperation::Recip => kernels::Unary::Recip,
        UnaryOperation::Abs => kernels::Unary::Abs,
        UnaryOperation::Neg => kernels::Unary::Neg,
        UnaryOperation::Sin => kernels::Unary::Sin,
        UnaryOperation::Cos => kernels::Unary::Cos,
        UnaryOperation::Tan => kernels::Unary::Tan,
        UnaryOperation::Sinh => kernels::Unary::Sinh,
        UnaryOperation::Cosh => kernels::Unary::Cosh,
        UnaryOperation::Asin => kernels::Unary::Asin,
        UnaryOperation::Acos => kernels::Unary::Acos,
        UnaryOperation::Atan => kernels::Unary::Atan,
        UnaryOperation::Asinh => kernels::Unary::Asinh,
        UnaryOperation::Acosh => kernels::Unary::Acosh,
        UnaryOperation::Atanh => kernels::Unary::Atanh,
        UnaryOperation::Ceil => kernels::Unary::Ceil,
        UnaryOperation::Floor => kernels::Unary::Floor,
        UnaryOperation::Erf => kernels::Unary::Erf,
        UnaryOperation::Sign => kernels::Unary::Sign,
        UnaryOperation::Round => kernels::Unary::Round,
        UnaryOperation::Not | UnaryOperation::IsInf | UnaryOperation::IsNan => {
            unreachable!("these give booleans")
        }
    }
}
