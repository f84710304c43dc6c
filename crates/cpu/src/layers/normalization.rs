//! Normalization: mean and variance over axes, or over groups of channels and all behind them.

use super::strided::{Nest, broadcast, row_major};
use super::{Call, resolved};
use rayon::prelude::*;
use tensoracle_graph::Normalization;
use tensoracle_kernels::{Real, layer_norm, moments};

pub(super) fn run<T: Real>(layer: &Normalization, call: &mut Call<'_, T>) {
    let (input, scale, bias) = (call.input(0), call.input(1), call.input(2));
    let dims = call.dims;
    let x = input.elements.real();
    let (scale_elements, bias_elements) = (scale.elements.real(), bias.elements.real());
    let out = call.output.real();
    if out.is_empty() {
        return;
    }
    let epsilon = f64::from(layer.epsilon);
    let axes: Vec<usize> = layer.axes.iter().map(|&axis| resolved(axis)).collect();
    // The first axis behind which everything is normalized together, if it is so.
    let trailing = axes.iter().copied().eq(dims.len() - axes.len()..dims.len());
    let first = if layer.groups == 1 { axes[0] } else { 2 };
    let columns: usize = if layer.groups == 1 {
        dims[first..].iter().product()
    } else {
        dims[1] / layer.groups as usize * dims[2..].iter().product::<usize>()
    };
    if trailing && layer.groups == 1 {
        let whole_row = |own: &[usize]| {
            own[..first].iter().all(|&size| size == 1) && own[first..] == dims[first..]
        };
        if whole_row(scale.dims) && whole_row(bias.dims) {
            let rows = x.len() / columns;
            let (scale, bias) = (Some(scale_elements), Some(bias_elements));
            return layer_norm(x, [rows, columns], epsilon, scale, bias, out);
        }
    }
    if trailing {
        normalize_runs(x, columns, epsilon, out);
    } else {
        normalize_strided(x, dims, &axes, epsilon, out);
    }
    scale_and_shift(
        out,
        dims,
        (scale_elements, &broadcast(scale.dims, dims)),
        (bias_elements, &broadcast(bias.dims, dims)),
    );
}

/// `(x - mean) · 1/√(variance + ε)` of each contiguous run.
fn normalize_runs<T: Real>(x: &[T], run: usize, epsilon: f64, out: &mut [T]) {
    out.par_chunks_mut(run)
        .zip(x.par_chunks(run))
        .for_each(|(out, x)| {
            normalize(x, epsilon, out);
        });
}

fn normalize<T: Real>(x: &[T], epsilon: f64, out: &mut [T]) {
    let found = moments(x);
    let mean = T::from_f64(found.mean);
    let factor = T::from_f64(1.0 / (found.variance + epsilon).sqrt());
    out.iter_mut()
        .zip(x)
        .for_each(|(out, x)| *out = (*x - mean) * factor);
}

/// As [`normalize_runs`] over axes anywhere: each set of elements is brought together first.
fn normalize_strided<T: Real>(
    x: &[T],
    dims: &[usize],
    axes: &[usize],
    epsilon: f64,
    out: &mut [T],
) {
    let strides = row_major(dims);
    let pick = |chosen: bool| -> (Vec<usize>, Vec<isize>) {
        (0..dims.len())
            .filter(|axis| axes.contains(axis) == chosen)
            .map(|axis| (dims[axis], strides[axis]))
            .unzip()
    };
    let (kept, kept_strides) = pick(false);
    let (reduced, reduced_strides) = pick(true);
    let outer = Nest::new(&kept, [&kept_strides]);
    let inner = Nest::new(&reduced, [&reduced_strides]);
    let count = inner.count();
    let (mut gathered, mut normalized) = (vec![T::default(); count], vec![T::default(); count]);
    for set in 0..outer.count() {
        let [start] = outer.offsets(set);
        let place = |index: usize| (start + inner.offsets(index)[0]) as usize;
        gathered
            .iter_mut()
            .enumerate()
            .for_each(|(index, value)| *value = x[place(index)]);
        normalize(&gathered, epsilon, &mut normalized);
        normalized
            .iter()
            .enumerate()
            .for_each(|(index, value)| out[place(index)] = *value);
    }
}

/// A broadcast tensor: elements and strides.
type Broadcast<'a, T> = (&'a [T], &'a [isize]);

fn scale_and_shift<T: Real>(
    out: &mut [T],
    dims: &[usize],
    (scale, scale_strides): Broadcast<'_, T>,
    (bias, bias_strides): Broadcast<'_, T>,
) {
    let nest = Nest::new(dims, [scale_strides, bias_strides, &row_major(dims)]);
    let (outer, run, [scale_step, bias_step, _]) = nest.split_inner();
    out.par_chunks_mut(run)
        .enumerate()
        .for_each(|(index, out)| {
            let [mut at_scale, mut at_bias, _] = outer.offsets(index);
            for out in out {
                *out = *out * scale[at_scale as usize] + bias[at_bias as usize];
                at_scale += scale_step;
                at_bias += bias_step;
            }
        });
}
