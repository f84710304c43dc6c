//! The innermost loop of moving elements: from evenly spaced places to evenly spaced places, as
//! bytes, so that nothing need be aligned.

/// The places of one innermost loop, in elements from the beginning of the chunk and of the
/// source.
pub(crate) struct Places {
    pub(crate) size: usize,
    pub(crate) to: usize,
    pub(crate) to_stride: usize,
    pub(crate) from: usize,
    pub(crate) from_stride: usize,
}

impl Places {
    pub(crate) fn each(&self, mut visit: impl FnMut(usize, usize)) {
        for step in 0..self.size {
            visit(
                self.to + step * self.to_stride,
                self.from + step * self.from_stride,
            );
        }
    }

    /// Elements of `N` bytes as they are.
    pub(crate) fn copy<const N: usize>(&self, source: &[u8], out: &mut [u8]) {
        if self.to_stride == 1 && self.from_stride == 1 {
            let len = self.size * N;
            out[self.to * N..][..len].copy_from_slice(&source[self.from * N..][..len]);
        } else {
            self.map(source, out, |bytes: [u8; N]| bytes);
        }
    }

    /// Elements of `N` bytes made into elements of `M` bytes.
    pub(crate) fn map<const N: usize, const M: usize>(
        &self,
        source: &[u8],
        out: &mut [u8],
        convert: impl Fn([u8; N]) -> [u8; M],
    ) {
        let from = source[self.from * N..]
            .as_chunks::<N>()
            .0
            .iter()
            .step_by(self.from_stride);
        let to = out[self.to * M..]
            .as_chunks_mut::<M>()
            .0
            .iter_mut()
            .step_by(self.to_stride);
        for (to, from) in to.zip(from).take(self.size) {
            *to = convert(*from);
        }
    }
}

/// The bits of one element; elements of four bits fill a byte from its low half.
pub(crate) fn load(bytes: &[u8], bits: u64, index: usize) -> u64 {
    if bits < 8 {
        return u64::from(bytes[index / 2] >> (4 * (index % 2)) & 0xf);
    }
    let width = (bits / 8) as usize;
    let mut word = [0; 8];
    word[..width].copy_from_slice(&bytes[index * width..][..width]);
    u64::from_le_bytes(word)
}

/// Puts the bits of one element in its place.
pub(crate) fn store(bytes: &mut [u8], bits: u64, index: usize, value: u64) {
    if bits < 8 {
        let shift = 4 * (index % 2);
        let byte = &mut bytes[index / 2];
        *byte = *byte & !(0xf << shift) | (value as u8) << shift;
        return;
    }
    let width = (bits / 8) as usize;
    bytes[index * width..][..width].copy_from_slice(&value.to_le_bytes()[..width]);
}
