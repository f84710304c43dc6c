//! Against the `safetensors` crate: what is accepted here is accepted there, with the same tensors
//! at the same bytes; and nothing that a file may hold makes the reader panic.

mod common;

use common::{Folder, file_bytes};
use proptest::prelude::*;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView, serialize};
use std::collections::HashMap;
use tensoracle_weights::{Element, Header, HeaderFault, Weights};

/// Holds one file to both readers.
fn compare(bytes: &[u8]) -> Result<(), TestCaseError> {
    match (Header::parse(bytes), SafeTensors::deserialize(bytes)) {
        (Ok(ours), Ok(theirs)) => {
            prop_assert_eq!(ours.tensors().len(), theirs.len());
            for tensor in ours.tensors() {
                let view = theirs.tensor(&tensor.name).unwrap();
                prop_assert_eq!(view.dtype().to_string(), tensor.element.name());
                let dims: Vec<u64> = view.shape().iter().map(|&dim| dim as u64).collect();
                prop_assert_eq!(&dims, &tensor.dims);
                let found = &bytes[tensor.range.clone()];
                prop_assert_eq!(view.data().as_ptr(), found.as_ptr());
                prop_assert_eq!(view.data().len(), found.len());
            }
        }
        (Ok(_), Err(error)) => prop_assert!(false, "the reference refuses: {}", error),
        // The reference takes the last of several tensors of one name.
        (Err(_), Err(_)) | (Err(HeaderFault::DuplicateName { .. }), Ok(_)) => {}
        (Err(fault), Ok(_)) => prop_assert!(false, "the reference accepts, here: {}", fault),
    }
    Ok(())
}

/// Headers that are nearly valid: every part is right most of the time.
fn nearly_valid() -> impl Strategy<Value = Vec<u8>> {
    let dtype = prop_oneof![
        20 => prop::sample::select(Element::ALL.to_vec()).prop_map(|element| element.to_string()),
        1 => Just("F99".to_owned()),
    ];
    let dim = prop_oneof![20 => 0u64..5, 1 => any::<u64>()];
    let shift = prop_oneof![30 => Just(0i64), 1 => -9i64..9];
    let tensor = (
        dtype,
        prop::collection::vec(dim, 0..4),
        shift.clone(),
        shift.clone(),
        0u8..12,
    );
    (prop::collection::vec(tensor, 0..5), shift, 0usize..9, any::<bool>()).prop_map(
        |(tensors, trailing, padding, with_metadata)| {
            let mut entries = Vec::new();
            let mut end = 0i64;
            for (dtype, dims, begin_shift, end_shift, name) in tensors {
                let bits = Element::from_name(&dtype).map_or(8, Element::bits);
                let elements = dims.iter().fold(1u64, |product, &dim| product.saturating_mul(dim));
                let size = (elements.saturating_mul(bits) / 8).min(4096) as i64;
                let (begin, new_end) = (end + begin_shift, end + size + end_shift);
                entries.push(format!(
                    r#""t{name}":{{"dtype":"{dtype}","shape":{dims:?},"data_offsets":[{begin},{new_end}]}}"#
                ));
                end += size;
            }
            if with_metadata {
                entries.push(r#""__metadata__":{"format":"pt"}"#.to_owned());
            }
            let header = format!("{{{}}}{}", entries.join(","), " ".repeat(padding));
            file_bytes(&header, &vec![7; (end + trailing).max(0) as usize])
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn nearly_valid_files_are_judged_as_the_reference_judges(bytes in nearly_valid()) {
        compare(&bytes)?;
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        compare(&bytes)?;
    }

    #[test]
    fn any_header_text_is_answered(text in "[{}\\[\\]\":,a-c0-9 ]{0,60}", data in 0usize..9) {
        compare(&file_bytes(&text, &vec![0; data]))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Files written by the reference read back.
    #[test]
    fn files_of_the_reference_round_trip(
        tensors in prop::collection::btree_map(
            "[a-z.]{1,12}|[\u{0}-\u{2ff}]{1,3}",
            (prop::sample::select(Element::ALL.to_vec()), prop::collection::vec(0usize..5, 0..4), any::<u8>()),
            0..6,
        ),
    ) {
        let tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)> = tensors
            .into_iter()
            .filter(|(name, _)| name != "__metadata__")
            .map(|(name, (element, mut dims, seed))| {
                // Whole bytes for any width.
                dims.push(4);
                let dtype: Dtype = serde_json::from_str(&format!("\"{element}\"")).unwrap();
                let size = dims.iter().product::<usize>() * dtype.bitsize() / 8;
                (name, dtype, dims, (0..size).map(|place| seed.wrapping_add(place as u8)).collect())
            })
            .collect();
        let views = tensors.iter().map(|(name, dtype, dims, bytes)| {
            (name.clone(), TensorView::new(*dtype, dims.clone(), bytes).unwrap())
        });
        let metadata = HashMap::from([("who".to_owned(), "\u{1f980}".to_owned())]);
        let folder = Folder::new();
        let path = folder.write("w.safetensors", serialize(views, Some(metadata)).unwrap());
        let weights = Weights::open(path).unwrap();
        let metadata = weights.metadata();
        prop_assert_eq!(metadata.get("who"), Some(&"\u{1f980}"));
        prop_assert_eq!(weights.len(), tensors.len());
        for (name, dtype, dims, bytes) in &tensors {
            let tensor = weights.tensor(name).unwrap();
            prop_assert_eq!(tensor.element().to_string(), dtype.to_string());
            let found: Vec<usize> = tensor.dims().iter().map(|&dim| dim as usize).collect();
            prop_assert_eq!(&found, dims);
            prop_assert_eq!(tensor.bytes(), Some(&bytes[..]));
        }
    }
}
