//! Elements of a strided view, in the order of a contiguous tensor, a piece at a time.
//!
//! What is left out: where the view's bytes come from, and any change to them.

/// A strided view with as few dimensions as describe it, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gather {
    /// Size of an element in bytes.
    size: usize,
    /// Sizes and strides, outermost first; strides in bytes. Without dimensions: one element.
    dims: Vec<(u64, u64)>,
}

impl Gather {
    /// The view of `shape` with `strides` (in elements of `size` bytes). No dimension is empty,
    /// and the last element's place fits in 64 bits.
    pub(crate) fn new(shape: &[u64], strides: &[u64], size: usize) -> Self {
        let mut dims: Vec<(u64, u64)> = Vec::new();
        for (extent, stride) in shape.iter().zip(strides) {
            if *extent == 1 {
                continue;
            }
            let stride = stride * size as u64;
            match dims.last_mut() {
                // The outer dimension steps exactly over the inner one: the two are one.
                Some(outer) if Some(outer.1) == extent.checked_mul(stride) => {
                    *outer = (outer.0 * extent, stride);
                }
                _ => dims.push((*extent, stride)),
            }
        }
        Self { size, dims }
    }

    /// Copies the elements from number `first` into `out`, whose length is a multiple of the
    /// element's size. `source` starts at element 0 of the view.
    pub(crate) fn copy(&self, source: &[u8], first: u64, out: &mut [u8]) {
        match self.size {
            1 => self.copy_sized::<1>(source, first, out),
            2 => self.copy_sized::<2>(source, first, out),
            4 => self.copy_sized::<4>(source, first, out),
            _ => self.copy_sized::<8>(source, first, out),
        }
    }

    fn copy_sized<const SIZE: usize>(&self, source: &[u8], first: u64, out: &mut [u8]) {
        let (out, _) = out.as_chunks_mut::<SIZE>();
        let Some(((inner, stride), outer)) = self.dims.split_last() else {
            if let Some(out) = out.first_mut() {
                out.copy_from_slice(&source[..SIZE]);
            }
            return;
        };
        // Place of the first element, innermost dimension last.
        let mut place: Vec<u64> = vec![0; outer.len()];
        let mut in_row = first % inner;
        let mut rest = first / inner;
        for (place, (extent, _)) in place.iter_mut().zip(outer).rev() {
            *place = rest % extent;
            rest /= extent;
        }
        let mut out = out;
        while !out.is_empty() {
            let row: u64 = place
                .iter()
                .zip(outer)
                .map(|(place, (_, stride))| place * stride)
                .sum();
            let count = usize::try_from(inner - in_row)
                .unwrap_or(usize::MAX)
                .min(out.len());
            let (now, later) = out.split_at_mut(count);
            copy_row(source, row + in_row * stride, *stride, now);
            out = later;
            in_row = 0;
            for (place, (extent, _)) in place.iter_mut().zip(outer).rev() {
                *place += 1;
                if *place < *extent {
                    break;
                }
                *place = 0;
            }
        }
    }
}

fn copy_row<const SIZE: usize>(source: &[u8], start: u64, stride: u64, out: &mut [[u8; SIZE]]) {
    let (start, stride) = (start as usize, stride as usize);
    if stride == SIZE {
        let bytes = out.as_flattened_mut();
        bytes.copy_from_slice(&source[start..start + bytes.len()]);
        return;
    }
    for (number, element) in out.iter_mut().enumerate() {
        let at = start + number * stride;
        element.copy_from_slice(&source[at..at + SIZE]);
    }
}

/// Reverses the bytes of each `size` bytes of `bytes`.
pub(crate) fn swap_bytes(bytes: &mut [u8], size: usize) {
    if size > 1 {
        for element in bytes.chunks_exact_mut(size) {
            element.reverse();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The elements by the definition of strides, one by one.
    fn by_definition(source: &[u8], shape: &[u64], strides: &[u64], size: usize) -> Vec<u8> {
        let count: u64 = shape.iter().product();
        let mut out = Vec::new();
        for number in 0..count {
            let (mut rest, mut at) = (number, 0);
            for (extent, stride) in shape.iter().zip(strides).rev() {
                at += rest % extent * stride;
                rest /= extent;
            }
            let at = at as usize * size;
            out.extend_from_slice(&source[at..at + size]);
        }
        out
    }

    fn check(shape: &[u64], strides: &[u64], size: usize) {
        let last: u64 = shape.iter().zip(strides).map(|(n, s)| (n - 1) * s).sum();
        let source: Vec<u8> = (0..(last as usize + 1) * size)
            .map(|at| (at * 31 % 251) as u8)
            .collect();
        let expected = by_definition(&source, shape, strides, size);
        let gather = Gather::new(shape, strides, size);
        for piece in [1, 2, 3, 7, 1000] {
            let mut found = vec![0; expected.len()];
            for (number, out) in found.chunks_mut(piece * size).enumerate() {
                gather.copy(&source, (number * piece) as u64, out);
            }
            assert_eq!(
                found, expected,
                "{shape:?} {strides:?} in pieces of {piece}"
            );
        }
    }

    #[test]
    fn pieces_of_any_view_agree_with_the_definition() {
        for size in [1, 2, 4, 8] {
            check(&[], &[], size);
            check(&[5], &[1], size);
            check(&[5], &[3], size);
            check(&[4, 3], &[3, 1], size);
            check(&[4, 3], &[1, 4], size);
            check(&[2, 3, 4], &[1, 8, 2], size);
            check(&[2, 3], &[0, 0], size);
            check(&[3, 2, 2], &[0, 2, 1], size);
            check(&[1, 4, 1, 3], &[99, 3, 7, 1], size);
            check(&[2, 3, 4, 5], &[60, 1, 15, 3], size);
            check(&[3, 4], &[2, 3], size);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_view_agrees_with_the_definition(
            dims in proptest::collection::vec((1u64..6, 0u64..40), 0..5),
            size in proptest::sample::select(vec![1usize, 2, 4, 8]),
        ) {
            let (shape, strides): (Vec<u64>, Vec<u64>) = dims.into_iter().unzip();
            check(&shape, &strides, size);
        }
    }

    #[test]
    fn dimensions_that_follow_each_other_become_one() {
        let merged = |shape: &[u64], strides: &[u64]| Gather::new(shape, strides, 4).dims;
        assert_eq!(merged(&[], &[]), []);
        assert_eq!(merged(&[1, 1], &[5, 9]), []);
        assert_eq!(merged(&[2, 3, 4], &[12, 4, 1]), [(24, 4)]);
        assert_eq!(merged(&[2, 1, 4], &[4, 77, 1]), [(8, 4)]);
        assert_eq!(merged(&[5, 2, 3], &[1, 30, 10]), [(5, 4), (6, 40)]);
        assert_eq!(merged(&[4, 3], &[1, 4]), [(4, 4), (3, 16)]);
        assert_eq!(merged(&[2, 3], &[0, 0]), [(6, 0)]);
    }

    #[test]
    fn swapping_reverses_each_element() {
        let mut bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        swap_bytes(&mut bytes, 4);
        assert_eq!(bytes, [4, 3, 2, 1, 8, 7, 6, 5]);
        swap_bytes(&mut bytes, 1);
        assert_eq!(bytes, [4, 3, 2, 1, 8, 7, 6, 5]);
    }
}
