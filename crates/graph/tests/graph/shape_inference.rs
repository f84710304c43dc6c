//! Reshapes, slices, and shapes followed through layers as elements.

use crate::common::{described, float, inferred, int};
use tensoracle_graph::*;

#[test]
fn shuffles_transpose_and_reshape() {
    let shuffled = |x, shuffle| inferred(&[float(x)], |g, t| g.add_shuffle(t[0], shuffle));
    assert_eq!(
        shuffled(dims![2, "n", 4], Shuffle::transpose([2, 0, 1])),
        "float[4, 2, n]"
    );
    assert_eq!(
        shuffled(dims![2, "n", 4], Shuffle::reshape([0, -1])),
        "float[2, 4·n]"
    );
    assert_eq!(
        shuffled(dims!["b", "t", 384], Shuffle::reshape([0, -1, 12, 32])),
        "float[b, t, 12, 32]"
    );
    assert_eq!(
        shuffled(
            dims!["b", "t", 384],
            Shuffle::reshape([0, 0, 12, 32]).then_transpose([0, 2, 1, 3])
        ),
        "float[b, 12, t, 32]"
    );
    assert_eq!(
        shuffled(
            dims![2, 3, 4],
            Shuffle::transpose([2, 1, 0]).then_reshape([0, 6])
        ),
        "float[4, 6]"
    );
    assert_eq!(shuffled(dims![], Shuffle::reshape([1, 1])), "float[1, 1]");
    assert_eq!(shuffled(dims![1], Shuffle::reshape([])), "float[]");
    assert_eq!(
        shuffled(dims![0, 3], Shuffle::reshape([3, 0]).zero_is_size()),
        "float[3, 0]"
    );
    assert_eq!(
        shuffled(dims![0, 3], Shuffle::reshape([0, 5])),
        "float[0, 5]"
    );
    assert_eq!(
        shuffled(dims![0, 3], Shuffle::reshape([-1, 5])),
        "float[0, 5]"
    );
    assert_eq!(
        shuffled(dims!["n"], Shuffle::reshape([12])),
        "float[12] where 12 = n"
    );
    assert_eq!(
        shuffled(dims!["n"], Shuffle::reshape([-1, 3])),
        "float[floor((n) / (3)), 3] where 3·floor((n) / (3)) = n"
    );
    for (dims, shuffle, expected) in [
        (
            dims![2, 3],
            Shuffle::reshape([4, 2]),
            "cannot reshape `input0` float[2, 3] to [4, 2] (8 elements): expected 6 elements",
        ),
        (
            dims![2, 3],
            Shuffle::transpose([1, 0]).then_reshape([-1, 4]),
            "cannot reshape `input0` float[3, 2] to [-1, 4] (4 elements): expected 6 elements",
        ),
        (
            dims![2, 3],
            Shuffle::reshape([-1, -1]),
            "argument `reshape` is [-1, -1], expected at most one −1",
        ),
        (
            dims![2, 3],
            Shuffle::reshape([-2, 3]),
            "argument `reshape` is [-2, 3], expected sizes of at least −1",
        ),
        (
            dims![6],
            Shuffle::reshape([6, 0]),
            "argument `reshape` is [6, 0], expected 0 only where the input has a dimension to copy",
        ),
        (
            dims![0, 3],
            Shuffle::reshape([0, -1]),
            "argument `reshape` is [0, -1], expected no −1 beside a size of zero",
        ),
        (
            dims![2, 3],
            Shuffle::transpose([0]),
            "argument `first_transpose` is [0], expected each axis of [2, 3] once",
        ),
        (
            dims![2, 3],
            Shuffle::transpose([0, 0]),
            "argument `first_transpose` is [0, 0], expected each axis of [2, 3] once",
        ),
        (
            dims![2, 3],
            Shuffle::default().then_transpose([0, usize::MAX]),
            "argument `second_transpose` is [0, 18446744073709551615], expected each axis of [2, \
             3] once",
        ),
        (
            dims![2, 3],
            Shuffle::reshape([i64::MAX, i64::MAX]),
            "the number of elements of the new shape is too large to write down: beyond 64 bits, \
             or thousands of terms",
        ),
        (
            dims![1],
            Shuffle::reshape([1; 9]),
            "argument `dims` is [1, 1, 1, 1, 1, 1, 1, 1, 1], 9 dimensions, expected at most 8 \
             dimensions",
        ),
    ] {
        assert_eq!(shuffled(dims, shuffle), expected);
    }
}

#[test]
fn a_new_shape_may_come_from_a_tensor() {
    let text = inferred(&[float(dims!["b", "t", 6])], |g, t| {
        let shape = g.add_shape(t[0])?;
        let batch = g.add_slice(shape, Slice::new([0], [1], [1]))?;
        let rest = g.add_constant(Values::new([2], [-1i32, 3]))?;
        let rest = g.add_cast(rest, DataType::Int64)?;
        let shape = g.add_concatenation(&[batch, rest], 0)?;
        g.add_shuffle_to(t[0], shape, Shuffle::default())
    });
    assert_eq!(text, "float[b, 2·t, 3]");
    let data = inferred(&[float(dims![6]), int(dims![2])], |g, t| {
        g.add_shuffle_to(t[0], t[1], Shuffle::default())
    });
    assert_eq!(
        data,
        "reshape dimensions `input1` int64[2] must be computed from shapes and constants alone, \
         but is not"
    );
    let twice = inferred(&[float(dims![6]), int(dims![2])], |g, t| {
        g.add_shuffle_to(t[0], t[1], Shuffle::reshape([2, 3]))
    });
    assert_eq!(
        twice,
        "argument `reshape` is [2, 3], expected no dimensions here, since a tensor gives them"
    );
}

#[test]
fn slices_take_sizes_and_check_bounds() {
    let sliced = |x, slice| inferred(&[float(x)], |g, t| g.add_slice(t[0], slice));
    let new = |start: i64, size: i64, stride: i64| Slice::new([start], [size], [stride]);
    assert_eq!(
        sliced(dims![2, 3], Slice::new([1, 0], [1, 2], [1, 2])),
        "float[1, 2]"
    );
    assert_eq!(sliced(dims![5], new(4, 3, -2)), "float[3]");
    assert_eq!(sliced(dims![5], new(2, 9, 0)), "float[9]");
    assert_eq!(sliced(dims![5], new(99, 0, 7)), "float[0]");
    assert_eq!(sliced(dims![0], new(0, 0, 1)), "float[0]");
    assert_eq!(sliced(dims![], Slice::new([], [], [])), "float[]");
    assert_eq!(
        sliced(dims![2, "n", 4], new(1, 2, 1).axes([-1])),
        "float[2, n, 2]"
    );
    assert_eq!(
        sliced(dims!["n"], new(1, 2, 1)),
        "float[2] where 2 <= n - 1"
    );
    let bounds = |index: i64, size: i64| {
        format!(
            "axis 0 of `input0` float[{size}]: the slice reads index {index}, expected 0 to below \
             {size} in strict mode"
        )
    };
    assert_eq!(sliced(dims![5], new(-1, 2, 1)), bounds(-1, 5));
    assert_eq!(sliced(dims![5], new(4, 2, 1)), bounds(5, 5));
    assert_eq!(sliced(dims![5], new(1, 3, -1)), bounds(-1, 5));
    assert_eq!(sliced(dims![0], new(0, 1, 1)), bounds(0, 0));
    let overflow = "the last coordinate of the slice is too large to write down: beyond 64 bits, \
                    or thousands of terms";
    assert_eq!(sliced(dims![5], new(0, 3, i64::MAX)), overflow);
    assert_eq!(sliced(dims![5], new(0, 3, i64::MIN)), overflow);
    assert_eq!(sliced(dims![5], new(i64::MIN, 1, 1)), bounds(i64::MIN, 5));
    assert_eq!(
        sliced(dims![5], new(0, -1, 1)),
        "argument `size` is -1, expected at least 0"
    );
    assert_eq!(
        sliced(dims![5, 5], new(0, 1, 1)),
        "argument `start` is [0], expected 2 numbers, one an axis"
    );
    assert_eq!(
        sliced(
            dims![5, 5],
            Slice::new([0, 0], [1, 1], [1, 1]).axes([0, -2])
        ),
        "argument `axes` is [0, -2], expected each axis once"
    );
    use SampleMode::{Clamp, Fill, Reflect, Wrap};
    for mode in [Wrap, Clamp, Reflect, Fill] {
        let far = new(i64::MIN, 3, i64::MAX).mode(mode);
        assert_eq!(sliced(dims![5], far.clone()), "float[3]");
        let empty = sliced(dims![0], far);
        match mode {
            Fill => assert_eq!(empty, "float[3]"),
            _ => assert_eq!(
                empty,
                format!(
                    "input `input0` float[0] is 0 along axis 0, expected at least 1 in the mode \
                     {mode:?}"
                )
            ),
        }
    }
}

#[test]
fn slice_arguments_may_be_tensors() {
    let fill = |mode, dims| {
        inferred(&[float(dims![3]), float(dims)], |g, t| {
            let slice = Slice::new([-1], [5], [1]).mode(mode);
            let inputs = SliceInputs {
                fill: Some(t[1]),
                ..SliceInputs::default()
            };
            g.add_slice_with(t[0], slice, inputs)
        })
    };
    assert_eq!(fill(SampleMode::Fill, dims![]), "float[5]");
    assert_eq!(fill(SampleMode::Fill, dims![1, 1]), "float[5]");
    assert_eq!(
        fill(SampleMode::Fill, dims![2]),
        "fill value `input1` float[2] has 1 dimensions, expected a single element"
    );
    assert_eq!(
        fill(SampleMode::Clamp, dims![]),
        "argument `mode` is Clamp, expected Fill, since a fill value is given"
    );
    let all = inferred(&[float(dims!["n", 7])], |g, t| {
        let one = |g: &mut Graph, value: i64| g.add_constant(Values::new([1], [value]));
        let shape = g.add_shape(t[0])?;
        let n = g.add_slice(shape, Slice::new([0], [1], [1]))?;
        let (start, stride, axes) = (one(g, 0)?, one(g, 1)?, one(g, -2)?);
        let size = g.add_elementwise(n, stride, ElementWiseOperation::Sub)?;
        let inputs = SliceInputs {
            start: Some(start),
            size: Some(size),
            stride: Some(stride),
            fill: None,
            axes: Some(axes),
        };
        let sliced = g.add_slice_with(t[0], Slice::default(), inputs)?;
        let node = g.producer(sliced).unwrap();
        let resolved = Slice::resolved(g, node).unwrap();
        assert_eq!(format!("{:?}", resolved.start), "[0, 0]");
        assert_eq!(format!("{:?}", resolved.size), "[n - 1, 7]");
        assert_eq!(resolved.stride, [1, 1]);
        assert_eq!(Slice::resolved(g, g.producer(shape).unwrap()), None);
        Ok(sliced)
    });
    // The last coordinate, n - 2, is always below n.
    assert_eq!(all, "float[n - 1, 7] where 0 <= n - 1");
    let named_stride = inferred(&[float(dims!["n"])], |g, t| {
        let shape = g.add_shape(t[0])?;
        let inputs = SliceInputs {
            stride: Some(shape),
            ..SliceInputs::default()
        };
        let slice = Slice {
            start: vec![0],
            size: vec![1],
            ..Slice::default()
        };
        g.add_slice_with(t[0], slice, inputs)
    });
    assert_eq!(
        named_stride,
        "argument `stride` is n, expected a plain number"
    );
}

/// The elements of the tensor that `add` gives over the shape `[n, 3, 2]`, where they are known.
fn elements(add: impl FnOnce(&mut Graph, Tensor) -> Result<Tensor, GraphError>) -> String {
    let mut graph = Graph::new();
    let x = graph
        .add_input("x", DataType::Float, dims!["n", 3, 2])
        .unwrap();
    let shape = graph.add_shape(x).unwrap();
    assert_eq!(described(&graph, shape), "int64[3]");
    let tensor = add(&mut graph, shape).unwrap();
    graph
        .shape_value(tensor)
        .map_or("unknown".into(), |value| format!("{value:?}"))
}

#[test]
fn shapes_are_followed_through_layers() {
    use ElementWiseOperation::{Div, Equal, FloorDiv, Max, Min, Pow, Prod, Sub, Sum};
    assert_eq!(elements(|_, s| Ok(s)), "[n, 3, 2]");
    assert_eq!(elements(|g, s| g.add_identity(s)), "[n, 3, 2]");
    assert_eq!(elements(|g, s| g.add_cast(s, DataType::Int32)), "[n, 3, 2]");
    assert_eq!(elements(|g, s| g.add_cast(s, DataType::Float)), "unknown");
    assert_eq!(elements(|g, s| g.add_cast(s, DataType::Int8)), "unknown");
    assert_eq!(
        elements(|g, s| g.add_concatenation(&[s, s], 0)),
        "[n, 3, 2, n, 3, 2]"
    );
    assert_eq!(
        elements(|g, s| g.add_slice(s, Slice::new([2], [2], [-2]))),
        "[2, n]"
    );
    assert_eq!(
        elements(|g, s| g.add_slice(s, Slice::new([0], [4], [1]).mode(SampleMode::Wrap))),
        "unknown"
    );
    assert_eq!(
        elements(|g, s| g.add_shuffle(s, Shuffle::reshape([1, 3]))),
        "[n, 3, 2]"
    );
    let with = |operation, number: i64| {
        elements(|g, s| {
            let number = g.add_constant(Values::new([1], [number]))?;
            g.add_elementwise(s, number, operation)
        })
    };
    assert_eq!(with(Sum, -1), "[n - 1, 2, 1]");
    assert_eq!(with(Prod, 2), "[2·n, 6, 4]");
    assert_eq!(with(Sub, 2), "[n - 2, 1, 0]");
    assert_eq!(with(FloorDiv, 2), "[floor((n) / (2)), 1, 1]");
    assert_eq!(with(FloorDiv, 0), "unknown");
    assert_eq!(with(Max, 3), "[max(3, n), 3, 3]");
    assert_eq!(with(Min, 2), "[min(2, n), 2, 2]");
    assert_eq!(with(Div, 2), "unknown");
    assert_eq!(with(Pow, 2), "unknown");
    assert_eq!(with(Equal, 2), "unknown");
    let reduced = |operation| elements(|g, s| g.add_reduce(s, operation, &[0], true));
    assert_eq!(reduced(ReduceOperation::Prod), "[6·n]");
    assert_eq!(reduced(ReduceOperation::Sum), "[n + 5]");
    assert_eq!(reduced(ReduceOperation::Max), "[max(2, max(3, n))]");
    assert_eq!(reduced(ReduceOperation::Min), "[min(2, min(3, n))]");
    let picked = |indices: Values| {
        elements(|g, s| {
            let indices = g.add_constant(indices)?;
            g.add_gather(s, indices, Gather::along(0))
        })
    };
    assert_eq!(picked(Values::new([2], [-1i64, 0])), "[2, n]");
    assert_eq!(picked(Values::scalar(1i32)), "[3]");
    assert_eq!(picked(Values::new([3], [3i64, -4, i64::MIN])), "[0, 0, 0]");
}

#[test]
fn the_shape_of_a_scalar_has_one_element_in_all() {
    let mut graph = Graph::new();
    let x = graph.add_input("x", DataType::Float, dims![]).unwrap();
    let shape = graph.add_shape(x).unwrap();
    assert_eq!(graph.shape_value(shape), Some(&[][..]));
    let product = graph
        .add_reduce(shape, ReduceOperation::Prod, &[0], false)
        .unwrap();
    assert_eq!(graph.shape_value(product), Some(&[Dim::from(1)][..]));
    let largest = graph
        .add_reduce(shape, ReduceOperation::Max, &[0], false)
        .unwrap();
    assert_eq!(graph.shape_value(largest), None);
}

#[test]
fn elements_that_would_wrap_are_not_followed() {
    let mut graph = Graph::new();
    let largest = graph.add_constant(Values::scalar(i32::MAX)).unwrap();
    let sum = graph
        .add_elementwise(largest, largest, ElementWiseOperation::Sum)
        .unwrap();
    assert_eq!(graph.shape_value(sum), None);
    let wide = graph.add_constant(Values::scalar(i64::MAX)).unwrap();
    let narrow = graph.add_cast(wide, DataType::Int32).unwrap();
    assert_eq!(graph.shape_value(narrow), None);
    let sum = graph
        .add_elementwise(wide, wide, ElementWiseOperation::Sum)
        .unwrap();
    assert_eq!(graph.shape_value(sum), None);
}

#[test]
fn elements_of_an_unknown_number_are_not_followed() {
    let mut graph = Graph::new();
    let x = graph
        .add_input("x", DataType::Float, dims!["n", 4])
        .unwrap();
    let shape = graph.add_shape(x).unwrap();
    let n = graph.add_slice(shape, Slice::new([0], [1], [1])).unwrap();
    // Two elements as `n`, which is then 2.
    let reshaped = graph.add_shuffle_to(shape, n, Shuffle::default()).unwrap();
    assert_eq!(described(&graph, reshaped), "int64[n] where n = 2");
    assert_eq!(graph.shape_value(reshaped), None);
}

#[test]
fn long_vectors_are_not_followed() {
    let mut graph = Graph::new();
    let mut joined = graph.add_constant(Values::new([64], [1i64; 64])).unwrap();
    assert_eq!(graph.shape_value(joined).map(<[_]>::len), Some(64));
    for _ in 0..40 {
        joined = graph.add_concatenation(&[joined, joined], 0).unwrap();
        assert_eq!(graph.shape_value(joined), None);
    }
    let one = graph.add_constant(Values::new([1], [1i64])).unwrap();
    let many = graph
        .add_slice(one, Slice::new([0], [1 << 40], [0]))
        .unwrap();
    assert_eq!(graph.shape_value(many), None);
    let long = graph.add_constant(Values::new([65], [1i64; 65])).unwrap();
    assert_eq!(graph.shape_value(long), None);
}
