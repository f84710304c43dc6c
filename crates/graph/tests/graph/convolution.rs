//! What convolutions infer and refuse, and the padding of their windows.

use crate::common::{float, inferred};
use tensoracle_graph::*;

fn kernel(dims: &[u64]) -> Values {
    let elements = dims.iter().product::<u64>() as usize;
    Values::new(dims.iter().copied(), vec![0.5f32; elements])
}

/// A convolution of one input with a kernel of the given shape.
fn convolved(input: Dims, kernel_dims: &[u64], convolution: Convolution) -> String {
    inferred(&[float(input)], |g, t| {
        let kernel = g.add_constant(kernel(kernel_dims))?;
        g.add_convolution(t[0], kernel, None, convolution)
    })
}

#[test]
fn convolutions_follow_tensorrts_formulas() {
    use PaddingMode::{ExplicitRoundUp, SameLower, SameUpper};
    let new = Convolution::new;
    assert_eq!(
        convolved(dims![2, 3, 7, 8], &[4, 3, 3, 3], new()),
        "float[2, 4, 5, 6]"
    );
    assert_eq!(
        convolved(dims!["n", 3, 7], &[4, 3, 7], new()),
        "float[n, 4, 1]"
    );
    assert_eq!(
        convolved(dims![1, 1, 5, 6, 7], &[2, 1, 1, 2, 3], new()),
        "float[1, 2, 5, 5, 5]"
    );
    // The header's own example of pooling, whose formulas are the same: 6 with 3 + 2, window 3.
    let given = new().pre_padding([3]).post_padding([2]).stride([2]);
    assert_eq!(
        convolved(dims![1, 1, 6], &[1, 1, 3], given.clone()),
        "float[1, 1, 5]"
    );
    let up = given.padding_mode(ExplicitRoundUp);
    assert_eq!(
        convolved(dims![1, 1, 6], &[1, 1, 3], up.clone()),
        "float[1, 1, 5]"
    );
    // With an element more the last window of rounding up reaches beyond the padding.
    assert_eq!(convolved(dims![1, 1, 7], &[1, 1, 3], up), "float[1, 1, 6]");
    for mode in [SameUpper, SameLower] {
        let same = new().stride([2]).padding_mode(mode);
        assert_eq!(
            convolved(dims![1, 1, 6], &[1, 1, 3], same.clone()),
            "float[1, 1, 3]"
        );
        assert_eq!(
            convolved(dims![1, 1, 0], &[1, 1, 3], same.clone()),
            "float[1, 1, 0]"
        );
        assert_eq!(
            convolved(dims![1, 1, "t"], &[1, 1, 3], same),
            "float[1, 1, floor((t + 1) / (2))]"
        );
    }
    let dilated = new().dilation([2]).stride([3]).groups(2);
    assert_eq!(
        convolved(dims![1, 4, "t"], &[6, 2, 3], dilated),
        "float[1, 6, floor((t + 1) / (3)) - 1] where 5 <= t"
    );
    assert_eq!(
        convolved(dims![1, 1, "t"], &[1, 1, 5], new()),
        "float[1, 1, t - 4] where 5 <= t"
    );
}

#[test]
fn convolutions_refuse_what_does_not_fit() {
    let new = Convolution::new;
    let x = || dims![1, 4, 8];
    for (input, kernel_dims, convolution, expected) in [
        (
            dims![4, 8],
            &[1, 4][..],
            new(),
            "input `input0` float[4, 8] has 2 dimensions, expected 3 to 5 (batch, channels, 1 to \
             3 spatial)",
        ),
        (
            x(),
            &[2, 4, 9],
            new(),
            "input `input0` float[1, 4, 8] is 8 along axis 2, expected enough elements for a \
             window of 9",
        ),
        (
            x(),
            &[2, 4, 0],
            new(),
            "kernel `constant_0` float[2, 4, 0] is 0 along axis 2, expected at least 1",
        ),
        (
            x(),
            &[2, 3, 3],
            new(),
            "kernel `constant_0` float[2, 3, 3] is 3 along axis 1, expected 4",
        ),
        (
            x(),
            &[3, 2, 3],
            new().groups(2),
            "kernel `constant_0` float[3, 2, 3] is 3 along axis 0, expected a multiple of 2 groups",
        ),
        (
            x(),
            &[3, 1, 3],
            new().groups(3),
            "input `input0` float[1, 4, 8] is 4 along axis 1, expected a multiple of 3 groups",
        ),
        (
            dims![1, "c", 8],
            &[2, 4, 3],
            new(),
            "input `input0` float[1, c, 8] is c along axis 1, expected a fixed size",
        ),
        (
            x(),
            &[2, 4, 3],
            new().groups(0),
            "argument `groups` is 0, expected 1 to 2147483647",
        ),
        (
            x(),
            &[2, 4, 3],
            new().groups(u64::MAX),
            "argument `groups` is 18446744073709551615, expected 1 to 2147483647",
        ),
        (
            x(),
            &[2, 4, 3],
            new().stride([0]),
            "argument `stride` is [0], expected 1 sizes from 1 to 2147483647",
        ),
        (
            x(),
            &[2, 4, 3],
            new().dilation([1, 1]),
            "argument `dilation` is [1, 1], expected 1 sizes from 1 to 2147483647",
        ),
        (
            x(),
            &[2, 4, 3],
            new().padding([u64::MAX]),
            "argument `pre_padding` is [18446744073709551615], expected 1 sizes from 0 to \
             2147483647",
        ),
    ] {
        assert_eq!(convolved(input, kernel_dims, convolution), expected);
    }
    let biased = |bias: Dims| {
        inferred(&[float(x()), float(bias)], |g, t| {
            let kernel = g.add_constant(kernel(&[2, 4, 3]))?;
            g.add_convolution(t[0], kernel, Some(t[1]), new())
        })
    };
    assert_eq!(biased(dims![2]), "float[1, 2, 6]");
    assert_eq!(
        biased(dims![3]),
        "bias `input1` float[3] is 3 along axis 0, expected 2"
    );
    assert_eq!(
        biased(dims!["n"]),
        "bias `input1` float[n] is n along axis 0, expected 2"
    );
    assert_eq!(
        biased(dims![1, 2]),
        "bias `input1` float[1, 2] has 2 dimensions, expected 1"
    );
}

#[test]
fn padding_of_windows_is_what_the_header_computes() {
    let same = |mode| Convolution::new().stride([2]).padding_mode(mode);
    // I = 6, S = 2, window 3: P = 1.
    assert_eq!(
        same(PaddingMode::SameUpper).effective_padding(0, 6, 3, 3),
        (0, 1)
    );
    assert_eq!(
        same(PaddingMode::SameLower).effective_padding(0, 6, 3, 3),
        (1, 0)
    );
    // A step beyond the window leaves elements that nothing reads.
    let far = Convolution::new()
        .stride([4])
        .padding_mode(PaddingMode::SameUpper);
    assert_eq!(far.effective_padding(0, 8, 2, 1), (0, -3));
    let given = Convolution::new().padding([2]);
    assert_eq!(given.effective_padding(0, 5, 7, 3), (2, 2));
    // Numbers that no graph has are answered all the same.
    for number in [i64::MIN, i64::MAX] {
        let _ = given.effective_padding(0, number, number, number);
        let _ = given.effective_padding(usize::MAX, number, i64::MIN, number);
    }
}
