//! That every argument of every layer is in the digest.

use std::collections::BTreeMap;
use tensoracle_graph::*;

/// Every layer with every argument at two values or more; no two may share a digest.
#[test]
fn every_argument_of_every_layer_is_in_the_digest() {
    let mut layers: Vec<Layer> = Vec::new();
    for function in ActivationType::ALL {
        layers.push(
            Activation {
                function,
                alpha: 0.0,
                beta: 0.0,
            }
            .into(),
        );
    }
    let relu = Activation {
        function: ActivationType::Relu,
        alpha: 0.25,
        beta: 0.0,
    };
    layers.extend([relu.into(), relu.alpha(0.0).beta(0.25).into()]);
    layers.push(relu.alpha(-0.0).into());
    layers.push(relu.alpha(f32::from_bits(0.25f32.to_bits() + 1)).into());
    for to_type in DataType::ALL {
        layers.push(Cast { to_type }.into());
    }
    for axis in 0..3 {
        layers.push(Concatenation { axis }.into());
        layers.push(SoftMax { axis }.into());
    }
    let c = Convolution::new();
    layers.extend([
        c.clone().into(),
        c.clone().stride([2]).into(),
        c.clone().dilation([2]).into(),
        c.clone().pre_padding([1]).into(),
        c.clone().post_padding([1]).into(),
        c.clone().padding([1]).into(),
        c.clone().groups(2).into(),
        c.clone().padding_mode(PaddingMode::ExplicitRoundUp).into(),
        c.clone().padding_mode(PaddingMode::SameUpper).into(),
        c.padding_mode(PaddingMode::SameLower).into(),
    ]);
    for operation in ElementWiseOperation::ALL {
        layers.push(ElementWise { operation }.into());
    }
    for axis in 1..3 {
        layers.push(Gather::along(axis).into());
        layers.push(Gather::along(axis).elementwise_dims(1).into());
        layers.push(Gather::element(axis).into());
    }
    layers.extend([Gather::nd().into(), Gather::nd().elementwise_dims(1).into()]);
    layers.push(Identity {}.into());
    use MatrixOperation::{None as N, Transpose as T, Vector as V};
    for (left, right) in [(N, N), (T, T), (T, N), (N, T), (V, N), (N, V), (V, V)] {
        layers.push(MatrixMultiply { left, right }.into());
    }
    let normalization = Normalization::over([2]);
    layers.extend([
        normalization.clone().into(),
        Normalization::over([1]).into(),
        Normalization::over([1, 2]).into(),
        normalization.clone().epsilon(1e-6).into(),
        normalization.groups(2).into(),
    ]);
    for (pre_padding, post_padding) in [
        ([0, 0], [0, 0]),
        ([1, 0], [0, 0]),
        ([0, 1], [0, 0]),
        ([0, 0], [1, 0]),
        ([0, 0], [0, 1]),
    ] {
        layers.push(
            Padding {
                pre_padding,
                post_padding,
            }
            .into(),
        );
    }
    for operation in ReduceOperation::ALL {
        for axes in [vec![0], vec![1], vec![0, 1]] {
            for keep_dimensions in [false, true] {
                layers.push(
                    Reduce {
                        operation,
                        axes: axes.clone(),
                        keep_dimensions,
                    }
                    .into(),
                );
            }
        }
    }
    layers.extend([Select {}.into(), Shape {}.into()]);
    layers.extend([
        Shuffle::default().into(),
        Shuffle::default().zero_is_size().into(),
        Shuffle::transpose([0, 1, 2]).into(),
        Shuffle::transpose([0, 2, 1]).into(),
        Shuffle::default().then_transpose([0, 2, 1]).into(),
        Shuffle::reshape([0, 0, 0]).into(),
        Shuffle::reshape([0, 0, -1]).into(),
        Shuffle::reshape([0, 0, -1])
            .then_transpose([0, 2, 1])
            .into(),
    ]);
    let slice = Slice::new([0, 0, 0], [2, 2, 2], [1, 1, 1]);
    layers.extend([
        slice.clone().into(),
        slice.clone().axes([0, 1, 2]).into(),
        Slice::new([0, 1, 0], [2, 2, 2], [1, 1, 1]).into(),
        Slice::new([0, 0, 0], [2, 2, 1], [1, 1, 1]).into(),
        Slice::new([0, 0, 0], [2, 2, 2], [1, 1, 0]).into(),
        Slice::new([0], [2], [1]).axes([0]).into(),
        Slice::new([0], [2], [1]).axes([1]).into(),
    ]);
    for mode in [
        SampleMode::Wrap,
        SampleMode::Clamp,
        SampleMode::Reflect,
        SampleMode::Fill,
    ] {
        layers.push(slice.clone().mode(mode).into());
    }
    for operation in UnaryOperation::ALL {
        layers.push(Unary { operation }.into());
    }

    let mut seen = BTreeMap::new();
    let mut kinds = BTreeMap::new();
    for layer in layers {
        let graph = over_fitting_inputs(&layer);
        *kinds.entry(layer.kind()).or_insert(0) += 1;
        if let Some(other) = seen.insert(graph.digest().unwrap(), layer.clone()) {
            panic!("{layer:?} has the digest of {other:?}");
        }
    }
    // All but the constant layer, whose argument numbers what it refers to.
    assert_eq!(kinds.len(), 17, "{kinds:?}");
}

/// A graph with `layer` as its only layer, over the first inputs that it takes.
fn over_fitting_inputs(layer: &Layer) -> Graph {
    let float = DataType::Float;
    let cube = || (float, dims![4, 4, 4]);
    let candidates: [Vec<(DataType, Dims)>; 12] = [
        vec![cube()],
        vec![cube(), cube()],
        vec![cube(), cube(), cube()],
        vec![cube(), (float, dims![4, 4, 2])],
        vec![cube(), (float, dims![4, 2, 4])],
        vec![cube(), (DataType::Int64, dims![4, 2])],
        vec![cube(), (DataType::Int64, dims![4, 4, 4])],
        vec![cube(), (float, dims![4, 4])],
        vec![(float, dims![4, 4]), cube()],
        vec![(DataType::Bool, dims![4])],
        vec![(DataType::Bool, dims![4]), (DataType::Bool, dims![4])],
        vec![
            (DataType::Bool, dims![4]),
            (float, dims![4]),
            (float, dims![4]),
        ],
    ];
    for candidate in candidates {
        let mut g = Graph::new();
        let inputs: Vec<_> = candidate
            .into_iter()
            .enumerate()
            .map(|(i, (t, dims))| Some(g.add_input(&format!("x{i}"), t, dims).unwrap()))
            .collect();
        if let Ok(outputs) = g.named("layer").add_layer(layer.clone(), &inputs) {
            g.mark_output("y", outputs[0]).unwrap();
            return g;
        }
    }
    panic!("no candidate fits {layer:?}");
}
