//! Prints the speed of the kernels on the shapes of real models, beside the `gemm` crate's for
//! products. Run with `--release`; the argument is the number of threads (default 1).

#![allow(clippy::print_stdout, reason = "printing is its purpose")]

use std::hint::black_box;
use std::time::Instant;
use tensoracle_kernels::{
    Activation, BatchDim, Binary, ConvAxis, ConvShape, ConvWeights, Epilogue, MatMut, MatRef,
    Operand, Packed, Reduce, Unary, activate, binary, conv, cpu_level, gemm, gemm_batched,
    layer_norm, pack_b, pack_conv_weights, reduce, softmax, unary,
};

/// Seconds per call: the best of some runs, since other work on the machine only adds time.
fn seconds(mut f: impl FnMut()) -> f64 {
    f();
    let mut best = f64::INFINITY;
    let mut calls = 1;
    let start = Instant::now();
    while start.elapsed().as_millis() < 150 {
        let run = Instant::now();
        for _ in 0..calls {
            f();
        }
        let took = run.elapsed().as_secs_f64() / f64::from(calls);
        best = best.min(took);
        calls = ((2e-3 / took) as i32).clamp(1, 1000);
    }
    best
}

fn values(len: usize) -> Vec<f32> {
    (0..len)
        .map(|i| (i * 2_654_435_761 % 1000) as f32 / 500.0 - 1.0)
        .collect()
}

/// C = A·B by the `gemm` crate, row-major.
fn peer(m: usize, n: usize, k: usize, a: &[f32], b: &[f32], c: &mut [f32], threads: usize) {
    let parallelism = if threads > 1 {
        ::gemm::Parallelism::Rayon(threads)
    } else {
        ::gemm::Parallelism::None
    };
    let strides = |n: usize| n as isize;
    // SAFETY: the slices hold row-major matrices of these dimensions.
    unsafe {
        ::gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            strides(n),
            false,
            a.as_ptr(),
            1,
            strides(k),
            b.as_ptr(),
            1,
            strides(n),
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}

fn products(threads: usize) {
    println!(
        "{:>22} {:>9} {:>9} {:>9}   GFLOP/s",
        "m x n x k", "packed", "unpacked", "gemm"
    );
    for (m, n, k) in [
        (128, 384, 384),
        (128, 1536, 384),
        (128, 384, 1536),
        (8, 384, 384),
        (8, 1536, 384),
        (8, 384, 1536),
        (1, 512, 128),
        (1, 1536, 384),
        (4, 258, 256),
        (4, 128, 387),
        (16, 384, 384),
        (512, 384, 384),
        (112, 112, 112),
        (1024, 1024, 1024),
    ] {
        let (a, b) = (values(m * k), values(k * n));
        let mut c = vec![0.0; m * n];
        let packed = pack_b(MatRef::new(&b, k, n));
        let mut ours = |right| {
            seconds(|| {
                let mut c = MatMut::new(&mut c, m, n);
                gemm(
                    MatRef::new(black_box(&a), m, k),
                    right,
                    &mut c,
                    Epilogue::NONE,
                );
            })
        };
        let with_packed = ours(Operand::Packed(Packed::from_slice(k, n, &packed)));
        let unpacked = ours(Operand::Matrix(MatRef::new(&b, k, n)));
        let theirs = seconds(|| peer(m, n, k, black_box(&a), &b, &mut c, threads));
        let speed = |s: f64| (2 * m * n * k) as f64 / s / 1e9;
        println!(
            "{:>22} {:9.1} {:9.1} {:9.1}",
            format!("{m} x {n} x {k}"),
            speed(with_packed),
            speed(unpacked),
            speed(theirs)
        );
    }
}

fn attention() {
    let (heads, size) = (12, 32);
    for length in [8, 128] {
        let row = heads * size;
        let x = values(length * row);
        let mut scores = vec![0.0; heads * length * length];
        let mut context = vec![0.0; length * row];
        let square = length * length;
        let first = seconds(|| {
            gemm_batched(
                &[BatchDim {
                    count: heads,
                    a: size,
                    b: size,
                    c: square,
                }],
                MatRef::strided(&x, length, size, row, 1),
                Operand::Matrix(MatRef::strided(&x, size, length, 1, row)),
                &mut MatMut::new(&mut scores, length, length),
                Epilogue::NONE,
            );
        });
        let second = seconds(|| {
            gemm_batched(
                &[BatchDim {
                    count: heads,
                    a: square,
                    b: size,
                    c: size,
                }],
                MatRef::new(&scores, length, length),
                Operand::Matrix(MatRef::strided(&x, length, size, row, 1)),
                &mut MatMut::strided(&mut context, length, size, row, 1),
                Epilogue::NONE,
            );
        });
        let speed = |s: f64| (2 * heads * square * size) as f64 / s / 1e9;
        println!(
            "attention, {length} tokens: scores {:.1} us ({:.1} GFLOP/s), context {:.1} us ({:.1})",
            first * 1e6,
            speed(first),
            second * 1e6,
            speed(second)
        );
    }
}

fn convolutions() {
    let axis = |input, kernel, stride, pads: (usize, usize)| ConvAxis {
        input,
        kernel,
        stride,
        dilation: 1,
        pad_begin: pads.0,
        pad_end: pads.1,
    };
    let line = |input, kernel, stride, pad| vec![axis(input, kernel, stride, (pad, pad))];
    let square = |input, kernel, stride, pads| vec![axis(input, kernel, stride, pads); 2];
    let cases = [
        ("speech, transform", 1, 258, 1, line(640, 256, 128, 0)),
        ("speech, encoder 1", 129, 128, 1, line(4, 3, 1, 1)),
        ("speech, encoder 2", 128, 64, 1, line(4, 3, 2, 1)),
        ("speech, encoder 4", 64, 128, 1, line(1, 3, 1, 1)),
        ("image, stem", 3, 32, 1, square(224, 3, 2, (0, 1))),
        (
            "image, depthwise 3/1",
            32,
            32,
            32,
            square(112, 3, 1, (1, 1)),
        ),
        (
            "image, depthwise 3/2",
            96,
            96,
            96,
            square(112, 3, 2, (0, 1)),
        ),
        (
            "image, depthwise 5/2",
            144,
            144,
            144,
            square(56, 5, 2, (1, 2)),
        ),
        (
            "image, depthwise 5/1",
            240,
            240,
            240,
            square(28, 5, 1, (2, 2)),
        ),
        (
            "image, depthwise 5/1",
            672,
            672,
            672,
            square(14, 5, 1, (2, 2)),
        ),
        (
            "image, depthwise 5/1",
            1152,
            1152,
            1152,
            square(7, 5, 1, (2, 2)),
        ),
        ("image, expand", 16, 96, 1, square(112, 1, 1, (0, 0))),
        ("image, project", 96, 24, 1, square(56, 1, 1, (0, 0))),
        ("image, project", 672, 112, 1, square(14, 1, 1, (0, 0))),
        ("image, project", 1152, 192, 1, square(7, 1, 1, (0, 0))),
        ("image, head", 320, 1280, 1, square(7, 1, 1, (0, 0))),
        ("3x3 of 64", 64, 64, 1, square(56, 3, 1, (1, 1))),
        ("3x3 of 256", 256, 256, 1, square(14, 3, 1, (1, 1))),
    ];
    for (name, channels, out_channels, groups, axes) in cases {
        let shape = ConvShape::new(1, channels, out_channels, groups, &axes).unwrap();
        let (x, w) = (values(shape.input_len()), values(shape.weight_len()));
        let packed = pack_conv_weights(&shape, &w);
        let mut out = vec![0.0; shape.output_len()];
        let mut time = |weights| {
            let clip = Some(Activation::Clip {
                alpha: 0.0,
                beta: 6.0,
            });
            seconds(|| conv(&shape, black_box(&x), weights, None, clip, &mut out))
        };
        let plain = time(ConvWeights::Plain(&w));
        let packed = time(ConvWeights::Packed(&packed));
        let work = 2.0 * shape.output_len() as f64 * (shape.weight_len() / out_channels) as f64;
        println!(
            "{name:>22} {channels:>5} -> {out_channels:<5} plain {:8.1} us {:6.1} GFLOP/s, \
             packed {:8.1} us {:6.1} GFLOP/s{}",
            plain * 1e6,
            work / plain / 1e9,
            packed * 1e6,
            work / packed / 1e9,
            if shape.prefers_packed() {
                ", prefers packed"
            } else {
                ""
            }
        );
    }
}

fn maps() {
    let len = 128 * 1536;
    let x = values(len);
    let mut out = vec![0.0; len];
    let mut show = |name: &str, f: &mut dyn FnMut(&mut [f32])| {
        let s = seconds(|| f(&mut out));
        println!("{name:>22} {:6.3} ns an element", s / len as f64 * 1e9);
    };
    for op in [
        Unary::Exp,
        Unary::Log,
        Unary::Erf,
        Unary::Sin,
        Unary::Sqrt,
        Unary::Tan,
    ] {
        show(&format!("{op:?}"), &mut |out| unary(op, &x, out));
    }
    for op in [
        Activation::Relu,
        Activation::Sigmoid,
        Activation::Tanh,
        Activation::GeluErf,
    ] {
        show(&format!("{op:?}"), &mut |out| activate(op, out));
    }
    for op in [Binary::Sum, Binary::Max, Binary::Pow] {
        show(&format!("{op:?}"), &mut |out| binary(op, &x, &x, out));
    }
    for op in [Reduce::Sum, Reduce::Max] {
        let mut rows = vec![0.0; len / 128];
        show(&format!("{op:?} of 128"), &mut |_| {
            reduce(op, &x, [len / 128, 128, 1], &mut rows)
        });
        let mut columns = vec![0.0; len / 128];
        show(&format!("{op:?}, strided"), &mut |_| {
            reduce(op, &x, [len / 128 / 64, 128, 64], &mut columns);
        });
    }
    show("softmax of 128", &mut |out| {
        softmax(out, [len / 128, 128, 1])
    });
    show("softmax, strided", &mut |out| {
        softmax(out, [len / 128 / 64, 128, 64])
    });
    let scale = values(384);
    show("layer norm of 384", &mut |out| {
        layer_norm(&x, [len / 384, 384], 1e-5, Some(&scale), Some(&scale), out);
    });
}

fn main() {
    let threads = std::env::args()
        .nth(1)
        .and_then(|s| s.parse().ok())
        .unwrap_or(1);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    println!("level {}, {threads} threads", cpu_level());
    pool.install(|| {
        products(threads);
        attention();
        convolutions();
        maps();
    });
}
