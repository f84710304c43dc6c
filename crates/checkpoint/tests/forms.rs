//! Honest files of unusual form: archives that other tools pack, pickles that older Pythons write.
//!
//! Expected values are the numbers that each test puts in. Not here: what torch itself writes, in
//! `torch_files.rs`, and files made to do harm, in `hostile.rs`.

mod forge;

use forge::{Zip, call, dict, global, int, ints, legacy, pickle, storage, tensor, text, tuple};
use std::collections::BTreeMap;
use tensoracle_checkpoint::{Error, Kind, Options, Problem, convert};
use tensoracle_progress::Silent;

fn attempt(bytes: &[u8], options: &Options) -> Result<BTreeMap<String, Vec<f32>>, Error> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    std::fs::write(&source, bytes).unwrap();
    let destination = folder.path().join("out.safetensors");
    convert(&source, &destination, options, &Silent)?;
    let bytes = std::fs::read(&destination).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    Ok(file
        .tensors()
        .into_iter()
        .map(|(name, tensor)| {
            let (elements, _) = tensor.data().as_chunks::<4>();
            let values = elements.iter().map(|bytes| f32::from_le_bytes(*bytes));
            (name, values.collect())
        })
        .collect())
}

/// The float tensors of a file by name.
fn read(bytes: &[u8]) -> BTreeMap<String, Vec<f32>> {
    attempt(bytes, &Options::default()).unwrap()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn fill(zip: Zip) -> Vec<u8> {
    let body = dict(&[text("w"), tensor(4, 1, &[2], &[2])]);
    zip.stored("model/data.pkl", &pickle(&body))
        .stored("model/data/0", &floats(&[1.0, 2.0, 3.0, 4.0]))
        .stored("model/version", b"3\n")
        .finish()
}

fn expected() -> BTreeMap<String, Vec<f32>> {
    BTreeMap::from([("w".into(), vec![2.0, 4.0])])
}

#[test]
fn archives_may_be_packed_in_any_way() {
    for zip64 in [false, true] {
        for descriptors in [false, true] {
            for alignment in [0, 64, 4096] {
                for comment in [&b""[..], b"PK\x05\x06 is how an end record starts"] {
                    let zip = Zip {
                        zip64,
                        descriptors,
                        alignment,
                        comment: comment.to_vec(),
                        ..Zip::default()
                    };
                    assert_eq!(read(&fill(zip)), expected());
                }
            }
        }
    }
    let folders = Zip::default()
        .stored("model/", b"")
        .stored("model/data/", b"")
        .stored("__MACOSX/model/._data.pkl", b"attributes");
    assert_eq!(read(&fill(folders)), expected());
    for order in ["little", "little\n"] {
        let marked = Zip::default().stored("model/byteorder", order.as_bytes());
        assert_eq!(read(&fill(marked)), expected());
    }
    let identified = Zip::default().stored("model/.data/serialization_id", &[b'1'; 40]);
    assert_eq!(read(&fill(identified)), expected());
}

#[test]
fn a_storage_may_end_with_bytes_of_no_element() {
    let body = dict(&[text("w"), tensor(1, 0, &[1], &[1])]);
    let zip = |bytes: &[u8]| {
        Zip::default()
            .stored("a/data.pkl", &pickle(&body))
            .stored("a/data/0", bytes)
            .finish()
    };
    let expected = BTreeMap::from([("w".to_owned(), vec![1.0])]);
    assert_eq!(read(&zip(&[0, 0, 0x80, 0x3f, 9, 9])), expected);
    assert!(attempt(&zip(&[0; 8]), &Options::default()).is_err());
}

#[test]
fn python_2_wrote_mappings_and_strings_differently() {
    // Its str is SHORT_BINSTRING, its OrderedDict a list of pairs, its large ints decimal lines.
    let str2 = |text: &str| {
        let mut out = vec![b'U', text.len() as u8];
        out.extend(text.as_bytes());
        out
    };
    let id = [
        str2("storage"),
        global("torch", "FloatStorage"),
        str2("94021"),
        str2("cpu"),
        b"I4\n".to_vec(),
        b"N".to_vec(),
    ];
    let weight = call(
        global("torch._utils", "_rebuild_tensor"),
        &[
            [tuple(&id), b"Q".to_vec()].concat(),
            b"I1\n".to_vec(),
            ints(&[3]),
            ints(&[1]),
        ],
    );
    let pair = [b"](".to_vec(), str2("w"), weight, b"e".to_vec()].concat();
    let pairs = [b"](".to_vec(), pair, b"e".to_vec()].concat();
    let body = call(global("collections", "OrderedDict"), &[pairs]);
    let keys = [b"](".to_vec(), str2("94021"), b"e".to_vec()].concat();
    let mut file = legacy(&body, &[]);
    // An empty list of keys was written as text: "](e" with protocol and stop around it.
    file.truncate(file.len() - pickle(b"](e").len());
    file.extend(pickle(&keys));
    file.extend(4i64.to_le_bytes());
    file.extend(floats(&[1.0, 2.0, 3.0, 4.0]));
    let expected = BTreeMap::from([("w".to_owned(), vec![2.0, 3.0, 4.0])]);
    assert_eq!(read(&file), expected);
}

#[test]
fn views_of_storages_start_where_they_say() {
    let with_view = |view: Vec<u8>| {
        let id = [
            text("storage"),
            global("torch.cuda", "FloatStorage"),
            text("7"),
            text("cuda:3"),
            int(6),
            view,
        ];
        call(
            global("torch._utils", "_rebuild_tensor"),
            &[
                [tuple(&id), b"Q".to_vec()].concat(),
                int(1),
                ints(&[2]),
                ints(&[1]),
            ],
        )
    };
    let body = dict(&[
        text("whole"),
        with_view(b"N".to_vec()),
        text("view"),
        with_view(tuple(&[text("8"), int(2), int(4)])),
    ]);
    let values = floats(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let expected = BTreeMap::from([
        ("view".to_owned(), vec![3.0, 4.0]),
        ("whole".to_owned(), vec![1.0, 2.0]),
    ]);
    assert_eq!(read(&legacy(&body, &[("7", 6, &values)])), expected);
}

#[test]
fn the_source_code_of_a_class_is_not_looked_at() {
    let module = [
        tuple(&[
            text("module"),
            global("__main__", "Net"),
            text("net.py"),
            text("import os"),
        ]),
        b"Q".to_vec(),
        tuple(&[]),
        vec![0x81],
        b"}b".to_vec(),
    ]
    .concat();
    let found = attempt(&legacy(&module, &[]), &Options::default()).unwrap_err();
    assert!(
        matches!(found, Error::InFile { problem: Problem::NotAMapping { found, .. }, .. }
        if found == "object of __main__.Net")
    );
}

#[test]
fn a_key_that_is_set_again_has_its_last_value() {
    let body = dict(&[
        text("w"),
        b"N".to_vec(),
        text("v"),
        tensor(4, 0, &[1], &[1]),
        text("w"),
        tensor(4, 3, &[1], &[1]),
    ]);
    let file = forge::checkpoint(&body);
    let expected = BTreeMap::from([("v".to_owned(), vec![1.0]), ("w".to_owned(), vec![4.0])]);
    assert_eq!(read(&file), expected);
}

#[test]
fn mappings_of_known_classes_are_mappings() {
    let weight = || tensor(4, 0, &[1], &[1]);
    let state = dict(&[text("_metadata"), dict(&[text("version"), int(1)])]);
    let inner = dict(&[text("w"), weight()]);
    for made in [
        // An OrderedDict with entries set later, and with attributes.
        [
            call(global("collections", "OrderedDict"), &[]),
            text("w"),
            weight(),
            b"s".to_vec(),
            state,
            b"b".to_vec(),
        ]
        .concat(),
        call(
            global("collections", "OrderedDict"),
            std::slice::from_ref(&inner),
        ),
        call(
            global("collections", "Counter"),
            std::slice::from_ref(&inner),
        ),
        call(global("builtins", "dict"), std::slice::from_ref(&inner)),
        [
            call(
                global("collections", "defaultdict"),
                &[global("__builtin__", "list")],
            ),
            text("w"),
            weight(),
            b"s".to_vec(),
        ]
        .concat(),
    ] {
        let file = forge::checkpoint(&made);
        assert_eq!(read(&file), BTreeMap::from([("w".to_owned(), vec![1.0])]));
        let nested = forge::checkpoint(&dict(&[text("a"), made]));
        assert_eq!(
            read(&nested),
            BTreeMap::from([("a.w".to_owned(), vec![1.0])])
        );
    }
}

#[test]
fn tensors_are_rebuilt_in_every_known_way() {
    let arguments = |storage: Vec<u8>| {
        [
            storage,
            int(1),
            call(global("torch", "Size"), &[ints(&[2])]),
            ints(&[1]),
            vec![0x88],
            b"}".to_vec(),
        ]
    };
    let floats = || storage("FloatStorage", "0", 4);
    let utils = |name| global("torch._utils", name);
    let v2 = || call(utils("_rebuild_tensor_v2"), &arguments(floats()));
    let with_flags = |flags: Vec<u8>| {
        let mut all = arguments(floats()).to_vec();
        all.push(flags);
        call(utils("_rebuild_tensor_v2"), &all)
    };
    // The storage has no type of its own, and 16 bytes.
    let mut untyped = arguments(storage("UntypedStorage", "0", 16)).to_vec();
    untyped.push(global("torch", "float32"));
    let typed = |class: &str| {
        call(
            global("torch._tensor", "_rebuild_from_type_v2"),
            &[
                utils("_rebuild_tensor_v2"),
                global("torch", class),
                tuple(&arguments(floats())),
                b"}".to_vec(),
            ],
        )
    };
    for made in [
        v2(),
        with_flags(b"N".to_vec()),
        with_flags(b"}".to_vec()),
        with_flags(dict(&[text("conj"), vec![0x89], text("neg"), vec![0x89]])),
        call(utils("_rebuild_tensor"), &arguments(floats())[..4]),
        call(utils("_rebuild_tensor_v3"), &untyped),
        call(
            utils("_rebuild_parameter"),
            &[v2(), vec![0x88], b"}".to_vec()],
        ),
        call(
            utils("_rebuild_parameter_with_state"),
            &[v2(), vec![0x88], b"}".to_vec(), b"}".to_vec()],
        ),
        typed("Tensor"),
        typed("FloatTensor"),
    ] {
        let file = forge::checkpoint(&dict(&[text("w"), made]));
        assert_eq!(
            read(&file),
            BTreeMap::from([("w".to_owned(), vec![2.0, 3.0])])
        );
    }
    for (made, kind) in [
        (
            with_flags(dict(&[text("conj"), vec![0x88]])),
            Kind::Tensor("tensor with its conjugate bit set"),
        ),
        (
            with_flags(dict(&[text("neg"), vec![0x88]])),
            Kind::Tensor("tensor with its negative bit set"),
        ),
        (
            call(utils("_rebuild_qtensor"), &arguments(floats())),
            Kind::Tensor("quantized tensor"),
        ),
        (
            call(
                global("torch._tensor", "_rebuild_from_type_v2"),
                &[
                    utils("_rebuild_tensor_v2"),
                    global("torchao.dtypes", "AffineQuantizedTensor"),
                    tuple(&arguments(floats())),
                    b"}".to_vec(),
                ],
            ),
            Kind::Object {
                global: "torchao.dtypes.AffineQuantizedTensor".into(),
            },
        ),
        (
            call(
                global("torch.storage", "_load_from_bytes"),
                &[text("bytes")],
            ),
            Kind::Tensor("tensor pickled without torch.save"),
        ),
    ] {
        let file = forge::checkpoint(&dict(&[text("w"), made]));
        match attempt(&file, &Options::default()).unwrap_err() {
            Error::Refused { refusal, .. } => {
                assert_eq!(refusal.entries.len(), 1);
                assert_eq!(refusal.entries[0].path.as_deref(), Some("w"));
                assert_eq!(refusal.entries[0].kind, kind);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn keys_with_dots_can_be_selected_and_two_meanings_are_refused() {
    let weight = |offset| tensor(4, offset, &[1], &[1]);
    let part = |offset| dict(&[text("w"), weight(offset)]);
    let body = dict(&[
        text("a.b"),
        part(0),
        text("a"),
        dict(&[text("b"), part(1), text("c"), part(2)]),
    ]);
    let file = forge::checkpoint(&body);
    let select = |path: &str| {
        let options = Options {
            select: vec![path.into()],
            ..Options::default()
        };
        attempt(&file, &options)
    };
    let expected = BTreeMap::from([("w".to_owned(), vec![3.0])]);
    assert_eq!(select("a.c").unwrap(), expected);
    assert!(matches!(
        select("a.b").unwrap_err(),
        Error::InFile { problem: Problem::SelectionAmbiguous { path }, .. } if path == "a.b"
    ));
    assert!(matches!(
        select("a.c.w").unwrap_err(),
        Error::InFile {
            problem: Problem::NotAMapping { .. },
            ..
        }
    ));
    let missing = select("a.d").unwrap_err().to_string();
    assert!(
        missing.contains("a.b") && missing.contains("a.c"),
        "{missing}"
    );
}

#[test]
fn other_files_are_named_for_what_they_are() {
    let named = |bytes: &[u8], name: &str| match attempt(bytes, &Options::default()).unwrap_err() {
        Error::InFile {
            problem: Problem::NotACheckpoint { found },
            ..
        } => assert!(found.contains(name), "{found}"),
        other => panic!("{other:?}"),
    };
    named(b"", "empty");
    named(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:12\n",
        "Git LFS",
    );
    named(b"\x40\0\0\0\0\0\0\0{\"w\":{}}", "safetensors");
    named(b"\n<!DOCTYPE html><html>", "HTML");
    named(b"<HTML><head>", "HTML");
    named(b"\x89HDF\r\n\x1a\n", "HDF5");
    named(b"\x93NUMPY\x01\0", "NumPy");
    named(b"GGUF\x03\0\0\0", "GGUF");
    named(b"\x1f\x8b\x08\0", "gzip");
    named(&[0; 600], "zeros");
    named(b"hello", "unknown");
    named(&pickle(b"}"), "bare pickle");
    named(
        &Zip::default().stored("readme", b"hello").finish(),
        "zip archive without",
    );
    named(&Zip::default().finish(), "zip archive without");
    named(
        &Zip::default().stored("data.pkl", b"\x80\x02}.").finish(),
        "zip archive without",
    );
}
