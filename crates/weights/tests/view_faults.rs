//! Views that cannot be and values that do not fit: messages that name both sides.

mod common;

use common::{Folder, tensors, told};
use tensoracle_weights::{Element, WeightTensor, Weights};

#[test]
fn views_that_do_not_fit_say_both_shapes() {
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
