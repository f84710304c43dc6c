//! Cast: floating point truncates to integers and saturates there; integers wrap to narrower ones;
//! anything but zero is true. Rounding between floating types happens with every layer's output.

use super::Call;
use crate::storage::{Elements, ElementsMut};
use tensoracle_graph::{Cast, DataType};
use tensoracle_kernels::Real;

pub(super) fn run<T: Real>(layer: &Cast, call: &mut Call<'_, T>) {
    fn each<A: Copy, B>(from: &[A], to: &mut [B], convert: impl Fn(A) -> B) {
        to.iter_mut()
            .zip(from)
            .for_each(|(to, from)| *to = convert(*from));
    }
    let (lowest, highest) = range(layer.to_type);
    match (call.input(0).elements, &mut call.output) {
        (Elements::Real(from), ElementsMut::Real(to)) => to.copy_from_slice(from),
        // `as` truncates, saturates at 64 bits, and makes 0 of NaN.
        (Elements::Real(from), ElementsMut::Integer(to)) => {
            each(from, to, |value| {
                (value.to_f64() as i64).clamp(lowest, highest)
            });
        }
        (Elements::Real(from), ElementsMut::Boolean(to)) => {
            each(from, to, |value| u8::from(value.to_f64() != 0.0));
        }
        (Elements::Integer(from), ElementsMut::Real(to)) => {
            each(from, to, |value| T::from_f64(value as f64));
        }
        (Elements::Integer(from), ElementsMut::Integer(to)) => to.copy_from_slice(from),
        (Elements::Integer(from), ElementsMut::Boolean(to)) => {
            each(from, to, |value| u8::from(value != 0));
        }
        (Elements::Boolean(from), ElementsMut::Real(to)) => {
            each(from, to, |value| T::from_f64(f64::from(value)));
        }
        (Elements::Boolean(from), ElementsMut::Integer(to)) => each(from, to, i64::from),
        (Elements::Boolean(from), ElementsMut::Boolean(to)) => to.copy_from_slice(from),
    }
}

fn range(data_type: DataType) -> (i64, i64) {
    match data_type {
        DataType::Int4 => (-8, 7),
        DataType::Int8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
        DataType::UInt8 => (0, i64::from(u8::MAX)),
        DataType::Int32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}
