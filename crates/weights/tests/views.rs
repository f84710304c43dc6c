//! Views against a reference that moves one element at a time by its index.

mod common;

use common::{Folder, f32s, tensors};
use half::{bf16, f16};
use proptest::prelude::*;
use std::ops::Range;
use tensoracle_graph::{ConstantSource, DataType};
use tensoracle_weights::{Element, Read, WeightTensor, Weights, WeightsOptions};

/// A tensor as a list of elements, one word each.
#[derive(Debug, Clone)]
struct Reference {
    dims: Vec<u64>,
    elements: Vec<u64>,
}

impl Reference {
    fn at(&self, index: &[u64]) -> u64 {
        let mut place = 0;
        for (index, dim) in index.iter().zip(&self.dims) {
            place = place * dim + index;
        }
        self.elements[place as usize]
    }

    fn build(dims: Vec<u64>, element: impl Fn(&[u64]) -> u64) -> Self {
        let count: u64 = dims.iter().product();
        let elements = (0..count)
            .map(|mut place| {
                let mut index = vec![0; dims.len()];
                for axis in (0..dims.len()).rev() {
                    index[axis] = place % dims[axis];
                    place /= dims[axis];
                }
                element(&index)
            })
            .collect();
        Self { dims, elements }
    }

    fn transpose(&self, permutation: &[usize]) -> Self {
        let dims = permutation.iter().map(|&axis| self.dims[axis]).collect();
        Self::build(dims, |index| {
            let mut source = vec![0; index.len()];
            for (position, &axis) in permutation.iter().enumerate() {
                source[axis] = index[position];
            }
            self.at(&source)
        })
    }

    fn slice(&self, ranges: &[Range<u64>]) -> Self {
        let dims = ranges.iter().map(|range| range.end - range.start).collect();
        Self::build(dims, |index| {
            let source: Vec<u64> = index
                .iter()
                .zip(ranges)
                .map(|(index, range)| index + range.start)
                .collect();
            self.at(&source)
        })
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        let mut dims = parts[0].dims.clone();
        dims[axis] = parts.iter().map(|part| part.dims[axis]).sum();
        Self::build(dims, |index| {
            let mut index = index.to_vec();
            for part in parts {
                if index[axis] < part.dims[axis] {
                    return part.at(&index);
                }
                index[axis] -= part.dims[axis];
            }
            unreachable!()
        })
    }

    /// Packed as the format packs: little-endian, elements of four bits from the low half.
    fn pack(&self, bits: u64) -> Vec<u8> {
        if bits == 4 {
            self.elements
                .chunks(2)
                .map(|pair| (pair[0] | pair.get(1).unwrap_or(&0) << 4) as u8)
                .collect()
        } else {
            let width = bits as usize / 8;
            self.elements
                .iter()
                .flat_map(|word| word.to_le_bytes()[..width].to_vec())
                .collect()
        }
    }
}

/// One view, told in numbers that are fitted to whatever shape they meet.
#[derive(Debug, Clone)]
enum Step {
    Transpose(u64),
    Reshape(u64),
    Slice(u64),
    /// The tensor joined with a slice of itself and itself once more.
    Concat(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any::<u64>().prop_map(Step::Transpose),
        any::<u64>().prop_map(Step::Reshape),
        any::<u64>().prop_map(Step::Slice),
        any::<u64>().prop_map(Step::Concat),
    ]
}

/// A stream of small numbers out of a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

fn apply(step: &Step, view: &WeightTensor, reference: &Reference) -> (WeightTensor, Reference) {
    let dims = reference.dims.clone();
    match *step {
        Step::Transpose(seed) => {
            let mut numbers = Numbers(seed);
            let mut permutation: Vec<usize> = (0..dims.len()).collect();
            for last in (1..dims.len()).rev() {
                permutation.swap(last, numbers.below(last as u64 + 1) as usize);
            }
            (
                view.transpose(&permutation).unwrap(),
                reference.transpose(&permutation),
            )
        }
        Step::Reshape(seed) => {
            let mut numbers = Numbers(seed);
            let mut left: u64 = dims.iter().product();
            let mut new_dims = Vec::new();
            while left > 1 && new_dims.len() < 4 {
                let divisors: Vec<u64> = (1..=left).filter(|d| left.is_multiple_of(*d)).collect();
                let dim = divisors[numbers.below(divisors.len() as u64) as usize];
                new_dims.push(dim);
                left /= dim;
            }
            new_dims.push(left);
            let reshaped = Reference {
                dims: new_dims.clone(),
                elements: reference.elements.clone(),
            };
            (view.reshape(&new_dims).unwrap(), reshaped)
        }
        Step::Slice(seed) => {
            let mut numbers = Numbers(seed);
            let ranges: Vec<Range<u64>> = dims
                .iter()
                .map(|&dim| {
                    let start = numbers.below(dim.div_ceil(2) + 1).min(dim);
                    start..dim - numbers.below(dim - start + 1).min(1)
                })
                .collect();
            (view.slice(&ranges).unwrap(), reference.slice(&ranges))
        }
        Step::Concat(_) if dims.is_empty() => (view.clone(), reference.clone()),
        Step::Concat(seed) => {
            let axis = Numbers(seed).below(dims.len() as u64) as usize;
            let mut ranges: Vec<Range<u64>> = dims.iter().map(|&dim| 0..dim).collect();
            ranges[axis] = dims[axis] / 2..dims[axis];
            let parts = [view.clone(), view.slice(&ranges).unwrap(), view.clone()];
            let references = [
                reference.clone(),
                reference.slice(&ranges),
                reference.clone(),
            ];
            (
                WeightTensor::concat(axis, &parts).unwrap(),
                Reference::concat(axis, &references),
            )
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn chains_of_views_move_elements_as_their_indices_say(
        dims in prop::collection::vec(0u64..6, 0..4),
        dtype in prop::sample::select(vec!["F4", "U8", "I16", "F32", "I64"]),
        steps in prop::collection::vec(step(), 0..6),
        padding in 0usize..8,
        owned: bool,
    ) {
        let element = Element::from_name(dtype).unwrap();
        let mut dims = dims;
        if dtype == "F4" {
            // The format wants whole bytes.
            dims.push(2);
        }
        let mask = u64::MAX >> (64 - element.bits());
        let mut reference = Reference::build(dims.clone(), |_| 0);
        for (place, word) in reference.elements.iter_mut().enumerate() {
            *word = (place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
        }
        let folder = Folder::new();
        let bytes = tensors(&[("t", dtype, &dims, &reference.pack(element.bits()))], padding);
        let path = folder.write("w.safetensors", bytes);
        let read = if owned { Read::Owned } else { Read::Mapped };
        let weights = Weights::open_with(&[path], WeightsOptions { read }).unwrap();
        let mut view = weights.tensor("t").unwrap();
        for step in &steps {
            if reference.elements.len() > 4000 {
                break;
            }
            (view, reference) = apply(step, &view, &reference);
        }
        let packed = reference.pack(element.bits());
        prop_assert_eq!(view.dims(), &reference.dims[..]);
        prop_assert_eq!(view.byte_len(), packed.len() as u64);
        prop_assert_eq!(&view.to_vec().unwrap(), &packed, "{:?}", view);
        if let Some(bytes) = view.bytes() {
            prop_assert_eq!(bytes, &packed[..], "{:?}", view);
        }
        // A buffer that is not zeroed ends up the same.
        let mut out = vec![0xff; packed.len()];
        view.read(&mut out).unwrap();
        prop_assert_eq!(&out, &packed);
    }
}

fn open(folder: &Folder, bytes: Vec<u8>) -> Weights {
    Weights::open(folder.write("w.safetensors", bytes)).unwrap()
}

/// Larger than one chunk, transposed on the way: tiles and their ends.
#[test]
fn a_large_transpose_is_exact_across_chunks() {
    let (rows, columns) = (1237u64, 1031u64);
    let folder = Folder::new();
    let data = f32s((0..rows * columns).map(|place| place as f32));
    let weights = open(
        &folder,
        tensors(&[("t", "F32", &[rows, columns], &data)], 3),
    );
    let view = weights.tensor("t").unwrap().transpose(&[1, 0]).unwrap();
    let found = view.to_vec().unwrap();
    for (place, bytes) in found.as_chunks::<4>().0.iter().enumerate() {
        let (column, row) = (place as u64 / rows, place as u64 % rows);
        assert_eq!(f32::from_le_bytes(*bytes), (row * columns + column) as f32);
    }
    let joined = WeightTensor::concat(1, &[view.clone(), view.clone()]).unwrap();
    let twice = joined.to_vec().unwrap();
    let row_bytes = rows as usize * 4;
    for (found, once) in twice.chunks(row_bytes * 2).zip(found.chunks(row_bytes)) {
        assert!(&found[..row_bytes] == once && &found[row_bytes..] == once);
    }
}

#[test]
fn casts_follow_views_anywhere_in_the_chain() {
    let values = [
        1.0f32,
        -2.5,
        65504.0,
        1.0 + 1.0 / 2048.0,
        1e-8,
        f32::INFINITY,
    ];
    let folder = Folder::new();
    let weights = open(&folder, tensors(&[("t", "F32", &[2, 3], &f32s(values))], 1));
    let tensor = weights.tensor("t").unwrap();
    let transposed = [0, 3, 1, 4, 2, 5].map(|place| values[place]);
    let expected = |round: fn(f32) -> u16| -> Vec<u8> {
        transposed
            .iter()
            .flat_map(|&value| round(value).to_le_bytes())
            .collect()
    };
    for (to, round) in [
        (
            Element::F16,
            (|value| f16::from_f32(value).to_bits()) as fn(f32) -> u16,
        ),
        (Element::BF16, |value| bf16::from_f32(value).to_bits()),
    ] {
        let before = tensor.cast(to).unwrap().transpose(&[1, 0]).unwrap();
        let after = tensor.transpose(&[1, 0]).unwrap().cast(to).unwrap();
        let between = tensor
            .transpose(&[1, 0])
            .unwrap()
            .reshape(&[6])
            .unwrap()
            .cast(to)
            .unwrap();
        let between = between.reshape(&[2, 3]).unwrap().reshape(&[3, 2]).unwrap();
        for view in [before, after, between] {
            assert_eq!(view.to_vec().unwrap(), expected(round), "{view:?}");
            assert!(view.bytes().is_none());
        }
    }
    // Each step rounds: 1 + 2^-11 is a tie that F16 rounds to 1.
    let twice = tensor
        .cast(Element::F16)
        .unwrap()
        .cast(Element::F64)
        .unwrap();
    let words: Vec<f64> = twice
        .to_vec()
        .unwrap()
        .as_chunks()
        .0
        .iter()
        .map(|b| f64::from_le_bytes(*b))
        .collect();
    assert_eq!(words, [1.0, -2.5, 65504.0, 1.0, 0.0, f64::INFINITY]);
    // There and back changes the recipe and not the bytes.
    let same = tensor.cast(Element::F32).unwrap();
    assert_eq!(same.recipe(), tensor.recipe());
}

#[test]
fn elements_of_four_bits_unpack_and_pack() {
    // Codes 0x1 0x2 | 0x7 0x9: 0.5, 1, 6, -0.5.
    let folder = Folder::new();
    let weights = open(&folder, tensors(&[("t", "F4", &[2, 2], &[0x21, 0x97])], 0));
    let tensor = weights.tensor("t").unwrap();
    let floats = tensor
        .transpose(&[1, 0])
        .unwrap()
        .cast(Element::F32)
        .unwrap();
    assert_eq!(floats.to_vec().unwrap(), f32s([0.5, 6.0, 1.0, -0.5]));
    let back = floats
        .cast(Element::F4)
        .unwrap()
        .transpose(&[1, 0])
        .unwrap();
    assert_eq!(back.to_vec().unwrap(), [0x21, 0x97]);
    let odd = tensor.slice(&[0..1, 1..2]).unwrap();
    assert_eq!(odd.to_vec().unwrap(), [0x02]);
    assert!(odd.bytes().is_none(), "the element shares its byte");
}

#[test]
fn unviewed_tensors_and_runs_of_rows_are_not_copied() {
    let folder = Folder::new();
    let data = f32s((0..24).map(|place| place as f32));
    let weights = open(&folder, tensors(&[("t", "F32", &[4, 2, 3], &data)], 1));
    let tensor = weights.tensor("t").unwrap();
    let stored = tensor.bytes().unwrap();
    assert_eq!(stored, data);
    let rows = tensor.narrow(0, 1..3).unwrap();
    assert_eq!(rows.bytes().unwrap().as_ptr(), stored[24..].as_ptr());
    let flat = rows.reshape(&[12]).unwrap().narrow(0, 3..5).unwrap();
    assert_eq!(flat.bytes().unwrap(), f32s([9.0, 10.0]));
    let inner = tensor.slice(&[2..3, 1..2, 0..2]).unwrap();
    assert_eq!(inner.bytes().unwrap(), f32s([15.0, 16.0]));
    assert!(tensor.narrow(1, 0..1).unwrap().bytes().is_none());
    assert!(tensor.narrow(2, 0..1).unwrap().bytes().is_none());
    assert_eq!(tensor.narrow(0, 2..2).unwrap().bytes(), Some(&[][..]));
}

#[test]
fn a_constant_is_what_a_graph_asks_for() {
    let folder = Folder::new();
    let bytes = tensors(
        &[
            ("a", "BF16", &[1, 2], &[1, 2, 3, 4]),
            ("b", "F64", &[], &1.5f64.to_le_bytes()),
        ],
        5,
    );
    let weights = open(&folder, bytes);
    let constant = weights.constant("a").unwrap();
    assert_eq!(constant.data_type(), DataType::BFloat16);
    assert_eq!(constant.dims(), [1, 2]);
    assert_eq!(constant.bytes(), Some(&[1, 2, 3, 4][..]));
    assert_eq!(constant.describe(), "a (w.safetensors)");
    assert!(weights.constant("b").is_err());
    let cast = weights
        .tensor("b")
        .unwrap()
        .cast(Element::F32)
        .unwrap()
        .into_constant()
        .unwrap();
    let mut out = [0; 4];
    cast.read(&mut out).unwrap();
    assert_eq!(out, 1.5f32.to_le_bytes());
    assert_eq!(
        cast.read(&mut [0; 5]).unwrap_err().to_string(),
        "b (w.safetensors) · cast F32: 4 bytes expected for the elements, a buffer of 5 given"
    );
}
