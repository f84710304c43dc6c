"""Layers that sum products: convolution and matrix multiply."""

import itertools
import math

import numpy as np

from storage import Tensor


def convolved(x, kernel, bias, stride, dilation, pre, output, groups):
    """Correlation by its definition: zeros outside the input."""
    batch, channels = x.shape[:2]
    maps, per_group = kernel.shape[:2]
    window = kernel.shape[2:]
    out = np.zeros((batch, maps) + tuple(output))
    for position in np.ndindex(tuple(output)):
        for offset in np.ndindex(window):
            at = [p * s - b + o * d for p, s, b, o, d in zip(position, stride, pre, offset, dilation)]
            if any(not 0 <= a < n for a, n in zip(at, x.shape[2:])):
                continue
            values = x[(slice(None), slice(None)) + tuple(at)]
            for g in range(groups):
                rows = slice(g * maps // groups, (g + 1) * maps // groups)
                columns = slice(g * per_group, (g + 1) * per_group)
                weights = kernel[(rows, slice(None)) + offset]
                out[(slice(None), rows) + position] += values[:, columns] @ weights.T
    if bias is not None:
        out += bias.reshape((1, -1) + (1,) * len(output))
    return out


def window_places(mode, n, k, s, d, pre, post):
    """Output size and padding in front, by the formulas in TensorRT's `PaddingMode`."""
    span = d * (k - 1) + 1
    if mode in ["SameUpper", "SameLower"]:
        size = math.ceil(n / s)
        total = max((n - 1) // s * s + span - n, 0)
        return size, total // 2 if mode == "SameUpper" else total - total // 2
    room = n + pre + post - span
    return (math.floor(room / s) if mode == "ExplicitRoundDown" else math.ceil(room / s)) + 1, pre


def convolution(cases):
    def add(name, x, kernel, bias=False, stride=None, dilation=None, pre=None, post=None, mode="ExplicitRoundDown",
            groups=1, data_type="Float", constant=True):
        rank = len(x) - 2
        if not isinstance(kernel, tuple):
            kernel = tuple(kernel)
        x, kernel = Tensor(cases.normal(*x), data_type), Tensor(cases.normal(*kernel), data_type, constant)
        bias = Tensor(cases.normal(kernel.values.shape[0]), data_type, constant) if bias else None
        s, d, b, a = ([default] * rank if given is None else given for given, default in [(stride, 1), (dilation, 1), (pre, 0), (post, 0)])
        places = [window_places(mode, *t) for t in zip(x.values.shape[2:], kernel.values.shape[2:], s, d, b, a)]
        output, front = [p[0] for p in places], [p[1] for p in places]
        expected = convolved(x.values, kernel.values, None if bias is None else bias.values, s, d, front, output, groups)
        arguments = {"Convolution": {"stride": stride or [], "dilation": dilation or [], "pre_padding": pre or [],
                                     "post_padding": post or [], "padding_mode": mode, "groups": groups}}
        cases.add("convolution", name, arguments, [x, kernel, bias], data_type, expected, [2e-5, 1e-5])
    add("1d", (2, 3, 9), (4, 3, 3))
    add("1d window of one", (2, 5, 9), (4, 5, 1), bias=True)
    add("1d whole", (1, 2, 6), (3, 2, 6), bias=True)
    add("1d groups", (1, 6, 10), (4, 3, 3), groups=2, bias=True)
    add("1d depthwise", (2, 5, 11), (5, 1, 3), groups=5, pre=[1], post=[1])
    add("1d depthwise, two maps each", (1, 3, 9), (6, 1, 3), groups=3, bias=True)
    add("1d stride and dilation", (1, 2, 20), (3, 2, 3), stride=[3], dilation=[4], pre=[2], post=[1])
    add("1d step beyond the window", (1, 2, 17), (3, 2, 2), stride=[5])
    add("1d as a spectrogram", (1, 1, 96), (34, 1, 32), stride=[8])
    add("2d", (2, 3, 6, 7), (4, 3, 3, 3), bias=True)
    add("2d window of one", (1, 8, 5, 5), (6, 8, 1, 1), bias=True)
    add("2d window of one, stride", (1, 8, 5, 6), (6, 8, 1, 1), stride=[2, 2])
    add("2d uneven window", (1, 2, 8, 9), (3, 2, 2, 5), stride=[1, 2], pre=[0, 2], post=[1, 1])
    add("2d depthwise", (1, 8, 9, 9), (8, 1, 3, 3), groups=8, pre=[1, 1], post=[1, 1], bias=True)
    add("2d depthwise, stride", (1, 8, 10, 9), (8, 1, 3, 3), groups=8, stride=[2, 2], pre=[1, 1], post=[1, 1])
    add("2d depthwise, five", (1, 4, 9, 8), (4, 1, 5, 5), groups=4, stride=[2, 1], pre=[2, 2], post=[2, 2], bias=True)
    add("2d groups", (2, 4, 5, 5), (6, 2, 3, 3), groups=2, bias=True)
    add("2d dilation", (1, 2, 9, 9), (2, 2, 3, 3), dilation=[2, 3], pre=[1, 2], post=[2, 1])
    add("2d only padding is read", (1, 1, 2, 2), (2, 1, 3, 3), pre=[3, 3], post=[3, 3])
    add("3d", (1, 2, 4, 5, 6), (3, 2, 2, 3, 2), bias=True)
    add("3d stride, padding, groups", (1, 4, 5, 4, 5), (4, 2, 3, 3, 3), groups=2, stride=[2, 1, 2], pre=[1, 1, 1], post=[1, 0, 1])
    for mode in ["ExplicitRoundDown", "ExplicitRoundUp", "SameUpper", "SameLower"]:
        for n, k, s, d in itertools.product([7, 8], [2, 3], [1, 2, 3], [1, 2]):
            explicit = mode.startswith("Explicit")
            add(f"{mode}/{n} by {k}, step {s}, apart {d}", (1, 2, n), (2, 2, k), stride=[s], dilation=[d],
                pre=[1] if explicit else None, post=[2] if explicit else None, mode=mode)
        pads = ([1, 0], [2, 1]) if mode.startswith("Explicit") else (None, None)
        add(f"{mode}/2d", (1, 3, 7, 8), (4, 3, 3, 4), stride=[2, 3], pre=pads[0], post=pads[1], mode=mode, bias=True)
        add(f"{mode}/3d", (1, 1, 5, 6, 4), (2, 1, 3, 2, 3), stride=[2, 2, 1], mode=mode)
        add(f"{mode}/step beyond the window", (1, 1, 9), (1, 1, 1), stride=[4], mode=mode)
    add("kernel as an input", (2, 3, 9), (4, 3, 3), bias=True, constant=False)
    add("kernel as an input, 2d depthwise", (1, 4, 6, 6), (4, 1, 3, 3), groups=4, constant=False)
    add("no batch", (0, 3, 9), (4, 3, 3))
    add("no maps", (1, 3, 9), (0, 3, 3))
    add("no channels", (1, 0, 9), (2, 0, 3), bias=True)
    add("many channels", (1, 40, 6, 6), (33, 40, 3, 3), pre=[1, 1], post=[1, 1], bias=True)
    for narrow in ["Half", "BFloat16"]:
        add(narrow, (1, 4, 8, 8), (6, 4, 3, 3), bias=True, data_type=narrow)


def operand(x, operation, left):
    if operation == "Vector":
        return x[..., None, :] if left else x[..., :, None]
    return np.swapaxes(x, -1, -2) if operation == "Transpose" else x


def product(a, left, b, right):
    out = np.matmul(operand(a, left, True), operand(b, right, False))
    if left == "Vector":
        out = out[..., 0, :]
    if right == "Vector":
        out = out[..., 0]
    return out


def matrix_multiply(cases):
    def add(name, a, left, b, right, data_type="Float", constant=False):
        a, b = Tensor(cases.normal(*a), data_type), Tensor(cases.normal(*b), data_type, constant)
        arguments = {"MatrixMultiply": {"left": left, "right": right}}
        cases.add("matrix_multiply", name, arguments, [a, b], data_type, product(a.values, left, b.values, right), [2e-5, 1e-5])
    n, t, v = "None", "Transpose", "Vector"
    for left, right in itertools.product([n, t], [n, t]):
        for rows, inner, columns in [(1, 1, 1), (3, 4, 5), (1, 70, 33), (33, 70, 1), (17, 5, 64), (50, 33, 47)]:
            a = (rows, inner) if left == n else (inner, rows)
            b = (inner, columns) if right == n else (columns, inner)
            label = f"{rows}x{inner}x{columns}/{left} {right}"
            add(label, a, left, b, right)
            add(f"{label}/constant", a, left, b, right, constant=True)
            if rows * inner * columns < 4000:
                add(f"{label}/batch", (2, 3) + a, left, (2, 3) + b, right)
    for left, right in itertools.product([n, t], [n, t]):
        a = (3, 4) if left == n else (4, 3)
        b = (4, 5) if right == n else (5, 4)
        for batch_a, batch_b in [((1,), (6,)), ((6,), (1,)), ((2, 1), (1, 3)), ((2, 1, 2), (1, 3, 1))]:
            add(f"broadcast {batch_a} {batch_b}/{left} {right}", batch_a + a, left, batch_b + b, right)
    for operation in [n, t]:
        b = (7, 5) if operation == n else (5, 7)
        a = (5, 7) if operation == n else (7, 5)
        add(f"vector by matrix/{operation}", (7,), v, b, operation)
        add(f"matrix by vector/{operation}", a, operation, (7,), v)
        add(f"vectors by matrices/{operation}", (3, 7), v, (3,) + b, operation)
        add(f"matrices by vectors/{operation}", (3,) + a, operation, (3, 7), v)
        add(f"one vector by matrices/{operation}", (1, 7), v, (3,) + b, operation)
        add(f"vector by constant matrix/{operation}", (7,), v, b, operation, constant=True)
    add("vector by vector", (9,), v, (9,), v)
    add("vectors by vectors", (4, 9), v, (4, 9), v)
    add("nothing summed", (3, 0), n, (0, 4), n)
    add("nothing summed, vectors", (0,), v, (0,), v)
    add("no rows", (0, 3), n, (3, 4), n)
    add("no columns", (2, 3), n, (3, 0), n)
    add("no matrices", (0, 2, 3), n, (0, 3, 4), n)
    add("attention scores", (2, 2, 7, 16), n, (2, 2, 7, 16), t)
    for narrow in ["Half", "BFloat16"]:
        add(narrow, (5, 24), n, (24, 6), n, narrow)
        add(f"{narrow}/constant", (5, 24), n, (6, 24), t, narrow, True)
    special = Tensor([[np.nan, 1.0], [np.inf, 2.0], [1.0, 2.0]])
    ones = Tensor([[1.0], [1.0]])
    cases.add("matrix_multiply", "special", {"MatrixMultiply": {"left": n, "right": n}}, [special, ones], "Float",
              special.values @ ones.values, [2e-5, 1e-5])


def product_cases(cases):
    convolution(cases)
    matrix_multiply(cases)
