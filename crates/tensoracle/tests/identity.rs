//! What leads to another engine, and what must not.

mod common;

use common::{Place, WEIGHT, build, define, run, write_weights};
use std::time::{Duration, SystemTime};
use tensoracle::weights::Read;
use tensoracle::{
    Activation, ActivationType, BuilderSettings, CpuBackend, DataType, DefineResult, Engine,
    EngineBuild, Graph, InputShape, MatrixOperation, Mode, Values, Weights, WeightsOptions, dims,
};

/// Opens once, then again after a change, and says whether the second time reused the first.
fn is_reused(again: impl FnOnce(&Place) -> Engine) -> bool {
    let place = Place::new();
    let first = place.open().unwrap();
    assert!(!first.was_reused());
    let second = again(&place);
    let same_file = second.path() == first.path();
    assert_eq!(
        second.was_reused(),
        same_file,
        "reused exactly under the same identity"
    );
    second.was_reused()
}

fn with_graph(place: &Place, define: impl FnOnce(&mut Graph, &Weights) -> DefineResult) -> Engine {
    let weights = Weights::open(place.weights()).unwrap();
    Engine::open(&CpuBackend::new(), &build(), place.options(), |graph| {
        define(graph, &weights)
    })
    .unwrap()
}

fn with_weights(place: &Place, weights: &Weights) -> Engine {
    Engine::open(&CpuBackend::new(), &build(), place.options(), |graph| {
        define(graph, weights)
    })
    .unwrap()
}

fn with_build(place: &Place, build: EngineBuild) -> Engine {
    place
        .open_with(&CpuBackend::new(), &build, place.options())
        .unwrap()
}

#[test]
fn the_same_engine_is_reused_and_computes_the_same() {
    let place = Place::new();
    let built = place.open().unwrap();
    let reused = place.open().unwrap();
    assert!(reused.was_reused());
    assert_eq!(run(&built, 2), [0.5, 1.75, 0.5, 1.75]);
    assert_eq!(run(&reused, 2), [0.5, 1.75, 0.5, 1.75]);
}

#[test]
fn one_bit_of_a_weight_builds_another() {
    assert!(!is_reused(|place| {
        let mut weight = WEIGHT;
        weight[3] = f32::from_bits(weight[3].to_bits() ^ 1);
        write_weights(&place.weights(), &weight, 0);
        place.open().unwrap()
    }));
}

#[test]
fn a_rewrite_that_restores_size_and_time_builds_another() {
    assert!(!is_reused(|place| {
        // Old enough for the digests to have been recorded.
        let old = SystemTime::now() - Duration::from_secs(3600);
        let file = std::fs::File::options()
            .write(true)
            .open(place.weights())
            .unwrap();
        file.set_modified(old).unwrap();
        std::thread::sleep(Duration::from_millis(2100));
        assert!(
            place.open().unwrap().was_reused(),
            "the time of a file does not matter"
        );
        let mut weight = WEIGHT;
        weight[0] = 3.0;
        write_weights(&place.weights(), &weight, 0);
        let file = std::fs::File::options()
            .write(true)
            .open(place.weights())
            .unwrap();
        file.set_modified(old).unwrap();
        place.open().unwrap()
    }));
}

#[test]
fn the_name_builds_another() {
    assert!(!is_reused(|place| {
        let options = tensoracle::OpenOptions::named("other").store(place.store.clone());
        place
            .open_with(&CpuBackend::new(), &build(), options)
            .unwrap()
    }));
}

#[test]
fn the_graph_version_builds_another() {
    assert!(!is_reused(|place| {
        let options = place.options().graph_version("2");
        place
            .open_with(&CpuBackend::new(), &build(), options)
            .unwrap()
    }));
}

#[test]
fn a_layer_argument_builds_another() {
    assert!(!is_reused(|place| {
        with_graph(place, |graph, weights| {
            let x = graph.add_input("x", DataType::Float, dims!["n", 3])?;
            let weight = graph.add_constant(weights.constant("weight")?)?;
            let product = graph.named("product").add_matrix_multiply(
                x,
                MatrixOperation::None,
                weight,
                MatrixOperation::Transpose,
            )?;
            let clip = Activation::clip(0.0, 6.0);
            let y = graph.named("relu").add_activation(product, clip)?;
            graph.mark_output("y", y)?;
            Ok(())
        })
    }));
}

#[test]
fn a_constant_in_code_builds_another() {
    let place = Place::new();
    let open = |value: f32| {
        with_graph(&place, |graph, _| {
            let x = graph.add_input("x", DataType::Float, dims!["n", 3])?;
            let value = graph.add_constant(Values::new([1, 1], [value]))?;
            let y = graph.add_elementwise(x, value, tensoracle::ElementWiseOperation::Sum)?;
            graph.mark_output("y", y)?;
            Ok(())
        })
    };
    assert!(!open(1.0).was_reused());
    assert!(!open(2.0).was_reused());
    assert!(open(1.0).was_reused());
}

#[test]
fn the_view_of_a_weight_builds_another() {
    assert!(!is_reused(|place| {
        with_graph(place, |graph, weights| {
            let x = graph.add_input("x", DataType::Float, dims!["n", 3])?;
            // The same product from a transposed view.
            let weight = weights
                .tensor("weight")?
                .transpose(&[1, 0])?
                .into_constant()?;
            let weight = graph.add_constant(weight)?;
            let product = graph.named("product").add_matrix_multiply(
                x,
                MatrixOperation::None,
                weight,
                MatrixOperation::None,
            )?;
            let y = graph
                .named("relu")
                .add_activation(product, ActivationType::Relu)?;
            graph.mark_output("y", y)?;
            Ok(())
        })
    }));
}

#[test]
fn the_range_of_an_input_builds_another() {
    for shape in [
        InputShape::ranged([2, 3], [2, 3], [8, 3]),
        InputShape::ranged([1, 3], [4, 3], [8, 3]),
        InputShape::ranged([1, 3], [2, 3], [9, 3]),
    ] {
        assert!(!is_reused(|place| with_build(
            place,
            EngineBuild::new().input("x", shape)
        )));
    }
}

#[test]
fn the_optimization_level_builds_another() {
    let settings = BuilderSettings {
        optimization_level: 5,
        ..BuilderSettings::default()
    };
    assert!(!is_reused(|place| with_build(
        place,
        build().settings(settings)
    )));
}

#[test]
fn the_mode_of_the_backend_builds_another() {
    for mode in [Mode::Typed, Mode::Exact] {
        assert!(!is_reused(|place| {
            let backend = CpuBackend::new().mode(mode);
            place
                .open_with(&backend, &build(), place.options())
                .unwrap()
        }));
    }
}

#[test]
fn version_and_machine_are_in_the_identity() {
    let place = Place::new();
    let header = place.open().unwrap().header().unwrap().clone();
    let field = |path: &[&str]| header.conditions.get(path).unwrap().to_string();
    assert!(field(&["backend", "version"]).contains(env!("CARGO_PKG_VERSION")));
    assert!(!field(&["backend", "level"]).is_empty());
    assert!(field(&["os"]).contains(std::env::consts::OS));
    assert!(field(&["architecture"]).contains(std::env::consts::ARCH));
}

#[test]
fn where_the_weights_lie_does_not_matter() {
    assert!(is_reused(|place| {
        let elsewhere = place.folder.path().join("renamed");
        std::fs::rename(place.weights(), &elsewhere).unwrap();
        let weights = Weights::open(elsewhere).unwrap();
        with_weights(place, &weights)
    }));
}

#[test]
fn a_tensor_that_is_not_used_does_not_matter() {
    assert!(is_reused(|place| {
        write_weights(&place.weights(), &WEIGHT, 7);
        place.open().unwrap()
    }));
}

#[test]
fn how_the_weights_are_read_does_not_matter() {
    assert!(is_reused(|place| {
        let options = WeightsOptions { read: Read::Owned };
        let weights = Weights::open_with(&[place.weights()], options).unwrap();
        with_weights(place, &weights)
    }));
}

#[test]
fn re_sharding_does_not_matter() {
    use safetensors::tensor::{Dtype, TensorView};
    assert!(is_reused(|place| {
        let bytes: Vec<u8> = WEIGHT
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let view = TensorView::new(Dtype::F32, vec![2, 3], &bytes).unwrap();
        let shards = place.folder.path().join("shards");
        std::fs::create_dir(&shards).unwrap();
        let shard = safetensors::serialize([("weight", view)], None).unwrap();
        std::fs::write(shards.join("model-00001-of-00001.safetensors"), shard).unwrap();
        let index = r#"{"metadata": {"total_size": 24},
                        "weight_map": {"weight": "model-00001-of-00001.safetensors"}}"#;
        std::fs::write(shards.join("model.safetensors.index.json"), index).unwrap();
        let weights = Weights::open(&shards).unwrap();
        with_weights(place, &weights)
    }));
}

#[test]
fn the_workspace_limit_does_not_matter_and_is_recorded() {
    let limit = |bytes| BuilderSettings {
        workspace_limit: bytes,
        ..BuilderSettings::default()
    };
    let place = Place::new();
    let first = with_build(&place, build().settings(limit(Some(1 << 20))));
    let second = with_build(&place, build().settings(limit(None)));
    assert!(!first.was_reused() && second.was_reused());
    let recorded = second
        .header()
        .unwrap()
        .reference(&["workspace_limit"])
        .unwrap();
    assert_eq!(
        recorded.as_integer(),
        Some(1 << 20),
        "what it was built under"
    );
}

#[test]
fn the_number_of_threads_does_not_matter() {
    assert!(is_reused(|place| {
        let backend = CpuBackend::new().threads(1);
        place
            .open_with(&backend, &build(), place.options())
            .unwrap()
    }));
}

#[test]
fn the_order_of_declaring_inputs_does_not_matter() {
    let place = Place::new();
    let define = |graph: &mut Graph| -> DefineResult {
        let a = graph.add_input("a", DataType::Float, dims!["n"])?;
        let b = graph.add_input("b", DataType::Float, dims!["n"])?;
        let y = graph.add_elementwise(a, b, tensoracle::ElementWiseOperation::Sum)?;
        graph.mark_output("y", y)?;
        Ok(())
    };
    let shape = InputShape::ranged([1], [2], [3]);
    let forwards = EngineBuild::new()
        .input("a", shape.clone())
        .input("b", shape.clone());
    let backwards = EngineBuild::new()
        .input("b", shape.clone())
        .input("a", shape);
    let open = |build: &EngineBuild| {
        Engine::open(&CpuBackend::new(), build, place.options(), define).unwrap()
    };
    assert!(!open(&forwards).was_reused());
    assert!(open(&backwards).was_reused());
}
