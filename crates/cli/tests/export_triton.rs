//! `tensoracle export-triton` on engines whose headers say what a TensorRT backend's would.

mod common;

use common::{Cache, settings};
use insta::assert_snapshot;
use std::io::Write as _;
use tensoracle_progress::Silent;
use tensoracle_store::{BuildOptions, Conditions, Map, Outcome, Value};

fn tensor(name: &str, mode: &str, data_type: &str, shape: &[i64]) -> Value {
    [
        ("name", Value::from(name)),
        ("mode", mode.into()),
        ("type", data_type.into()),
        ("shape", shape.to_vec().into()),
    ]
    .into_iter()
    .collect()
}

fn save(cache: &Cache, name: &str, backend: &str, tensors: Vec<Value>) {
    let mut wanted = Conditions::new(name).unwrap();
    wanted.set(&["backend", "name"], backend);
    let list = |sizes: [i64; 2]| Value::from(sizes.to_vec());
    wanted.set(&["inputs", "ids", "min"], list([1, 1]));
    wanted.set(&["inputs", "ids", "opt"], list([8, 128]));
    wanted.set(&["inputs", "ids", "max"], list([32, 512]));
    wanted.describe(&["tensors"], tensors);
    let begun = cache
        .store()
        .begin_build(&wanted, BuildOptions::default(), &Silent)
        .unwrap();
    let Outcome::Build(mut build) = begun else {
        panic!("{name} is saved already")
    };
    build.write_all(b"the plan").unwrap();
    build.publish(Map::new()).unwrap();
}

#[test]
fn a_model_repository_is_written() {
    let cache = Cache::new();
    save(
        &cache,
        "encoder",
        "tensorrt",
        vec![
            tensor("ids", "input", "int64", &[-1, -1]),
            tensor("scale", "input", "float", &[]),
            tensor("plongé", "output", "half", &[-1, 384]),
        ],
    );
    let output = cache.run(&["export-triton", "encoder", "models", "--instances", "2"]);
    let model = cache.path().join("models/encoder");
    assert_eq!(
        std::fs::read(model.join("1/model.plan")).unwrap(),
        b"the plan"
    );
    let config = std::fs::read_to_string(model.join("config.pbtxt")).unwrap();
    let mut settings = settings(&cache);
    settings.add_filter("identity [0-9a-f]{64}", "identity [IDENTITY]");
    settings.bind(|| assert_snapshot!(format!("{output}--- config.pbtxt\n{config}")));
}

#[test]
fn what_triton_cannot_run_is_refused() {
    let cache = Cache::new();
    save(&cache, "on-cpu", "cpu", Vec::new());
    save(
        &cache,
        "fp8",
        "tensorrt",
        vec![tensor("x", "input", "fp8", &[1])],
    );
    save(&cache, "silent", "tensorrt", Vec::new());
    let all = [
        cache.run(&["export-triton", "on-cpu", "models"]),
        cache.run(&["export-triton", "fp8", "models"]),
        cache.run(&["export-triton", "silent", "models"]),
        cache.run(&["export-triton", "fp8", "models", "--model", "../up"]),
        cache.run(&["export-triton", "absent", "models"]),
    ];
    assert!(!cache.path().join("models").exists());
    settings(&cache).bind(|| assert_snapshot!(all.join("\n")));
}
