//! The program as its users run it, each call a new process.

use std::path::Path;
use std::process::{Command, Output};
use tensoracle_test_support::{fetched, golden};

const WEIGHTS: &str = "silero-vad/silero_vad_16k.safetensors";

fn run(cache: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tensoracle-example-speech"))
        .args(arguments)
        .env("XDG_CACHE_HOME", cache)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn demo(cache: &Path, weights: &Path, more: &[&str]) -> Output {
    let golden = golden("silero_vad");
    let mut arguments = vec!["demo", "--weights", weights.to_str().unwrap()];
    arguments.extend(["--golden", golden.to_str().unwrap()]);
    arguments.extend(more);
    run(cache, &arguments)
}

#[test]
fn the_second_process_reuses_the_engine() {
    let weights = fetched!(WEIGHTS);
    let cache = tempfile::tempdir().unwrap();
    let reports = [(); 2].map(|()| {
        let output = demo(cache.path(), &weights, &["--json"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    });
    let [first, second] = reports;
    assert_eq!(
        (&first["reused"], &second["reused"]),
        (&false.into(), &true.into())
    );
    assert!(first["build_ms"].as_f64().unwrap() > 0.0 && second["build_ms"].is_null());
    assert_eq!(first["engine_path"], second["engine_path"]);
    assert!(Path::new(second["engine_path"].as_str().unwrap()).starts_with(cache.path()));
    for report in [first, second] {
        assert_eq!(report["backend"], "cpu");
        assert_eq!(report["segments"], serde_json::json!([[1.024, 2.752]]));
        assert!(
            report["max_abs_error"].as_f64().unwrap() <= 2e-5,
            "{report}"
        );
        assert!(report["open_ms"].as_f64().unwrap() > 0.0);
        assert!(report["run_ms"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn the_picture_is_plain_where_nobody_sees_colours() {
    let weights = fetched!(WEIGHTS);
    let cache = tempfile::tempdir().unwrap();
    let output = demo(cache.path(), &weights, &["--mode", "exact"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let picture = text(&output.stdout);
    assert!(!picture.contains('\u{1b}'), "{picture}");
    assert!(picture.contains("speech   1.024 s to 2.752 s"), "{picture}");
    assert!(
        picture.contains("━━━") && picture.contains("agrees"),
        "{picture}"
    );
}

#[test]
fn a_wrong_answer_and_a_failure_have_their_own_exit_status() {
    let weights = fetched!(WEIGHTS);
    let folder = tempfile::tempdir().unwrap();
    // The weights of another model of the same shape: one byte of a bias changed.
    let mut bytes = std::fs::read(&weights).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let value = f32::from_le_bytes(bytes[header..header + 4].try_into().unwrap());
    bytes[header..header + 4].copy_from_slice(&(value + 1.0).to_le_bytes());
    let other = folder.path().join("other.safetensors");
    std::fs::write(&other, bytes).unwrap();
    let wrong = demo(folder.path(), &other, &[]);
    assert_eq!(wrong.status.code(), Some(1), "{}", text(&wrong.stderr));
    assert!(
        text(&wrong.stdout).contains("DIFFERS"),
        "{}",
        text(&wrong.stdout)
    );

    let failed = demo(folder.path(), Path::new("no such file"), &[]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(
        text(&failed.stderr).contains("no such file"),
        "{}",
        text(&failed.stderr)
    );
}

#[test]
fn a_users_recording_gives_one_line_for_each_stretch() {
    let weights = fetched!(WEIGHTS);
    let recording = fetched!("pocketsphinx/goforward.raw");
    let cache = tempfile::tempdir().unwrap();
    let arguments = ["detect", "--weights", weights.to_str().unwrap()];
    let arguments = [&arguments[..], &[recording.to_str().unwrap()]].concat();
    let output = run(cache.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines: Vec<_> = text(&output.stdout).lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let times: Vec<f64> = lines[0]
        .split('\t')
        .map(|time| time.parse().unwrap())
        .collect();
    // The golden has half a second of silence in front, which is not a whole number of chunks.
    let (start, end) = (times[0], times[1]);
    assert!(
        (start - 0.524).abs() < 0.1 && (end - 2.252).abs() < 0.1,
        "{times:?}"
    );
}
