//! The small files that `make_data.py` wrote, against what torch makes of each: views, strides,
//! every element type, both byte orders, deflated archives, casts, old layouts, and refusals.
//!
//! `data/more/expected.json` holds the expectations. Not here: real models, in `real_files.rs`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tensoracle_checkpoint::{CastTo, Error, Kind, Options, Problem, convert};
use tensoracle_progress::Silent;

#[derive(Deserialize)]
struct Expected {
    verdict: String,
    tensors: Option<usize>,
    dtypes: Option<BTreeMap<String, usize>>,
    digest: Option<String>,
    casts: Option<BTreeMap<String, String>>,
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/more")
}

fn expected(verdict: &str) -> BTreeMap<String, Expected> {
    let text = std::fs::read(data().join("expected.json")).unwrap();
    let all: BTreeMap<String, Expected> = serde_json::from_slice(&text).unwrap();
    all.into_iter()
        .filter(|(_, expected)| expected.verdict == verdict)
        .collect()
}

fn with_digest(dtype: Option<CastTo>) -> Options {
    Options {
        digest: true,
        dtype,
        ..Options::default()
    }
}

#[test]
fn accepted_files_are_what_torch_loads() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    let accepted = expected("accept");
    assert_eq!(accepted.len(), 18);
    for (name, expected) in accepted {
        let source = data().join(&name);
        let summary = convert(&source, &destination, &with_digest(None), &Silent)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(summary.digest, expected.digest, "{name}");
        assert_eq!(Some(summary.tensors), expected.tensors, "{name}");
        let bytes = std::fs::read(&destination).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut dtypes = BTreeMap::new();
        for (_, tensor) in file.tensors() {
            *dtypes.entry(tensor.dtype().to_string()).or_insert(0) += 1;
        }
        assert_eq!(Some(dtypes), expected.dtypes, "{name}");
    }
}

#[test]
fn casts_round_as_torch_does() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    for (name, expected) in expected("accept") {
        for (cast, digest) in expected.casts.unwrap() {
            let to = match cast.as_str() {
                "f16" => CastTo::F16,
                "bf16" => CastTo::Bf16,
                _ => CastTo::F32,
            };
            let options = with_digest(Some(to));
            let summary = convert(&data().join(&name), &destination, &options, &Silent).unwrap();
            assert_eq!(summary.digest, Some(digest), "{name} to {cast}");
        }
    }
}

fn refusal(name: &str) -> Vec<(String, Kind)> {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    let error = convert(
        &data().join(name),
        &destination,
        &Options::default(),
        &Silent,
    );
    assert!(!destination.exists());
    match error {
        Err(Error::Refused { refusal, .. }) => refusal
            .entries
            .into_iter()
            .map(|entry| (entry.path.unwrap_or_default(), entry.kind))
            .collect(),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_refusal_names_every_entry_and_its_type() {
    let all = |name| {
        refusal(name)
            .into_iter()
            .map(|(path, kind)| format!("{path}: {kind}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        all("leaves.pt"),
        [
            "none: NoneType",
            "flag: bool",
            "size: tuple",
            "device: torch.device",
            "dtype: torch.dtype",
            "list: list",
            "tuple: tuple",
            "set: set",
            "bytes: bytes",
            "array: numpy.ndarray",
            "scalar: numpy scalar",
            "big: int",
            "complex: complex",
            "layout: torch.layout",
        ]
    );
    assert_eq!(
        all("integer_keys.pt"),
        [
            "0: key of type int",
            "1: key of type int",
            "a.?: key of type tuple",
        ]
    );
    assert_eq!(
        all("conjugate.pt"),
        [
            "c: tensor with its conjugate bit set",
            "n: tensor with its negative bit set",
        ]
    );
    assert_eq!(all("sparse.pt"), ["s: sparse tensor", "csr: sparse tensor"]);
    assert_eq!(all("complex128.pt"), ["c: tensor of complex128"]);
    assert_eq!(
        all("reserved.pt"),
        ["__metadata__: name reserved by safetensors"]
    );
    assert_eq!(all("dots.pt"), ["a.b: second tensor of this name"]);
    assert_eq!(
        all("cycle.pt"),
        ["again.cycle: mapping that contains itself"]
    );
    assert_eq!(all("evil_legacy.pt"), ["x: object of posix.system"]);
}

#[test]
fn broken_files_are_refused_for_what_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    let problem = |name: &str| match convert(
        &data().join(name),
        &destination,
        &Options::default(),
        &Silent,
    ) {
        Err(Error::InFile { problem, .. }) => problem,
        other => panic!("{name}: {other:?}"),
    };
    let size = |found| Problem::StorageSize {
        key: "\"0\"".into(),
        expected: 48,
        found,
    };
    assert_eq!(problem("short_storage.pt"), size(16));
    assert_eq!(problem("long_storage.pt"), size(56));
    assert!(
        matches!(problem("wrong_order.pt"), Problem::Layout { problem }
        if problem.contains("middle"))
    );
    // The other nine are in the test of refusals.
    assert_eq!(expected("refuse").len(), 3 + 9);
}

#[test]
fn without_metadata_every_tensor_still_has_to_fit() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    let options = Options {
        skip_non_tensors: true,
        ..Options::default()
    };
    let run = |name: &str| convert(&data().join(name), &destination, &options, &Silent);
    let summary = run("leaves.pt").unwrap();
    assert_eq!((summary.tensors, summary.skipped.len()), (1, 14));
    // Keys that are no names keep a tensor from being converted, and no tensor is left out.
    for name in [
        "integer_keys.pt",
        "sparse.pt",
        "complex128.pt",
        "conjugate.pt",
        "dots.pt",
        "cycle.pt",
    ] {
        assert!(matches!(run(name), Err(Error::Refused { .. })), "{name}");
    }
}
