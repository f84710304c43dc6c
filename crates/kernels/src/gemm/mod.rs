//! Matrix products C = activation(A·B + bias), single and batched.
//!
//! Here are the operands' types, the checks and the division over threads; packing is in `pack`,
//! the arithmetic in `block` (of a matrix times a vector in `vector`).

mod block;
mod pack;
mod vector;

pub(crate) use block::{Product, panel_width, part, tile_rows};
pub(crate) use pack::pack_into;
pub use pack::{Packed, pack_b, packed_len};

use crate::parallel::{self, PARALLEL_WORK};
use crate::{Activation, Real, scratch};
use pack::pack_panel;

/// A matrix to read: element (i, j) is `data[i * row_stride + j * col_stride]`.
#[derive(Debug, Clone, Copy)]
pub struct MatRef<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a, T> MatRef<'a, T> {
    /// A row-major matrix without gaps.
    ///
    /// # Panics
    /// If `data` has fewer than `rows * cols` elements.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Self {
        Self::strided(data, rows, cols, cols, 1)
    }

    /// A matrix with any strides, zero (broadcasting) included.
    ///
    /// # Panics
    /// If an element lies outside `data`.
    pub fn strided(
        data: &'a [T],
        rows: usize,
        cols: usize,
        row_stride: usize,
        col_stride: usize,
    ) -> Self {
        let needed = extent(&[(rows, row_stride), (cols, col_stride)]);
        assert!(
            needed <= data.len(),
            "{rows}x{cols} matrix with strides {row_stride}, {col_stride}: \
             needs {needed} elements, the slice has {}",
            data.len()
        );
        Self {
            data,
            rows,
            cols,
            row_stride,
            col_stride,
        }
    }

    /// The transpose, a view of the same elements.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }
}

/// A matrix to write, laid out as [`MatRef`]; no two elements share a place.
#[derive(Debug)]
pub struct MatMut<'a, T> {
    data: &'a mut [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a, T> MatMut<'a, T> {
    /// A row-major matrix without gaps.
    ///
    /// # Panics
    /// If `data` has fewer than `rows * cols` elements.
    pub fn new(data: &'a mut [T], rows: usize, cols: usize) -> Self {
        Self::strided(data, rows, cols, cols, 1)
    }

    /// A matrix with the given strides. Fastest with a column stride of 1.
    ///
    /// # Panics
    /// If an element lies outside `data` or two elements share a place.
    pub fn strided(
        data: &'a mut [T],
        rows: usize,
        cols: usize,
        row_stride: usize,
        col_stride: usize,
    ) -> Self {
        let dims = [(rows, row_stride), (cols, col_stride)];
        let needed = extent(&dims);
        assert!(
            needed <= data.len(),
            "{rows}x{cols} matrix to write with strides {row_stride}, {col_stride}: \
             needs {needed} elements, the slice has {}",
            data.len()
        );
        assert!(
            distinct(&dims),
            "{rows}x{cols} matrix to write with strides {row_stride}, {col_stride}: \
             elements overlap"
        );
        Self {
            data,
            rows,
            cols,
            row_stride,
            col_stride,
        }
    }
}

/// A right operand: as it lies, or packed beforehand (a constant).
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a, T> {
    /// Any matrix; packed on the fly where that pays.
    Matrix(MatRef<'a, T>),
    /// Packed by [`pack_b`].
    Packed(Packed<'a, T>),
}

impl<T> Operand<'_, T> {
    fn dims(&self) -> (usize, usize) {
        match self {
            Self::Matrix(b) => (b.rows, b.cols),
            Self::Packed(b) => (b.rows, b.cols),
        }
    }
}

/// What is added to a product before the activation.
#[derive(Debug, Clone, Copy)]
pub enum Bias<'a, T> {
    /// Nothing.
    None,
    /// One value for each column of C.
    PerColumn(&'a [T]),
    /// One value for each row of C.
    PerRow(&'a [T]),
}

/// What happens to a product's elements before they leave the cache: bias, then activation.
#[derive(Debug, Clone, Copy)]
pub struct Epilogue<'a, T> {
    /// Added first.
    pub bias: Bias<'a, T>,
    /// Applied last.
    pub activation: Option<Activation<T>>,
}

impl<T> Epilogue<'_, T> {
    /// Leaves the product as it is.
    pub const NONE: Self = Self {
        bias: Bias::None,
        activation: None,
    };
}

impl<T> Default for Epilogue<'_, T> {
    fn default() -> Self {
        Self::NONE
    }
}

/// One dimension of a batch of products: how many, and the distance in elements from one to the
/// next in each operand (0 repeats an operand).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchDim {
    /// Products along this dimension.
    pub count: usize,
    /// Stride of the left operand.
    pub a: usize,
    /// Stride of the right operand.
    pub b: usize,
    /// Stride of the result; results may interleave but not overlap.
    pub c: usize,
}

/// Elements from the first to the last one reached, inclusive; 0 if there are none.
fn extent(dims: &[(usize, usize)]) -> usize {
    if dims.iter().any(|d| d.0 == 0) {
        return 0;
    }
    dims.iter()
        .try_fold(1usize, |sum, (count, stride)| {
            sum.checked_add((count - 1).checked_mul(*stride)?)
        })
        .expect("extent of a strided matrix overflows usize")
}

/// Dimensions of a result: those of the batch, rows and columns.
const MAX_DIMS: usize = 10;

/// Whether different indices always reach different places: sorted by stride, each stride must
/// step over everything that the smaller ones reach.
fn distinct(dims: &[(usize, usize)]) -> bool {
    if dims.iter().any(|d| d.0 == 0) {
        return true;
    }
    let mut sorted = [(0, 0); MAX_DIMS];
    let sorted = &mut sorted[..dims.len()];
    sorted.copy_from_slice(dims);
    sorted.sort_unstable_by_key(|d| d.1);
    let mut reach = 1;
    for (count, stride) in sorted.iter().filter(|d| d.0 > 1) {
        if *stride < reach {
            return false;
        }
        reach += (count - 1) * stride;
    }
    true
}

/// `c = activation(a·b + bias)`: `a` is m × k, `b` k × n, `c` m × n; a per-column bias has n
/// elements, a per-row bias m. With k = 0 the product is zero.
///
/// # Panics
/// If the dimensions do not fit together.
pub fn gemm<T: Real>(
    a: MatRef<'_, T>,
    b: Operand<'_, T>,
    c: &mut MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    gemm_batched(&[], a, b, c, epilogue);
}

/// One product for every index of the batch, a nest of at most 8 dimensions: the operands given
/// are the first product's, the slices behind them hold all the others'. A packed right operand
/// holds one packed matrix after another, its batch strides count elements of that.
///
/// Attention's scores, for example, from queries and keys of `[length, heads, 32]`: one batch
/// dimension of `heads` with `a: 32, b: 32, c: length * length`, A with strides (heads·32, 1), B
/// with strides (1, heads·32).
///
/// # Panics
/// If dimensions do not fit together, an operand leaves its slice, or results overlap.
pub fn gemm_batched<T: Real>(
    batch: &[BatchDim],
    a: MatRef<'_, T>,
    b: Operand<'_, T>,
    c: &mut MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    let (m, n, k) = (c.rows, c.cols, a.cols);
    check(batch, a, b, c, epilogue);
    let count: usize = batch.iter().map(|d| d.count).product();
    if m == 0 || n == 0 || count == 0 {
        return;
    }
    if let Operand::Matrix(b) = b
        && n == 1
        && m > 1
        && a.col_stride == 1
    {
        return vector::product(batch, count, a, b, c, epilogue);
    }

    let width = panel_width::<T>();
    let panels = n.div_ceil(width);
    let work = m.saturating_mul(n).saturating_mul(2 * k.max(1));
    // Operations on operands of a batch run one after another within a task.
    let tasks = if parallel::worth_dividing(count.saturating_mul(work)) {
        (work / (PARALLEL_WORK / 2)).clamp(1, (4 * rayon::current_num_threads()).div_ceil(count))
    } else {
        1
    };
    // Columns first: a task then reads only its own part of the right operand.
    let column_parts = tasks.min(panels);
    let row_parts = tasks
        .div_ceil(column_parts)
        .min(m.div_ceil(tile_rows::<T>()));

    let c_data = parallel::SharedMut(c.data.as_mut_ptr());
    let product = |index: usize| {
        let [a_offset, b_offset, c_offset] = offsets(batch, index);
        Product {
            a: a.data.as_ptr().wrapping_add(a_offset),
            a_row: a.row_stride,
            a_col: a.col_stride,
            b: std::ptr::null(),
            b_row: width,
            b_panel: k * width,
            b_tail: std::ptr::null(),
            c: c_data.get().wrapping_add(c_offset),
            c_row: c.row_stride,
            c_col: c.col_stride,
            k,
            n,
            epilogue,
        }
        .with_right(b, b_offset)
    };
    let run = |product: &Product<'_, T>, piece: usize| {
        let rows = part(&(0..m), piece / column_parts, row_parts);
        let panels = part(&(0..panels), piece % column_parts, column_parts);
        // SAFETY: `check` found every element of A, B, C and the bias in place; the results of
        // different batches and pieces are disjoint.
        unsafe { product.run(rows, panels) };
    };
    let pieces = row_parts * column_parts;

    match b {
        Operand::Packed(_) => parallel::for_each(count * pieces, count.saturating_mul(work), |i| {
            run(&product(i / pieces), i % pieces);
        }),
        // Rows of the right operand can be read where they lie; copying pays with more reuse.
        Operand::Matrix(b) if b.col_stride == 1 && m <= 2 * tile_rows::<T>() => {
            let tail = if n.is_multiple_of(width) {
                0
            } else {
                k * width
            };
            parallel::for_each(count, count.saturating_mul(work), |i| {
                scratch::with(tail, |packed| {
                    let mut product = product(i);
                    if tail > 0 {
                        let b = batch_right(b, offsets(batch, i)[1]);
                        pack_panel(b, (panels - 1) * width..n, packed);
                        product.b_tail = packed.as_ptr();
                    }
                    parallel::for_each(pieces, work, |piece| run(&product, piece));
                });
            });
        }
        Operand::Matrix(b) => parallel::for_each(count, count.saturating_mul(work), |i| {
            scratch::with(packed_len::<T>(k, n), |packed| {
                pack_into(batch_right(b, offsets(batch, i)[1]), packed);
                let packed = Packed {
                    data: packed,
                    rows: k,
                    cols: n,
                };
                let product = product(i).with_right(Operand::Packed(packed), 0);
                parallel::for_each(pieces, work, |piece| run(&product, piece));
            });
        }),
    }
}

impl<T: Real> Product<'_, T> {
    /// Sets the right operand, `offset` elements into its slice.
    fn with_right(mut self, b: Operand<'_, T>, offset: usize) -> Self {
        let width = panel_width::<T>();
        let data = match b {
            Operand::Matrix(b) => {
                self.b_row = b.row_stride;
                self.b_panel = width;
                b.data
            }
            Operand::Packed(b) => {
                self.b_row = width;
                self.b_panel = b.rows * width;
                b.data
            }
        };
        self.b = data.as_ptr().wrapping_add(offset);
        self
    }
}

/// The right operand of one product of a batch. (One without elements may have any offset.)
fn batch_right<T>(b: MatRef<'_, T>, offset: usize) -> MatRef<'_, T> {
    MatRef {
        data: b.data.get(offset..).unwrap_or_default(),
        ..b
    }
}

/// Offsets of the operands A, B and C of the product with the given index; the last dimension of
/// the batch counts fastest.
fn offsets(batch: &[BatchDim], mut index: usize) -> [usize; 3] {
    let mut offsets = [0; 3];
    for d in batch.iter().rev() {
        let i = index % d.count;
        index /= d.count;
        offsets[0] += i * d.a;
        offsets[1] += i * d.b;
        offsets[2] += i * d.c;
    }
    offsets
}

/// Panics unless every element that the products touch is within its slice.
fn check<T: Real>(
    batch: &[BatchDim],
    a: MatRef<'_, T>,
    b: Operand<'_, T>,
    c: &MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) {
    let (m, n, k) = (c.rows, c.cols, a.cols);
    assert_eq!(a.rows, m, "matrix product: rows of A and C differ");
    assert_eq!(
        b.dims(),
        (k, n),
        "matrix product: B is not (columns of A) x (columns of C)"
    );
    match epilogue.bias {
        Bias::None => {}
        Bias::PerColumn(bias) => {
            assert_eq!(
                bias.len(),
                n,
                "matrix product: bias per column has another length"
            );
        }
        Bias::PerRow(bias) => {
            assert_eq!(
                bias.len(),
                m,
                "matrix product: bias per row has another length"
            );
        }
    }
    if batch.is_empty() {
        return;
    }
    assert!(
        batch.len() <= MAX_DIMS - 2,
        "batched product: more than {} dimensions",
        MAX_DIMS - 2
    );
    let within = |name: &str, len: usize, dims: [(usize, usize); 2], of: fn(&BatchDim) -> usize| {
        let mut all = [(1, 0); MAX_DIMS];
        all[..2].copy_from_slice(&dims);
        for (to, d) in all[2..].iter_mut().zip(batch) {
            *to = (d.count, of(d));
        }
        let needed = extent(&all);
        assert!(
            needed <= len,
            "batched product: {name} needs {needed} elements, its slice has {len}"
        );
        all
    };
    within(
        "A",
        a.data.len(),
        [(m, a.row_stride), (k, a.col_stride)],
        |d| d.a,
    );
    match b {
        Operand::Matrix(b) => {
            within(
                "B",
                b.data.len(),
                [(k, b.row_stride), (n, b.col_stride)],
                |d| d.b,
            );
        }
        Operand::Packed(b) => {
            within(
                "B",
                b.data.len(),
                [(packed_len::<T>(k, n), 1), (1, 0)],
                |d| d.b,
            );
        }
    }
    let dims = within(
        "C",
        c.data.len(),
        [(m, c.row_stride), (n, c.col_stride)],
        |d| d.c,
    );
    assert!(distinct(&dims), "batched product: results overlap");
}
