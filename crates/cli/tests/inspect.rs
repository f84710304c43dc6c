//! `tensoracle inspect`.

mod common;

use common::{Cache, settings};
use insta::assert_snapshot;

/// The beginning of a TensorRT-RTX 1.7.1.116 plan that states a length of 64 bytes.
fn plan() -> Vec<u8> {
    let mut plan = vec![0; 64];
    plan[..4].copy_from_slice(b"vtrt");
    plan[8] = 2;
    plan[16] = 64;
    plan[24..28].copy_from_slice(&[1, 7, 1, 116]);
    plan
}

#[test]
fn a_saved_engine_and_its_plan() {
    let cache = Cache::new();
    cache.save("example", 3, 0, &plan());
    let output = cache.run(&["inspect", "example", "--plan", "bare.plan"]);
    assert_eq!(
        std::fs::read(cache.path().join("bare.plan")).unwrap(),
        plan()
    );
    settings(&cache).bind(|| {
        assert_snapshot!("saved_engine", output);
        assert_snapshot!("bare_plan", cache.run(&["inspect", "bare.plan"]));
    });
}

#[test]
fn a_plan_behind_metadata() {
    let cache = Cache::new();
    let metadata = br#"{"task": "detect"}"#;
    let mut file = (metadata.len() as u32).to_le_bytes().to_vec();
    file.extend_from_slice(metadata);
    file.extend_from_slice(&plan());
    std::fs::write(cache.path().join("yolo.engine"), file).unwrap();
    let output = cache.run(&["inspect", "yolo.engine", "--plan", "bare.plan"]);
    assert_eq!(
        std::fs::read(cache.path().join("bare.plan")).unwrap(),
        plan()
    );
    settings(&cache).bind(|| assert_snapshot!(output));
}

#[test]
fn a_damaged_engine_gives_no_plan() {
    let cache = Cache::new();
    let engine = cache.save("example", 3, 0, b"plan");
    let mut bytes = std::fs::read(&engine).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&engine, bytes).unwrap();
    let shown = cache.run(&["inspect", "example"]);
    assert!(shown.starts_with("exit status 1"), "{shown}");
    let output = cache.run(&["inspect", "example", "--plan", "bare.plan"]);
    assert!(!cache.path().join("bare.plan").exists());
    settings(&cache).bind(|| assert_snapshot!(output));
}

#[test]
fn what_is_no_engine() {
    let cache = Cache::new();
    std::fs::write(cache.path().join("model.onnx"), b"\x08\x0a\x12\x07pytorch").unwrap();
    std::fs::write(cache.path().join("notes"), b"hello").unwrap();
    let outputs = ["model.onnx", "notes", "absent"].map(|file| cache.run(&["inspect", file]));
    settings(&cache).bind(|| assert_snapshot!(outputs.join("\n")));
}
