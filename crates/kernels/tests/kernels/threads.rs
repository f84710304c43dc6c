//! The same bits on 1, 2, 3 and 7 threads, for everything that divides work.

use crate::support::Values;
use tensoracle_kernels::*;

fn bits<T: Real>(values: &[T]) -> Vec<u64> {
    values.iter().map(|v| v.to_f64().to_bits()).collect()
}

#[track_caller]
fn same_on_all<T: Real>(what: &str, run: impl Fn() -> Vec<T> + Sync) {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        bits(&pool.install(&run))
    };
    let one = on(1);
    for threads in [2, 3, 7] {
        assert!(
            on(threads) == one,
            "{what}: {threads} threads give other bits than one"
        );
    }
}

fn products<T: Real>() {
    for (m, n, k) in [
        (128, 384, 384),
        (8, 1536, 384),
        (1, 4000, 700),
        (301, 65, 200),
    ] {
        let mut values = Values::new(13);
        let (a, b): (Vec<T>, Vec<T>) = (values.vec(m * k), values.vec(k * n));
        let packed = pack_b(MatRef::new(&b, k, n));
        for operand in [
            Operand::Matrix(MatRef::new(&b, k, n)),
            Operand::Packed(Packed::from_slice(k, n, &packed)),
        ] {
            same_on_all(&format!("{m}x{n}x{k}"), || {
                let mut c = vec![T::ZERO; m * n];
                let epilogue = Epilogue {
                    bias: Bias::None,
                    activation: Some(Activation::GeluErf),
                };
                gemm(
                    MatRef::new(&a, m, k),
                    operand,
                    &mut MatMut::new(&mut c, m, n),
                    epilogue,
                );
                c
            });
        }
    }
}

#[test]
fn matrix_products() {
    products::<f32>();
    products::<f64>();
}

#[test]
fn batched_products() {
    let mut values = Values::new(14);
    let (heads, length, size) = (12, 100, 32);
    let x: Vec<f32> = values.vec(length * heads * size);
    same_on_all("batched", || {
        let mut c = vec![0.0f32; heads * length * length];
        gemm_batched(
            &[BatchDim {
                count: heads,
                a: size,
                b: size,
                c: length * length,
            }],
            MatRef::strided(&x, length, size, heads * size, 1),
            Operand::Matrix(MatRef::strided(&x, size, length, 1, heads * size)),
            &mut MatMut::new(&mut c, length, length),
            Epilogue::NONE,
        );
        c
    });
}

#[test]
fn convolutions() {
    let axis = |stride| ConvAxis {
        input: 40,
        kernel: 3,
        stride,
        dilation: 1,
        pad_begin: 1,
        pad_end: 1,
    };
    for (channels, groups, stride) in [(24, 1, 1), (96, 96, 1), (96, 96, 2), (32, 4, 2)] {
        let shape = ConvShape::new(2, channels, channels, groups, &[axis(stride); 2]).unwrap();
        let mut values = Values::new(15);
        let x: Vec<f32> = values.vec(shape.input_len());
        let w: Vec<f32> = values.vec(shape.weight_len());
        let packed = pack_conv_weights(&shape, &w);
        for weights in [ConvWeights::Plain(&w), ConvWeights::Packed(&packed)] {
            same_on_all("convolution", || {
                let mut out = vec![0.0; shape.output_len()];
                conv(&shape, &x, weights, None, Some(Activation::Silu), &mut out);
                out
            });
        }
    }
}

#[test]
fn maps_and_rows() {
    let mut values = Values::new(16);
    let x: Vec<f32> = values.vec(1_200_007);
    same_on_all("map", || {
        let mut out = vec![0.0; x.len()];
        unary(Unary::Exp, &x, &mut out);
        binary_in_place(Binary::Prod, &mut out, &x, false);
        activate(Activation::Tanh, &mut out);
        out
    });
    same_on_all("long sum", || {
        let mut out = [0.0f32];
        reduce(Reduce::Sum, &x, [1, x.len(), 1], &mut out);
        out.to_vec()
    });
    let dims = [4, 300, 1000];
    let x = &x[..1_200_000];
    same_on_all("softmax and reductions", || {
        let mut all = x.to_vec();
        softmax(&mut all, dims);
        softmax(&mut all, [4000, 300, 1]);
        let mut sums = vec![0.0; 4000];
        reduce(Reduce::Mean, &all, dims, &mut sums);
        reduce(Reduce::Sum, &all, [4000, 300, 1], &mut sums);
        let mut normal = vec![0.0; x.len()];
        layer_norm(&all, [4000, 300], 1e-5, None, None, &mut normal);
        all.extend(sums);
        all.extend(normal);
        all
    });
}
