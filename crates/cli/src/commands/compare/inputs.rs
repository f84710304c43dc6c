//! The two files: how they are opened, and which tensor of one goes with which of the other.

use std::path::Path;

use tensoracle_tensorfile::{Element, Entry, Format, TensorFile, TensorFileError};

/// How a raw file's bytes are to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawFormat {
    element: Element,
    dims: Option<Vec<u64>>,
}

/// Reads `TYPE` or `TYPE:DIMxDIM…`.
pub(crate) fn parse_raw(text: &str) -> Result<RawFormat, String> {
    let (element, dims) = match text.split_once(':') {
        Some((element, dims)) => (element, Some(dims)),
        None => (text, None),
    };
    let element = element.parse().map_err(|error| format!("{error}"))?;
    let extent = |dim: &str| {
        dim.parse()
            .map_err(|_| format!("expected extents such as 1x3x224x224, found {dim:?}"))
    };
    let dims = dims
        .map(|dims| dims.split('x').map(extent).collect())
        .transpose()?;
    Ok(RawFormat { element, dims })
}

/// Opens candidate and reference.
pub(crate) fn open(
    paths: [&Path; 2],
    raw: &[RawFormat],
) -> Result<[TensorFile; 2], TensorFileError> {
    let is_raw = |path| !raw.is_empty() && Format::of_extension(path).is_none();
    // One format serves both; clap has no way to ask for at most two.
    let format = |side: usize| raw.get(side).or(raw.first());
    let [candidate, reference] = paths;
    let as_raw = |side: usize, shape: Option<&TensorFile>| {
        let path = paths[side];
        let Some(format) = format(side) else {
            return TensorFile::open(path);
        };
        let only = shape.and_then(|file| match file.entries() {
            [only] => Some(only.dims()),
            _ => None,
        });
        TensorFile::open_raw(path, format.element, format.dims.as_deref().or(only))
    };
    Ok(match (is_raw(candidate), is_raw(reference)) {
        (false, false) => [TensorFile::open(candidate)?, TensorFile::open(reference)?],
        (true, false) => {
            let reference = TensorFile::open(reference)?;
            [as_raw(0, Some(&reference))?, reference]
        }
        (false, true) => {
            let candidate = TensorFile::open(candidate)?;
            let reference = as_raw(1, Some(&candidate))?;
            [candidate, reference]
        }
        (true, true) => {
            let named = |side: usize| format(side).is_some_and(|format| format.dims.is_some());
            if named(0) {
                let candidate = as_raw(0, None)?;
                let reference = as_raw(1, Some(&candidate))?;
                [candidate, reference]
            } else {
                let reference = as_raw(1, None)?;
                [as_raw(0, named(1).then_some(&reference))?, reference]
            }
        }
    })
}

/// Two tensors that go together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) candidate: String,
    pub(crate) reference: String,
    /// Bytes of both.
    pub(crate) bytes: u64,
}

/// The tensors of two files by what they have in common.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Matched {
    /// In the reference's order.
    pub(crate) pairs: Vec<Pair>,
    /// Only in the reference.
    pub(crate) missing: Vec<String>,
    /// Only in the candidate.
    pub(crate) extra: Vec<String>,
}

/// Matches tensors by name; two files of one tensor each whatever its name.
pub(crate) fn matched(candidate: &TensorFile, reference: &TensorFile) -> Matched {
    let pair = |candidate: &Entry, reference: &Entry| Pair {
        candidate: candidate.name().to_owned(),
        reference: reference.name().to_owned(),
        bytes: bytes_of(candidate) + bytes_of(reference),
    };
    if let ([candidate], [reference]) = (candidate.entries(), reference.entries()) {
        return Matched {
            pairs: vec![pair(candidate, reference)],
            missing: Vec::new(),
            extra: Vec::new(),
        };
    }
    let mut matched = Matched {
        pairs: Vec::new(),
        missing: Vec::new(),
        extra: Vec::new(),
    };
    for entry in reference.entries() {
        match candidate.entry(entry.name()) {
            Some(found) => matched.pairs.push(pair(found, entry)),
            None => matched.missing.push(entry.name().to_owned()),
        }
    }
    let extra = candidate
        .entries()
        .iter()
        .filter(|entry| reference.entry(entry.name()).is_none());
    matched.extra = extra.map(|entry| entry.name().to_owned()).collect();
    matched
}

fn bytes_of(entry: &Entry) -> u64 {
    entry
        .element()
        .ok()
        .and_then(|element| element.bytes_for(entry.dims()))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_formats_are_read() {
        let raw = parse_raw("bf16:1x384").unwrap();
        assert_eq!((raw.element, raw.dims), (Element::BF16, Some(vec![1, 384])));
        assert_eq!(parse_raw("I64").unwrap().dims, None);
        assert!(
            parse_raw("F33")
                .unwrap_err()
                .contains("expected one of F64")
        );
        assert!(parse_raw("F32:1x").unwrap_err().contains("1x3x224x224"));
    }
}
