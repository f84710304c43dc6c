//! Where the elements of a view lie: pieces of other bytes, each with a stride for every axis.
//!
//! Transposing, slicing and concatenating only change where elements lie, and a cast only what is
//! made of each, so any tree of them comes down to a list of strided pieces of stored tensors.
//! Reshaping does too while the new axes split or join the old ones evenly; where they do not, the
//! reshaped tensor is written out once, which is the only copy beside the caller's buffer.

use crate::element::Element;
use crate::error::WeightsError;
use crate::file::WeightsFile;
use crate::materialise::materialise;
use crate::view::{Origin, WeightTensor};

/// A box of a tensor's elements, and where in some bytes they lie. All places and strides count
/// elements.
pub(crate) struct Piece<'a> {
    pub(crate) source: Source<'a>,
    /// The source's element type, then what it is cast to, step by step.
    pub(crate) casts: Vec<Element>,
    /// The box's first index along each axis of the tensor.
    pub(crate) start: Vec<u64>,
    /// The box's size along each axis.
    pub(crate) dims: Vec<u64>,
    /// Where the box's first element lies in the source.
    pub(crate) offset: u64,
    /// How far apart neighbours along each axis lie in the source.
    pub(crate) strides: Vec<u64>,
}

/// The bytes that a piece lies in.
pub(crate) enum Source<'a> {
    /// A stored tensor.
    Stored {
        file: &'a WeightsFile,
        position: usize,
    },
    /// A reshaped view, written out.
    Copied(Vec<u8>),
}

impl Source<'_> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Stored { file, position } => file.tensor_bytes(*position),
            Self::Copied(bytes) => bytes,
        }
    }
}

/// The pieces of a tensor that is cast step by step to `casts` afterwards. Together they cover it,
/// each element once.
pub(crate) fn pieces<'a>(
    tensor: &'a WeightTensor,
    casts: &[Element],
) -> Result<Vec<Piece<'a>>, WeightsError> {
    if tensor.element_count() == 0 {
        return Ok(Vec::new());
    }
    let dims = tensor.dims();
    match &tensor.node().origin {
        Origin::Stored { file, position } => {
            let casts = [&[tensor.element()], casts].concat();
            let source = Source::Stored {
                file,
                position: *position,
            };
            Ok(vec![Piece::whole(source, casts, dims)])
        }
        Origin::Cast(of) => pieces(of, &[&[tensor.element()], casts].concat()),
        Origin::Transpose { permutation, of } => {
            let mut pieces = pieces(of, casts)?;
            for piece in &mut pieces {
                for along in [&mut piece.start, &mut piece.dims, &mut piece.strides] {
                    *along = permutation.iter().map(|&axis| along[axis]).collect();
                }
            }
            Ok(pieces)
        }
        Origin::Slice { ranges, of } => {
            let mut pieces = pieces(of, casts)?;
            for piece in &mut pieces {
                for (axis, range) in ranges.iter().enumerate() {
                    let start = piece.start[axis].max(range.start);
                    let end = (piece.start[axis] + piece.dims[axis]).min(range.end);
                    piece.dims[axis] = end.saturating_sub(start);
                    if piece.dims[axis] > 0 {
                        piece.offset += (start - piece.start[axis]) * piece.strides[axis];
                        piece.start[axis] = start - range.start;
                    }
                }
            }
            pieces.retain(|piece| !piece.dims.contains(&0));
            Ok(pieces)
        }
        Origin::Concat { axis, of } => {
            let mut joined = Vec::new();
            let mut start = 0;
            for part in of {
                let mut pieces = pieces(part, casts)?;
                pieces
                    .iter_mut()
                    .for_each(|piece| piece.start[*axis] += start);
                joined.append(&mut pieces);
                start += part.dims()[*axis];
            }
            Ok(joined)
        }
        Origin::Reshape(of) => {
            let mut pieces = pieces(of, casts)?;
            if let [piece] = pieces.as_mut_slice()
                && let Some(strides) = restride(&piece.dims, &piece.strides, dims)
            {
                piece.start = vec![0; dims.len()];
                piece.dims = dims.to_vec();
                piece.strides = strides;
                return Ok(pieces);
            }
            let element = casts.last().copied().unwrap_or(of.element());
            let copy = materialise(&pieces, of, element)?;
            Ok(vec![Piece::whole(
                Source::Copied(copy),
                vec![element],
                dims,
            )])
        }
    }
}

impl<'a> Piece<'a> {
    /// All of a source that is row-major and packed.
    fn whole(source: Source<'a>, casts: Vec<Element>, dims: &[u64]) -> Self {
        Self {
            source,
            casts,
            start: vec![0; dims.len()],
            dims: dims.to_vec(),
            offset: 0,
            strides: row_major(dims),
        }
    }
}

/// The strides of packed elements with the last axis varying fastest. No dim may be zero.
pub(crate) fn row_major(dims: &[u64]) -> Vec<u64> {
    let mut stride = 1;
    let mut strides: Vec<u64> = dims
        .iter()
        .rev()
        .map(|dim| {
            let own = stride;
            stride *= dim;
            own
        })
        .collect();
    strides.reverse();
    strides
}

/// The strides under which a strided box has another shape with its elements in the same order;
/// `None` when no strides do. No dim may be zero.
fn restride(dims: &[u64], strides: &[u64], new_dims: &[u64]) -> Option<Vec<u64>> {
    // Axes that together run evenly through the source are one block; a new axis must lie within
    // one.
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    for (&dim, &stride) in dims.iter().zip(strides).filter(|&(&dim, _)| dim > 1) {
        match blocks.last_mut() {
            Some(block) if block.1 == dim * stride => *block = (block.0 * dim, stride),
            _ => blocks.push((dim, stride)),
        }
    }
    let (mut left, mut stride) = (1, 1);
    let mut new_strides = Vec::with_capacity(new_dims.len());
    for &dim in new_dims.iter().rev() {
        if dim > 1 && left == 1 {
            (left, stride) = blocks.pop()?;
        }
        if left % dim != 0 {
            return None;
        }
        new_strides.push(stride);
        stride *= dim;
        left /= dim;
    }
    new_strides.reverse();
    Some(new_strides)
}

/// The bytes of a tensor where they already lie row-major and packed.
pub(crate) fn contiguous(tensor: &WeightTensor) -> Option<&[u8]> {
    if tensor.element_count() == 0 {
        return Some(&[]);
    }
    match &tensor.node().origin {
        Origin::Stored { file, position } => Some(file.tensor_bytes(*position)),
        Origin::Reshape(of) => contiguous(of),
        Origin::Slice { ranges, of } => {
            // A run of the source: one index along the leading axes, a range along the next, all
            // of the rest.
            let leading = tensor.dims().iter().take_while(|&&dim| dim == 1).count();
            let whole_after = tensor.dims().iter().zip(of.dims()).skip(leading + 1);
            if whole_after.into_iter().any(|(dim, of_dim)| dim != of_dim) {
                return None;
            }
            let first: u64 = ranges
                .iter()
                .zip(row_major(of.dims()))
                .map(|(range, stride)| range.start * stride)
                .sum();
            let bits = tensor.element().bits();
            let (from, len) = (first * bits, tensor.element_count() * bits);
            if from % 8 != 0 || len % 8 != 0 {
                return None;
            }
            contiguous(of)?.get((from / 8) as usize..((from + len) / 8) as usize)
        }
        Origin::Cast(_) | Origin::Transpose { .. } | Origin::Concat { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strides that NumPy's no-copy reshape gives, or its refusal, for the same cases.
    #[test]
    fn axes_split_and_join_where_they_run_evenly() {
        assert_eq!(restride(&[6, 4], &[4, 1], &[2, 3, 4]), Some(vec![12, 4, 1]));
        assert_eq!(restride(&[6, 4], &[4, 1], &[24]), Some(vec![1]));
        assert_eq!(restride(&[6, 4], &[4, 1], &[8, 3]), Some(vec![3, 1]));
        assert_eq!(restride(&[4, 6], &[1, 4], &[24]), None);
        assert_eq!(restride(&[4, 6], &[1, 4], &[2, 2, 6]), Some(vec![2, 1, 4]));
        assert_eq!(
            restride(&[4, 6], &[1, 4], &[4, 1, 3, 2]),
            Some(vec![1, 24, 8, 4])
        );
        assert_eq!(restride(&[4, 6], &[1, 4], &[8, 3]), None);
        assert_eq!(restride(&[], &[], &[1, 1]), Some(vec![1, 1]));
        assert_eq!(restride(&[1, 1], &[9, 9], &[]), Some(vec![]));
        // A slice of columns: rows do not join.
        assert_eq!(restride(&[3, 2], &[5, 1], &[6]), None);
        assert_eq!(restride(&[3, 2], &[5, 1], &[3, 1, 2]), Some(vec![5, 2, 1]));
    }
}
