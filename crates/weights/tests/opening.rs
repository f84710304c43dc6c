//! Sharded folders, several files, and asking for tensors by name.

mod common;

use common::{Folder, tensors, told};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tensoracle_weights::{IndexFault, Weights, WeightsError};

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
