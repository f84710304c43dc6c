//! `tensoracle convert`, as scripts see it: its output is no terminal here.
//!
//! Not here: what the converter makes of files, which its own crate tests.

mod common;

use common::{Cache, settings};
use insta::assert_snapshot;

/// A folder of its own with these checkpoints of the converter's tests in it.
fn with(files: &[&str]) -> Cache {
    let folder = Cache::new();
    for file in files {
        let source = format!(
            "{}/../checkpoint/tests/data/{file}",
            env!("CARGO_MANIFEST_DIR")
        );
        let name = file.rsplit('/').next().unwrap();
        std::fs::copy(source, folder.path().join(name)).unwrap();
    }
    folder
}

#[test]
fn a_checkpoint_is_written() {
    let folder = with(&["tied_zip.pt"]);
    let output = folder.run(&["convert", "tied_zip.pt", "out.safetensors", "--digest"]);
    settings(&folder).bind(|| assert_snapshot!(output));
    let bytes = std::fs::read(folder.path().join("out.safetensors")).unwrap();
    // A header that starts with its length, then JSON.
    assert!(bytes[8..].starts_with(b"{\"__metadata__\""));
}

#[test]
fn quiet_says_nothing() {
    let folder = with(&["tied_zip.pt"]);
    assert_eq!(
        folder.run(&["convert", "--quiet", "tied_zip.pt", "out.safetensors"]),
        "exit status 0\n--- output\n--- errors\n"
    );
    assert!(folder.path().join("out.safetensors").is_file());
}

#[test]
fn a_summary_for_programs() {
    let folder = with(&["nested.pt"]);
    let output = folder.run(&[
        "convert",
        "nested.pt",
        "out.safetensors",
        "--skip-non-tensors",
        "--digest",
        "--json",
    ]);
    settings(&folder).bind(|| assert_snapshot!(output));
}

#[test]
fn a_refusal_lists_every_entry() {
    let folder = with(&["more/leaves.pt"]);
    let output = folder.run(&["convert", "leaves.pt", "out.safetensors"]);
    settings(&folder).bind(|| assert_snapshot!(output));
    assert!(!folder.path().join("out.safetensors").exists());
}

#[test]
fn what_is_left_out_is_said() {
    let folder = with(&["evil_zip.pt"]);
    let output = folder.run(&[
        "convert",
        "evil_zip.pt",
        "out.safetensors",
        "--skip-non-tensors",
    ]);
    settings(&folder).bind(|| assert_snapshot!(output));
    assert!(!folder.path().join("PWNED").exists());
}

#[test]
fn a_dry_run_lists_tensors_and_writes_nothing() {
    let folder = with(&["nested.pt"]);
    let words = [
        "convert",
        "nested.pt",
        "--dry-run",
        "--select",
        "state_dict",
        "--select",
        "ema",
        "--dtype",
        "bf16",
    ];
    let twice = folder.run(&words);
    let (text, json) = (
        folder.run(&words[..5]),
        folder.run(&[
            "convert",
            "nested.pt",
            "--dry-run",
            "--select",
            "ema",
            "--json",
        ]),
    );
    settings(&folder).bind(|| {
        assert_snapshot!("dry_run_of_two_parts_with_the_same_names", twice);
        assert_snapshot!("dry_run", text);
        assert_snapshot!("dry_run_json", json);
    });
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn shards_and_types_are_as_asked() {
    let folder = with(&["tied_zip.pt"]);
    let output = folder.run(&[
        "convert",
        "tied_zip.pt",
        "out.safetensors",
        "--shard-size",
        "0.3kB",
        "--dtype",
        "f16",
    ]);
    settings(&folder).bind(|| assert_snapshot!(output));
    assert!(folder.path().join("out.safetensors.index.json").is_file());
}

#[test]
fn errors_name_the_file_and_what_to_do() {
    let folder = with(&["full_model.pt", "trunc_legacy.pt", "views_zip.pt"]);
    std::fs::write(
        folder.path().join("pointer.bin"),
        "version https://git-lfs.github.com/spec/v1\n",
    )
    .unwrap();
    let all: Vec<_> = [
        &["full_model.pt", "out"][..],
        &["trunc_legacy.pt", "out"],
        &["pointer.bin", "out"],
        &["missing.pt", "out"],
        &["views_zip.pt", "missing/out"],
        &["views_zip.pt", "out", "--max-output", "100"],
        &["views_zip.pt", "out", "--max-metadata", "1KiB"],
        &["views_zip.pt", "out", "--select", "model"],
    ]
    .iter()
    .map(|words| folder.run(&[&["convert"], *words].concat()))
    .collect();
    settings(&folder).bind(|| assert_snapshot!(all.join("\n")));
    assert!(!folder.path().join("out").exists());
}

#[test]
fn wrong_usage_is_status_2() {
    let folder = with(&["tied_zip.pt"]);
    for words in [
        &["convert"][..],
        &["convert", "tied_zip.pt"],
        &["convert", "tied_zip.pt", "out", "--dtype", "f64"],
        &[
            "convert",
            "tied_zip.pt",
            "out",
            "--shard-size",
            "5 Gigabyte",
        ],
        &["convert", "tied_zip.pt", "--dry-run", "--digest"],
    ] {
        let output = folder.run(words);
        assert!(output.starts_with("exit status 2"), "{words:?}: {output}");
    }
}
