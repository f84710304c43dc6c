//! The header of a `.npy` array, read and written.
//!
//! The format: NumPy Enhancement Proposal 1 and the `numpy.lib.format` documentation, versions
//! 1.0, 2.0 and 3.0. What is left out: structured and object types.

use crate::{Element, Entry, Place};
use std::ops::Range;

/// The first bytes of every array.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The longest header that is read, magic and version included. NumPy itself refuses to evaluate
/// more than 10 000 characters unless told otherwise.
pub(crate) const MAX_HEADER: usize = 1 << 16;

/// Arrays begin at a multiple of this many bytes, so that a mapped one is aligned.
const ALIGNMENT: usize = 64;

/// Dimensions that NumPy 2 allows an array.
const MAX_RANK: usize = 64;

/// How an array's elements lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    /// First dimension fastest, as Fortran has it.
    pub(crate) column_major: bool,
    /// Most significant byte first.
    pub(crate) big_endian: bool,
}

impl Order {
    /// Whether an array of these dimensions has the same bytes in row-major little-endian order.
    pub(crate) fn is_direct(self, dims: &[u64], element: Element) -> bool {
        let one_line = dims.iter().filter(|&&dim| dim != 1).count() <= 1 || dims.contains(&0);
        (!self.column_major || one_line) && (!self.big_endian || element.size() == 1)
    }
}

/// A header's contents and its length.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) element: Result<Element, String>,
    pub(crate) dims: Vec<u64>,
    pub(crate) order: Order,
    /// Bytes before the first element.
    pub(crate) len: usize,
}

/// The entry for an array that is a whole file.
pub(crate) fn entry(bytes: &[u8], name: String) -> Result<Entry, String> {
    entry_at(bytes, 0..bytes.len(), name)
}

/// The entry for an array that lies uncompressed at `range` of a file.
pub(crate) fn entry_at(file: &[u8], range: Range<usize>, name: String) -> Result<Entry, String> {
    let Header {
        element,
        dims,
        order,
        len,
    } = Header::read(&file[range.clone()])?;
    let start = range.start + len;
    let Ok(known) = element else {
        // Never read, so never measured.
        return Ok(Entry {
            name,
            element,
            dims,
            place: Place::Direct(start..start),
        });
    };
    let available = range.end - start;
    let needed = known
        .bytes_for(&dims)
        .and_then(|bytes| usize::try_from(bytes).ok());
    let Some(needed) = needed.filter(|&needed| needed <= available) else {
        return Err(format!(
            "{available} bytes follow the header; {known} of shape {dims:?} takes more"
        ));
    };
    // What follows the array is left alone, as NumPy does: a file may hold several in a row.
    let range = start..start + needed;
    let place = if order.is_direct(&dims, known) {
        Place::Direct(range)
    } else {
        Place::Rearranged { range, order }
    };
    Ok(Entry {
        name,
        element,
        dims,
        place,
    })
}

impl Header {
    /// Reads the header at the beginning of `bytes`.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err("it does not begin with the magic bytes of an array".to_owned());
        };
        let (text_start, text_len) = match rest {
            [1, _, a, b, ..] => (10, usize::from(u16::from_le_bytes([*a, *b]))),
            [2 | 3, _, a, b, c, d, ..] => {
                let len = u32::from_le_bytes([*a, *b, *c, *d]);
                (12, usize::try_from(len).unwrap_or(usize::MAX))
            }
            [version, ..] if *version == 0 || *version > 3 => {
                return Err(format!(
                    "its format version is {version}; expected 1, 2 or 3"
                ));
            }
            _ => return Err("it ends inside the header".to_owned()),
        };
        if text_len > MAX_HEADER - text_start {
            return Err(format!(
                "its header takes {text_len} bytes; at most {MAX_HEADER} are read"
            ));
        }
        let len = text_start + text_len;
        let text = bytes
            .get(text_start..len)
            .ok_or("it ends inside the header")?;
        let text = std::str::from_utf8(text).map_err(|_| "its header is no text")?;
        Literal { rest: text }.header(len)
    }
}

/// A reader of the one Python literal that a header is:
/// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    fn header(mut self, len: usize) -> Result<Header, String> {
        let (mut descr, mut column_major, mut dims) = (None, None, None);
        self.expect('{')?;
        while !self.accept('}') {
            let key = self.string()?;
            self.expect(':')?;
            match key {
                "descr" => descr = Some(self.descr()?),
                "fortran_order" => column_major = Some(self.boolean()?),
                "shape" => dims = Some(self.dims()?),
                _ => return Err(format!("its header has an unknown key `{key}`")),
            }
            if !self.accept(',') {
                self.expect('}')?;
                break;
            }
        }
        if !self.rest.trim().is_empty() {
            return Err("its header goes on after the closing brace".to_owned());
        }
        let descr = descr.ok_or("its header lacks `descr`")?;
        let column_major = column_major.ok_or("its header lacks `fortran_order`")?;
        let dims = dims.ok_or("its header lacks `shape`")?;
        let (big_endian, element) = element_of(&descr);
        Ok(Header {
            element,
            dims,
            order: Order {
                column_major,
                big_endian,
            },
            len,
        })
    }

    fn accept(&mut self, expected: char) -> bool {
        match self.rest.trim_start().strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, expected: char) -> Result<(), String> {
        if self.accept(expected) {
            return Ok(());
        }
        let found: String = self.rest.trim_start().chars().take(16).collect();
        Err(format!(
            "its header has `{found}` where `{expected}` was expected"
        ))
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = if self.accept('"') {
            '"'
        } else {
            self.expect('\'')?;
            '\''
        };
        let (text, rest) = self
            .rest
            .split_once(quote)
            .ok_or("its header ends in a string")?;
        self.rest = rest;
        Ok(text)
    }

    /// A type's name; a structured type as its source text, which no element type has.
    fn descr(&mut self) -> Result<String, String> {
        if self.rest.trim_start().starts_with('[') {
            let end = self.rest.find(']').ok_or("its header ends in a list")?;
            let (list, rest) = self.rest.split_at(end + 1);
            self.rest = rest;
            return Ok(list.trim().to_owned());
        }
        self.string().map(str::to_owned)
    }

    fn boolean(&mut self) -> Result<bool, String> {
        let text = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = text.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err("its header's `fortran_order` is neither True nor False".to_owned())
    }

    fn dims(&mut self) -> Result<Vec<u64>, String> {
        let mut dims = Vec::new();
        self.expect('(')?;
        while !self.accept(')') {
            let text = self.rest.trim_start();
            let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, rest) = text.split_at(digits);
            dims.push(
                number
                    .parse()
                    .map_err(|_| "its header's `shape` is no tuple of extents")?,
            );
            // Python 2 wrote long integers with a suffix.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if dims.len() > MAX_RANK {
                return Err(format!(
                    "its header's `shape` has more than {MAX_RANK} dimensions"
                ));
            }
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(dims)
    }
}

/// Whether a `descr` says big-endian, and its element type.
fn element_of(descr: &str) -> (bool, Result<Element, String>) {
    let (big_endian, name) = match descr.as_bytes() {
        [b'>', ..] => (true, &descr[1..]),
        [b'<' | b'|' | b'=', ..] => (false, &descr[1..]),
        _ => (false, descr),
    };
    let element = Element::ALL
        .into_iter()
        .find(|&element| code(element) == Some(name));
    (big_endian, element.ok_or_else(|| descr.to_owned()))
}

/// NumPy's type code without its byte order; `None` for types that NumPy lacks.
const fn code(element: Element) -> Option<&'static str> {
    match element {
        Element::F64 => Some("f8"),
        Element::F32 => Some("f4"),
        Element::F16 => Some("f2"),
        Element::I8 => Some("i1"),
        Element::I16 => Some("i2"),
        Element::I32 => Some("i4"),
        Element::I64 => Some("i8"),
        Element::U8 => Some("u1"),
        Element::U16 => Some("u2"),
        Element::U32 => Some("u4"),
        Element::U64 => Some("u8"),
        Element::BOOL => Some("b1"),
        Element::BF16 | Element::F8_E4M3 | Element::F8_E5M2 => None,
    }
}

/// The header of a row-major array, a multiple of 64 bytes long; `None` where NumPy has no such
/// type.
pub(crate) fn header(element: Element, dims: &[u64]) -> Option<Vec<u8>> {
    let byte_order = if element.size() == 1 { '|' } else { '<' };
    let code = code(element)?;
    let shape: Vec<String> = dims.iter().map(u64::to_string).collect();
    let shape = match &shape[..] {
        [one] => format!("({one},)"),
        shape => format!("({})", shape.join(", ")),
    };
    let mut text =
        format!("{{'descr': '{byte_order}{code}', 'fortran_order': False, 'shape': {shape}, }}");
    // Version 1 states the length in 16 bits: ample for 64 dimensions of 20 digits.
    let before = MAGIC.len() + 4;
    let len = (before + text.len() + 1).next_multiple_of(ALIGNMENT) - before;
    text.extend(std::iter::repeat_n(' ', len - 1 - text.len()));
    text.push('\n');
    let len = u16::try_from(text.len()).ok()?;
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend(len.to_le_bytes());
    header.extend(text.as_bytes());
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_text(text: &str) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    }

    #[test]
    fn headers_that_numpy_writes_are_read() {
        let text = "{'descr': '>f8', 'fortran_order': True, 'shape': (3, 4), }       \n";
        let header = Header::read(&with_text(text)).unwrap();
        assert_eq!(header.element, Ok(Element::F64));
        assert_eq!(header.dims, [3, 4]);
        assert_eq!(
            header.order,
            Order {
                column_major: true,
                big_endian: true
            }
        );
        assert_eq!(header.len, 10 + text.len());

        let scalar = "{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n";
        let header = Header::read(&with_text(scalar)).unwrap();
        assert_eq!((header.element, header.dims), (Ok(Element::BOOL), vec![]));

        let old = "{'shape': (5L,), 'fortran_order': False, 'descr': '<i4'}";
        assert_eq!(Header::read(&with_text(old)).unwrap().dims, [5]);

        let structured = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }";
        let header = Header::read(&with_text(structured)).unwrap();
        assert_eq!(header.element, Err("[('a', '<f4')]".to_owned()));
    }

    #[test]
    fn headers_that_are_none_are_refused_with_the_reason() {
        for (text, reason) in [
            ("", "`{` was expected"),
            ("{'descr': '<f4', 'shape': (1,)}", "lacks `fortran_order`"),
            (
                "{'descr': '<f4', 'fortran_order': 1, 'shape': (1,)}",
                "neither True nor False",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
                "no tuple of extents",
            ),
            ("{'descr': '<f4", "ends in a string"),
            ("{'x': 1}", "unknown key `x`"),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} + 1",
                "goes on",
            ),
        ] {
            let error = Header::read(&with_text(text)).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
        let error = Header::read(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").unwrap_err();
        assert!(error.contains("4294967295"), "{error}");
        assert!(Header::read(b"\x93NUMPY\x01\x00\xff").is_err());
        assert!(
            Header::read(b"\x93NUMPY\x04\x00\x00\x00")
                .unwrap_err()
                .contains("version is 4")
        );
    }

    #[test]
    fn written_headers_end_at_a_multiple_of_64_and_are_read_back() {
        for element in Element::ALL {
            for dims in [&[][..], &[7], &[2, 3, u64::MAX]] {
                let Some(bytes) = header(element, dims) else {
                    assert!(element.name().contains("F8") || element == Element::BF16);
                    continue;
                };
                assert_eq!(bytes.len() % 64, 0);
                let read = Header::read(&bytes).unwrap();
                assert_eq!((read.element, &read.dims[..]), (Ok(element), dims));
                assert_eq!(
                    read.order,
                    Order {
                        column_major: false,
                        big_endian: false
                    }
                );
            }
        }
    }
}
