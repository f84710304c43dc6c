//! What is drawn of a comparison: how the error runs along the tensor, and where in its worst
//! slice it lies. A second pass, made only for whoever draws.

use crate::block::{BLOCK, Block};
use crate::comparison::{check, position};
use crate::{CompareError, TensorRef};
use rayon::prelude::*;
use std::ops::Range;

/// Most pieces that the error is shown for along the index.
const PIECES: usize = 240;

/// Most cells of a heat map along each side.
const CELLS: usize = 64;

/// The error along the row-major index, and over one slice.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Drawing {
    /// Consecutive pieces that cover the tensor.
    pub pieces: Vec<Piece>,
    /// The slice over the last two dimensions that holds the chosen element; `None` for tensors
    /// of less than two dimensions.
    pub slice: Option<Slice>,
}

/// A run of elements.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Piece {
    /// The row-major indices of its elements.
    pub range: Range<u64>,
    /// Largest `|candidate − reference|` where both are finite.
    pub max: f64,
    /// Root of the mean squared error where both are finite.
    pub rms: f64,
    /// Positions where one side is not finite and the other is something else.
    pub nonfinite: u64,
}

/// Errors over a matrix, by cells that may gather several elements.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Slice {
    /// The position of the slice in the dimensions before the last two.
    pub position: Vec<u64>,
    /// The extents of the slice: rows and columns.
    pub dims: [u64; 2],
    /// Rows of cells.
    pub rows: usize,
    /// Cells in a row.
    pub columns: usize,
    /// The largest error in each cell, row by row; infinite where one side is not finite and the
    /// other is something else.
    pub cells: Vec<f64>,
}

impl Drawing {
    /// Looks at two tensors again. The slice is the one that holds the element at index `around`,
    /// usually the worst.
    ///
    /// # Errors
    /// As [`compare_outputs`](crate::compare_outputs).
    pub fn of(
        candidate: TensorRef<'_>,
        reference: TensorRef<'_>,
        around: u64,
    ) -> Result<Self, CompareError> {
        check(candidate, reference)?;
        let pair = Pair {
            candidate,
            reference,
        };
        Ok(Self {
            pieces: pair.pieces(),
            slice: pair.slice(around),
        })
    }
}

struct Pair<'a> {
    candidate: TensorRef<'a>,
    reference: TensorRef<'a>,
}

impl Pair<'_> {
    /// Calls `each` with the error of every element in `range`: NaN where both sides are the same
    /// NaN or infinity, infinite where only one is not finite.
    fn errors(&self, range: Range<usize>, mut each: impl FnMut(f64)) {
        let mut block = Block::zero();
        for start in range.clone().step_by(BLOCK) {
            let end = range.end.min(start + BLOCK);
            block.load(self.candidate, self.reference, start..end);
            for i in 0..end - start {
                let (c, r) = (block.candidate[i], block.reference[i]);
                each(match (c.is_finite(), r.is_finite()) {
                    (true, true) => block.difference[i].abs(),
                    _ if c == r || c.is_nan() && r.is_nan() => f64::NAN,
                    _ => f64::INFINITY,
                });
            }
        }
    }

    fn pieces(&self) -> Vec<Piece> {
        let count = self.candidate.count() as usize;
        let length = count.div_ceil(PIECES);
        let pieces = (0..count.div_ceil(length)).into_par_iter().map(|piece| {
            let range = piece * length..count.min((piece + 1) * length);
            let (mut max, mut squares, mut finite, mut nonfinite) = (0.0f64, 0.0, 0u64, 0);
            // Plain squares are enough for a line on a page.
            self.errors(range.clone(), |error| {
                if error.is_finite() {
                    max = max.max(error);
                    squares += error * error;
                    finite += 1;
                } else if !error.is_nan() {
                    nonfinite += 1;
                }
            });
            let rms = (squares / finite.max(1) as f64).sqrt().min(max);
            Piece {
                range: range.start as u64..range.end as u64,
                max,
                rms,
                nonfinite,
            }
        });
        pieces.collect()
    }

    fn slice(&self, around: u64) -> Option<Slice> {
        let dims = self.candidate.dims();
        let &[ref outer @ .., rows, columns] = dims else {
            return None;
        };
        let area = rows.checked_mul(columns)?;
        let index = around.checked_div(area)?;
        let start = usize::try_from(index.checked_mul(area)?).ok()?;
        let (row_count, column_count) =
            (usize::try_from(rows).ok()?, usize::try_from(columns).ok()?);
        let (down, across) = (row_count.min(CELLS), column_count.min(CELLS));
        // Even division: cell i gathers the elements e with ⌊e · cells / extent⌋ = i.
        let rows_of = |cell: usize| {
            (cell * row_count).div_ceil(down)..((cell + 1) * row_count).div_ceil(down)
        };
        let cells: Vec<Vec<f64>> = (0..down)
            .into_par_iter()
            .map(|cell| {
                let mut line = vec![0.0f64; across];
                for row in rows_of(cell) {
                    let first = start + row * column_count;
                    let mut column = 0;
                    self.errors(first..first + column_count, |error| {
                        let place = &mut line[column * across / column_count];
                        // `max` passes over the NaN of equal values.
                        *place = place.max(error);
                        column += 1;
                    });
                }
                line
            })
            .collect();
        Some(Slice {
            position: position(outer, index),
            dims: [rows, columns],
            rows: down,
            columns: across,
            cells: cells.concat(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_cells_show_the_error_where_it_is() {
        let dims = [3, 200, 130];
        let count = 3 * 200 * 130;
        let reference: Vec<f32> = (0..count).map(|i| (i % 97) as f32).collect();
        let mut candidate = reference.clone();
        let at = 2 * 200 * 130 + 150 * 130 + 129;
        candidate[at] += 3.0;
        candidate[at + 1] = f32::NAN;
        let drawing = Drawing::of(
            TensorRef::of(&dims, &candidate).unwrap(),
            TensorRef::of(&dims, &reference).unwrap(),
            at as u64,
        )
        .unwrap();

        let covered: u64 = drawing
            .pieces
            .iter()
            .map(|p| p.range.end - p.range.start)
            .sum();
        assert_eq!(covered, count as u64);
        for piece in &drawing.pieces {
            let inside = piece.range.contains(&(at as u64));
            assert_eq!(piece.max, if inside { 3.0 } else { 0.0 });
            assert_eq!(
                piece.nonfinite,
                u64::from(piece.range.contains(&(at as u64 + 1)))
            );
        }
        let slice = drawing.slice.unwrap();
        assert_eq!((slice.position, slice.dims), (vec![2], [200, 130]));
        assert_eq!((slice.rows, slice.columns), (64, 64));
        // Row 150 of 200 is in cell 150·64/200 = 48, the next in the same; columns 129 and 0.
        for (cell, &error) in slice.cells.iter().enumerate() {
            let expected = match cell {
                cell if cell == 48 * 64 + 63 => 3.0,
                cell if cell == 48 * 64 => f64::INFINITY,
                _ => 0.0,
            };
            assert_eq!(error, expected, "cell {cell}");
        }
    }

    #[test]
    fn vectors_have_pieces_and_no_slice() {
        let drawing = Drawing::of(
            TensorRef::of(&[3], &[1i64, 2, i64::MAX]).unwrap(),
            TensorRef::of(&[3], &[1i64, 2, i64::MAX - 1]).unwrap(),
            0,
        )
        .unwrap();
        assert_eq!(drawing.slice, None);
        assert_eq!(
            drawing.pieces.iter().map(|p| p.max).collect::<Vec<_>>(),
            [0.0, 0.0, 1.0]
        );
    }
}
