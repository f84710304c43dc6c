//! The pickled and the tar layout, contradicting themselves.
//!
//! What is left out: the pickles in them, which are those of `pickles`.

use crate::forge::{call, dict, global, int, ints, legacy, pickle, tar, text, tuple};
use crate::judge::{attempt, problem, turn};
use tensoracle_checkpoint::{Options, Problem};

#[test]
fn the_older_layouts_are_checked_as_strictly() {
    let _turn = turn();
    let body = dict(&[text("w"), one_legacy_tensor()]);
    let floats = [0; 16];
    assert!(attempt(&legacy(&body, &[("0", 4, &floats)]), &Options::default()).is_ok());
    assert!(matches!(
        problem(&legacy(&body, &[("0", 5, &[0; 20])])),
        Problem::StorageSize {
            expected: 16,
            found: 20,
            ..
        }
    ));
    assert!(matches!(
        problem(&legacy(&body, &[])),
        Problem::StorageMissing { .. }
    ));
    assert!(matches!(
        problem(&legacy(&body, &[("0", -1, &floats)])),
        Problem::Layout { .. }
    ));
    assert!(matches!(
        problem(&legacy(&body, &[("0", i64::MAX, &floats)])),
        Problem::Layout { .. }
    ));
    assert!(matches!(
        problem(&legacy(&body, &[("0", 4, &floats), ("0", 4, &floats)])),
        Problem::Layout { .. }
    ));
    assert!(matches!(
        problem(&legacy(&body, &[("0", 4, &floats), ("1", 4, &floats)])),
        Problem::Layout { .. }
    ));
    assert!(matches!(
        problem(&legacy(&body, &[("0", 4, &floats[1..])])),
        Problem::Truncated { .. }
    ));
    for (start, len) in [(0, 5), (4, 1), (-1, 1), (0, -1), (i64::MAX, i64::MAX)] {
        let view = tuple(&[text("v"), int(start), int(len)]);
        let found = problem(&legacy(
            &dict(&[text("w"), legacy_tensor(view)]),
            &[("0", 4, &floats)],
        ));
        assert!(matches!(found, Problem::Pickle { .. }), "{found:?}");
    }
}

/// A tensor whose storage has a sixth item in its id: a view, or none.
fn legacy_tensor(view: Vec<u8>) -> Vec<u8> {
    let id = [
        text("storage"),
        global("torch", "FloatStorage"),
        text("0"),
        text("cpu"),
        int(4),
        view,
    ];
    call(
        global("torch._utils", "_rebuild_tensor"),
        &[
            [tuple(&id), b"Q".to_vec()].concat(),
            int(0),
            ints(&[1]),
            ints(&[1]),
        ],
    )
}

fn one_legacy_tensor() -> Vec<u8> {
    legacy_tensor(b"N".to_vec())
}

#[test]
fn tar_members_that_lie_are_refused() {
    let _turn = turn();
    let class = |name| global("torch", name);
    let storages = |count: i64, elements: i64, bytes: &[u8], views: &[u8]| {
        let description = tuple(&[int(1), text("cpu"), class("FloatStorage")]);
        [
            pickle(&int(count)),
            pickle(&description),
            elements.to_le_bytes().to_vec(),
            bytes.to_vec(),
            pickle(views),
        ]
        .concat()
    };
    let tensors = |rank: u32, numbers: &[i64]| {
        [
            pickle(&int(1)),
            pickle(&tuple(&[int(2), int(1), class("FloatTensor")])),
            rank.to_le_bytes().to_vec(),
            vec![0; 4],
            numbers
                .iter()
                .flat_map(|number| number.to_le_bytes())
                .collect(),
        ]
        .concat()
    };
    let object = pickle(&dict(&[text("w"), text("2"), b"Q".to_vec()]));
    let file = |storages: &[u8], tensors: &[u8]| {
        tar(&[
            ("storages", storages),
            ("tensors", tensors),
            ("pickle", &object),
        ])
    };
    let floats = [0; 16];
    let good_storages = storages(1, 4, &floats, b"]");
    let good_tensors = tensors(1, &[4, 1, 0]);
    let summary = attempt(&file(&good_storages, &good_tensors), &Options::default()).unwrap();
    assert_eq!((summary.tensors, summary.bytes), (1, 16));

    let truncated = |file: &[u8]| matches!(problem(file), Problem::Truncated { .. });
    let layout = |file: &[u8]| matches!(problem(file), Problem::Layout { .. });
    assert!(truncated(&file(
        &storages(1, 5, &floats, b""),
        &good_tensors
    )));
    // The views are read as a second storage.
    assert!(layout(&file(
        &storages(i64::MAX, 4, &floats, b"]"),
        &good_tensors
    )));
    assert!(layout(&file(
        &storages(1, -1, &floats, b"]"),
        &good_tensors
    )));
    assert!(layout(&file(
        &storages(1, i64::MAX, &floats, b"]"),
        &good_tensors
    )));
    for view in [
        [3, 1, 0, 5],
        [3, 1, 4, 1],
        [3, 1, i64::MAX, 1],
        [3, 1, -1, 1],
        [1, 1, 0, 1],
    ] {
        let views = [b"](".to_vec(), ints(&view), b"e".to_vec()].concat();
        assert!(
            layout(&file(&storages(1, 4, &floats, &views), &good_tensors)),
            "{view:?}"
        );
    }
    assert!(layout(&file(&good_storages, &tensors(65, &[0; 131]))));
    assert!(truncated(&file(&good_storages, &tensors(64, &[1, 1, 0]))));
    assert!(layout(&file(&good_storages, &tensors(1, &[-1, 1, 0]))));
    assert!(matches!(
        problem(&file(&good_storages, &tensors(1, &[5, 1, 0]))),
        Problem::TensorOutOfBounds { .. }
    ));
    assert!(truncated(&tar(&[
        ("storages", &good_storages),
        ("pickle", &object)
    ])));
    assert!(layout(&tar(&[("pickle", &object), ("pickle", &object)])));
    assert!(matches!(
        problem(&tar(&[("readme", b"hello")])),
        Problem::NotACheckpoint { .. }
    ));
    let mut broken = file(&good_storages, &good_tensors);
    let second = 512 + good_storages.len().next_multiple_of(512);
    broken[second] ^= 1;
    assert!(layout(&broken));
}
