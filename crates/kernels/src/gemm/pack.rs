//! Right operands rearranged once into the order in which the kernels read them.
//!
//! Layout: panels of [`panel_width`] columns; in each the rows in order, a panel's width of
//! elements each; the last panel is filled up with zeros. The width depends on the element type and
//! on [`crate::cpu_level`].

use super::MatRef;
use super::block::panel_width;
use crate::Real;
use crate::parallel::{self, TOUCH};
use std::ops::Range;

/// A packed right operand of `rows` (the inner dimension) × `cols`.
#[derive(Debug, Clone, Copy)]
pub struct Packed<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) cols: usize,
}

impl<'a, T: Real> Packed<'a, T> {
    /// Takes what [`pack_b`] returned on a machine with the same [`crate::cpu_level`]. Fastest when
    /// `data` starts at a multiple of 64 bytes, right at any address.
    ///
    /// # Panics
    /// If `data` has fewer than [`packed_len`] elements. (More are the other matrices of a batch.)
    pub fn from_slice(rows: usize, cols: usize, data: &'a [T]) -> Self {
        let expected = packed_len::<T>(rows, cols);
        assert!(
            data.len() >= expected,
            "packed {rows}x{cols} matrix: needs {expected} elements, the slice has {}",
            data.len()
        );
        Self { data, rows, cols }
    }

    /// Rows of the matrix, the inner dimension of the product.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of the matrix, without the filling.
    pub fn cols(&self) -> usize {
        self.cols
    }
}

/// Elements of a packed matrix of `rows` × `cols` on the current [`crate::cpu_level`].
pub fn packed_len<T: Real>(rows: usize, cols: usize) -> usize {
    let width = panel_width::<T>();
    rows * cols.div_ceil(width) * width
}

/// Packs a right operand for [`Packed::from_slice`].
pub fn pack_b<T: Real>(b: MatRef<'_, T>) -> Vec<T> {
    let mut packed = vec![T::ZERO; packed_len::<T>(b.rows, b.cols)];
    pack_into(b, &mut packed);
    packed
}

/// Packs into a buffer of [`packed_len`] elements, in parallel if that is worth it.
pub(crate) fn pack_into<T: Real>(b: MatRef<'_, T>, packed: &mut [T]) {
    use rayon::prelude::*;
    let width = panel_width::<T>();
    let panel = b.rows * width;
    if panel == 0 {
        return;
    }
    let fill = |(i, packed): (usize, &mut [T])| {
        pack_panel(b, i * width..((i + 1) * width).min(b.cols), packed);
    };
    if parallel::worth_dividing(packed.len() * TOUCH) {
        packed.par_chunks_mut(panel).enumerate().for_each(fill);
    } else {
        packed.chunks_mut(panel).enumerate().for_each(fill);
    }
}

/// Packs the given columns, at most a panel's width, into one panel.
pub(crate) fn pack_panel<T: Real>(b: MatRef<'_, T>, columns: Range<usize>, packed: &mut [T]) {
    let width = panel_width::<T>();
    let count = columns.len();
    if b.col_stride == 1 {
        for (p, to) in packed.chunks_exact_mut(width).enumerate() {
            let from = p * b.row_stride + columns.start;
            to[..count].copy_from_slice(&b.data[from..from + count]);
            to[count..].fill(T::ZERO);
        }
    } else {
        // A strip of rows at a time, so that reads along a transposed operand's rows and writes
        // along the panel's both stay within a few cache lines.
        const STRIP: usize = 16;
        for (strip, packed) in packed.chunks_mut(STRIP * width).enumerate() {
            let rows = packed.len() / width;
            for j in 0..count {
                let from = strip * STRIP * b.row_stride + (columns.start + j) * b.col_stride;
                for p in 0..rows {
                    packed[p * width + j] = b.data[from + p * b.row_stride];
                }
            }
            for to in packed.chunks_exact_mut(width) {
                to[count..].fill(T::ZERO);
            }
        }
    }
}
