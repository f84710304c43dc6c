//! Activation: a function of each element.

use super::Call;
use crate::storage::{Elements, ElementsMut};
use tensoracle_graph::{Activation, ActivationType};
use tensoracle_kernels as kernels;
use tensoracle_kernels::Real;

/// The kernel of a function with its parameters.
pub(crate) fn kernel<T: Real>(layer: &Activation) -> kernels::Activation<T> {
    let alpha = T::from_f64(f64::from(layer.alpha));
    let beta = T::from_f64(f64::from(layer.beta));
    match layer.function {
        ActivationType::Relu => kernels::Activation::Relu,
        ActivationType::Sigmoid => kernels::Activation::Sigmoid,
        ActivationType::Tanh => kernels::Activation::Tanh,
        ActivationType::LeakyRelu => kernels::Activation::LeakyRelu { alpha },
        ActivationType::Elu => kernels::Activation::Elu { alpha },
        ActivationType::Selu => kernels::Activation::Selu { alpha, beta },
        ActivationType::Softsign => kernels::Activation::Softsign,
        ActivationType::Softplus => kernels::Activation::Softplus { alpha, beta },
        ActivationType::Clip => kernels::Activation::Clip { alpha, beta },
        ActivationType::HardSigmoid => kernels::Activation::HardSigmoid { alpha, beta },
        ActivationType::ScaledTanh => kernels::Activation::ScaledTanh { alpha, beta },
        ActivationType::ThresholdedRelu => kernels::Activation::ThresholdedRelu { alpha },
        ActivationType::GeluErf => kernels::Activation::GeluErf,
        ActivationType::GeluTanh => kernels::Activation::GeluTanh,
    }
}

pub(super) fn run<T: Real>(layer: &Activation, call: &mut Call<'_, T>) {
    match (call.input(0).elements, &mut call.output) {
        (Elements::Integer(from), ElementsMut::Integer(to)) => {
            // Only Relu takes integers.
            to.iter_mut()
                .zip(from)
                .for_each(|(to, from)| *to = (*from).max(0));
        }
        (from, to) => {
            let to = to.real();
            to.copy_from_slice(from.real());
            kernels::activate(kernel(layer), to);
        }
    }
}
