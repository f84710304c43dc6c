//! Policies, expectations, damage, and weights that change while an engine is built.

mod common;

use common::{Place, WEIGHT, build, define, run, write_weights};
use std::io::Write;
use std::sync::Arc;
use tensoracle::{
    Backend, BackendError, CpuBackend, DataType, Engine, EngineBuild, EngineIo, Error, Graph,
    InputShape, LoadedEngine, Mode, OnDamage, OpenPolicy, PlanBytes, Progress, Selector, Silent,
    StoreError, TensorFormat, TensorLocation, TensorSpec, Weights, build_plan, build_plan_with,
};

fn message(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

/// Snapshots must not depend on where the test runs.
fn filtered(place: &Place, text: &str) -> String {
    let folder = place.folder.path().display().to_string();
    let text = text.replace(&folder, "[folder]");
    // The identity in a file's name differs from machine to machine.
    let digits = |c: char| c.is_ascii_hexdigit();
    match text.split_once("/model-") {
        Some((head, tail)) => format!("{head}/model-[identity]{}", tail.trim_start_matches(digits)),
        None => text,
    }
}

#[test]
fn reuse_only_never_builds_and_says_what_differs() {
    let place = Place::new();
    let options = || place.options().policy(OpenPolicy::ReuseOnly);
    let error = place
        .open_with(&CpuBackend::new(), &build(), options())
        .unwrap_err();
    assert!(matches!(error, Error::NotSaved { .. }), "{error}");
    place.open().unwrap();
    assert!(
        place
            .open_with(&CpuBackend::new(), &build(), options())
            .unwrap()
            .was_reused()
    );

    let wider = EngineBuild::new().input("x", InputShape::ranged([1, 3], [2, 3], [9, 3]));
    let error = place
        .open_with(&CpuBackend::new(), &wider, options())
        .unwrap_err();
    let Error::NotSaved { nearest, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(nearest.len(), 1, "{error}");
    assert!(nearest[0].to_string().contains("inputs.x.max"), "{error}");
}

#[test]
fn force_rebuild_replaces_the_saved_engine() {
    let place = Place::new();
    let first = place.open().unwrap();
    let before = std::fs::metadata(first.path().unwrap()).unwrap();
    let options = place.options().policy(OpenPolicy::ForceRebuild);
    let second = place
        .open_with(&CpuBackend::new(), &build(), options)
        .unwrap();
    assert!(!second.was_reused());
    assert_eq!(first.path(), second.path());
    use std::os::unix::fs::MetadataExt;
    let after = std::fs::metadata(second.path().unwrap()).unwrap();
    assert_ne!(before.ino(), after.ino());
    assert_eq!(run(&first, 1), run(&second, 1), "the old one still runs");
}

#[test]
fn the_saved_engine_stands_alone() {
    let place = Place::new();
    drop(place.open().unwrap());
    std::fs::remove_file(place.weights()).unwrap();
    let name = Selector::Name("model".into());
    let engine = Engine::open_saved(&name, place.options()).unwrap();
    assert_eq!(run(&engine, 1), [0.5, 1.75]);
}

#[test]
fn an_engine_of_another_mode_is_not_opened_by_name() {
    let place = Place::new();
    place.open().unwrap();
    let exact = CpuBackend::new().mode(Mode::Exact);
    let name = Selector::Name("model".into());
    let error = Engine::open_saved_on(&exact, &name, place.options()).unwrap_err();
    insta::assert_snapshot!(filtered(&place, &message(&error)), @r#"
    saved engine [folder]/cache/engines-v1/model-[identity].engine cannot run here; backend.mode: saved "fast", wanted "exact"
    hint: build the engine on this machine, or open one that was built for it
    "#);
}

#[test]
fn a_plan_is_built_without_saving() {
    let place = Place::new();
    let weights = Weights::open(place.weights()).unwrap();
    let backend = CpuBackend::new();
    let plan = build_plan(&backend, &build(), |graph| define(graph, &weights)).unwrap();
    assert!(!place.store.folder().exists());
    let engine = Engine::load(&backend, Arc::new(plan)).unwrap();
    assert_eq!(run(&engine, 1), [0.5, 1.75]);
    assert_eq!(engine.path(), None);
}

fn expected() -> EngineIo {
    EngineIo::new()
        .input("x", TensorSpec::new(DataType::Float, [-1, 3]))
        .output("y", TensorSpec::new(DataType::Float, [-1, 2]))
}

fn io_error(place: &Place, io: EngineIo) -> String {
    let options = place.options().io(io);
    let error = place
        .open_with(&CpuBackend::new(), &build(), options)
        .unwrap_err();
    assert!(matches!(error, Error::Io(_)), "{error}");
    filtered(place, &error.to_string())
}

#[test]
fn expectations_are_checked_field_by_field() {
    let place = Place::new();
    let complete = EngineIo::new()
        .input(
            "x",
            TensorSpec::new(DataType::Float, [-1, 3])
                .location(TensorLocation::Host)
                .format(TensorFormat::Linear),
        )
        .output("y", TensorSpec::new(DataType::Float, [-1, 2]));
    place
        .open_with(&CpuBackend::new(), &build(), place.options().io(complete))
        .unwrap();

    let errors = [
        io_error(
            &place,
            expected().input("x", TensorSpec::new(DataType::Half, [-1, 3])),
        ),
        io_error(
            &place,
            expected().output("y", TensorSpec::new(DataType::Float, [2, 2])),
        ),
        io_error(
            &place,
            expected().output("z", TensorSpec::new(DataType::Float, [-1, 2])),
        ),
        io_error(
            &place,
            expected().input("y", TensorSpec::new(DataType::Float, [-1, 2])),
        ),
        io_error(
            &place,
            EngineIo::new().input("x", TensorSpec::new(DataType::Float, [-1, 3])),
        ),
        io_error(
            &place,
            expected().input(
                "x",
                TensorSpec::new(DataType::Float, [-1, 3]).location(TensorLocation::Device),
            ),
        ),
    ];
    insta::assert_snapshot!(errors.join("\n"), @r"
    tensor `x` has data type float, expected half (saved engine [folder]/cache/engines-v1/model-[identity].engine)
    tensor `y` has build-time shape [-1, 2], expected [2, 2] (saved engine [folder]/cache/engines-v1/model-[identity].engine)
    tensor `z` has mode none, expected Output (saved engine [folder]/cache/engines-v1/model-[identity].engine)
    tensor `y` has mode Output, expected Input (saved engine [folder]/cache/engines-v1/model-[identity].engine)
    tensor `y` has mode Output, expected none (saved engine [folder]/cache/engines-v1/model-[identity].engine)
    tensor `x` has location Host, expected Device (saved engine [folder]/cache/engines-v1/model-[identity].engine)
    ");
}

#[test]
fn declarations_are_checked_before_anything_is_built() {
    let place = Place::new();
    let refused = |build: EngineBuild| {
        let error = place
            .open_with(&CpuBackend::new(), &build, place.options())
            .unwrap_err();
        message(&error)
    };
    let settings = |change: fn(&mut tensoracle::BuilderSettings)| {
        let mut settings = tensoracle::BuilderSettings::default();
        change(&mut settings);
        build().settings(settings)
    };
    let messages = [
        refused(EngineBuild::new()),
        refused(build().input("z", InputShape::fixed([1]))),
        refused(EngineBuild::new().input("x", InputShape::fixed([1, 4]))),
        refused(settings(|s| s.tf32 = true)),
        refused(settings(|s| s.optimization_level = 6)),
        refused(settings(|s| s.workspace_limit = Some(0))),
    ];
    insta::assert_snapshot!(messages.join("\n"), @r"
    input `x`: no shape is declared
    hint: declare it with `EngineBuild::input`
    input `z`: the graph has no such input; it has: x
    input `x`: [1, 4] along axis 1, expected 3 as the graph declares: [n, 3]
    setting `tf32` is true, expected false, since TF32 is always off
    setting `optimization_level` is 6, expected 0 to 5
    setting `workspace_limit` is 0, expected at least 1 byte, or no limit
    ");
    let error = Engine::open(
        &CpuBackend::new(),
        &EngineBuild::new(),
        place.options(),
        |_| Ok(()),
    );
    insta::assert_snapshot!(error.unwrap_err(), @"graph is no outputs, expected at least one tensor marked with `Graph::mark_output`");
    assert!(!place.store.folder().exists(), "nothing was built");
}

#[test]
fn errors_of_the_graph_function_come_with_their_hints() {
    let place = Place::new();
    let weights = Weights::open(place.weights()).unwrap();
    let error = Engine::open(&CpuBackend::new(), &build(), place.options(), |graph| {
        graph.add_constant(weights.constant("wieght")?)?;
        Ok(())
    });
    let error = error.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("wieght"), "{cause}");
    assert!(
        format!("{cause} {:?}", error.hint()).contains("weight"),
        "the near name is offered"
    );
}

#[test]
fn a_damaged_engine_is_rebuilt_or_reported() {
    let place = Place::new();
    let path = place.open().unwrap().path().unwrap().to_owned();
    let damage = || {
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    };
    damage();
    let options = place.options().on_damage(OnDamage::Error);
    let error = place
        .open_with(&CpuBackend::new(), &build(), options)
        .unwrap_err();
    assert!(
        matches!(error, Error::Store(StoreError::Corrupt(_))),
        "{error}"
    );
    let rebuilt = place.open().unwrap();
    assert!(!rebuilt.was_reused());
    assert_eq!(run(&rebuilt, 1), [0.5, 1.75]);
    assert!(place.open().unwrap().was_reused());
}

/// The CPU backend, which changes the weights file while it builds.
struct Meddling<'a>(CpuBackend, &'a Place);

impl Backend for Meddling<'_> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn conditions(&self) -> tensoracle::Map {
        self.0.conditions()
    }

    fn build(
        &self,
        graph: &Graph,
        build: &EngineBuild,
        progress: &dyn Progress,
        out: &mut dyn Write,
    ) -> Result<tensoracle::Map, BackendError> {
        let built = self.0.build(graph, build, progress, out);
        write_weights(&self.1.weights(), &WEIGHT, 9);
        built
    }

    fn load(&self, plan: PlanBytes) -> Result<Arc<dyn LoadedEngine>, BackendError> {
        self.0.load(plan)
    }
}

#[test]
fn weights_that_change_during_a_build_stop_it() {
    let place = Place::new();
    let weights = Weights::open(place.weights()).unwrap();
    let backend = Meddling(CpuBackend::new(), &place);
    let opened = Engine::open(&backend, &build(), place.options(), |graph| {
        define(graph, &weights)
    });
    assert!(matches!(opened, Err(Error::Weights(_))), "{opened:?}");
    let saved = std::fs::read_dir(place.store.folder()).unwrap();
    let engines: Vec<_> = saved
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".engine") || name.ends_with(".building"))
        .collect();
    assert_eq!(engines, [""; 0], "nothing is published");
}

#[test]
fn a_build_can_be_cancelled() {
    struct Cancelled;
    impl Progress for Cancelled {
        fn is_cancelled(&self) -> bool {
            true
        }
    }
    let place = Place::new();
    let weights = Weights::open(place.weights()).unwrap();
    let define = |graph: &mut Graph| define(graph, &weights);
    let backend = CpuBackend::new();
    let plan = build_plan_with(&backend, &build(), &Cancelled, define);
    assert!(plan.is_err());
    let options = place.options().progress(&Cancelled);
    assert!(Engine::open(&backend, &build(), options, define).is_err());
    let options = place.options().progress(&Silent);
    assert!(Engine::open(&backend, &build(), options, define).is_ok());
}
