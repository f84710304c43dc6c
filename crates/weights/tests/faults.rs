//! Files that are not valid safetensors: each fault has its own error, whose message names what is
//! wrong.

mod common;

use common::{Folder, entry, file_bytes, tensors, told};
use std::fmt::Write as _;
use tensoracle_weights::{FileKind, HeaderFault, Read, Weights, WeightsError, WeightsOptions};

fn fault_of(error: WeightsError) -> HeaderFault {
    match error {
        WeightsError::Header { fault, .. } => fault,
        other => panic!("not about the header: {other}"),
    }
}

fn header_fault(bytes: &[u8]) -> HeaderFault {
    let folder = Folder::new();
    let path = folder.write("w.safetensors", bytes);
    let owned = WeightsOptions { read: Read::Owned };
    let fault = fault_of(Weights::open(&path).unwrap_err());
    assert_eq!(
        fault_of(Weights::open_with(&[path], owned).unwrap_err()),
        fault
    );
    fault
}

/// A file with a header of these entries and so many bytes of data.
fn with_entries(entries: &[String], data: usize) -> Vec<u8> {
    file_bytes(&format!("{{{}}}", entries.join(",")), &vec![0; data])
}

/// Every fault of a header, each in the file that shows it and nothing else.
fn faulty_headers() -> Vec<(&'static str, Vec<u8>)> {
    let valid = tensors(
        &[("a", "F32", &[2], &[0; 8]), ("b", "I8", &[3], &[0; 3])],
        0,
    );
    let cut = |len: usize| valid[..len].to_vec();
    let with_trailing = [&valid[..], b"\0\0"].concat();
    let one = |entry: String, data| with_entries(&[entry], data);
    vec![
        ("empty file", Vec::new()),
        ("file of 5 bytes", cut(5)),
        ("cut inside the header", cut(40)),
        ("cut inside the data", cut(valid.len() - 1)),
        ("trailing bytes", with_trailing),
        ("reserved and never written", vec![0; 64]),
        (
            "header beyond the limit",
            [&100_000_001u64.to_le_bytes()[..], &[b' '; 64]].concat(),
        ),
        (
            "header of 2^64 - 1 bytes",
            [&u64::MAX.to_le_bytes()[..], &[b' '; 64]].concat(),
        ),
        ("not UTF-8", {
            let mut bytes = valid.clone();
            bytes[10] = 0xff;
            bytes
        }),
        ("not JSON", file_bytes("{\"a\":", &[])),
        ("JSON of another shape", file_bytes("[1, 2]", &[])),
        (
            "entry without a shape",
            one(r#""a":{"dtype":"F32","data_offsets":[0,4]}"#.into(), 4),
        ),
        (
            "negative dim",
            one(
                r#""a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}"#.into(),
                4,
            ),
        ),
        (
            "metadata that is not text",
            one(r#""__metadata__":{"step":3}"#.into(), 0),
        ),
        (
            "name that stands twice",
            with_entries(
                &[entry("a", "I8", &[1], 0, 1), entry("a", "I8", &[1], 1, 2)],
                2,
            ),
        ),
        (
            "name that stands twice at the same bytes",
            with_entries(
                &[entry("a", "I8", &[1], 0, 1), entry("a", "I8", &[1], 0, 1)],
                1,
            ),
        ),
        (
            "metadata that stand twice",
            with_entries(
                &[r#""__metadata__":{}"#.into(), r#""__metadata__":{}"#.into()],
                0,
            ),
        ),
        ("unknown dtype", one(entry("a", "F128", &[1], 0, 16), 16)),
        (
            "dims that overflow",
            one(entry("a", "F32", &[1 << 40, 1 << 40], 0, 4), 4),
        ),
        (
            "bits that overflow",
            one(entry("a", "F64", &[1 << 60], 0, 8), 8),
        ),
        ("half a byte", one(entry("a", "F4", &[3], 0, 2), 2)),
        (
            "three quarters of a byte",
            one(entry("a", "F6_E2M3", &[5], 0, 4), 4),
        ),
        ("end before begin", one(entry("a", "I8", &[1], 4, 3), 4)),
        (
            "too few bytes for the shape",
            one(entry("a", "F32", &[3], 0, 8), 8),
        ),
        (
            "too many bytes for the shape",
            one(entry("a", "F32", &[1], 0, 8), 8),
        ),
        (
            "overlap",
            with_entries(
                &[entry("a", "I8", &[4], 0, 4), entry("b", "I8", &[4], 2, 6)],
                6,
            ),
        ),
        (
            "two tensors at the same bytes",
            with_entries(
                &[entry("a", "I8", &[4], 0, 4), entry("b", "I8", &[4], 0, 4)],
                4,
            ),
        ),
        (
            "gap",
            with_entries(
                &[entry("a", "I8", &[2], 0, 2), entry("b", "I8", &[2], 4, 6)],
                6,
            ),
        ),
        ("gap at the beginning", one(entry("a", "I8", &[2], 2, 4), 4)),
        (
            "offsets near 2^64",
            one(entry("a", "I8", &[1], u64::MAX - 1, u64::MAX), 4),
        ),
        (
            "a name that would repaint the terminal",
            one(entry("\\u001b[2J\\n", "F31", &[1], 0, 4), 4),
        ),
    ]
}

/// Files of other kinds, in the first bytes that their formats prescribe.
fn other_kinds() -> Vec<(FileKind, Vec<u8>)> {
    let zip = |name: &str| {
        let mut bytes = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
        bytes.extend_from_slice(&(name.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&[0, 0]);
        bytes.extend_from_slice(name.as_bytes());
        bytes.resize(512, 0);
        bytes
    };
    let mut tar = vec![b'x'; 512];
    tar[257..262].copy_from_slice(b"ustar");
    let pointer = "version https://git-lfs.github.com/spec/v1\n\
        oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n\
        size 90868376\n";
    vec![
        (FileKind::GitLfsPointer, pointer.into()),
        (FileKind::TorchZip, zip("archive/data.pkl")),
        (FileKind::Zip, zip("arr_0.npy")),
        (
            FileKind::Pickle,
            b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.".to_vec(),
        ),
        (
            FileKind::Pickle,
            b"\x80\x04\x95\x1a\0\0\0\0\0\0\0}".to_vec(),
        ),
        (FileKind::Tar, tar),
        (FileKind::Gzip, b"\x1f\x8b\x08\0\0\0\0\0\x02\xff".to_vec()),
        (FileKind::Hdf5, b"\x89HDF\r\n\x1a\n\0\0\0\0".to_vec()),
        (
            FileKind::Gguf,
            b"GGUF\x03\0\0\0\x23\x01\0\0\0\0\0\0".to_vec(),
        ),
        (
            FileKind::Npy,
            b"\x93NUMPY\x01\0v\0{'descr': '<f4'}".to_vec(),
        ),
        (
            FileKind::Html,
            b"\n<!DOCTYPE html><html><title>404</title>".to_vec(),
        ),
        (
            FileKind::Html,
            b"<HTML><body>Sign in</body></HTML>".to_vec(),
        ),
        (
            FileKind::Json,
            br#"{"weight_map": {"a": "model-1.safetensors"}}"#.to_vec(),
        ),
    ]
}

#[test]
fn every_header_fault_says_what_is_wrong() {
    let folder = Folder::new();
    let mut text = String::new();
    for (case, bytes) in faulty_headers() {
        let path = folder.write("w.safetensors", &bytes);
        let error = Weights::open(path).expect_err(case);
        let _ = writeln!(text, "{case}\n  {}\n", told(&folder, &error));
    }
    insta::assert_snapshot!(text);
}

/// The faults that the cases above show, by kind: none hides behind another.
#[test]
fn faults_are_told_apart() {
    let faults: Vec<HeaderFault> = faulty_headers()
        .iter()
        .map(|(_, bytes)| header_fault(bytes))
        .collect();
    let kind = std::mem::discriminant::<HeaderFault>;
    let mut kinds: Vec<_> = Vec::new();
    for fault in &faults {
        if !kinds.contains(&kind(fault)) {
            kinds.push(kind(fault));
        }
    }
    // All kinds but `OtherKind`.
    assert_eq!(kinds.len(), 16);
    let twice = |name: &str| HeaderFault::DuplicateName {
        name: name.to_owned(),
    };
    for expected in [
        twice("a"),
        twice("__metadata__"),
        HeaderFault::Empty,
        HeaderFault::NoHeader,
    ] {
        assert!(faults.contains(&expected), "{expected}");
    }
}

#[test]
fn other_kinds_of_file_are_recognised() {
    let folder = Folder::new();
    let mut text = String::new();
    for (kind, bytes) in other_kinds() {
        assert_eq!(FileKind::recognise(&bytes), Some(kind));
        assert_eq!(header_fault(&bytes), HeaderFault::OtherKind(kind));
        let path = folder.write("w.safetensors", &bytes);
        let _ = writeln!(text, "{}", told(&folder, &Weights::open(path).unwrap_err()));
    }
    insta::assert_snapshot!(text);
}

/// Any bytes may begin a safetensors file: one whose header's length reads "GGUF" is valid.
#[test]
fn a_valid_file_is_never_taken_for_another_kind() {
    let header = format!("{{}}{}", " ".repeat(0x8b1f - 2));
    let bytes = file_bytes(&header, &[]);
    assert_eq!(FileKind::recognise(&bytes), Some(FileKind::Gzip));
    let folder = Folder::new();
    assert!(
        Weights::open(folder.write("w.safetensors", bytes))
            .unwrap()
            .is_empty()
    );
}
