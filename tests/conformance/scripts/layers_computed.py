"""Layers that compute each element by itself or along axes: activation, cast, element-wise,
unary, reduce, softmax, normalization."""

import itertools
import math

import numpy as np

from storage import INTEGERS, Tensor, f32, rounded, wrapped

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.5, 20.0, -20.0, 90.0, -90.0, 1e-30, -1e-30, 1e30, -1e30,
           np.inf, -np.inf, np.nan]
CLOSE = [1e-6, 4e-6]
erf = np.vectorize(math.erf, otypes=[float])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x, alpha, beta):
    # log(exp(v) + 1) without overflow.
    v = beta * x
    return alpha * (np.maximum(v, 0) + np.log1p(np.exp(-np.abs(v))))


def inner(x):
    return np.sqrt(2 / np.pi) * (0.044715 * x**3 + x)


ACTIVATIONS = {
    "Relu": (lambda x, a, b: np.maximum(0, x), [(0, 0)]),
    "Sigmoid": (lambda x, a, b: sigmoid(x), [(0, 0)]),
    "Tanh": (lambda x, a, b: np.tanh(x), [(0, 0)]),
    "LeakyRelu": (lambda x, a, b: np.where(x >= 0, x, a * x), [(0.01, 0), (-2, 0), (0, 0)]),
    "Elu": (lambda x, a, b: np.where(x >= 0, x, a * np.expm1(x)), [(1, 0), (0.3, 0)]),
    "Selu": (lambda x, a, b: np.where(x > 0, b * x, b * (a * np.exp(x) - a)), [(1.6732632, 1.050701), (2, 3)]),
    "Softsign": (lambda x, a, b: x / (1 + np.abs(x)), [(0, 0)]),
    "Softplus": (softplus, [(1, 1), (0.5, 2), (2, -1)]),
    "Clip": (lambda x, a, b: np.maximum(a, np.minimum(b, x)), [(0, 6), (-1.5, 1.5), (2, 1)]),
    "HardSigmoid": (lambda x, a, b: np.maximum(0, np.minimum(1, a * x + b)), [(0.2, 0.5), (-1, 0.25)]),
    "ScaledTanh": (lambda x, a, b: a * np.tanh(b * x), [(1, 1), (1.7159, 0.6667)]),
    "ThresholdedRelu": (lambda x, a, b: np.where(x > a, x, 0), [(1, 0), (-1, 0)]),
    "GeluErf": (lambda x, a, b: 0.5 * x * (1 + erf(np.sqrt(0.5) * x)), [(0, 0)]),
    "GeluTanh": (lambda x, a, b: 0.5 * x * (1 + np.tanh(inner(x))), [(0, 0)]),
}


def activation(cases):
    for function, (compute, parameters) in ACTIVATIONS.items():
        for number, (a, b) in enumerate(parameters):
            arguments = {"Activation": {"function": function, "alpha": f32(a), "beta": f32(b)}}
            def add(name, x, close):
                expected = compute(x.values, f32(a), f32(b))
                cases.add("activation", f"{function}/{number}/{name}", arguments, [x], x.data_type, expected, close)
            add("random", Tensor(cases.normal(2, 3, 37, scale=3)), CLOSE)
            # The formulas themselves are NaN or infinite where they multiply zero by infinity.
            finite = [x for x in SPECIAL if abs(x) < 1e9]
            add("special", Tensor(finite), CLOSE)
            for narrow in ["Half", "BFloat16"]:
                add(narrow, Tensor(cases.normal(5, 7, scale=3), narrow), CLOSE)
        arguments = {"Activation": {"function": function, "alpha": 0.25, "beta": 0.75}}
        cases.add("activation", f"{function}/nan", arguments, [Tensor([np.nan, np.nan])], "Float",
                  compute(np.full(2, np.nan), 0.25, 0.75) if function != "ThresholdedRelu" else [0, 0], CLOSE)
        cases.add("activation", f"{function}/scalar", arguments, [Tensor(0.75)], "Float", compute(np.array(0.75), 0.25, 0.75), CLOSE)
        cases.add("activation", f"{function}/empty", arguments, [Tensor(np.zeros((3, 0)))], "Float", np.zeros((3, 0)), CLOSE)
    infinite = Tensor([np.inf, -np.inf])
    for function, expected in [("Relu", [np.inf, 0]), ("Sigmoid", [1, 0]), ("Tanh", [1, -1]), ("Clip", [0.75, 0.25]),
                               ("HardSigmoid", [1, 0]), ("LeakyRelu", [np.inf, -np.inf]), ("Elu", [np.inf, -0.25]),
                               ("ThresholdedRelu", [np.inf, 0])]:
        arguments = {"Activation": {"function": function, "alpha": 0.25, "beta": 0.75}}
        cases.add("activation", f"{function}/infinite", arguments, [infinite], "Float", expected, CLOSE)
    for integer in ["Int32", "Int64"]:
        arguments = {"Activation": {"function": "Relu", "alpha": 0.0, "beta": 0.0}}
        edges = [-(2**31), 2**31 - 1, 0, -1, 7]
        cases.add("activation", f"Relu/{integer}", arguments, [Tensor(edges, integer)], integer, np.maximum(edges, 0))


def cast(cases):
    def add(name, x, to, expected):
        cases.add("cast", name, {"Cast": {"to_type": to}}, [x], to, expected)
    # Ties, neighbours of ties, subnormals and both sides of the largest value of each type.
    edges = [0.0, -0.0, 1.0, -1.0, 0.1, 1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-9, 17.0, 19.0,
             31.9, 2**-10, 3 * 2**-10, 1.5 * 2**-9, 2**-24, 2**-25, 1.5 * 2**-25, 2**-14 - 2**-25, 65504.0, 65519.0,
             65520.0, -65520.0, 1e5, 447.9, 448.0, 463.9, 464.0, 465.0, 480.0, -1e9, 1e-40, 3.3895313892515355e38,
             3.396e38, 3.4e38, -3.4e38, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0, 7.0, 100.0]
    wild = [np.inf, -np.inf, np.nan]
    source = Tensor(edges)
    for to in ["Float", "Half", "BFloat16", "Fp8", "Fp4"]:
        # E4M3 and E2M1 have no infinity: what is beyond saturates. E2M1 has no NaN either.
        x = Tensor(np.concatenate([source.values, [1e30], wild if to != "Fp4" else wild[:2]]))
        add(f"Float to {to}", x, to, rounded(x.values, to))
    for narrow in ["Half", "BFloat16", "Fp8", "Fp4"]:
        held = rounded(np.array(edges)[np.abs(edges) < 400], narrow)
        for to in ["Float", "Half", "BFloat16", "Fp8", "Fp4"]:
            add(f"{narrow} to {to}", Tensor(held, narrow), to, rounded(held, to))
        add(f"{narrow} to Int32", Tensor(held, narrow), "Int32", np.trunc(held))
        add(f"{narrow} to Bool", Tensor(held, narrow), "Bool", held != 0)
    powers = [1.0, 2.0, 0.5, 2.0**-20, 2.0**20]
    add("E8M0 to Float", Tensor(powers, "E8M0"), "Float", powers)
    add("Float to E8M0", Tensor(powers), "E8M0", powers)
    # Truncation towards zero, within each type's range.
    fractions = [0.0, -0.0, 0.5, -0.5, 0.999, -0.999, 1.5, -1.5, 2.5, -2.5, 6.99]
    for to in INTEGERS:
        signed = INTEGERS[to][1]
        x = Tensor([v for v in fractions if signed or v > -1])
        add(f"Float to {to}", x, to, np.trunc(x.values))
        add(f"{to} from Bool", Tensor([False, True], "Bool"), to, [0, 1])
    add("Float to Int32 large", Tensor([2.0**30, -(2.0**31), 16777217.0]), "Int32", [2**30, -(2**31), 16777216])
    add("Float to Int64 large", Tensor([2.0**62, -(2.0**63), 1e10]), "Int64", [2**62, -(2**63), 10**10])
    numbers = [0, 1, -1, 7, -8, 8, 127, 128, -128, -129, 255, 256, 2**31 - 1, -(2**31), 2**31, 2**40 + 5, -(2**63), 2**63 - 1]
    for source_type in INTEGERS:
        held = wrapped(numbers, source_type)
        for to in INTEGERS:
            add(f"{source_type} to {to}", Tensor(held, source_type), to, wrapped(held, to))
        add(f"{source_type} to Bool", Tensor(held, source_type), "Bool", held != 0)
        small = held[np.abs(held.astype(float)) < 2**23]
        for to in ["Float", "Half", "BFloat16", "Fp8"]:
            # Integers that f32 holds: every precision then rounds the same number.
            add(f"{source_type} to {to}", Tensor(small, source_type), to, rounded(small, to))
    add("Float to Bool", Tensor([0.0, -0.0, 1e-40, 0.1, -3.0, np.inf, np.nan]), "Bool", [0, 0, 1, 1, 1, 1, 1])
    for to in ["Float", "Half", "BFloat16", "Fp8"]:
        add(f"Bool to {to}", Tensor([False, True], "Bool"), to, [0.0, 1.0])
    add("Bool to Bool", Tensor([False, True], "Bool"), "Bool", [False, True])
    add("scalar", Tensor(2.75), "Int32", np.array(2))
    add("empty", Tensor(np.zeros((2, 0))), "Half", np.zeros((2, 0)))


def truncated(a, b):
    """Integer quotients towards zero."""
    return np.array([abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a.ravel(), b.ravel())]).reshape(a.shape)


ELEMENTWISE = {
    "Sum": np.add, "Prod": np.multiply, "Max": np.maximum, "Min": np.minimum, "Sub": np.subtract, "Div": np.divide,
    "Pow": np.power, "FloorDiv": lambda a, b: np.floor(a / b), "Equal": np.equal, "Greater": np.greater, "Less": np.less,
}
COMPARES = ["Equal", "Greater", "Less"]
BROADCASTS = [((), ()), ((5,), (5,)), ((5,), (1,)), ((1,), (5,)), ((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (1, 1, 4)),
              ((2, 1, 4), (1, 3, 1)), ((2, 3, 4), (2, 3, 1)), ((2, 3, 4), (2, 1, 4)), ((1, 3, 1), (2, 1, 4)),
              ((0, 3), (1, 3)), ((2, 1, 3, 1, 2), (1, 4, 1, 3, 2)), ((1, 2, 1, 2, 1, 2, 1, 2), (2, 1, 2, 1, 2, 1, 2, 1))]


def elementwise(cases):
    def add(operation, name, a, b, expected, close=None):
        output = "Bool" if operation in COMPARES else a.data_type
        cases.add("elementwise", f"{operation}/{name}", {"ElementWise": {"operation": operation}}, [a, b], output, expected, close)
    for operation, compute in ELEMENTWISE.items():
        close = None if operation in ["Max", "Min", "FloorDiv", *COMPARES] else CLOSE
        for number, (left, right) in enumerate(BROADCASTS):
            a, b = cases.normal(*left, scale=3), cases.normal(*right, scale=3)
            if operation == "Pow":
                a = np.abs(a) + 0.1
            if operation == "FloorDiv":
                # Quarters divided by powers of two: quotients that no precision rounds.
                a, b = np.round(a * 4) / 4, 2.0 ** np.round(b)
            if operation == "Equal":
                a, b = np.round(a / 3), np.round(b / 3)
            a, b = Tensor(a), Tensor(b)
            add(operation, f"broadcast/{number}", a, b, compute(a.values, b.values), close)
        for narrow in ["Half", "BFloat16"]:
            a, b = Tensor(np.abs(cases.normal(40)) + 0.5, narrow), Tensor(cases.normal(40), narrow)
            if operation == "FloorDiv":
                b = Tensor(2.0 ** np.round(b.values), narrow)
            add(operation, narrow, a, b, compute(a.values, b.values), close)
        pairs = np.array(list(itertools.product([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan], repeat=2)))
        if operation == "FloorDiv":
            pairs = pairs[np.isfinite(pairs).all(1) & (pairs[:, 1] != 0)]
        a, b = Tensor(pairs[:, 0]), Tensor(pairs[:, 1])
        add(operation, "special", a, b, compute(a.values, b.values), close)
        for integer in ["Int32", "Int64"]:
            low, high = (-(2**31), 2**31 - 1) if integer == "Int32" else (-(2**63), 2**63 - 1)
            a = np.array([7, -7, 7, -7, 0, 1, -1, 6, -6, 123456, low, high, low, high, low], object)
            b = np.array([2, 2, -2, -2, 5, 1, -1, 3, -3, -1000, 2, 2, 1, -3, 3], object)
            if operation == "Pow":
                a = np.array([2, -2, -2, 3, 0, 0, 1, -1, -1, 10, 7, 2, 2], object)
                b = np.array([10, 3, 4, 5, 0, 3, 9, 4, 5, 9, 0, 31, 62], object)
                expected = wrapped([int(x) ** int(y) for x, y in zip(a, b)], integer)
            elif operation == "Div":
                expected = wrapped(truncated(a, b), integer)
            elif operation == "FloorDiv":
                expected = wrapped([int(x) // int(y) for x, y in zip(a, b)], integer)
            elif operation in COMPARES:
                expected = compute(a, b).astype(bool)
            else:
                expected = wrapped(compute(a, b), integer)
            add(operation, integer, Tensor(a.astype(np.int64), integer), Tensor(b.astype(np.int64), integer), expected)
    for operation, compute in [("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor), ("Equal", np.equal)]:
        a, b = np.array([[0, 0, 1, 1]], bool), np.array([[0], [1]], bool)
        add(operation, "Bool", Tensor(a, "Bool"), Tensor(b, "Bool"), compute(a, b))
        cases.listed[-1]["output"]["type"] = "Bool"


UNARY = {
    "Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt, "Recip": lambda x: 1 / x, "Abs": np.abs, "Neg": np.negative,
    "Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Sinh": np.sinh, "Cosh": np.cosh, "Asin": np.arcsin,
    "Acos": np.arccos, "Atan": np.arctan, "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh,
    "Ceil": np.ceil, "Floor": np.floor, "Erf": erf, "Sign": np.sign, "Round": np.rint, "IsInf": np.isinf, "IsNan": np.isnan,
}
DOMAIN = {"Log": (1e-3, 50), "Sqrt": (0, 50), "Asin": (-1, 1), "Acos": (-1, 1), "Acosh": (1, 50), "Atanh": (-0.99, 0.99),
          "Tan": (-1.5, 1.5), "Recip": (0.01, 50), "Exp": (-80, 80), "Sinh": (-80, 80), "Cosh": (-80, 80)}
BITWISE = ["Abs", "Neg", "Ceil", "Floor", "Sign", "Round", "IsInf", "IsNan"]


def unary(cases):
    def add(operation, name, x, expected, close):
        output = "Bool" if operation in ["IsInf", "IsNan", "Not"] else x.data_type
        cases.add("unary", f"{operation}/{name}", {"Unary": {"operation": operation}}, [x], output, expected, close)
    for operation, compute in UNARY.items():
        close = None if operation in BITWISE else CLOSE
        low, high = DOMAIN.get(operation, (-6, 6))
        for data_type in ["Float", "Half", "BFloat16"]:
            # Half overflows at 65504.
            bounds = (max(low, -9), min(high, 9)) if data_type == "Half" else (low, high)
            x = Tensor(cases.rng.uniform(*bounds, size=(3, 41)), data_type)
            if operation == "Acosh":
                x.values = np.maximum(x.values, 1.0)
            add(operation, data_type, x, compute(x.values), close)
        special = [x for x in SPECIAL if not (operation in ["Sin", "Cos", "Tan"] and abs(x) > 1e6)]
        x = Tensor(special)
        add(operation, "special", x, compute(x.values), close)
        add(operation, "scalar", Tensor(1.0), compute(np.array(1.0)), close)
        add(operation, "empty", Tensor(np.zeros((0, 2))), np.zeros((0, 2)), close)
    x = Tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 8388609.0, 1e20, -0.2])
    add("Round", "ties", x, np.rint(x.values), None)
    for operation in ["Abs", "Neg", "Sign"]:
        for integer in ["Int32", "Int64"]:
            edges = [0, 5, -5, 2**31 - 1, -(2**31) + 1]
            add(operation, integer, Tensor(edges, integer), UNARY[operation](np.array(edges)), None)
    add("Not", "Bool", Tensor([[True, False]], "Bool"), [[False, True]], None)


def reduced(compute, x, axes, keep):
    return compute(x, axis=tuple(axes), keepdims=keep)


REDUCE = {"Sum": np.sum, "Prod": np.prod, "Max": np.max, "Min": np.min, "Avg": np.mean}


def reduce(cases):
    def add(name, operation, x, axes, keep, expected, close):
        arguments = {"Reduce": {"operation": operation, "axes": axes, "keep_dimensions": keep}}
        cases.add("reduce", f"{operation}/{name}", arguments, [x], x.data_type, expected, close)
    for operation, compute in REDUCE.items():
        close = None if operation in ["Max", "Min"] else [4e-6, 4e-6]
        for shape in [(7,), (3, 5), (2, 3, 4), (2, 3, 4, 5), (1, 70, 33)]:
            x = Tensor(cases.normal(*shape) if operation != "Prod" else cases.rng.uniform(0.7, 1.4, shape))
            ranks = range(1, len(shape) + 1)
            for axes in itertools.chain.from_iterable(itertools.combinations(range(len(shape)), r) for r in ranks):
                for keep in [False, True]:
                    label = f"{'x'.join(map(str, shape))}/{'-'.join(map(str, axes))}/{'keep' if keep else 'drop'}"
                    add(label, operation, x, list(axes), keep, reduced(compute, x.values, axes, keep), close)
        x = Tensor(cases.normal(2, 3, 4))
        add("negative", operation, x, [-1, 0], False, reduced(compute, x.values, [-1, 0], False), close)
        for narrow in ["Half", "BFloat16"]:
            x = Tensor(cases.normal(6, 11), narrow)
            add(narrow, operation, x, [1], True, reduced(compute, x.values, [1], True), close)
        special = Tensor([[np.nan, 1, 2], [np.inf, 1, 2], [-np.inf, 1, 2], [np.inf, -np.inf, 0.5], [0.0, -1, -2]])
        add("special", operation, special, [1], False, reduced(compute, special.values, [1], False), close)
        # Over nothing; and nothing over something.
        nothing = {"Sum": 0.0, "Prod": 1.0, "Max": -np.inf, "Min": np.inf, "Avg": np.nan}[operation]
        add("nothing", operation, Tensor(np.zeros((2, 0, 3))), [1], True, np.full((2, 1, 3), nothing), close)
        add("none", operation, Tensor(np.zeros((2, 0, 3))), [2], False, np.zeros((2, 0)), close)
        if operation != "Avg":
            for integer in ["Int32", "Int64"]:
                values = cases.rng.integers(-9, 9, (4, 5))
                add(integer, operation, Tensor(values, integer), [0], False, compute(values, axis=0), None)
            large = np.array([[2**31 - 1, 2**31 - 1, 2], [-(2**31), -(2**31), 3]])
            expected = wrapped([compute(row.astype(object)) for row in large], "Int32")
            add("Int32 wrapping", operation, Tensor(large, "Int32"), [1], False, expected, None)


def softmax_of(x, axis):
    with np.errstate(all="ignore"):
        e = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return e / np.sum(e, axis=axis, keepdims=True)


def softmax(cases):
    def add(name, x, axis, expected=None):
        expected = softmax_of(x.values, axis) if expected is None else expected
        cases.add("softmax", name, {"SoftMax": {"axis": axis}}, [x], x.data_type, expected, [1e-6, 4e-6])
    for shape in [(1,), (9,), (3, 40), (2, 3, 17), (2, 3, 4, 5)]:
        x = Tensor(cases.normal(*shape, scale=4))
        for axis in range(-len(shape), len(shape)):
            add(f"{'x'.join(map(str, shape))}/{axis}", x, axis)
    add("large", Tensor([[1000, 1001, 1002], [-1000, -1001, -1002], [3e38, -3e38, 0]]), 1)
    masked = cases.normal(4, 8)
    masked[0, 3:] = -np.inf
    masked[1, ::2] = -np.inf
    masked[2, 1:] = -np.inf
    add("masked", Tensor(masked), -1)
    add("all masked", Tensor([[-np.inf, -np.inf], [0, -np.inf]]), 1)
    add("nan", Tensor([[np.nan, 1.0], [2.0, 2.0]]), 1)
    add("infinite", Tensor([[np.inf, 1.0]]), 1)
    add("empty axis", Tensor(np.zeros((3, 0))), 1, np.zeros((3, 0)))
    add("empty", Tensor(np.zeros((0, 3))), 1, np.zeros((0, 3)))
    for narrow in ["Half", "BFloat16"]:
        add(narrow, Tensor(cases.normal(5, 13, scale=4), narrow), 1)


def normalized(x, scale, bias, axes, epsilon, groups):
    shape = x.shape
    if groups != 1:
        x = x.reshape(shape[0], groups, -1)
        axes = [2]
    mean = x.mean(axis=tuple(axes), keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=tuple(axes), keepdims=True)
    return ((x - mean) / np.sqrt(variance + epsilon)).reshape(shape) * scale + bias


def normalization(cases):
    def add(name, x, parameters, axes, epsilon=1e-5, groups=1, constant=False):
        t = x.data_type
        scale, bias = (Tensor(v, t, constant) for v in (cases.normal(*parameters), cases.normal(*parameters)))
        arguments = {"Normalization": {"axes": axes, "epsilon": f32(epsilon), "groups": groups}}
        expected = normalized(x.values, scale.values, bias.values, axes, f32(epsilon), groups)
        cases.add("normalization", name, arguments, [x, scale, bias], t, expected, [1e-5, 1e-5])
    for constant in [False, True]:
        kind = "constant" if constant else "input"
        add(f"layer/{kind}", Tensor(cases.normal(2, 5, 19)), (1, 1, 19), [2], constant=constant)
        add(f"layer over two/{kind}", Tensor(cases.normal(2, 5, 6)), (1, 5, 6), [1, 2], constant=constant)
        add(f"instance/{kind}", Tensor(cases.normal(2, 4, 5, 6)), (1, 4, 1, 1), [2, 3], 1e-2, constant=constant)
        add(f"group/{kind}", Tensor(cases.normal(2, 6, 5, 3)), (1, 6, 1, 1), [2, 3], groups=3, constant=constant)
    add("layer of negative axis", Tensor(cases.normal(3, 7)), (1, 7), [-1])
    add("layer of full scale", Tensor(cases.normal(3, 7)), (3, 7), [1])
    add("over the first axis", Tensor(cases.normal(6, 4)), (1, 4), [0])
    add("over outer axes", Tensor(cases.normal(3, 4, 5)), (1, 4, 1), [0, 2])
    add("over all axes", Tensor(cases.normal(3, 4)), (1, 1), [0, 1])
    add("instance of one spatial", Tensor(cases.normal(2, 3, 11)), (1, 3, 1), [2])
    add("group of three spatial", Tensor(cases.normal(1, 4, 2, 3, 2)), (1, 4, 1, 1, 1), [2, 3, 4], groups=2)
    add("groups as many as channels", Tensor(cases.normal(2, 4, 5)), (1, 4, 1), [2], groups=4)
    add("without epsilon", Tensor(cases.normal(3, 7)), (1, 7), [1], 0.0)
    add("offset", Tensor(cases.normal(3, 64) + 1000), (1, 64), [1])
    cases.listed[-1]["close"] = [2e-3, 1e-3]
    constant_rows = Tensor(np.full((2, 8), 3.0))
    add("no variance", constant_rows, (1, 8), [1])
    add("empty", Tensor(np.zeros((0, 4))), (1, 4), [1])
    for narrow in ["Half", "BFloat16"]:
        add(narrow, Tensor(cases.normal(3, 32), narrow), (1, 32), [1])


def computed_cases(cases):
    activation(cases)
    cast(cases)
    elementwise(cases)
    unary(cases)
    reduce(cases)
    softmax(cases)
    normalization(cases)
