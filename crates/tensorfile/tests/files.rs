//! Files that NumPy and Python's zipfile wrote are read as they wrote them; damaged ones are
//! refused; what is written is read back.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tensoracle_mapping::Read;
use tensoracle_tensorfile::{
    Element, Format, Limits, TensorData, TensorFile, TensorFileError, write,
};

#[derive(serde::Deserialize)]
struct Expected {
    element: Element,
    dims: Vec<u64>,
    hex: String,
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn expected() -> BTreeMap<String, BTreeMap<String, Expected>> {
    serde_json::from_slice(&std::fs::read(data("expected.json")).unwrap()).unwrap()
}

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2)
        .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
        .collect()
}

#[test]
fn files_from_numpy_hold_what_numpy_put_there() {
    // The second limit sends everything unpacked through a temporary file.
    for memory_bytes in [1 << 20, 0] {
        let limits = Limits {
            memory_bytes,
            ..Limits::default()
        };
        for (file_name, tensors) in expected() {
            let file = TensorFile::open_with(&data(&file_name), Read::Mapped, limits).unwrap();
            let names: Vec<_> = file.entries().iter().map(|entry| entry.name()).collect();
            assert_eq!(names.len(), tensors.len(), "{file_name}: {names:?}");
            for (name, expected) in tensors {
                let tensor = file.tensor(&name).unwrap();
                assert_eq!(tensor.element, expected.element, "{file_name}: {name}");
                assert_eq!(tensor.dims, expected.dims, "{file_name}: {name}");
                assert_eq!(
                    &*tensor.bytes,
                    from_hex(&expected.hex),
                    "{file_name}: {name}"
                );
            }
        }
    }
}

#[test]
fn stored_members_are_not_copied_and_deflated_ones_are() {
    let stored = TensorFile::open(&data("every_type.npz")).unwrap();
    assert!(stored.tensor("of_float32").unwrap().bytes.is_direct());
    let deflated = TensorFile::open(&data("every_type_deflated.npz")).unwrap();
    assert!(!deflated.tensor("of_float32").unwrap().bytes.is_direct());
    let orders = TensorFile::open(&data("orders.npz")).unwrap();
    assert!(!orders.tensor("column_major").unwrap().bytes.is_direct());
    assert!(
        orders
            .tensor("column_major_vector")
            .unwrap()
            .bytes
            .is_direct()
    );
}

#[test]
fn types_without_a_name_are_listed_and_refused_with_advice() {
    let file = TensorFile::open(&data("bfloat16.npy")).unwrap();
    assert_eq!(file.entries()[0].element(), Err("<V2"));
    let error = file.tensor("bfloat16").unwrap_err();
    assert!(
        error.to_string().contains("elements of type `<V2`"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("safetensors"));
    let error = TensorFile::open(&data("complex.npy"))
        .unwrap()
        .tensor("complex")
        .unwrap_err();
    assert!(error.to_string().contains("`<c8`"), "{error}");
}

#[test]
fn a_tensor_beyond_the_limit_is_refused_before_it_is_unpacked() {
    let limits = Limits {
        unpacked_bytes: 16,
        ..Limits::default()
    };
    for file_name in ["every_type_deflated.npz", "orders.npz"] {
        let file = TensorFile::open_with(&data(file_name), Read::Mapped, limits).unwrap();
        let name = if file_name.starts_with("orders") {
            "both"
        } else {
            "of_float32"
        };
        let error = file.tensor(name).unwrap_err();
        assert!(
            matches!(error, TensorFileError::TooLarge { limit: 16, .. }),
            "{error}"
        );
    }
}

#[test]
fn a_header_that_promises_more_than_the_member_holds_is_refused() {
    // 10^12 elements in a few hundred bytes: refused by the limit, or by the end of the member.
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }\n";
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
    npy.extend(text.as_bytes());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.npz");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated);
    zip.start_file("bomb.npy", options).unwrap();
    std::io::Write::write_all(&mut zip, &npy).unwrap();
    zip.finish().unwrap();

    let error = TensorFile::open(&path).unwrap().tensor("bomb").unwrap_err();
    assert!(matches!(error, TensorFileError::TooLarge { .. }), "{error}");
    let limits = Limits {
        unpacked_bytes: u64::MAX,
        ..Limits::default()
    };
    let file = TensorFile::open_with(&path, Read::Mapped, limits).unwrap();
    let error = file.tensor("bomb").unwrap_err();
    assert!(matches!(error, TensorFileError::Unpack { .. }), "{error}");
}

#[test]
fn a_flipped_bit_in_a_deflated_member_is_noticed() {
    let whole = std::fs::read(data("streamed.npz")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flipped.npz");
    let sound = TensorFile::open(&data("streamed.npz"))
        .unwrap()
        .tensor("deflated")
        .unwrap()
        .bytes
        .to_vec();
    let start = whole
        .windows(12)
        .position(|w| w == b"deflated.npy")
        .unwrap()
        + 12
        + 24;
    for byte in start..start + 60 {
        let mut damaged = whole.clone();
        damaged[byte] ^= 0x10;
        std::fs::write(&path, &damaged).unwrap();
        if let Ok(file) = TensorFile::open(&path)
            && let Ok(tensor) = file.tensor("deflated")
        {
            assert_eq!(
                &*tensor.bytes, sound,
                "byte {byte} changed the contents unnoticed"
            );
        }
    }
}

#[test]
fn raw_files_take_their_type_and_shape_from_the_caller() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dump.bin");
    std::fs::write(&path, [0u8; 24]).unwrap();
    let file = TensorFile::open_raw(&path, Element::F32, None).unwrap();
    assert_eq!(file.tensor("dump").unwrap().dims, [6]);
    let file = TensorFile::open_raw(&path, Element::I16, Some(&[3, 4])).unwrap();
    assert_eq!(file.tensor("dump").unwrap().bytes.len(), 24);
    let error = TensorFile::open_raw(&path, Element::F32, Some(&[7])).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("holds 24 bytes; F32 of shape [7] takes 28"),
        "{error}"
    );
    std::fs::write(&path, [0u8; 25]).unwrap();
    assert!(TensorFile::open_raw(&path, Element::F32, None).is_err());
    let error = TensorFile::open(&path).unwrap_err();
    assert!(error.hint().unwrap().contains("raw"), "{error}");
}

#[test]
fn what_is_written_is_read_back_aligned_and_twice_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..48).collect();
    for extension in ["npz", "safetensors", "npy"] {
        let format = Format::of_extension(Path::new(&format!("x.{extension}"))).unwrap();
        let path = folder.path().join(format!("out.{extension}"));
        let elements: Vec<Element> = match format {
            Format::Safetensors => Element::ALL.to_vec(),
            Format::Npy => vec![Element::U16],
            _ => Element::ALL
                .into_iter()
                .filter(|e| *e != Element::BF16 && !e.name().starts_with("F8"))
                .collect(),
        };
        let names: Vec<String> = elements.iter().map(|e| format!("layer/{e}")).collect();
        let dims: Vec<[u64; 2]> = elements.iter().map(|e| [2, 24 / e.size() as u64]).collect();
        let tensors: Vec<TensorData> = (0..elements.len())
            .map(|i| TensorData {
                name: &names[i],
                element: elements[i],
                dims: &dims[i],
                bytes: &bytes,
            })
            .collect();
        write(&path, &tensors).unwrap();
        let first = std::fs::read(&path).unwrap();
        write(&path, &tensors).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), first, "{extension}");

        let file = TensorFile::open(&path).unwrap();
        assert_eq!(file.format(), format);
        assert_eq!(file.entries().len(), tensors.len());
        for (i, tensor) in tensors.iter().enumerate() {
            let name = if format == Format::Npy {
                "out"
            } else {
                tensor.name
            };
            let read = file.tensor(name).unwrap();
            assert_eq!((read.element, read.dims), (elements[i], &dims[i][..]));
            assert_eq!(&*read.bytes, bytes);
            assert!(read.bytes.is_direct());
            assert_eq!(
                read.bytes.as_ptr().align_offset(elements[i].size()),
                0,
                "{name}"
            );
        }
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        3,
        "temporary files remain"
    );
}

#[test]
fn what_cannot_be_written_is_refused_and_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.npz");
    std::fs::write(&path, b"old").unwrap();
    let of = |element, bytes| TensorData {
        name: "a",
        element,
        dims: &[2],
        bytes,
    };
    for (tensors, message) in [
        (vec![of(Element::BF16, &[0; 4])], ".npz has no type BF16"),
        (vec![of(Element::F32, &[0; 4])], "takes another number"),
        (
            vec![of(Element::U8, &[0; 2]), of(Element::U8, &[0; 2])],
            "two tensors",
        ),
    ] {
        let error = write(&path, &tensors).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
    let error = write(&folder.path().join("x.npy"), &[]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("can hold one tensor; 0 were given"),
        "{error}"
    );
    assert!(
        write(&folder.path().join("x.bin"), &[])
            .unwrap_err()
            .hint()
            .is_some()
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
}

/// Opens a file of these bytes and reads all it offers; whatever comes, it comes without a panic.
fn read_all(bytes: &[u8]) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let limits = Limits {
        unpacked_bytes: 1 << 16,
        memory_bytes: 1 << 12,
    };
    if let Ok(file) = TensorFile::open_with(file.path(), Read::Owned, limits) {
        for entry in file.entries() {
            if let Ok(tensor) = file.tensor(entry.name()) {
                assert_eq!(
                    tensor.element.bytes_for(tensor.dims),
                    Some(tensor.bytes.len() as u64)
                );
            }
        }
    }
}

fn some_file() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        "every_type.npz",
        "every_type_deflated.npz",
        "orders_deflated.npz",
        "streamed.npz",
        "single.npy",
        "bfloat16.npy",
    ])
    .prop_map(|name| std::fs::read(data(name)).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn damaged_files_never_panic(
        mut bytes in some_file(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        read_all(&bytes);
    }
}
