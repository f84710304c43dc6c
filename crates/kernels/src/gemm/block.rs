//! A rectangle of a product, tile by tile, on one thread: the register-blocked kernels.
//!
//! Every element of C is one chain of (fused) multiply-adds over the whole inner dimension, in its
//! order and starting from the bias, whatever the tile it falls into. So the bits do not depend on how C was divided, and a
//! single row gives what it gives within a hundred.
//!
//! The left operand is read where it lies: a tile's column of it is a handful of scalars, each
//! broadcast. The right operand comes in panels two registers wide, one row after another.

use super::{Bias, Epilogue};
use crate::level::{Kernel, dispatch};
use crate::registers::{RegisterKernel, Vector, dispatch_registers};
use crate::{Activation, Real, scratch};
use std::ops::Range;

/// Rows of the tallest tile of any level.
const TALLEST: usize = 12;

/// Elements of the largest tile: rows of two 16-element registers.
const TILE: usize = TALLEST * 32;

/// Columns of the widest tile: four panels.
const WIDEST: usize = 4 * 32;

/// Bytes of the left operand that a panel should find in the second cache when it is reused.
const LEFT_BYTES: usize = 256 << 10;

/// Columns of a panel and rows of the tallest tile.
struct TileSize;

impl<T: Real> RegisterKernel<T> for TileSize {
    type Output = (usize, usize);
    #[inline(always)]
    unsafe fn run<V: Vector<Element = T>>(self) -> (usize, usize) {
        (2 * V::LEN, V::ROWS)
    }
}

/// Columns of a panel of packed right operands on the current level.
pub(crate) fn panel_width<T: Real>() -> usize {
    // SAFETY: nothing but the instructions is asked for.
    unsafe { dispatch_registers::<T, _>(TileSize) }.0
}

/// Rows of the tallest tile on the current level.
pub(crate) fn tile_rows<T: Real>() -> usize {
    // SAFETY: as above.
    unsafe { dispatch_registers::<T, _>(TileSize) }.1
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
        // Rows of A in equal shares, each small enough to stay in cache while panels pass by.
        let row_bytes = self.k.max(1) * size_of::<T>();
        let most = (LEFT_BYTES / row_bytes).max(TALLEST);
        let shares = rows.len().div_ceil(most);
        // Rows a multiple of 4 KiB apart fall into the same few places of the first cache, and a
        // tile's rows evict each other: such rows are copied closer together.
        let alias = self.a_col == 1 && (self.a_row * size_of::<T>()).is_multiple_of(4096);
        let copying = alias && rows.len() > 8 && panels.len() > 1;
        let stride = self.k + 64 / size_of::<T>();
        let copied = if copying {
            rows.len().div_ceil(shares) * stride
        } else {
            0
        };
        scratch::with(copied, |copies| {
            for share in 0..shares {
                let rows = part(&rows, share, shares);
                let mut product = *self;
                if copying {
                    for (to, i) in copies.chunks_mut(stride).zip(rows.clone()) {
                        // SAFETY: by the caller's promise row i of A has `k` readable elements.
                        let row = unsafe {
                            std::slice::from_raw_parts(self.a.add(i * self.a_row), self.k)
                        };
                        to[..self.k].copy_from_slice(row);
                    }
                    // Rows keep their indices.
                    product.a = copies.as_ptr().wrapping_sub(rows.start * stride);
                    product.a_row = stride;
                }
                // SAFETY: the caller's promise, or the copies just made.
                unsafe {
                    dispatch_registers(Rectangle {
                        product,
                        rows,
                        panels: panels.clone(),
                    })
                };
            }
        });
    }

    #[inline(always)]
    unsafe fn run_on<V: Vector<Element = T>>(&self, rows: Range<usize>, panels: Range<usize>) {
        // In equal shares, since a tile of one row costs as much as one of several.
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
            let a = self.a.wrapping_add(row * self.a_row);
            let bias = self.bias_of::<V, M, P>(row, column, columns);
            let mut sums = if self.a_col == 1 {
                self.add_products(bias, a, 1, b, b_row)
            } else {
                self.add_products(bias, a, self.a_col, b, b_row)
            };
            let mut activation = self.epilogue.activation.as_ref();
            if let Some((low, high)) = activation.and_then(Activation::limits) {
                let (low, high) = (V::splat(low), V::splat(high));
                let sums = sums.as_flattened_mut().as_flattened_mut();
                sums.iter_mut()
                    .for_each(|sum| *sum = sum.at_most(high).at_least(low));
                activation = None;
            }
            let c = self.c.add(row * self.c_row + column * self.c_col);
            if self.c_col == 1 && !partial {
                store(sums, c, self.c_row);
                if let Some(activation) = activation {
                    let stride = self.c_row;
                    dispatch(ActivateTile {
                        activation,
                        tile: c,
                        rows: M,
                        columns,
                        stride,
                    });
                }
            } else {
                let mut local = [T::ZERO; TILE];
                let (tile, stride) = (local.as_mut_ptr(), P * width);
                store(sums, tile, stride);
                if let Some(activation) = activation {
                    dispatch(ActivateTile {
                        activation,
                        tile,
                        rows: M,
                        columns,
                        stride,
                    });
                }
                for i in 0..M {
                    for j in 0..columns {
                        *c.add(i * self.c_row + j * self.c_col) = local[i * stride + j];
                    }
                }
            }
        }
    }

    /// What the sums of a tile start from.
    #[inline(always)]
    unsafe fn bias_of<V: Vector<Element = T>, const M: usize, const P: usize>(
        &self,
        row: usize,
        column: usize,
        columns: usize,
    ) -> [[[V; 2]; P]; M] {
        let width = 2 * V::LEN;
        // SAFETY: registers are loaded from as many elements, up to four panels' widths.
        unsafe {
            match self.epilogue.bias {
                Bias::None => [[[V::splat(T::ZERO); 2]; P]; M],
                Bias::PerRow(bias) => {
                    let bias = &bias[row..row + M];
                    std::array::from_fn(|i| [[V::splat(bias[i]); 2]; P])
                }
                Bias::PerColumn(bias) => {
                    let bias = &bias[column..column + columns];
                    let mut filled = [T::ZERO; WIDEST];
                    let whole = if columns == P * width {
                        bias.as_ptr()
                    } else {
                        filled[..columns].copy_from_slice(bias);
                        filled.as_ptr()
                    };
                    let load = |i| V::load(whole.add(i * V::LEN));
                    [std::array::from_fn(|q| [load(2 * q), load(2 * q + 1)]); M]
                }
            }
        }
    }

    /// Adds the products of a tile to `sums`, which stay in registers throughout.
    #[inline(always)]
    unsafe fn add_products<V: Vector<Element = T>, const M: usize, const P: usize>(
        &self,
        mut sums: [[[V; 2]; P]; M],
        a: *const T,
        a_col: usize,
        b: *const T,
        b_row: usize,
    ) -> [[[V; 2]; P]; M] {
        // SAFETY: A has `M` rows from `a` and B `P` panels from `b`, each over all of k.
        unsafe {
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
}

/// A rectangle of a product, see [`Product::run`].
struct Rectangle<'a, T> {
    product: Product<'a, T>,
    rows: Range<usize>,
    panels: Range<usize>,
}

impl<T: Real> RegisterKernel<T> for Rectangle<'_, T> {
    type Output = ();
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

/// The activation of a tile just stored. Compiled as a function of its own: inside every kernel it
/// would multiply their size.
struct ActivateTile<'a, T> {
    activation: &'a Activation<T>,
    tile: *mut T,
    rows: usize,
    columns: usize,
    stride: usize,
}

impl<T: Real> Kernel for ActivateTile<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for i in 0..self.rows {
            // SAFETY: the tile was stored to these places a moment ago.
            let row = unsafe {
                std::slice::from_raw_parts_mut(self.tile.add(i * self.stride), self.columns)
            };
            self.activation.apply::<FMA>(row);
        }
    }
}
