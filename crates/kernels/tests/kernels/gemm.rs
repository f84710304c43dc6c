//! Matrix products against three nested loops.

use crate::support::{Values, assert_near, epsilon};
use proptest::prelude::*;
use tensoracle_kernels::*;

fn naive<T: Real>(
    a: impl Fn(usize, usize) -> T,
    b: impl Fn(usize, usize) -> T,
    dims: [usize; 3],
) -> Vec<f64> {
    let [m, n, k] = dims;
    let mut c = Vec::with_capacity(m * n);
    for i in 0..m {
        for j in 0..n {
            c.push((0..k).map(|p| a(i, p).to_f64() * b(p, j).to_f64()).sum());
        }
    }
    c
}

/// Both orders of strides, packed and not, against the loops.
fn check<T: Real>(m: usize, n: usize, k: usize, seed: u64) {
    let mut values = Values::new(seed);
    let (a, b): (Vec<T>, Vec<T>) = (values.vec(m * k), values.vec(k * n));
    let (row_bias, column_bias): (Vec<T>, Vec<T>) = (values.vec(m), values.vec(n));
    let tolerance = epsilon::<T>() * (k as f64 + 2.0);

    for a_transposed in [false, true] {
        for b_transposed in [false, true] {
            let a_view = if a_transposed {
                MatRef::new(&a, k, m).transposed()
            } else {
                MatRef::new(&a, m, k)
            };
            let b_view = if b_transposed {
                MatRef::new(&b, n, k).transposed()
            } else {
                MatRef::new(&b, k, n)
            };
            let expected = naive(
                |i, p| {
                    if a_transposed {
                        a[p * m + i]
                    } else {
                        a[i * k + p]
                    }
                },
                |p, j| {
                    if b_transposed {
                        b[j * k + p]
                    } else {
                        b[p * n + j]
                    }
                },
                [m, n, k],
            );
            let packed = pack_b(b_view);
            assert_eq!(packed.len(), packed_len::<T>(k, n));
            let operands = [
                Operand::Matrix(b_view),
                Operand::Packed(Packed::from_slice(k, n, &packed)),
            ];
            let mut results = Vec::new();
            for operand in operands {
                // With room between the rows, which must stay as it was.
                let marker = T::from_f64(7.0);
                let mut c = vec![marker; m * (n + 3)];
                let mut view = MatMut::strided(&mut c, m, n, n + 3, 1);
                gemm(a_view, operand, &mut view, Epilogue::NONE);
                for (i, row) in c.chunks_exact(n + 3).enumerate() {
                    assert_near(&row[..n], &expected[i * n..(i + 1) * n], tolerance);
                    assert!(
                        row[n..].iter().all(|v| *v == marker),
                        "written between rows"
                    );
                }
                results.push(c);

                let mut c = vec![T::ZERO; m * n];
                let mut view = MatMut::strided(&mut c, m, n, 1, m);
                let epilogue = Epilogue {
                    bias: Bias::PerRow(&row_bias),
                    activation: Some(Activation::Relu),
                };
                gemm(a_view, operand, &mut view, epilogue);
                let by_columns: Vec<f64> = (0..m * n)
                    .map(|x| (expected[x % m * n + x / m] + row_bias[x % m].to_f64()).max(0.0))
                    .collect();
                assert_near(&c, &by_columns, tolerance);

                let mut c = vec![T::ZERO; m * n];
                let epilogue = Epilogue {
                    bias: Bias::PerColumn(&column_bias),
                    activation: None,
                };
                gemm(a_view, operand, &mut MatMut::new(&mut c, m, n), epilogue);
                let biased: Vec<f64> = (0..m * n)
                    .map(|x| expected[x] + column_bias[x % n].to_f64())
                    .collect();
                assert_near(&c, &biased, tolerance);
            }
            // A single column unpacked has a way of its own.
            assert!(n == 1 || results[0] == results[1], "packing changes bits");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn products_of_any_size(m in 0..40usize, n in 0..140usize, k in 0..70usize, seed: u64) {
        check::<f32>(m, n, k, seed);
        check::<f64>(m, n, k, seed);
    }
}

#[test]
fn products_at_the_edges_of_tiles() {
    for m in [1, 2, 3, 11, 12, 13, 24, 25] {
        for n in [1, 15, 16, 31, 32, 33, 64, 128, 129] {
            check::<f32>(m, n, 5, 1);
            check::<f64>(m, n, 5, 2);
        }
    }
}

#[test]
fn large_products_are_divided_and_right() {
    check::<f32>(150, 200, 130, 3);
    check::<f64>(150, 200, 130, 4);
    check::<f32>(3, 700, 500, 5);
}

#[test]
fn matrices_times_vectors() {
    for (m, k) in [(1, 1), (2, 63), (3, 64), (5, 65), (100, 1000), (1000, 1280)] {
        check::<f32>(m, 1, k, 16);
        check::<f64>(m, 1, k, 17);
    }
}

#[test]
fn rows_a_page_apart() {
    check::<f32>(30, 100, 1024, 18);
    check::<f64>(30, 100, 512, 19);
}

#[test]
fn a_row_does_not_depend_on_its_neighbours() {
    let mut values = Values::new(6);
    let (m, n, k) = (37, 100, 300);
    let (a, b): (Vec<f32>, Vec<f32>) = (values.vec(m * k), values.vec(k * n));
    let b = Operand::Matrix(MatRef::new(&b, k, n));
    let mut all = vec![0.0; m * n];
    gemm(
        MatRef::new(&a, m, k),
        b,
        &mut MatMut::new(&mut all, m, n),
        Epilogue::NONE,
    );
    for i in 0..m {
        let mut one = vec![0.0; n];
        let row = MatRef::new(&a[i * k..(i + 1) * k], 1, k);
        gemm(row, b, &mut MatMut::new(&mut one, 1, n), Epilogue::NONE);
        assert_eq!(one, all[i * n..(i + 1) * n]);
    }
}

/// Attention's two products, with heads interleaved in memory on all sides.
#[test]
fn batched_products_with_transposes_as_strides() {
    for (sentences, length) in [(1, 8), (2, 33), (3, 64)] {
        let (heads, size) = (12, 32);
        let row = heads * size;
        let mut values = Values::new(7);
        let query: Vec<f32> = values.vec(sentences * length * row);
        let key: Vec<f32> = values.vec(sentences * length * row);
        let mut scores = vec![0.0f32; sentences * heads * length * length];
        let square = length * length;
        let batch = [
            BatchDim {
                count: sentences,
                a: length * row,
                b: length * row,
                c: heads * square,
            },
            BatchDim {
                count: heads,
                a: size,
                b: size,
                c: square,
            },
        ];
        gemm_batched(
            &batch,
            MatRef::strided(&query, length, size, row, 1),
            Operand::Matrix(MatRef::strided(&key, size, length, 1, row)),
            &mut MatMut::new(&mut scores, length, length),
            Epilogue::NONE,
        );
        let mut context = vec![0.0f32; sentences * length * row];
        let batch = [
            BatchDim {
                count: sentences,
                a: heads * square,
                b: length * row,
                c: length * row,
            },
            BatchDim {
                count: heads,
                a: square,
                b: size,
                c: size,
            },
        ];
        gemm_batched(
            &batch,
            MatRef::new(&scores, length, length),
            Operand::Matrix(MatRef::strided(&key, length, size, row, 1)),
            &mut MatMut::strided(&mut context, length, size, row, 1),
            Epilogue::NONE,
        );
        let at = |x: &[f32], s: usize, l: usize, h: usize, d: usize| {
            f64::from(x[(s * length + l) * row + h * size + d])
        };
        for s in 0..sentences {
            for h in 0..heads {
                for i in 0..length {
                    let expected: Vec<f64> = (0..length)
                        .map(|j| {
                            (0..size)
                                .map(|d| at(&query, s, i, h, d) * at(&key, s, j, h, d))
                                .sum()
                        })
                        .collect();
                    let scores = &scores[((s * heads + h) * length + i) * length..][..length];
                    assert_near(scores, &expected, 1e-5);
                    let expected: Vec<f64> = (0..size)
                        .map(|d| {
                            (0..length)
                                .map(|j| f64::from(scores[j]) * at(&key, s, j, h, d))
                                .sum()
                        })
                        .collect();
                    let context = &context[(s * length + i) * row + h * size..][..size];
                    assert_near(context, &expected, 1e-4);
                }
            }
        }
    }
}

#[test]
fn batches_of_packed_operands_and_broadcasts() {
    let mut values = Values::new(8);
    let (m, n, k, count) = (5, 40, 9, 4);
    let a: Vec<f64> = values.vec(m * k);
    let b: Vec<f64> = values.vec(count * k * n);
    let packed: Vec<f64> = b
        .chunks_exact(k * n)
        .flat_map(|b| pack_b(MatRef::new(b, k, n)))
        .collect();
    let run = |operand, b_stride| {
        let mut c = vec![0.0; count * m * n];
        gemm_batched(
            &[BatchDim {
                count,
                a: 0,
                b: b_stride,
                c: m * n,
            }],
            MatRef::new(&a, m, k),
            operand,
            &mut MatMut::new(&mut c, m, n),
            Epilogue::NONE,
        );
        c
    };
    let plain = run(Operand::Matrix(MatRef::new(&b, k, n)), k * n);
    let from_packed = run(
        Operand::Packed(Packed::from_slice(k, n, &packed)),
        packed_len::<f64>(k, n),
    );
    assert_eq!(plain, from_packed);
    for i in 0..count {
        let b = &b[i * k * n..];
        let expected = naive(|i, p| a[i * k + p], |p, j| b[p * n + j], [m, n, k]);
        assert_near(&plain[i * m * n..(i + 1) * m * n], &expected, 1e-14);
    }
}

#[test]
#[should_panic(expected = "results overlap")]
fn overlapping_results_are_refused() {
    let x = [1.0f32; 64];
    let mut c = [0.0f32; 64];
    gemm_batched(
        &[BatchDim {
            count: 4,
            a: 0,
            b: 0,
            c: 8,
        }],
        MatRef::new(&x, 4, 4),
        Operand::Matrix(MatRef::new(&x, 4, 4)),
        &mut MatMut::new(&mut c, 4, 4),
        Epilogue::NONE,
    );
}

#[test]
#[should_panic(expected = "B needs 28 elements, its slice has 16")]
fn batches_that_leave_their_slice_are_refused() {
    let x = [1.0f32; 16];
    let mut c = [0.0f32; 32];
    gemm_batched(
        &[BatchDim {
            count: 2,
            a: 0,
            b: 12,
            c: 16,
        }],
        MatRef::new(&x, 4, 4),
        Operand::Matrix(MatRef::new(&x, 4, 4)),
        &mut MatMut::new(&mut c, 4, 4),
        Epilogue::NONE,
    );
}

#[test]
#[should_panic(expected = "needs 12 elements, the slice has 11")]
fn views_are_checked() {
    let _ = MatRef::new(&[0.0f32; 11], 3, 4);
}

#[test]
#[should_panic(expected = "B is not (columns of A) x (columns of C)")]
fn inner_dimensions_are_checked() {
    let x = [0.0f32; 16];
    let b = Operand::Matrix(MatRef::new(&x, 4, 3));
    gemm(
        MatRef::new(&x, 2, 3),
        b,
        &mut MatMut::new(&mut [0.0; 6], 2, 3),
        Epilogue::NONE,
    );
}
