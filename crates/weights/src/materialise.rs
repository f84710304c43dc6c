//! Writing the elements of a view: strided pieces copied and cast into a packed buffer, in chunks
//! on all cores.
//!
//! Nothing is aligned: elements are moved as bytes.

use crate::convert::{ConvertFault, convert};
use crate::element::Element;
use crate::error::WeightsError;
use crate::layout::{Piece, Source, contiguous, pieces, row_major};
use crate::places::{Places, load, store};
use crate::view::WeightTensor;
use half::{bf16, f16};
use rayon::prelude::*;

/// Bytes of the buffer that one task writes. A multiple of every element's size, small enough to
/// stay in a core's cache while it is filled in any order.
const CHUNK: usize = 1 << 20;

/// Elements of a row that are copied before the next row's when the source runs across the rows:
/// as many cache lines of the source stay in the nearest cache.
const TILE: u64 = 128;

impl WeightTensor {
    /// The elements as they lie in the file, where they lie there as [`read`](Self::read) writes
    /// them: for a stored tensor, a reshaped one, and a slice that is one run of elements. They
    /// begin at any address.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        contiguous(self)
    }

    /// Writes the elements, row-major, packed, little-endian.
    ///
    /// # Errors
    /// [`WeightsError::BufferSize`] when `out` is not of [`byte_len`](Self::byte_len) bytes,
    /// [`WeightsError::Convert`] for the first value that a cast cannot keep (`out` then holds
    /// anything), [`WeightsError::OutOfMemory`].
    pub fn read(&self, out: &mut [u8]) -> Result<(), WeightsError> {
        let (expected, found) = (self.byte_len(), out.len() as u64);
        if expected != found {
            return Err(WeightsError::BufferSize {
                tensor: self.describe(),
                expected,
                found,
            });
        }
        if let Some(bytes) = self.bytes() {
            let chunks = out.par_chunks_mut(CHUNK).zip(bytes.par_chunks(CHUNK));
            chunks.for_each(|(out, bytes)| out.copy_from_slice(bytes));
            return Ok(());
        }
        fill(&pieces(self, &[])?, self.dims(), self.element(), out)
    }

    /// The elements, row-major, packed, little-endian.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn to_vec(&self) -> Result<Vec<u8>, WeightsError> {
        let mut out = zeroed(self, self.byte_len())?;
        self.read(&mut out)?;
        Ok(out)
    }
}

/// The elements of `tensor`, given its pieces, of the type that these end with.
pub(crate) fn materialise(
    pieces: &[Piece<'_>],
    tensor: &WeightTensor,
    element: Element,
) -> Result<Vec<u8>, WeightsError> {
    let bytes = element
        .bytes_for(tensor.element_count())
        .unwrap_or(u64::MAX);
    let mut out = zeroed(tensor, bytes)?;
    fill(pieces, tensor.dims(), element, &mut out)?;
    Ok(out)
}

fn zeroed(tensor: &WeightTensor, bytes: u64) -> Result<Vec<u8>, WeightsError> {
    let no_memory = || WeightsError::OutOfMemory {
        tensor: tensor.describe(),
        bytes,
    };
    let len = usize::try_from(bytes).map_err(|_| no_memory())?;
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(len).map_err(|_| no_memory())?;
    buffer.resize(len, 0);
    Ok(buffer)
}

/// Writes pieces that cover a tensor of shape `dims` to `out`.
fn fill(
    pieces: &[Piece<'_>],
    dims: &[u64],
    element: Element,
    out: &mut [u8],
) -> Result<(), WeightsError> {
    // Half a byte may be left over at the end, which no element writes.
    if let Some(last) = out.last_mut() {
        *last = 0;
    }
    let copies: Vec<StridedCopy<'_>> = pieces
        .iter()
        .map(|piece| StridedCopy::new(piece, dims))
        .collect();
    let elements_per_chunk = CHUNK as u64 * 8 / element.bits();
    let fault = out
        .par_chunks_mut(CHUNK)
        .enumerate()
        .filter_map(|(position, bytes)| {
            let begin = position as u64 * elements_per_chunk;
            let end = begin + bytes.len() as u64 * 8 / element.bits();
            let mut chunk = Chunk {
                bytes,
                begin,
                end,
                fault: None,
            };
            for (piece, copy) in copies.iter().enumerate() {
                chunk.walk(copy, piece, &copy.axes, copy.to, copy.from);
            }
            chunk.fault
        })
        .min_by_key(|fault| fault.to);
    match fault {
        None => Ok(()),
        Some(Fault {
            piece, from, fault, ..
        }) => Err(locate(&pieces[piece].source, from, fault)),
    }
}

/// Says where in its stored tensor a value stands that could not be cast.
fn locate(source: &Source<'_>, from: u64, fault: ConvertFault) -> WeightsError {
    match source {
        Source::Stored { file, position } => {
            let tensor = file.tensor(*position);
            let strides = row_major(&tensor.dims);
            let index = strides
                .iter()
                .zip(&tensor.dims)
                .map(|(stride, dim)| from / stride % dim)
                .collect();
            let (name, path) = (tensor.name.clone(), file.path().to_path_buf());
            WeightsError::Convert {
                name,
                path,
                index,
                fault,
            }
        }
        // Casts are done when a reshaped view is written out, never after.
        Source::Copied(_) => unreachable!("a written-out view has no casts left"),
    }
}

/// A piece as nested loops: elements at `from` of the source go to `to` of the buffer, and so on
/// along each axis. The buffer's strides are those of disjoint rows: the inner axes together reach
/// less far than one step of the outer.
struct StridedCopy<'a> {
    source: &'a [u8],
    casts: &'a [Element],
    axes: Vec<Axis>,
    to: u64,
    from: u64,
}

/// One loop.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Axis {
    size: u64,
    to: u64,
    from: u64,
}

impl<'a> StridedCopy<'a> {
    fn new(piece: &'a Piece<'_>, dims: &[u64]) -> Self {
        let to_strides = row_major(dims);
        let mut axes: Vec<Axis> = Vec::new();
        for ((&size, &to), &from) in piece.dims.iter().zip(&to_strides).zip(&piece.strides) {
            if size == 1 {
                continue;
            }
            match axes.last_mut() {
                // Loops that run on evenly on both sides are one loop.
                Some(outer) if outer.to == size * to && outer.from == size * from => {
                    *outer = Axis {
                        size: outer.size * size,
                        to,
                        from,
                    };
                }
                _ => axes.push(Axis { size, to, from }),
            }
        }
        if axes.is_empty() {
            axes.push(Axis {
                size: 1,
                to: 1,
                from: 1,
            });
        }
        let to = piece
            .start
            .iter()
            .zip(&to_strides)
            .map(|(start, stride)| start * stride)
            .sum();
        Self {
            source: piece.source.bytes(),
            casts: &piece.casts,
            axes,
            to,
            from: piece.offset,
        }
    }
}

/// A value that could not be cast.
struct Fault {
    /// Its place in the buffer.
    to: u64,
    /// Its place in the source of its piece.
    from: u64,
    piece: usize,
    fault: ConvertFault,
}

/// Elements `begin..end` of the buffer.
struct Chunk<'a> {
    bytes: &'a mut [u8],
    begin: u64,
    end: u64,
    /// The first fault in the buffer's order.
    fault: Option<Fault>,
}

impl Chunk<'_> {
    /// Runs through the part of a copy's loops that writes to this chunk.
    fn walk(&mut self, copy: &StridedCopy<'_>, piece: usize, axes: &[Axis], to: u64, from: u64) {
        let Some((axis, inner)) = axes.split_first() else {
            return;
        };
        let reach: u64 = inner.iter().map(|axis| (axis.size - 1) * axis.to).sum();
        let first = self.begin.saturating_sub(to + reach).div_ceil(axis.to);
        let past = self.end.saturating_sub(to).div_ceil(axis.to).min(axis.size);
        if first >= past {
            return;
        }
        match inner {
            [] => {
                let (to, from) = (to + first * axis.to, from + first * axis.from);
                self.run(
                    copy,
                    piece,
                    &Axis {
                        size: past - first,
                        ..*axis
                    },
                    to,
                    from,
                );
            }
            // The source runs across the rows: tiles instead of rows, so that what one row brings
            // into the cache the next rows find there.
            [row] if row.from > axis.from && row.size > TILE => {
                for tile in (0..row.size).step_by(TILE as usize) {
                    let tile_axis = Axis {
                        size: TILE.min(row.size - tile),
                        ..*row
                    };
                    for step in first..past {
                        let to = to + step * axis.to + tile * row.to;
                        let from = from + step * axis.from + tile * row.from;
                        self.walk(copy, piece, std::slice::from_ref(&tile_axis), to, from);
                    }
                }
            }
            inner => {
                for step in first..past {
                    self.walk(
                        copy,
                        piece,
                        inner,
                        to + step * axis.to,
                        from + step * axis.from,
                    );
                }
            }
        }
    }

    /// The innermost loop, wholly within this chunk.
    fn run(&mut self, copy: &StridedCopy<'_>, piece: usize, axis: &Axis, to: u64, from: u64) {
        use Element::{BF16, F16, F32, F64};
        let places = Places {
            size: axis.size as usize,
            to: (to - self.begin) as usize,
            to_stride: axis.to as usize,
            from: from as usize,
            from_stride: axis.from as usize,
        };
        let (out, source) = (&mut *self.bytes, copy.source);
        let half = |bytes| f16::from_le_bytes(bytes);
        let brain = |bytes| bf16::from_le_bytes(bytes);
        let single = |bytes| f32::from_le_bytes(bytes);
        match *copy.casts {
            // What real models need gets a loop of its own. Each is one rounding, because the
            // 16-bit types fit in an `f32` whole.
            [F32, F16] => places.map(source, out, |b| f16::from_f32(single(b)).to_le_bytes()),
            [F32, BF16] => places.map(source, out, |b| bf16::from_f32(single(b)).to_le_bytes()),
            [F16, F32] => places.map(source, out, |b| half(b).to_f32().to_le_bytes()),
            [BF16, F32] => places.map(source, out, |b| brain(b).to_f32().to_le_bytes()),
            [F16, BF16] => {
                places.map(source, out, |b| {
                    bf16::from_f32(half(b).to_f32()).to_le_bytes()
                });
            }
            [BF16, F16] => {
                places.map(source, out, |b| {
                    f16::from_f32(brain(b).to_f32()).to_le_bytes()
                });
            }
            [F64, F32] => {
                places.map(source, out, |b| {
                    (f64::from_le_bytes(b) as f32).to_le_bytes()
                });
            }
            [element] => match element.bits() {
                8 => places.copy::<1>(source, out),
                16 => places.copy::<2>(source, out),
                32 => places.copy::<4>(source, out),
                64 => places.copy::<8>(source, out),
                bits => places.each(|to, from| store(out, bits, to, load(source, bits, from))),
            },
            _ => {
                let fault = &mut self.fault;
                let begin = self.begin;
                let (first, last) = (copy.casts[0], copy.casts[copy.casts.len() - 1]);
                places.each(|to, from| {
                    let bits = load(source, first.bits(), from);
                    let steps = copy.casts.windows(2);
                    match steps
                        .into_iter()
                        .try_fold(bits, |bits, s| convert(bits, s[0], s[1]))
                    {
                        Ok(bits) => store(out, last.bits(), to, bits),
                        Err(found) => {
                            let to = begin + to as u64;
                            if fault.as_ref().is_none_or(|fault| to < fault.to) {
                                *fault = Some(Fault {
                                    to,
                                    from: from as u64,
                                    piece,
                                    fault: found,
                                });
                            }
                        }
                    }
                });
            }
        }
    }
}
