//! A rectangle of a product, tile by tile, on one thread: the register-blocked kernels.
//!
//! Every element of C is one chain of (fused) multiply-adds over the whole inner dimension, in its
//! order, whatever the tile it falls into. So the bits do not depend on how C was divided, and a
//! single row gives what it gives within a hundred.
//!
//! The left operand is read where it lies: a tile's column of it is a handful of scalars, each
//! broadcast. The right operand comes in panels two registers wide, one row after another.

use super::registers::{RegisterKernel, Vector, dispatch_registers};
use super::{Bias, Epilogue};
use crate::level::{Kernel, Level, cpu_level, dispatch};
use crate::{Activation, Real};
use std::ops::Range;

/// Elements of the largest tile: 12 rows of two 16-element registers.
const TILE: usize = 12 * 32;

/// Bytes of the left operand that a panel should find in the second cache when it is reused.
const LEFT_BYTES: usize = 256 << 10;

/// Columns of a panel of packed right operands on the current level.
pub(crate) fn panel_width<T: Real>() -> usize {
    2 * match cpu_level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => T::Avx512::LEN,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => T::Avx2::LEN,
        _ => T::Portable::LEN,
    }
}

/// Rows of the tallest tile on the current level.
pub(crate) fn tile_rows<T: Real>() -> usize {
    match cpu_level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => T::Avx512::ROWS,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => T::Avx2::ROWS,
        _ => T::Portable::ROWS,
    }
}

/// A product C = A·B with everything that the kernels need to know, in elements.
#[derive(Clone, Copy)]
pub(crate) struct Product<'a, T> {
    pub(crate) a: *const T,
    pub(crate) a_row: usize,
    pub(crate) a_col: usize,
    /// The first panel of B.
    pub(crate) b: *const T,
    /// From a row of a panel to the next.
    pub(crate) b_row: usize,
    /// From a panel to the next.
    pub(crate) b_panel: usize,
    /// Where the last panel lies (its rows a panel's width apart) if it is not whole and B is not
    /// packed; null otherwise.
    pub(crate) b_tail: *const T,
    pub(crate) c: *mut T,
    pub(crate) c_row: usize,
    pub(crate) c_col: usize,
    pub(crate) k: usize,
    pub(crate) n: usize,
    pub(crate) epilogue: Epilogue<'a, T>,
}

// SAFETY: the pointers are dereferenced only in `run`, whose caller vouches for what they point to
// and that concurrent calls have disjoint rectangles of C.
unsafe impl<T: Sync> Sync for Product<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Product<'_, T> {}

impl<T: Real> Product<'_, T> {
    /// Computes the rectangle `rows` × `panels` of C.
    ///
    /// # Safety
    /// A is readable at every (row, k), B at every row of every panel named (whole panels, except
    /// that the last one may be in `b_tail`), C writable at every (row, column) and not accessed
    /// by anyone else meanwhile, and the bias covers the rows or the `n` columns.
    pub(crate) unsafe fn run(&self, rows: Range<usize>, panels: Range<usize>) {
        // SAFETY: the caller's promise.
        unsafe {
            dispatch_registers(Rectangle {
                product: self,
                rows,
                panels,
            })
        }
    }

    #[inline(always)]
    unsafe fn run_on<V: Vector<Element = T>>(&self, rows: Range<usize>, panels: Range<usize>) {
        // Rows of A in equal shares, each small enough to stay in cache while panels pass by.
        let most = (LEFT_BYTES / size_of::<T>() / self.k.max(1)).max(V::ROWS);
        let shares = rows.len().div_ceil(most);
        for share in 0..shares {
            let rows = part(&rows, share, shares);
            // Again in equal shares, since a tile of one row costs as much as one of several.
            let tiles = rows.len().div_ceil(V::ROWS);
            let mut panel = panels.start;
            while panel < panels.end {
                // Few rows leave registers free: take several panels at a time.
                let whole = panels.end.min(self.n / (2 * V::LEN)).saturating_sub(panel);
                let taken = match rows.len() {
                    1 if whole >= 4 => 4,
                    2 if whole >= 2 => 2,
                    _ => 1,
                };
                for tile in 0..tiles {
                    let rows = part(&rows, tile, tiles);
                    // SAFETY: the caller's promise; `taken` whole panels are there.
                    unsafe { self.tile_of::<V>(rows, panel, taken) };
                }
                panel += taken;
            }
        }
    }

    /// Chooses the kernel for the number of rows and panels.
    #[inline(always)]
    unsafe fn tile_of<V: Vector<Element = T>>(&self, rows: Range<usize>, panel: usize, n: usize) {
        macro_rules! choose {
            ($($m:literal)*) => {
                match (rows.len(), n) {
                    (1, 4) => self.tile::<V, 1, 4>(rows.start, panel),
                    (2, 2) => self.tile::<V, 2, 2>(rows.start, panel),
                    // The comparison is constant: taller tiles are not compiled for small files.
                    $(($m, _) if $m <= V::ROWS => self.tile::<V, $m, 1>(rows.start, panel),)*
                    _ => unreachable!("a tile has 1 to {} rows", V::ROWS),
                }
            };
        }
        // SAFETY: the caller's promise.
        unsafe { choose!(1 2 3 4 5 6 7 8 9 10 11 12) }
    }

    /// One tile: `M` rows from `row`, `P` panels from `panel`.
    #[inline(always)]
    unsafe fn tile<V: Vector<Element = T>, const M: usize, const P: usize>(
        &self,
        row: usize,
        panel: usize,
    ) {
        let width = 2 * V::LEN;
        let column = panel * width;
        let columns = (P * width).min(self.n - column);
        // SAFETY: all offsets are within what `run`'s caller vouched for; a tile that is not whole
        // is written to a local one of full size first.
        unsafe {
            let partial = columns < P * width;
            let (b, b_row) = if partial && !self.b_tail.is_null() {
                (self.b_tail, width)
            } else {
                (self.b.add(panel * self.b_panel), self.b_row)
            };
            let a = self.a.add(row * self.a_row);
            let sums = if self.a_col == 1 {
                self.sums::<V, M, P>(a, 1, b, b_row)
            } else {
                self.sums::<V, M, P>(a, self.a_col, b, b_row)
            };
            let c = self.c.add(row * self.c_row + column * self.c_col);
            if self.c_col == 1 && !partial {
                store(sums, c, self.c_row);
                self.finish(c, self.c_row, row, column, M, columns);
            } else {
                let mut local = [T::ZERO; TILE];
                let tile = local.as_mut_ptr();
                store(sums, tile, P * width);
                self.finish(tile, P * width, row, column, M, columns);
                for i in 0..M {
                    for j in 0..columns {
                        *c.add(i * self.c_row + j * self.c_col) = local[i * P * width + j];
                    }
                }
            }
        }
    }

    /// The sums of products of a tile, kept in registers throughout.
    #[inline(always)]
    unsafe fn sums<V: Vector<Element = T>, const M: usize, const P: usize>(
        &self,
        a: *const T,
        a_col: usize,
        b: *const T,
        b_row: usize,
    ) -> [[[V; 2]; P]; M] {
        // SAFETY: A has `M` rows from `a` and B `P` panels from `b`, each over all of k.
        unsafe {
            let mut sums = [[[V::splat(T::ZERO); 2]; P]; M];
            let rows: [*const T; M] = std::array::from_fn(|i| a.add(i * self.a_row));
            for p in 0..self.k {
                let b: [[V; 2]; P] = std::array::from_fn(|q| {
                    let b = b.add(q * self.b_panel + p * b_row);
                    [V::load(b), V::load(b.add(V::LEN))]
                });
                for i in 0..M {
                    let a = V::splat(*rows[i].add(p * a_col));
                    for q in 0..P {
                        sums[i][q][0] = sums[i][q][0].add_product(a, b[q][0]);
                        sums[i][q][1] = sums[i][q][1].add_product(a, b[q][1]);
                    }
                }
            }
            sums
        }
    }

    /// Applies the epilogue to a tile just stored at `tile`.
    #[inline(always)]
    unsafe fn finish(
        &self,
        tile: *mut T,
        stride: usize,
        row: usize,
        column: usize,
        rows: usize,
        columns: usize,
    ) {
        let Epilogue { bias, activation } = &self.epilogue;
        if matches!(bias, Bias::None) && activation.is_none() {
            return;
        }
        let bias = match bias {
            Bias::None => Bias::None,
            Bias::PerRow(bias) => Bias::PerRow(&bias[row..row + rows]),
            Bias::PerColumn(bias) => Bias::PerColumn(&bias[column..column + columns]),
        };
        let activation = activation.as_ref();
        for i in 0..rows {
            // SAFETY: the caller passes a tile of `rows` rows, `stride` apart, of `columns` each.
            let values = unsafe { std::slice::from_raw_parts_mut(tile.add(i * stride), columns) };
            dispatch(FinishRow {
                values,
                row: i,
                bias,
                activation,
            });
        }
    }
}

/// A rectangle of a product, see [`Product::run`].
struct Rectangle<'a, T> {
    product: &'a Product<'a, T>,
    rows: Range<usize>,
    panels: Range<usize>,
}

impl<T: Real> RegisterKernel<T> for Rectangle<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) {
        // SAFETY: the caller's promise.
        unsafe { self.product.run_on::<V>(self.rows, self.panels) }
    }
}

/// The `index`th of `count` nearly equal parts of a range.
#[inline(always)]
pub(crate) fn part(range: &Range<usize>, index: usize, count: usize) -> Range<usize> {
    let at = |i: usize| range.start + range.len() / count * i + (range.len() % count).min(i);
    at(index)..at(index + 1)
}

/// # Safety
/// `to` is writable for `M` rows, `stride` apart, of `P` panels' widths.
#[inline(always)]
unsafe fn store<V: Vector, const M: usize, const P: usize>(
    sums: [[[V; 2]; P]; M],
    to: *mut V::Element,
    stride: usize,
) {
    for (i, row) in sums.iter().enumerate() {
        for (q, pair) in row.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                let to = to.add(i * stride + q * 2 * V::LEN);
                pair[0].store(to);
                pair[1].store(to.add(V::LEN));
            }
        }
    }
}

/// The epilogue of one row of a tile. Compiled as a function of its own: inside every kernel it
/// would multiply their size.
struct FinishRow<'a, T> {
    values: &'a mut [T],
    row: usize,
    bias: Bias<'a, T>,
    activation: Option<&'a Activation<T>>,
}

impl<T: Real> Kernel for FinishRow<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        match self.bias {
            Bias::None => {}
            Bias::PerRow(bias) => {
                let bias = bias[self.row];
                self.values.iter_mut().for_each(|v| *v += bias);
            }
            Bias::PerColumn(bias) => {
                self.values.iter_mut().zip(bias).for_each(|(v, b)| *v += *b);
            }
        }
        if let Some(activation) = self.activation {
            activation.apply::<FMA>(self.values);
        }
    }
}
