//! Small files that stand for much: deep, repeated, doubled.
//!
//! What is left out: what is wrong in any size, in `pickles`.

use crate::forge::{call, checkpoint, dict, global, storage, tensor, text, tuple};
use crate::judge::{attempt, entries, one_tensor, pickle_problem, refuse, too_much, turn};
use tensoracle_checkpoint::{Error, Kind, Options};
use tensoracle_progress::Silent;

#[test]
fn memory_is_bounded_whatever_the_opcodes() {
    let _turn = turn();
    let million = |unit: &[u8]| unit.repeat(3_000_000 / unit.len().min(4));
    assert!(too_much(&checkpoint(&million(b"N"))));
    assert!(too_much(&checkpoint(&million(b"("))));
    assert!(too_much(&checkpoint(&million(b"]"))));
    assert!(too_much(&checkpoint(&million(b"]0"))));
    assert!(too_much(&checkpoint(&million(b"}0"))));
    assert!(too_much(&checkpoint(&million(b"]Na0"))));
    assert!(too_much(&checkpoint(&million(b"}NNs0"))));
    assert!(too_much(&checkpoint(&million(b"NNN\x870"))));
    assert!(too_much(&checkpoint(
        &[b"N", million(b"\x94").as_slice()].concat()
    )));
    // Names, all different.
    let globals: Vec<u8> = (0..400_000)
        .flat_map(|n| global("m", &n.to_string()))
        .collect();
    assert!(too_much(&checkpoint(&globals)));
    let storages: Vec<u8> = (0..200_000)
        .flat_map(|n| storage("FloatStorage", &n.to_string(), 1))
        .collect();
    assert!(too_much(&checkpoint(&storages)));
    // The same tensor under many names, and many tensors.
    let shared = [b"}q\x00".to_vec(), one_tensor(), b"q\x010(".to_vec()].concat();
    let names: Vec<u8> = (0..150_000)
        .flat_map(|n| [text(&n.to_string()), b"h\x01".to_vec()].concat())
        .collect();
    let file = checkpoint(&[shared, names, b"u".to_vec()].concat());
    assert!(too_much(&file));
    // With a higher limit the same file is fine. Its time and memory are its own affair.
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    std::fs::write(&source, &file).unwrap();
    let options = Options {
        max_metadata: Some(1 << 30),
        ..Options::default()
    };
    let listing = tensoracle_checkpoint::inspect(&source, &options, &Silent).unwrap();
    assert_eq!(listing.tensors.len(), 150_000);
}

#[test]
fn doubling_is_not_followed() {
    let _turn = turn();
    // Lists of two times the list before, and tuples the same.
    for double in [b"](h\x00h\x00eq\x000".as_slice(), b"h\x00h\x00\x86q\x000"] {
        let body = [b"]q\x000".to_vec(), double.repeat(1000), b"h\x00".to_vec()].concat();
        let file = checkpoint(&dict(&[text("x"), body]));
        assert_eq!(entries(&file).len(), 1);
    }
    // Mappings of two times the mapping before: without tensors, and with one.
    for (innermost, level) in [(b"}".to_vec(), 60), (dict(&[text("t"), one_tensor()]), 60)] {
        let mut body = [innermost, b"q\x00".to_vec()].concat();
        for _ in 0..level {
            let twice = [text("a"), b"h\x00".to_vec(), text("b"), b"h\x00".to_vec()];
            body.extend([dict(&twice), b"q\x00".to_vec()].concat());
        }
        assert!(too_much(&checkpoint(&body)));
    }
    // Copies of a long list, again and again.
    let long = [b"](".to_vec(), b"N".repeat(10_000), b"eq\x00".to_vec()].concat();
    let copy = call(global("builtins", "list"), &[b"h\x00".to_vec()]);
    assert!(too_much(&checkpoint(
        &[long.clone(), copy.repeat(10_000)].concat()
    )));
    let copy = call(global("builtins", "tuple"), &[b"h\x00".to_vec()]);
    assert!(too_much(&checkpoint(&[long, copy.repeat(10_000)].concat())));
    let pairs = [b"](".to_vec(), b"NN\x86".repeat(10_000), b"eq\x00".to_vec()].concat();
    let copy = call(global("collections", "OrderedDict"), &[b"h\x00".to_vec()]);
    assert!(too_much(&checkpoint(
        &[pairs, copy.repeat(10_000)].concat()
    )));
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow() {
    let _turn = turn();
    let mut body = one_tensor();
    let level = [b"}".to_vec(), text("k")].concat();
    body = [level.repeat(100_000), body, b"s".repeat(100_000)].concat();
    let found = entries(&checkpoint(&body));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].1, Kind::TooDeep { limit: 512 });
    // Lists and tuples as deep are leaves.
    for (open, close) in [(b"](".as_slice(), b"e".as_slice()), (b"(", b"t")] {
        let deep = [open.repeat(100_000), close.repeat(100_000)].concat();
        assert_eq!(entries(&checkpoint(&dict(&[text("x"), deep]))).len(), 1);
    }
    // Arguments within arguments.
    let rebuild = global("torch._tensor", "_rebuild_from_type_v2");
    let nested = [
        rebuild.clone(),
        tuple(&[
            rebuild,
            global("torch", "Tensor"),
            tuple(&[]),
            b"N".to_vec(),
        ]),
        b"R".to_vec(),
    ]
    .concat();
    assert!(pickle_problem(&nested).contains("a rebuild within a rebuild"));
}

#[test]
fn one_element_repeated_without_end_is_too_large() {
    let _turn = turn();
    let size = |sizes: &[i64]| {
        let strides = vec![0; sizes.len()];
        let file = checkpoint(&dict(&[text("w"), tensor(4, 0, sizes, &strides)]));
        match refuse(&file) {
            Error::OutputTooLarge {
                largest, needed, ..
            } if largest == "w" => needed,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(size(&[1 << 40]), 4 << 40);
    assert_eq!(size(&[1 << 20, 1 << 20]), 4 << 40);
    assert_eq!(size(&[1 << 62, 1 << 62]), u64::MAX);
    assert_eq!(size(&[i64::MAX]), u64::MAX);
    // No elements, yet sizes whose product readers cannot form.
    assert_eq!(size(&[1 << 62, 1 << 62, 0]), u64::MAX);

    // Within the limit asked for, and just beyond it.
    let file = checkpoint(&dict(&[text("w"), tensor(4, 0, &[100], &[0])]));
    let limited = |limit| {
        let options = Options {
            max_output: Some(limit),
            ..Options::default()
        };
        attempt(&file, &options)
    };
    assert_eq!(limited(400).unwrap().bytes, 400);
    assert!(matches!(
        limited(399),
        Err(Error::OutputTooLarge {
            needed: 400,
            limit: 399,
            largest_bytes: 400,
            ..
        })
    ));
}
