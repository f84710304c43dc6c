//! The small files that torch 2.15 wrote, against what torch makes of each: types, number of
//! tensors, digest of names and values, or a refusal with its reason.
//!
//! `data/expected.json` holds the expectations. Not here: real models, in `real_files.rs`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tensoracle_checkpoint::{Error, Kind, Options, Problem, convert, inspect};
use tensoracle_progress::Silent;

#[derive(Deserialize)]
struct Expected {
    verdict: String,
    digest: Option<String>,
    tensors: Option<usize>,
    dtypes: Option<BTreeMap<String, usize>>,
    #[serde(rename = "with --skip-non-tensors")]
    skipping: Option<Skipping>,
}

#[derive(Deserialize)]
struct Skipping {
    digest: String,
    tensors: usize,
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn expected() -> BTreeMap<String, Expected> {
    let text = std::fs::read(data().join("expected.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn with_digest() -> Options {
    Options {
        digest: true,
        ..Options::default()
    }
}

#[test]
fn accepted_files_have_the_digest_and_types_that_torch_finds() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    let mut accepted = 0;
    for (name, expected) in expected() {
        if expected.verdict != "accept" {
            continue;
        }
        let source = data().join(&name);
        let summary = convert(&source, &destination, &with_digest(), &Silent)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(Some(summary.tensors), expected.tensors, "{name}");
        if let Some(digest) = expected.digest {
            assert_eq!(summary.digest, Some(digest), "{name}");
        }
        let listing = inspect(&source, &Options::default(), &Silent).unwrap();
        let mut dtypes = BTreeMap::new();
        for tensor in &listing.tensors {
            *dtypes.entry(tensor.dtype.to_string()).or_insert(0) += 1;
        }
        assert_eq!(Some(dtypes), expected.dtypes, "{name}");
        assert_eq!(listing.bytes, summary.bytes, "{name}");
        accepted += 1;
    }
    assert_eq!(accepted, 9);
}

/// Whether the error is the one that `expected.json` gives the reason of.
fn is_reason(name: &str, error: &Error) -> bool {
    let problem = match error {
        Error::InFile { problem, .. } => Some(problem),
        _ => None,
    };
    let entries: Vec<_> = match error {
        Error::Refused { refusal, .. } => refusal
            .entries
            .iter()
            .map(|entry| (entry.path.as_deref().unwrap_or(""), entry.kind.clone()))
            .collect(),
        _ => Vec::new(),
    };
    let object = |global: &str| Kind::Object {
        global: global.into(),
    };
    match name {
        "evil_raw.pkl" => matches!(problem, Some(Problem::NotACheckpoint { found })
            if found.contains("posix.system")),
        "evil_zip.pt" => entries == [("x", object("posix.system"))],
        "full_model.pt" => matches!(problem, Some(Problem::NotAMapping { found, .. })
            if found == "object of __main__.Tied"),
        "list_top.pt" => matches!(problem, Some(Problem::NotAMapping { found, .. })
            if found == "list"),
        "tensor_top.pt" => matches!(problem, Some(Problem::NotAMapping { found, .. })
            if found == "tensor"),
        "meta_mixed.pt" => {
            entries
                == [
                    ("version", Kind::Value("str")),
                    ("lr", Kind::Value("float")),
                ]
        }
        "nested.pt" => entries == [("epoch", Kind::Value("int"))],
        "quant.pt" => entries == [("q", Kind::Tensor("quantized tensor"))],
        "trunc_legacy.pt" | "trunc_zip.pt" => {
            matches!(problem, Some(Problem::Truncated { .. }))
        }
        _ => false,
    }
}

#[test]
fn refused_files_are_refused_for_their_reason_and_write_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    let mut refused = 0;
    for (name, expected) in expected() {
        if expected.verdict != "refuse" {
            continue;
        }
        let source = data().join(&name);
        let error = convert(&source, &destination, &Options::default(), &Silent).unwrap_err();
        assert!(is_reason(&name, &error), "{name}: {error:?}");
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "{name}"
        );
        refused += 1;
    }
    assert_eq!(refused, 10);
}

#[test]
fn metadata_is_left_out_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    let options = Options {
        skip_non_tensors: true,
        ..with_digest()
    };
    let mut skipping = 0;
    for (name, expected) in expected() {
        let Some(expected) = expected.skipping else {
            continue;
        };
        let summary = convert(&data().join(&name), &destination, &options, &Silent).unwrap();
        assert_eq!(summary.tensors, expected.tensors, "{name}");
        assert_eq!(summary.digest, Some(expected.digest), "{name}");
        let skipped: Vec<_> = summary
            .skipped
            .iter()
            .map(|entry| entry.path.as_deref().unwrap())
            .collect();
        match name.as_str() {
            "meta_mixed.pt" => assert_eq!(skipped, ["version", "lr"]),
            "nested.pt" => assert_eq!(skipped, ["epoch"]),
            _ => panic!("{name}"),
        }
        skipping += 1;
    }
    assert_eq!(skipping, 2);
}

#[test]
fn an_unknown_object_is_left_out_with_its_name_and_never_called() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    let options = Options {
        skip_non_tensors: true,
        ..Options::default()
    };
    let summary = convert(&data().join("evil_zip.pt"), &destination, &options, &Silent).unwrap();
    assert_eq!(summary.tensors, 1);
    assert_eq!(
        summary.skipped[0].to_string(),
        "\"x\": object of posix.system"
    );
    // What the pickle wanted to run was `touch PWNED`.
    assert!(!Path::new("PWNED").exists());
}

#[test]
fn complex_numbers_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    convert(
        &data().join("complex.pt"),
        &destination,
        &Options::default(),
        &Silent,
    )
    .unwrap();
    let bytes = std::fs::read(&destination).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let tensor = file.tensor("c").unwrap();
    assert_eq!(tensor.dtype(), safetensors::Dtype::C64);
    assert_eq!(tensor.shape(), [2]);
    let one = [1f32.to_le_bytes(), 0f32.to_le_bytes()].concat();
    assert_eq!(tensor.data(), [one.clone(), one].concat());
}

#[test]
fn one_part_is_converted_under_its_own_names() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    let names = |select: &[&str]| {
        let options = Options {
            select: select.iter().map(|path| (*path).to_owned()).collect(),
            ..Options::default()
        };
        convert(&data().join("nested.pt"), &destination, &options, &Silent)?;
        let bytes = std::fs::read(&destination).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let mut names: Vec<_> = file.names().into_iter().map(String::from).collect();
        names.sort();
        Ok::<_, Error>(names)
    };
    assert_eq!(names(&["ema"]).unwrap(), ["a", "b"]);
    let both = names(&["ema", "state_dict"]).unwrap_err();
    assert!(matches!(both, Error::Refused { refusal, .. }
        if refusal.entries.iter().all(|entry| entry.kind == Kind::Duplicate)));
    let missing = names(&["model"]).unwrap_err();
    assert!(
        matches!(missing, Error::InFile { problem: Problem::SelectionMissing { available, .. }, .. }
        if available == ["state_dict", "ema"])
    );
    let leaf = names(&["epoch"]).unwrap_err();
    assert!(
        matches!(leaf, Error::InFile { problem: Problem::NotAMapping { subject, found }, .. }
        if subject == "epoch" && found == "int")
    );
}
