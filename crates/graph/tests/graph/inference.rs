//! What each layer infers about type and shape, fixed and named, and what it refuses.

use crate::common::{boolean, float, inferred, int};
use tensoracle_graph::*;

#[test]
fn activations_keep_the_shape() {
    for function in ActivationType::ALL {
        let one = |input| inferred(&[input], |g, t| g.add_activation(t[0], function));
        assert_eq!(one(float(dims![2, "n"])), "float[2, n]");
        assert_eq!(one((DataType::BFloat16, dims![])), "bfloat16[]");
        let expected = match function {
            ActivationType::Relu => "int64[3]",
            _ => "input `input0` int64[3] has type int64, expected float or half or bfloat16",
        };
        assert_eq!(one(int(dims![3])), expected);
    }
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let clip = Activation::clip(0.0, bad);
        let text = inferred(&[float(dims![2])], |g, t| g.add_activation(t[0], clip));
        assert_eq!(
            text,
            format!("argument `beta` is {bad}, expected a finite number")
        );
    }
}

#[test]
fn casts_change_the_type_alone() {
    for from in DataType::ALL {
        for to in DataType::ALL {
            let text = inferred(&[(from, dims!["n", 0, 2])], |g, t| g.add_cast(t[0], to));
            assert_eq!(text, format!("{to}[n, 0, 2]"));
        }
    }
}

#[test]
fn concatenation_adds_along_its_axis() {
    let joined = |inputs: &[_], axis| inferred(inputs, |g, t| g.add_concatenation(t, axis));
    let (a, b) = (float(dims!["n", 3]), float(dims!["m", 3]));
    assert_eq!(joined(&[a.clone(), b.clone()], 0), "float[m + n, 3]");
    assert_eq!(
        joined(&[a.clone(), b.clone()], 1),
        "float[n, 6] where n = m"
    );
    assert_eq!(joined(&[a.clone(), a.clone()], -2), "float[2·n, 3]");
    assert_eq!(joined(&[a.clone(), float(dims![0, 3])], 0), "float[n, 3]");
    assert_eq!(joined(std::slice::from_ref(&a), 0), "float[n, 3]");
    assert_eq!(
        joined(&[a.clone(), float(dims![4, 3])], 1),
        "float[4, 6] where n = 4"
    );
    assert_eq!(
        joined(&[], 0),
        "0 input tensors were given, expected at least 1"
    );
    assert_eq!(
        joined(&[a.clone(), float(dims!["n", 4])], 0),
        "input `input1` float[n, 4] is 4 along axis 1, expected 3"
    );
    assert_eq!(
        joined(&[a.clone(), int(dims!["n", 3])], 0),
        "input `input1` int64[n, 3] has type int64, expected float as input has"
    );
    assert_eq!(
        joined(&[a, float(dims!["n"])], 0),
        "input `input1` float[n] has 1 dimensions, expected 2"
    );
    assert_eq!(
        joined(&[float(dims![]), float(dims![])], 0),
        "argument `axis` is 0, expected no axis, since the input is a scalar"
    );
    let half = i64::MAX / 64;
    assert_eq!(
        joined(
            &[float(dims![half]), float(dims![half]), float(dims![half])],
            0
        ),
        format!(
            "the number of bits in shape [{}] is too large to write down: beyond 64 bits, or \
             thousands of terms",
            half * 3
        )
    );
}

#[test]
fn constants_have_the_shape_of_their_source() {
    let one = |values: Values| inferred(&[], |g, _| g.add_constant(values));
    assert_eq!(one(Values::scalar(true)), "bool[]");
    assert_eq!(one(Values::new([2, 0, 3], [0i8; 0])), "int8[2, 0, 3]");
    let nibbles = Values::from_bytes(DataType::Int4, vec![3], vec![0x21, 0x03]).unwrap();
    assert_eq!(one(nibbles), "int4[3]");
    let deep = Values::new([1; 9], [1.0f32]);
    assert_eq!(
        one(deep),
        "argument `dims` is [1, 1, 1, 1, 1, 1, 1, 1, 1], 9 dimensions, expected at most 8 dimensions"
    );
    for (data_type, dims, bytes) in [
        (DataType::Float, vec![2], 7),
        (DataType::Int4, vec![3], 1),
        (DataType::Float, vec![u64::MAX, 2], 8),
        (DataType::Float, vec![u64::MAX], 8),
    ] {
        assert!(Values::from_bytes(data_type, dims, vec![0; bytes]).is_err());
    }
}

#[test]
fn elementwise_broadcasts_ones() {
    use ElementWiseOperation::{And, Equal, Greater, Less, Sum};
    let both = |a, b, operation| inferred(&[a, b], |g, t| g.add_elementwise(t[0], t[1], operation));
    let f = float;
    assert_eq!(
        both(f(dims![2, 1, "n"]), f(dims![1, 3, 1]), Sum),
        "float[2, 3, n]"
    );
    assert_eq!(both(f(dims![]), f(dims![]), Sum), "float[]");
    assert_eq!(both(f(dims![1]), f(dims![0]), Sum), "float[0]");
    assert_eq!(
        both(f(dims!["n"]), f(dims!["m"]), Sum),
        "float[n] where n = m"
    );
    assert_eq!(
        both(f(dims!["n"]), f(dims![4]), Sum),
        "float[4] where n = 4"
    );
    assert_eq!(
        both(f(dims![2, 3]), f(dims![2, 4]), Sum),
        "second input `input1` float[2, 4] is 4 along axis 1, expected 3 or 1"
    );
    assert_eq!(
        both(f(dims![2, 3]), f(dims![3]), Sum),
        "second input `input1` float[3] has 1 dimensions, expected 2"
    );
    assert_eq!(
        both(f(dims![2]), int(dims![2]), Sum),
        "second input `input1` int64[2] has type int64, expected float as first input has"
    );
    for operation in ElementWiseOperation::ALL {
        let on = |t: DataType| both((t, dims![2]), (t, dims![2]), operation);
        let compares = matches!(operation, Equal | Greater | Less);
        let logical = matches!(
            operation,
            And | ElementWiseOperation::Or | ElementWiseOperation::Xor
        );
        for t in DataType::ALL {
            let numeric = matches!(
                t,
                DataType::Float
                    | DataType::Half
                    | DataType::BFloat16
                    | DataType::Int32
                    | DataType::Int64
            );
            let takes = match t {
                DataType::Bool => logical || operation == Equal,
                _ => numeric && !logical,
            };
            let gives = if compares { DataType::Bool } else { t };
            match takes {
                true => assert_eq!(on(t), format!("{gives}[2]"), "{operation:?}"),
                false => assert!(
                    on(t).contains(&format!("has type {t}, expected")),
                    "{operation:?}"
                ),
            }
        }
    }
}

#[test]
fn gather_replaces_dimensions_by_those_of_its_indices() {
    let picked = |data, indices, gather| {
        inferred(&[float(data), int(indices)], |g, t| {
            g.add_gather(t[0], t[1], gather)
        })
    };
    assert_eq!(
        picked(dims![10, 4], dims!["b", "t"], Gather::along(0)),
        "float[b, t, 4]"
    );
    assert_eq!(
        picked(dims![10, 4], dims![], Gather::along(-1)),
        "float[10]"
    );
    assert_eq!(picked(dims![10], dims![0], Gather::along(0)), "float[0]");
    let shared = Gather::along(1).elementwise_dims(1);
    assert_eq!(
        picked(dims![2, 5, 3], dims![2, 7], shared),
        "float[2, 7, 3]"
    );
    assert_eq!(
        picked(dims![1, 5, 3], dims!["n", 7], shared),
        "float[n, 7, 3]"
    );
    assert_eq!(
        picked(dims!["n", 5], dims!["m"], shared),
        "float[n] where n = m"
    );
    assert_eq!(
        picked(dims![2, 5], dims![3, 7], shared),
        "indices `input1` int64[3, 7] is 3 along axis 0, expected 2 or 1"
    );
    assert_eq!(
        picked(dims![2, 5], dims![2], Gather::along(0).elementwise_dims(1)),
        "argument `elementwise_dims` is 1, expected 0, or 1 where the axis is not the first"
    );
    assert_eq!(
        picked(
            dims![2, 5],
            dims![2],
            Gather::along(1).elementwise_dims(usize::MAX)
        ),
        format!(
            "argument `elementwise_dims` is {}, expected 0, or 1 where the axis is not the first",
            usize::MAX
        )
    );

    assert_eq!(
        picked(dims![3, 4], dims![2, 9], Gather::element(1)),
        "float[2, 9]"
    );
    assert_eq!(
        picked(dims![3, "n"], dims!["m", 4], Gather::element(-1)),
        "float[m, 4] where m <= 3"
    );
    assert_eq!(
        picked(dims![3, 4], dims![4, 9], Gather::element(1)),
        "indices `input1` int64[4, 9] is 4 along axis 0, expected at most 3"
    );
    assert_eq!(
        picked(dims![3, 4], dims![3], Gather::element(0)),
        "indices `input1` int64[3] has 1 dimensions, expected 2"
    );
    assert_eq!(
        picked(dims![3], dims![3], Gather::element(0).elementwise_dims(1)),
        "argument `elementwise_dims` is 1, expected 0 in the element mode"
    );

    assert_eq!(
        picked(dims![2, 3, 4], dims!["n", 2], Gather::nd()),
        "float[n, 4]"
    );
    assert_eq!(
        picked(dims![2, 3, 4], dims![5, 0], Gather::nd()),
        "float[5, 2, 3, 4]"
    );
    assert_eq!(picked(dims![2, 3], dims![2], Gather::nd()), "float[]");
    let batched = Gather::nd().elementwise_dims(1);
    assert_eq!(
        picked(dims!["b", 3, 4], dims!["b", 6, 1], batched),
        "float[b, 6, 4]"
    );
    assert_eq!(
        picked(dims![2, 3], dims![3, 1], batched),
        "indices `input1` int64[3, 1] is 3 along axis 0, expected 2"
    );
    assert_eq!(
        picked(dims![2, 3], dims![5, 3], Gather::nd()),
        "indices `input1` int64[5, 3] is 3 along axis 1, expected a fixed size of at most 2"
    );
    assert_eq!(
        picked(dims![2, 3], dims![5, "k"], Gather::nd()),
        "indices `input1` int64[5, k] is k along axis 1, expected a fixed size of at most 2"
    );
    assert_eq!(
        picked(
            dims![2, 3],
            dims![5, 1],
            Gather {
                axis: 1,
                ..Gather::nd()
            }
        ),
        "argument `axis` is 1, expected 0 in the nd mode"
    );
    assert_eq!(
        picked(dims![2, 3], dims![5, 1], Gather::nd().elementwise_dims(2)),
        "argument `elementwise_dims` is 2, expected less than the rank of the data"
    );
    assert_eq!(
        picked(dims![], dims![1], Gather::along(0)),
        "data `input0` float[] has 0 dimensions, expected at least 1"
    );
    let float_indices = inferred(&[float(dims![2]), float(dims![2])], |g, t| {
        g.add_gather(t[0], t[1], Gather::along(0))
    });
    assert_eq!(
        float_indices,
        "indices `input1` float[2] has type float, expected int32 or int64"
    );
    // Eight dimensions are the most: four kept and five of the indices.
    assert_eq!(
        picked(dims![1, 1, 1, 1, 1], dims![1, 1, 1, 1, 1], Gather::along(0)),
        "argument `dims` is [1, 1, 1, 1, 1, 1, 1, 1, 1], 9 dimensions, expected at most 8 dimensions"
    );
}

#[test]
fn matrix_products_keep_rows_and_columns() {
    use MatrixOperation::{None as N, Transpose as T, Vector as V};
    let product = |a, left, b, right| {
        inferred(&[float(a), float(b)], |g, t| {
            g.add_matrix_multiply(t[0], left, t[1], right)
        })
    };
    assert_eq!(product(dims![2, 3], N, dims![3, 4], N), "float[2, 4]");
    assert_eq!(product(dims![3, 2], T, dims![4, 3], T), "float[2, 4]");
    assert_eq!(product(dims![3], V, dims![3, 4], N), "float[4]");
    assert_eq!(product(dims![2, 3], N, dims![3], V), "float[2]");
    assert_eq!(product(dims![3], V, dims![3], V), "float[]");
    assert_eq!(product(dims![5, 3], V, dims![5, 3], V), "float[5]");
    assert_eq!(
        product(dims!["b", 1, "t", 8], N, dims![1, 6, "t", 8], T),
        "float[b, 6, t, t]"
    );
    assert_eq!(product(dims![2, 0], N, dims![0, 4], N), "float[2, 4]");
    assert_eq!(
        product(dims![2, "n"], N, dims!["m", 4], N),
        "float[2, 4] where n = m"
    );
    assert_eq!(
        product(dims![2, 3], N, dims![4, 3], N),
        "right input `input1` float[4, 3] is 4 along axis 0, expected 3"
    );
    assert_eq!(
        product(dims![3], N, dims![3], V),
        "left input `input0` float[3] has 1 dimensions, expected at least 2"
    );
    assert_eq!(
        product(dims![], V, dims![3], V),
        "left input `input0` float[] has 0 dimensions, expected at least 1"
    );
    assert_eq!(
        product(dims![7, 2, 3], N, dims![3, 4], N),
        "right input `input1` float[3, 4] has 2 dimensions, expected 3 (1 collection dimensions \
         as the left input has)"
    );
    assert_eq!(
        product(dims![7, 2, 3], N, dims![6, 3, 4], N),
        "right input `input1` float[6, 3, 4] is 6 along axis 0, expected 7 or 1"
    );
}

#[test]
fn normalization_checks_axes_groups_and_parameters() {
    let normalized = |x, scale: Dims, bias: Dims, normalization| {
        inferred(&[float(x), float(scale), float(bias)], |g, t| {
            g.add_normalization(t[0], t[1], t[2], normalization)
        })
    };
    let same = |x, p: Dims, n| normalized(x, p.clone(), p, n);
    let over = |axes: &[i64]| Normalization::over(axes);
    assert_eq!(
        same(dims!["b", "t", 8], dims![1, 1, 8], over(&[-1])),
        "float[b, t, 8]"
    );
    assert_eq!(
        same(dims![2, 4, 5, 6], dims![1, 4, 1, 1], over(&[2, 3])),
        "float[2, 4, 5, 6]"
    );
    assert_eq!(
        same(dims![2, 4, "h"], dims![1, 4, 1], over(&[2]).groups(2)),
        "float[2, 4, h]"
    );
    assert_eq!(same(dims![0, 4], dims![1, 4], over(&[1])), "float[0, 4]");
    assert_eq!(
        same(dims![2, 4], dims![1, 4], over(&[])),
        "argument `axes` is [], expected at least one axis"
    );
    assert_eq!(
        same(dims![2, 4], dims![1, 4], over(&[1, -1])),
        "argument `axes` is [1, -1], expected each axis once"
    );
    for epsilon in [-1.0, f32::NAN, f32::INFINITY] {
        assert_eq!(
            same(dims![2, 4], dims![1, 4], over(&[1]).epsilon(epsilon)),
            format!("argument `epsilon` is {epsilon}, expected a finite number of at least 0")
        );
    }
    for groups in [0, 3, u64::MAX] {
        assert_eq!(
            same(dims![2, 4, 5], dims![1, 4, 1], over(&[2]).groups(groups)),
            format!(
                "input `input0` float[2, 4, 5] is 4 along axis 1, expected a fixed multiple of \
                 {groups} groups"
            )
        );
    }
    assert_eq!(
        same(dims![2, 4, 5], dims![1, 4, 1], over(&[1, 2]).groups(2)),
        "argument `axes` is [1, 2], expected all axes behind the channels, since there are groups"
    );
    assert_eq!(
        same(dims![2, 4], dims![1, 4], over(&[1]).groups(2)),
        "input `input0` float[2, 4] has 2 dimensions, expected at least 3"
    );
    assert_eq!(
        same(dims![2, 4], dims![1, 3], over(&[1])),
        "scale `input1` float[1, 3] is 3 along axis 1, expected 4 or 1"
    );
    assert_eq!(
        normalized(dims![2, 4], dims![1, 4], dims![1, 1], over(&[1])),
        "bias `input2` float[1, 1] is 1 along axis 1, expected 4 as the scale has"
    );
    assert_eq!(
        same(dims![2, 4], dims![4], over(&[1])),
        "scale `input1` float[4] has 1 dimensions, expected 2"
    );
}

#[test]
fn padding_adds_and_crops() {
    let padded = |x, pre, post| inferred(&[float(x)], |g, t| g.add_padding(t[0], pre, post));
    assert_eq!(padded(dims![2, 3, 4], [1, 0], [0, 2]), "float[2, 4, 6]");
    assert_eq!(padded(dims![3, 4], [-1, 1], [-2, -4]), "float[0, 1]");
    assert_eq!(padded(dims!["h", 4], [1, 1], [1, 1]), "float[h + 2, 6]");
    assert_eq!(
        padded(dims!["h", 4], [-3, 0], [1, 0]),
        "float[h - 2, 4] where 0 <= h - 2, 3 <= h"
    );
    let short =
        "input `input0` float[3, 4] is 3 along axis 0, expected at least as much as is cropped";
    assert_eq!(padded(dims![3, 4], [-2, 0], [-2, 0]), short);
    assert_eq!(padded(dims![3, 4], [-4, 0], [9, 0]), short);
    assert_eq!(padded(dims![3, 4], [i64::MIN, 0], [0, 0]), short);
    let huge = "the padded size along axis 0 is too large to write down: beyond 64 bits, or \
                thousands of terms";
    assert_eq!(padded(dims![3, 4], [i64::MAX, 0], [0, 0]), huge);
    assert_eq!(
        padded(dims![3], [0, 0], [0, 0]),
        "input `input0` float[3] has 1 dimensions, expected at least 2"
    );
}

#[test]
fn reductions_drop_or_keep_axes() {
    let reduced = |input, operation, axes: &[i64], keep| {
        inferred(&[input], |g, t| g.add_reduce(t[0], operation, axes, keep))
    };
    let x = || float(dims![2, "n", 0, 5]);
    for operation in ReduceOperation::ALL {
        assert_eq!(reduced(x(), operation, &[-1, 1], false), "float[2, 0]");
        assert_eq!(reduced(x(), operation, &[2], true), "float[2, n, 1, 5]");
        assert_eq!(reduced(x(), operation, &[0, 1, 2, 3], false), "float[]");
        let integers = reduced(int(dims![3]), operation, &[0], false);
        match operation {
            ReduceOperation::Avg => assert!(integers.contains("has type int64"), "{integers}"),
            _ => assert_eq!(integers, "int64[]"),
        }
    }
    let sum = ReduceOperation::Sum;
    assert_eq!(
        reduced(x(), sum, &[], true),
        "argument `axes` is [], expected at least one axis"
    );
    for axis in [4, -5, i64::MIN, i64::MAX] {
        assert_eq!(
            reduced(x(), sum, &[axis], true),
            format!("argument `axes` is {axis}, expected an axis from -4 to 3")
        );
    }
    assert_eq!(
        reduced(x(), sum, &[1, -3], true),
        "argument `axes` is [1, -3], expected each axis once"
    );
}

#[test]
fn select_broadcasts_all_three() {
    let selected = |c, a, b| {
        inferred(&[boolean(c), float(a), float(b)], |g, t| {
            g.add_select(t[0], t[1], t[2])
        })
    };
    // The header's examples.
    assert_eq!(
        selected(dims![1, 1, 5, 9], dims![1, 1, 5, 9], dims![1, 3, 1, 9]),
        "float[1, 3, 5, 9]"
    );
    assert_eq!(
        selected(dims![1, 1, 0, 9], dims![1, 1, 0, 9], dims![1, 3, 1, 9]),
        "float[1, 3, 0, 9]"
    );
    assert_eq!(selected(dims!["n"], dims![1], dims![1]), "float[n]");
    assert_eq!(selected(dims![], dims![], dims![]), "float[]");
    assert_eq!(
        selected(dims![3], dims![2], dims![1]),
        "condition `input0` bool[3] is 3 along axis 0, expected 2 or 1"
    );
    assert_eq!(
        selected(dims![1, 2], dims![2], dims![1]),
        "condition `input0` bool[1, 2] has 2 dimensions, expected 1"
    );
    let floats = inferred(&[float(dims![2]), float(dims![2])], |g, t| {
        g.add_select(t[0], t[1], t[1])
    });
    assert_eq!(
        floats,
        "condition `input0` float[2] has type float, expected bool"
    );
}

#[test]
fn softmax_and_identity_keep_the_shape() {
    let softmax = |x, axis| inferred(&[float(x)], |g, t| g.add_softmax(t[0], axis));
    assert_eq!(softmax(dims!["n", 0], -1), "float[n, 0]");
    assert_eq!(
        softmax(dims![], 0),
        "argument `axis` is 0, expected no axis, since the input is a scalar"
    );
    assert_eq!(
        softmax(dims![2], i64::MIN),
        format!(
            "argument `axis` is {}, expected an axis from -1 to 0",
            i64::MIN
        )
    );
    let identity = |input| inferred(&[input], |g, t| g.add_identity(t[0]));
    assert_eq!(identity((DataType::Fp4, dims!["n", 3])), "fp4[n, 3]");
}

#[test]
fn unary_functions_say_what_they_take() {
    for operation in UnaryOperation::ALL {
        let on = |t| inferred(&[(t, dims!["n"])], |g, x| g.add_unary(x[0], operation));
        use UnaryOperation::{Abs, IsInf, IsNan, Neg, Not, Sign};
        let takes_bool = operation == Not;
        let takes_integers = matches!(operation, Abs | Neg | Sign);
        let gives = match operation {
            IsInf | IsNan => "bool[n]",
            _ => "half[n]",
        };
        assert_eq!(on(DataType::Half) == gives, !takes_bool, "{operation:?}");
        assert_eq!(
            on(DataType::Int32) == "int32[n]",
            takes_integers,
            "{operation:?}"
        );
        assert_eq!(on(DataType::Bool) == "bool[n]", takes_bool, "{operation:?}");
    }
}
