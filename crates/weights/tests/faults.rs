//! Files that are not valid weights: each fault has its own error, whose message names what is
//! wrong.

mod common;

use common::{Folder, entry, file_bytes, tensors};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tensoracle_weights::{
    FileKind, HeaderFault, IndexFault, Read, Weights, WeightsError, WeightsOptions,
};

/// Message and hint, with the folder left out.
fn told(folder: &Folder, error: &WeightsError) -> String {
    let mut text = error.to_string();
    if let Some(hint) = error.hint() {
        let _ = write!(text, "\n  hint: {hint}");
    }
    text.replace(&format!("{}/", folder.path().display()), "")
        .replace(&folder.path().display().to_string(), "FOLDER")
}

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

/// As an index: the map from tensors to shards.
fn index(entries: &[(&str, &str)]) -> String {
    let entries: Vec<String> = entries
        .iter()
        .map(|(name, shard)| format!("\"{name}\":\"{shard}\""))
        .collect();
    format!(
        r#"{{"metadata":{{"total_size":1}},"weight_map":{{{}}}}}"#,
        entries.join(",")
    )
}

const INDEX: &str = "model.safetensors.index.json";

/// A folder with two shards: `a`, `b` in the first and `c` in the second.
fn shards() -> Folder {
    let folder = Folder::new();
    let first = tensors(&[("a", "I8", &[2], &[1, 2]), ("b", "I8", &[1], &[3])], 1);
    folder.write("model-1.safetensors", first);
    folder.write(
        "model-2.safetensors",
        tensors(&[("c", "I8", &[3], &[4, 5, 6])], 4),
    );
    folder
}

#[test]
fn every_index_fault_says_what_is_wrong() {
    let (one, two) = ("model-1.safetensors", "model-2.safetensors");
    let cases = [
        ("not JSON", "{".to_owned()),
        ("no map", "{}".to_owned()),
        (
            "shard that is no text",
            r#"{"weight_map":{"a":1}}"#.to_owned(),
        ),
        ("no tensors", index(&[])),
        (
            "a pointer",
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\n".to_owned(),
        ),
        ("name that stands twice", index(&[("a", one), ("a", two)])),
        ("shard outside", index(&[("a", "../model-1.safetensors")])),
        ("absolute shard", index(&[("a", "/model-1.safetensors")])),
        (
            "missing shards",
            index(&[
                ("a", one),
                ("x", "model-4.safetensors"),
                ("y", "model-3.safetensors"),
            ]),
        ),
        (
            "tensors that are not there",
            index(&[("a", one), ("x", one), ("c", two), ("y", two)]),
        ),
        ("tensor in another shard", index(&[("a", two), ("c", two)])),
    ];
    let folder = shards();
    let mut text = String::new();
    for (case, json) in cases {
        let path = folder.write(INDEX, json);
        let error = Weights::open(path).expect_err(case);
        assert!(
            matches!(error, WeightsError::Index { .. }),
            "{case}: {error:?}"
        );
        let _ = writeln!(text, "{case}\n  {}\n", told(&folder, &error));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn missing_shards_and_tensors_are_all_listed() {
    let folder = shards();
    let open = |entries: &[(&str, &str)]| match Weights::open(folder.write(INDEX, index(entries))) {
        Err(WeightsError::Index { fault, .. }) => fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        open(&[
            ("p", "2.safetensors"),
            ("q", "1.safetensors"),
            ("c", "model-2.safetensors")
        ]),
        IndexFault::MissingShards {
            shards: vec!["1.safetensors".into(), "2.safetensors".into()],
            total: 3
        }
    );
    assert_eq!(
        open(&[
            ("a", "model-2.safetensors"),
            ("z", "model-1.safetensors"),
            ("b", "model-1.safetensors")
        ]),
        IndexFault::MissingTensors {
            names: vec!["a".into(), "z".into()],
            total: 3
        }
    );
}

#[test]
fn a_sharded_folder_opens_by_index_or_folder_or_files() {
    let folder = shards();
    let (one, two) = ("model-1.safetensors", "model-2.safetensors");
    let path = folder.write(INDEX, index(&[("a", one), ("b", one), ("c", two)]));
    let files = [folder.path().join(one), folder.path().join(two)];
    for weights in [
        Weights::open(&path).unwrap(),
        Weights::open(folder.path()).unwrap(),
        Weights::open_all(&files).unwrap(),
    ] {
        assert_eq!(weights.names().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(weights.tensor("b").unwrap().bytes(), Some(&[3][..]));
        assert_eq!(weights.tensor("c").unwrap().to_vec().unwrap(), [4, 5, 6]);
        assert_eq!(weights.stamps().len(), 2);
    }
}

#[test]
fn errors_about_opening_say_what_was_opened() {
    let folder = shards();
    let empty = Folder::new();
    let one = folder.path().join("model-1.safetensors");
    let copy = folder.write("copy.safetensors", std::fs::read(&one).unwrap());
    let told_by = |paths: &[PathBuf]| {
        let error = Weights::open_all(paths).unwrap_err();
        told(&empty, &error).replace(&format!("{}/", folder.path().display()), "")
    };
    insta::assert_snapshot!(
        [
            told_by(&[]),
            told_by(&[folder.path().join("absent.safetensors")]),
            told_by(&[empty.path().to_path_buf()]),
            told_by(&[Path::new("/dev/null").to_path_buf()]),
            told_by(&[one, copy]),
        ]
        .join("\n")
    );
}

#[test]
fn a_missing_tensor_names_near_ones() {
    let folder = Folder::new();
    let names = [
        "encoder.0.query.weight",
        "encoder.0.query.bias",
        "encoder.1.query.weight",
        "pooler",
    ];
    let list: Vec<(&str, &str, &[u64], &[u8])> = names
        .iter()
        .map(|name| (*name, "I8", &[1][..], &[0][..]))
        .collect();
    let weights = Weights::open(folder.write("w.safetensors", tensors(&list, 0))).unwrap();
    let told_of = |name: &str| told(&folder, &weights.tensor(name).unwrap_err());
    insta::assert_snapshot!(
        [
            told_of("encoder.0.qeury.weight"),
            told_of("model.pooler"),
            told_of("query.bias"),
            told_of("something else entirely"),
            told_of(""),
        ]
        .join("\n")
    );
}

#[test]
fn views_that_do_not_fit_say_both_shapes() {
    use tensoracle_weights::{Element, WeightTensor};
    let folder = Folder::new();
    let bytes = tensors(
        &[
            ("m", "F32", &[2, 3], &[0; 24]),
            ("h", "F16", &[2, 3], &[0; 12]),
            ("n", "F32", &[2, 2], &[0; 16]),
            ("c", "C64", &[1], &[0; 8]),
            ("six", "F6_E3M2", &[4, 2], &[0; 6]),
            ("d", "F64", &[1], &[0; 8]),
            ("none", "U8", &[0, 1 << 40, 1 << 23], &[]),
        ],
        0,
    );
    let weights = Weights::open(folder.write("w.safetensors", bytes)).unwrap();
    let tensor = |name: &str| weights.tensor(name).unwrap();
    let m = tensor("m");
    let concat = |axis, names: &[&str]| {
        WeightTensor::concat(
            axis,
            &names.iter().map(|name| tensor(name)).collect::<Vec<_>>(),
        )
    };
    let errors = [
        m.transpose(&[0, 0]).unwrap_err(),
        m.transpose(&[0]).unwrap_err(),
        m.reshape(&[4, 2]).unwrap_err(),
        m.reshape(&[u64::MAX, u64::MAX]).unwrap_err(),
        m.reshape(&[]).unwrap_err(),
        m.slice(&[0..1, 0..1, 0..1]).unwrap_err(),
        m.slice(&[0..2, 1..4]).unwrap_err(),
        #[allow(clippy::reversed_empty_ranges)]
        m.narrow(1, 2..1).unwrap_err(),
        m.narrow(2, 0..1).unwrap_err(),
        m.transpose(&[1, 0])
            .unwrap()
            .cast(Element::C64)
            .unwrap_err(),
        tensor("c").cast(Element::F32).unwrap_err(),
        tensor("six").cast(Element::F32).unwrap_err(),
        tensor("six").transpose(&[1, 0]).unwrap_err(),
        tensor("six").narrow(0, 0..2).unwrap_err(),
        concat(0, &[]).unwrap_err(),
        concat(2, &["m", "m"]).unwrap_err(),
        concat(0, &["m", "n"]).unwrap_err(),
        concat(1, &["m", "n", "h"]).unwrap_err(),
        tensor("c").into_constant().unwrap_err(),
        tensor("d").into_constant().unwrap_err(),
        m.read(&mut [0; 23]).unwrap_err(),
    ];
    let told: Vec<String> = errors.iter().map(|error| told(&folder, error)).collect();
    insta::assert_snapshot!(told.join("\n"));
    // A tensor without elements may have dims whose product overflows.
    let none = tensor("none")
        .transpose(&[2, 1, 0])
        .unwrap()
        .cast(Element::F64)
        .unwrap();
    assert_eq!((none.element_count(), none.byte_len()), (0, 0));
    assert!(none.to_vec().unwrap().is_empty());
    assert!(
        concat(0, &["none", "none"])
            .unwrap()
            .to_vec()
            .unwrap()
            .is_empty()
    );
    assert!(tensor("six").reshape(&[8]).unwrap().bytes().is_some());
}

#[test]
fn values_that_a_cast_cannot_keep_are_located() {
    use tensoracle_weights::Element;
    let folder = Folder::new();
    let words: Vec<u8> = [1i64, 300, -1, 70_000]
        .iter()
        .flat_map(|w| w.to_le_bytes())
        .collect();
    let bytes = tensors(
        &[
            ("i", "I64", &[2, 2], &words),
            ("b", "BOOL", &[3], &[1, 0, 2]),
            ("f", "F32", &[2], &common::f32s([2.0, 2.5])),
            ("n", "F32", &[1], &common::f32s([f32::NAN])),
        ],
        2,
    );
    let weights = Weights::open(folder.write("w.safetensors", bytes)).unwrap();
    let told_of = |name: &str, to| {
        let view = weights.tensor(name).unwrap().cast(to).unwrap();
        told(&folder, &view.to_vec().unwrap_err())
    };
    let across = weights.tensor("i").unwrap().transpose(&[1, 0]).unwrap();
    let shaped = across.reshape(&[4]).unwrap().reshape(&[1, 4]).unwrap();
    insta::assert_snapshot!(
        [
            told_of("i", Element::U8),
            told(
                &folder,
                &across.cast(Element::U8).unwrap().to_vec().unwrap_err()
            ),
            told(
                &folder,
                &shaped.cast(Element::U16).unwrap().to_vec().unwrap_err()
            ),
            told_of("b", Element::I32),
            told_of("f", Element::I32),
            told_of("n", Element::F4),
            told_of("f", Element::F8_E8M0),
        ]
        .join("\n")
    );
}
