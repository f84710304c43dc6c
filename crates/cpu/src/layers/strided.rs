//! Walking several tensors at once by strides: the shared mechanism of broadcasting, transposing
//! and slicing.
//!
//! Neighbouring dimensions that every tensor walks alike are merged first, so that what is left is
//! an inner run as long as possible and few loops around it.

use rayon::prelude::*;

/// A nest of loops: for each dimension its size and each tensor's step, in elements.
#[derive(Debug, Clone)]
pub(crate) struct Nest<const N: usize> {
    /// Outermost first.
    pub(crate) loops: Vec<(usize, [isize; N])>,
}

/// Elements moved below which threads do not pay.
const PARALLEL_ELEMENTS: usize = 1 << 16;

impl<const N: usize> Nest<N> {
    /// A nest over `dims` where tensor `t` steps by `strides[t][axis]`.
    pub(crate) fn new(dims: &[usize], strides: [&[isize]; N]) -> Self {
        let mut loops: Vec<(usize, [isize; N])> = Vec::with_capacity(dims.len());
        for (axis, &size) in dims.iter().enumerate() {
            let steps = strides.map(|strides| strides[axis]);
            if size == 1 {
                continue;
            }
            if let Some((outer, outer_steps)) = loops.last_mut()
                && (0..N).all(|t| outer_steps[t] == steps[t] * size as isize)
            {
                *outer *= size;
                *outer_steps = steps;
                continue;
            }
            loops.push((size, steps));
        }
        Self { loops }
    }

    /// Takes the innermost loop out: its size and steps (a single element if there is none).
    pub(crate) fn split_inner(mut self) -> (Self, usize, [isize; N]) {
        let (size, steps) = self.loops.pop().unwrap_or((1, [1; N]));
        (self, size, steps)
    }

    /// How many times the loops run.
    pub(crate) fn count(&self) -> usize {
        self.loops.iter().map(|(size, _)| size).product()
    }

    /// Each tensor's offset at run `index`.
    pub(crate) fn offsets(&self, mut index: usize) -> [isize; N] {
        let mut offsets = [0; N];
        for (size, steps) in self.loops.iter().rev() {
            let position = (index % size) as isize;
            index /= size;
            (0..N).for_each(|t| offsets[t] += position * steps[t]);
        }
        offsets
    }
}

/// The strides of a tensor in row-major order.
pub(crate) fn row_major(dims: &[usize]) -> Vec<isize> {
    let mut strides = vec![1isize; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis].max(1) as isize;
    }
    strides
}

/// The strides of a tensor that is repeated along dimensions of 1 to fill `to`.
pub(crate) fn broadcast(dims: &[usize], to: &[usize]) -> Vec<isize> {
    let mut strides = row_major(dims);
    for (stride, (own, whole)) in strides.iter_mut().zip(dims.iter().zip(to)) {
        if own != whole {
            *stride = 0;
        }
    }
    strides
}

/// Fills `out`, row-major under `dims`, with `from[offset + Σ index·stride]`. Every such place lies
/// within `from`.
pub(crate) fn gather_strided<E: Copy + Send + Sync>(
    from: &[E],
    offset: isize,
    dims: &[usize],
    strides: &[isize],
    out: &mut [E],
) {
    if out.is_empty() {
        return;
    }
    let nest = Nest::new(dims, [strides]);
    let (outer, run, [step]) = nest.split_inner();
    let copy_run = |index: usize, out: &mut [E]| {
        let start = offset + outer.offsets(index)[0];
        if step == 1 {
            out.copy_from_slice(&from[start as usize..][..out.len()]);
        } else {
            let mut place = start;
            for out in out {
                *out = from[place as usize];
                place += step;
            }
        }
    };
    if out.len() >= PARALLEL_ELEMENTS && rayon::current_num_threads() > 1 {
        let runs = (PARALLEL_ELEMENTS / 4).div_ceil(run);
        out.par_chunks_mut(run * runs)
            .enumerate()
            .for_each(|(block, out)| {
                for (index, out) in out.chunks_mut(run).enumerate() {
                    copy_run(block * runs + index, out);
                }
            });
    } else {
        out.chunks_mut(run)
            .enumerate()
            .for_each(|(index, out)| copy_run(index, out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transpose_and_a_broadcast_walk_as_by_index() {
        let from: Vec<i32> = (0..2 * 3 * 5).collect();
        let mut out = vec![0; from.len()];
        gather_strided(&from, 0, &[5, 2, 3], &[1, 15, 5], &mut out);
        for (i, value) in out.iter().enumerate() {
            let (a, b, c) = (i / 6, i / 3 % 2, i % 3);
            assert_eq!(*value as usize, b * 15 + c * 5 + a);
        }
        let mut out = vec![0; 12];
        gather_strided(
            &[7, 8, 9],
            0,
            &[4, 3],
            &broadcast(&[1, 3], &[4, 3]),
            &mut out,
        );
        assert_eq!(out, [7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8, 9]);
    }

    #[test]
    fn dimensions_walked_alike_are_merged() {
        let nest = Nest::new(&[4, 3, 5], [&row_major(&[4, 3, 5])]);
        assert_eq!(nest.loops, [(60, [1])]);
    }
}
