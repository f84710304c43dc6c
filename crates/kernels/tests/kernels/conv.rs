//! Convolutions against nested loops over every index.

use crate::support::{Values, assert_near, epsilon};
use proptest::prelude::*;
use tensoracle_kernels::*;

struct Case {
    batch: usize,
    in_channels: usize,
    out_channels: usize,
    groups: usize,
    axes: Vec<ConvAxis>,
}

/// Depth, height, width, with units in front.
fn three(axes: &[ConvAxis]) -> [ConvAxis; 3] {
    let unit = ConvAxis {
        input: 1,
        kernel: 1,
        stride: 1,
        dilation: 1,
        pad_begin: 0,
        pad_end: 0,
    };
    let mut all = [unit; 3];
    all[3 - axes.len()..].copy_from_slice(axes);
    all
}

fn naive<T: Real>(case: &Case, out: [usize; 3], x: &[T], w: &[T], bias: &[T]) -> Vec<f64> {
    let axes = three(&case.axes);
    let (group_in, group_out) = (
        case.in_channels / case.groups,
        case.out_channels / case.groups,
    );
    let mut result = Vec::new();
    for n in 0..case.batch {
        for (o, bias) in bias.iter().enumerate() {
            for pixel in 0..out.iter().product() {
                let at = [
                    pixel / out[2] / out[1],
                    pixel / out[2] % out[1],
                    pixel % out[2],
                ];
                let mut sum = bias.to_f64();
                for c in 0..group_in {
                    let channel = n * case.in_channels + o / group_out * group_in + c;
                    let kernel: [usize; 3] = axes.map(|a| a.kernel);
                    for tap in 0..kernel.iter().product() {
                        let k = [
                            tap / kernel[2] / kernel[1],
                            tap / kernel[2] % kernel[1],
                            tap % kernel[2],
                        ];
                        let mut index = channel;
                        let mut inside = true;
                        for d in 0..3 {
                            let i = (at[d] * axes[d].stride + k[d] * axes[d].dilation) as isize
                                - axes[d].pad_begin as isize;
                            inside &= i >= 0 && i < axes[d].input as isize;
                            index = index * axes[d].input + i.max(0) as usize;
                        }
                        if inside {
                            let weight =
                                (o * group_in + c) * kernel.iter().product::<usize>() + tap;
                            sum += x[index].to_f64() * w[weight].to_f64();
                        }
                    }
                }
                result.push(sum);
            }
        }
    }
    result
}

fn check<T: Real>(case: &Case, seed: u64) {
    let shape = ConvShape::new(
        case.batch,
        case.in_channels,
        case.out_channels,
        case.groups,
        &case.axes,
    )
    .unwrap();
    let mut values = Values::new(seed);
    let x: Vec<T> = values.vec(shape.input_len());
    let w: Vec<T> = values.vec(shape.weight_len());
    let bias: Vec<T> = values.vec(case.out_channels);
    let expected = naive(case, shape.output_dims(), &x, &w, &bias);
    let patch = shape
        .weight_len()
        .checked_div(case.out_channels)
        .unwrap_or(0);
    let tolerance = epsilon::<T>() * (patch as f64 + 2.0);
    let packed = pack_conv_weights(&shape, &w);
    assert_eq!(packed.len(), shape.packed_weight_len::<T>());
    for weights in [ConvWeights::Plain(&w), ConvWeights::Packed(&packed)] {
        let mut out = vec![T::from_f64(f64::NAN); shape.output_len()];
        conv(&shape, &x, weights, Some(&bias), None, &mut out);
        assert_near(&out, &expected, tolerance);

        conv(
            &shape,
            &x,
            weights,
            Some(&bias),
            Some(Activation::Relu),
            &mut out,
        );
        let rectified: Vec<f64> = expected.iter().map(|v| v.max(0.0)).collect();
        assert_near(&out, &rectified, tolerance);

        conv(&shape, &x, weights, None, None, &mut out);
        let pixels = shape.output_dims().iter().product::<usize>();
        let unbiased: Vec<f64> = expected
            .iter()
            .enumerate()
            .map(|(i, v)| v - bias[i / pixels % case.out_channels].to_f64())
            .collect();
        assert_near(&out, &unbiased, tolerance);
    }
}

fn axis() -> impl Strategy<Value = ConvAxis> {
    (
        1..=5usize,
        1..=3usize,
        1..=3usize,
        0..=3usize,
        0..=3usize,
        0..=12usize,
    )
        .prop_map(|(kernel, stride, dilation, pad_begin, pad_end, extra)| {
            let span = (kernel - 1) * dilation + 1;
            let input = span.saturating_sub(pad_begin + pad_end) + extra;
            ConvAxis {
                input,
                kernel,
                stride,
                dilation,
                pad_begin,
                pad_end,
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_convolution(
        axes in prop::collection::vec(axis(), 1..=3),
        batch in 0..=2usize,
        groups in 1..=4usize,
        group_in in 0..=3usize,
        group_out in 1..=4usize,
        seed: u64,
    ) {
        let case = Case {
            batch,
            in_channels: groups * group_in,
            out_channels: groups * group_out,
            groups,
            axes,
        };
        check::<f32>(&case, seed);
        check::<f64>(&case, seed);
    }
}

fn square(input: usize, kernel: usize, stride: usize, pads: (usize, usize)) -> Vec<ConvAxis> {
    let (pad_begin, pad_end) = pads;
    vec![
        ConvAxis {
            input,
            kernel,
            stride,
            dilation: 1,
            pad_begin,
            pad_end
        };
        2
    ]
}

#[test]
fn real_shapes() {
    let line = |input, kernel, stride, pad| {
        vec![ConvAxis {
            input,
            kernel,
            stride,
            dilation: 1,
            pad_begin: pad,
            pad_end: pad,
        }]
    };
    // Speech: a short-time Fourier transform and the encoder's last layers.
    let cases = [
        (1, 258, 1, line(640, 256, 128, 0)),
        (129, 128, 1, line(4, 3, 1, 1)),
        (64, 64, 1, line(2, 3, 2, 1)),
        // Images: a stem, depthwise layers of both strides, a projection.
        (3, 32, 1, square(56, 3, 2, (0, 1))),
        (24, 24, 24, square(28, 3, 1, (1, 1))),
        (24, 24, 24, square(28, 3, 2, (0, 1))),
        (40, 40, 40, square(28, 5, 1, (2, 2))),
        (40, 40, 40, square(28, 5, 2, (1, 2))),
        (16, 96, 1, square(28, 1, 1, (0, 0))),
        (192, 64, 1, square(7, 1, 1, (0, 0))),
    ];
    for (in_channels, out_channels, groups, axes) in cases {
        check::<f32>(
            &Case {
                batch: 1,
                in_channels,
                out_channels,
                groups,
                axes,
            },
            9,
        );
    }
}

#[test]
fn bad_sizes_are_refused_by_name() {
    let axis = ConvAxis {
        input: 4,
        kernel: 3,
        stride: 1,
        dilation: 1,
        pad_begin: 0,
        pad_end: 0,
    };
    let new = |channels, groups, axis| ConvShape::new(1, channels, 6, groups, &[axis]);
    assert_eq!(
        ConvShape::new(1, 1, 1, 1, &[]),
        Err(ConvShapeError::Axes(0))
    );
    assert_eq!(
        ConvShape::new(1, 1, 1, 1, &[axis; 4]),
        Err(ConvShapeError::Axes(4))
    );
    for groups in [0, 4] {
        let error = ConvShapeError::Groups {
            in_channels: 6,
            out_channels: 6,
            groups,
        };
        assert_eq!(new(6, groups, axis), Err(error));
    }
    assert_eq!(
        new(6, 3, ConvAxis { stride: 0, ..axis }),
        Err(ConvShapeError::Zero(0))
    );
    assert_eq!(
        new(
            6,
            3,
            ConvAxis {
                dilation: 2,
                ..axis
            }
        ),
        Err(ConvShapeError::Kernel(0))
    );
    let huge = ConvAxis {
        kernel: usize::MAX,
        dilation: 3,
        ..axis
    };
    assert_eq!(new(6, 3, huge), Err(ConvShapeError::Kernel(0)));
    let wide = ConvAxis {
        input: 1 << 60,
        ..axis
    };
    assert_eq!(new(6, 3, wide), Err(ConvShapeError::Overflow));
}
