//! A matrix with contiguous rows times a vector: a panel of one column would do 32 times the work.
//!
//! Each element is a sum over interleaved lanes, then over the lanes in order, then over what is
//! left of the row: fixed by the length alone.

use super::{BatchDim, Bias, Epilogue, MatMut, MatRef, batch_right, offsets};
use crate::parallel::{self, SharedMut};
use crate::registers::{RegisterKernel, Vector, dispatch_registers};
use crate::{Real, map, scratch};

/// Independent registers of sums, to hide the latency of an addition.
const REGISTERS: usize = 4;

/// Elements of the widest register.
const WIDEST: usize = 16;

/// `out[i] = a[i]·x` for rows as long as `x`.
struct Rows<'a, T> {
    a: &'a [T],
    row_stride: usize,
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Real> RegisterKernel<T> for Rows<'_, T> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        const { assert!(V::LEN <= WIDEST) };
        let k = self.x.len();
        let block = REGISTERS * V::LEN;
        for (i, out) in self.out.iter_mut().enumerate() {
            let row = &self.a[i * self.row_stride..][..k];
            let (rows, xs) = (row.chunks_exact(block), self.x.chunks_exact(block));
            let rest = rows.remainder().iter().zip(xs.remainder());
            let mut lanes = [T::ZERO; REGISTERS * WIDEST];
            // SAFETY: every register is within a block of the row, of `x` or of the lanes.
            unsafe {
                let mut sums = [V::splat(T::ZERO); REGISTERS];
                for (row, x) in rows.zip(xs) {
                    for (r, sum) in sums.iter_mut().enumerate() {
                        let a = V::load(row.as_ptr().add(r * V::LEN));
                        let x = V::load(x.as_ptr().add(r * V::LEN));
                        *sum = sum.add_product(a, x);
                    }
                }
                for (r, sum) in sums.iter().enumerate() {
                    sum.store(lanes.as_mut_ptr().add(r * V::LEN));
                }
            }
            // Halves onto halves, as long as there are several lanes.
            let mut width = block / 2;
            while width > 0 {
                for l in 0..width {
                    let other = lanes[l + width];
                    lanes[l] += other;
                }
                width /= 2;
            }
            *out = lanes[0];
            rest.for_each(|(a, x)| *out += *a * *x);
        }
    }
}

/// A batch of products with one column each; everything has been checked and nothing is empty.
pub(super) fn product<T: Real>(
    batch: &[BatchDim],
    count: usize,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    c: &mut MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    let (m, k) = (a.rows, a.cols);
    // Rows of a piece: some ten thousand elements.
    let rows = ((1 << 15) / k.max(1)).clamp(1, m);
    let pieces = m.div_ceil(rows);
    // Reading an element of A takes longer than multiplying it.
    let work = count.saturating_mul(m).saturating_mul(8 * k.max(1));
    let to = SharedMut(c.data.as_mut_ptr());
    let row_stride = c.row_stride;
    parallel::for_each(count * pieces, work, |task| {
        let [a_offset, b_offset, c_offset] = offsets(batch, task / pieces);
        let start = task % pieces * rows;
        let range = start..(start + rows).min(m);
        let b = batch_right(b, b_offset);
        scratch::with(k + range.len(), |buffer| {
            let (x, out) = buffer.split_at_mut(k);
            for (p, x) in x.iter_mut().enumerate() {
                *x = b.data[p * b.row_stride];
            }
            if k == 0 {
                out.fill(T::ZERO);
            } else {
                let a_rows = &a.data[a_offset + start * a.row_stride..];
                let kernel = Rows {
                    a: a_rows,
                    row_stride: a.row_stride,
                    x,
                    out: &mut *out,
                };
                // SAFETY: nothing but the instructions is asked for.
                unsafe { dispatch_registers(kernel) };
            }
            match epilogue.bias {
                Bias::None => {}
                Bias::PerColumn(bias) => out.iter_mut().for_each(|v| *v += bias[0]),
                Bias::PerRow(bias) => {
                    out.iter_mut()
                        .zip(&bias[range.clone()])
                        .for_each(|(v, bias)| *v += *bias);
                }
            }
            if let Some(activation) = epilogue.activation {
                map::activate_here(activation, out);
            }
            for (i, v) in range.zip(&*out) {
                // SAFETY: `check` found every element of C in place; each is one task's.
                unsafe { *to.get().add(c_offset + i * row_stride) = *v };
            }
        });
    });
}
