//! Checkpoints made byte by byte, honest or not: opcodes, zip archives, tar archives.
//!
//! What is left out: files that torch writes, which lie in `data`.

#![allow(dead_code, reason = "each test program uses a part of this")]

/// A string (BINUNICODE).
pub(crate) fn text(text: &str) -> Vec<u8> {
    let mut out = vec![b'X'];
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
    out
}

/// An integer (LONG1).
pub(crate) fn int(value: i64) -> Vec<u8> {
    let mut out = vec![0x8a, 8];
    out.extend(value.to_le_bytes());
    out
}

/// A global (GLOBAL).
pub(crate) fn global(module: &str, name: &str) -> Vec<u8> {
    format!("c{module}\n{name}\n").into_bytes()
}

/// A tuple of the values that `items` push.
pub(crate) fn tuple(items: &[Vec<u8>]) -> Vec<u8> {
    [b"(", items.concat().as_slice(), b"t"].concat()
}

/// A tuple of integers.
pub(crate) fn ints(values: &[i64]) -> Vec<u8> {
    tuple(&values.iter().map(|value| int(*value)).collect::<Vec<_>>())
}

/// A dictionary of the keys and values that `items` push.
pub(crate) fn dict(items: &[Vec<u8>]) -> Vec<u8> {
    [b"}(", items.concat().as_slice(), b"u"].concat()
}

/// `function(*arguments)`.
pub(crate) fn call(function: Vec<u8>, arguments: &[Vec<u8>]) -> Vec<u8> {
    [function, tuple(arguments), b"R".to_vec()].concat()
}

/// A storage by its persistent id.
pub(crate) fn storage(class: &str, key: &str, count: i64) -> Vec<u8> {
    let id = [
        text("storage"),
        global("torch", class),
        text(key),
        text("cpu"),
        int(count),
    ];
    [tuple(&id), b"Q".to_vec()].concat()
}

/// A float32 tensor of the storage "0" of `count` elements.
pub(crate) fn tensor(count: i64, offset: i64, sizes: &[i64], strides: &[i64]) -> Vec<u8> {
    call(
        global("torch._utils", "_rebuild_tensor_v2"),
        &[
            storage("FloatStorage", "0", count),
            int(offset),
            ints(sizes),
            ints(strides),
            vec![0x89],
            call(global("collections", "OrderedDict"), &[]),
        ],
    )
}

/// A whole pickle of what `body` pushes.
pub(crate) fn pickle(body: &[u8]) -> Vec<u8> {
    [&[0x80, 2], body, b"."].concat()
}

/// A zip checkpoint of `body`, with storage "0" of four floats.
pub(crate) fn checkpoint(body: &[u8]) -> Vec<u8> {
    let floats: Vec<u8> = [1f32, 2.0, 3.0, 4.0]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    Zip::default()
        .stored("a/data.pkl", &pickle(body))
        .stored("a/data/0", &floats)
        .finish()
}

/// The pickled layout with `body` and the storages behind it.
pub(crate) fn legacy(body: &[u8], storages: &[(&str, i64, &[u8])]) -> Vec<u8> {
    let magic = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
    let mut out = magic.to_vec();
    out.extend(pickle(&int(1001)));
    out.extend(pickle(b"}"));
    out.extend(pickle(body));
    let keys: Vec<u8> = storages.iter().flat_map(|(key, ..)| text(key)).collect();
    out.extend(pickle(&[b"](", keys.as_slice(), b"e"].concat()));
    for (_, count, bytes) in storages {
        out.extend(count.to_le_bytes());
        out.extend(*bytes);
    }
    out
}

/// A tar archive of the members.
pub(crate) fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, data) in members {
        let mut header = [0u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..136].copy_from_slice(format!("{:011o}\0", data.len()).as_bytes());
        header[156] = b'0';
        header[257..263].copy_from_slice(b"ustar\0");
        header[148..156].copy_from_slice(b"        ");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend(header);
        out.extend(*data);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

/// One record of an archive, as its headers describe it.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) size: u64,
    pub(crate) crc: u32,
    pub(crate) method: u16,
    pub(crate) flags: u16,
    /// Where the directory says the local header is, instead of where it is.
    pub(crate) header: Option<u64>,
}

/// A zip archive under construction.
#[derive(Default, Clone)]
pub(crate) struct Zip {
    pub(crate) records: Vec<Record>,
    /// Write sizes and offsets as zip64 extra fields and a zip64 end record.
    pub(crate) zip64: bool,
    /// Write sizes behind the data instead of before it.
    pub(crate) descriptors: bool,
    /// Align data to so many bytes, as torch does with an extra field of the local header.
    pub(crate) alignment: usize,
    pub(crate) comment: Vec<u8>,
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

impl Zip {
    pub(crate) fn stored(self, name: &str, bytes: &[u8]) -> Self {
        self.record(Record {
            name: name.into(),
            bytes: bytes.to_vec(),
            size: bytes.len() as u64,
            crc: crc(bytes),
            method: 0,
            flags: 0,
            header: None,
        })
    }

    pub(crate) fn deflated(self, name: &str, bytes: &[u8]) -> Self {
        use std::io::Write;
        let mut writer =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        writer.write_all(bytes).unwrap();
        self.record(Record {
            name: name.into(),
            bytes: writer.finish().unwrap(),
            size: bytes.len() as u64,
            crc: crc(bytes),
            method: 8,
            flags: 0,
            header: None,
        })
    }

    pub(crate) fn record(mut self, record: Record) -> Self {
        self.records.push(record);
        self
    }

    pub(crate) fn finish(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut directory = Vec::new();
        for record in &self.records {
            let at = out.len();
            self.write_local(record, &mut out);
            self.write_central(record, record.header.unwrap_or(at as u64), &mut directory);
        }
        let start = out.len() as u64;
        out.extend(&directory);
        self.write_end(start, directory.len() as u64, &mut out);
        out
    }

    fn flags(&self, record: &Record) -> u16 {
        record.flags | if self.descriptors { 8 } else { 0 }
    }

    fn write_local(&self, record: &Record, out: &mut Vec<u8>) {
        let compressed = record.bytes.len() as u32;
        let (crc, compressed, size) = match (self.descriptors, self.zip64) {
            (true, _) => (0, 0, 0),
            (false, true) => (record.crc, u32::MAX, u32::MAX),
            (false, false) => (record.crc, compressed, record.size as u32),
        };
        let mut extra = Vec::new();
        if self.zip64 {
            extra.extend([1, 0, 16, 0]);
            extra.extend(record.size.to_le_bytes());
            extra.extend((record.bytes.len() as u64).to_le_bytes());
        }
        if self.alignment > 0 {
            let unpadded = out.len() + 30 + record.name.len() + extra.len() + 4;
            let padding = unpadded.next_multiple_of(self.alignment) - unpadded;
            extra.extend(*b"FB");
            extra.extend((padding as u16).to_le_bytes());
            extra.extend(vec![b'Z'; padding]);
        }
        out.extend(b"PK\x03\x04\x14\0");
        out.extend(self.flags(record).to_le_bytes());
        out.extend(record.method.to_le_bytes());
        out.extend([0; 4]);
        out.extend(crc.to_le_bytes());
        out.extend(compressed.to_le_bytes());
        out.extend(size.to_le_bytes());
        out.extend((record.name.len() as u16).to_le_bytes());
        out.extend((extra.len() as u16).to_le_bytes());
        out.extend(record.name.as_bytes());
        out.extend(extra);
        out.extend(&record.bytes);
        if self.descriptors {
            out.extend(b"PK\x07\x08");
            out.extend(record.crc.to_le_bytes());
            out.extend((record.bytes.len() as u32).to_le_bytes());
            out.extend((record.size as u32).to_le_bytes());
        }
    }

    fn write_central(&self, record: &Record, header: u64, out: &mut Vec<u8>) {
        let narrow = |value: u64| {
            if self.zip64 {
                u32::MAX
            } else {
                u32::try_from(value).unwrap_or(u32::MAX)
            }
        };
        let mut extra = Vec::new();
        if self.zip64 {
            extra.extend([1, 0, 24, 0]);
            extra.extend(record.size.to_le_bytes());
            extra.extend((record.bytes.len() as u64).to_le_bytes());
            extra.extend(header.to_le_bytes());
        }
        out.extend(b"PK\x01\x02\x14\0\x14\0");
        out.extend(self.flags(record).to_le_bytes());
        out.extend(record.method.to_le_bytes());
        out.extend([0; 4]);
        out.extend(record.crc.to_le_bytes());
        out.extend(narrow(record.bytes.len() as u64).to_le_bytes());
        out.extend(narrow(record.size).to_le_bytes());
        out.extend((record.name.len() as u16).to_le_bytes());
        out.extend((extra.len() as u16).to_le_bytes());
        out.extend([0; 10]);
        out.extend(narrow(header).to_le_bytes());
        out.extend(record.name.as_bytes());
        out.extend(extra);
    }

    fn write_end(&self, start: u64, len: u64, out: &mut Vec<u8>) {
        let count = self.records.len() as u64;
        if self.zip64 {
            let at = out.len() as u64;
            out.extend(b"PK\x06\x06");
            out.extend(44u64.to_le_bytes());
            out.extend([0x2d, 0, 0x2d, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            for value in [count, count, len, start] {
                out.extend(value.to_le_bytes());
            }
            out.extend(b"PK\x06\x07\0\0\0\0");
            out.extend(at.to_le_bytes());
            out.extend(1u32.to_le_bytes());
        }
        let (count, len, start) = if self.zip64 {
            (u16::MAX, u32::MAX, u32::MAX)
        } else {
            (count as u16, len as u32, start as u32)
        };
        out.extend(b"PK\x05\x06\0\0\0\0");
        out.extend(count.to_le_bytes());
        out.extend(count.to_le_bytes());
        out.extend(len.to_le_bytes());
        out.extend(start.to_le_bytes());
        out.extend((self.comment.len() as u16).to_le_bytes());
        out.extend(&self.comment);
    }
}
