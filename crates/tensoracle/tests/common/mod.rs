//! A small model over real safetensors files, with everything about it adjustable.

#![allow(dead_code)] // Each test binary uses its own part.

use safetensors::tensor::{Dtype, TensorView};
use std::path::{Path, PathBuf};
use tensoracle::{
    ActivationType, CpuBackend, DataType, DefineResult, Engine, EngineBuild, Error, Graph,
    HostTensor, InputShape, MatrixOperation, OpenOptions, Store, Weights, dims,
};

/// A folder with a store and weights in it.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) store: Store,
}

/// The model's weights: `[2, 3]`, row-major.
pub(crate) const WEIGHT: [f32; 6] = [1.0, 0.5, -1.0, 0.25, 2.0, -0.5];

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("cache"));
        let place = Self { folder, store };
        write_weights(&place.weights(), &WEIGHT, 0);
        place
    }

    pub(crate) fn weights(&self) -> PathBuf {
        self.folder.path().join("model.safetensors")
    }

    pub(crate) fn options(&self) -> OpenOptions<'static> {
        OpenOptions::named("model").store(self.store.clone())
    }

    /// Opens the model as it is by default.
    pub(crate) fn open(&self) -> Result<Engine, Error> {
        self.open_with(&CpuBackend::new(), &build(), self.options())
    }

    pub(crate) fn open_with(
        &self,
        backend: &CpuBackend,
        build: &EngineBuild,
        options: OpenOptions<'_>,
    ) -> Result<Engine, Error> {
        let weights = Weights::open(self.weights()).unwrap();
        Engine::open(backend, build, options, |graph| define(graph, &weights))
    }
}

/// Writes `weight` [2, 3] and `unused` [1].
pub(crate) fn write_weights(path: &Path, weight: &[f32; 6], unused: u8) {
    let bytes: Vec<u8> = weight
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let unused = [unused];
    let tensors = [
        (
            "unused",
            TensorView::new(Dtype::U8, vec![1], &unused).unwrap(),
        ),
        (
            "weight",
            TensorView::new(Dtype::F32, vec![2, 3], &bytes).unwrap(),
        ),
    ];
    std::fs::write(path, safetensors::serialize(tensors, None).unwrap()).unwrap();
}

/// `relu(x · weightᵀ)`.
pub(crate) fn define(graph: &mut Graph, weights: &Weights) -> DefineResult {
    let x = graph.add_input("x", DataType::Float, dims!["n", 3])?;
    let weight = graph.add_constant(weights.constant("weight")?)?;
    let product = graph.named("product").add_matrix_multiply(
        x,
        MatrixOperation::None,
        weight,
        MatrixOperation::Transpose,
    )?;
    let y = graph
        .named("relu")
        .add_activation(product, ActivationType::Relu)?;
    graph.mark_output("y", y)?;
    Ok(())
}

pub(crate) fn build() -> EngineBuild {
    EngineBuild::new().input("x", InputShape::ranged([1, 3], [2, 3], [8, 3]))
}

/// Runs the model on `rows` rows of ones.
pub(crate) fn run(engine: &Engine, rows: u64) -> Vec<f32> {
    let x = HostTensor::new([rows, 3], vec![1.0f32; 3 * rows as usize]).unwrap();
    let outputs = engine.session().unwrap().run(&[("x", &x)]).unwrap();
    outputs.get("y").unwrap().to_vec().unwrap()
}
