//! Storages and tensors whose sizes do not fit.
//!
//! What is left out: how the file is packed.

use crate::forge::{Zip, call, checkpoint, dict, global, int, ints, pickle, storage, tensor, text};
use crate::judge::{attempt, pickle_problem, problem, turn};
use tensoracle_checkpoint::{Options, Problem};

#[test]
fn a_storage_and_its_record_have_one_size() {
    let _turn = turn();
    let file = |count, elements: usize| {
        let bytes = vec![0; elements * 4];
        Zip::default()
            .stored(
                "a/data.pkl",
                &pickle(&dict(&[text("w"), tensor(count, 0, &[1], &[1])])),
            )
            .stored("a/data/0", &bytes)
            .finish()
    };
    assert!(attempt(&file(4, 4), &Options::default()).is_ok());
    for (count, elements) in [(5, 4), (4, 5), (1 << 40, 4), (0, 1)] {
        let found = problem(&file(count, elements));
        let is_right = match found {
            Problem::StorageSize { .. } => count != 0,
            // No element, yet the tensor has one.
            Problem::TensorOutOfBounds { .. } => count == 0,
            _ => false,
        };
        assert!(is_right, "{count} {elements} {found:?}");
    }
    let nowhere = checkpoint(&dict(&[
        text("w"),
        call(
            global("torch._utils", "_rebuild_tensor_v2"),
            &[
                storage("FloatStorage", "../data.pkl", 1),
                int(0),
                ints(&[1]),
                ints(&[1]),
                vec![0x89],
                b"}".to_vec(),
            ],
        ),
    ]));
    assert!(matches!(problem(&nowhere), Problem::StorageMissing { .. }));
}

#[test]
fn a_tensor_stays_within_its_storage() {
    let _turn = turn();
    let out = |offset, sizes: &[i64], strides: &[i64]| {
        let file = checkpoint(&dict(&[text("w"), tensor(4, offset, sizes, strides)]));
        matches!(problem(&file), Problem::TensorOutOfBounds { name, .. } if name == "w")
    };
    assert!(out(0, &[5], &[1]));
    assert!(out(4, &[1], &[1]));
    assert!(out(4, &[], &[]));
    assert!(out(1, &[4], &[1]));
    assert!(out(0, &[2], &[4]));
    assert!(out(0, &[2, 2], &[3, 1]));
    assert!(out(i64::MAX, &[1], &[1]));
    assert!(out(0, &[i64::MAX, i64::MAX], &[i64::MAX, i64::MAX]));
    assert!(out(0, &[i64::MAX], &[1]));
    assert!(out(0, &[3], &[i64::MAX]));
    // As many dimensions as torch has, each of two.
    assert!(out(0, &[2; 64], &[1; 64]));

    let wrong = |offset, sizes: &[i64], strides: &[i64]| {
        pickle_problem(&dict(&[text("w"), tensor(4, offset, sizes, strides)]))
    };
    assert!(wrong(-1, &[1], &[1]).contains("negative offset"));
    assert!(wrong(0, &[-1], &[1]).contains("a size of -1"));
    assert!(wrong(0, &[1], &[-1]).contains("a stride of -1"));
    assert!(wrong(0, &[1, 1], &[1]).contains("2 sizes and 1 strides"));
    assert!(wrong(0, &[1; 65], &[1; 65]).contains("65 dimensions"));
    assert!(pickle_problem(&dict(&[text("w"), tensor(-4, 0, &[1], &[1])])).contains("a size"));
    assert!(
        pickle_problem(&dict(&[text("w"), tensor(i64::MAX, 0, &[1], &[1])]))
            .contains("does not fit")
    );
}
