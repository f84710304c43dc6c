"""What the scripts share: element types and their rounding, inputs, and the list of cases."""

import ml_dtypes
import numpy as np

# Significant bits, smallest normal exponent, largest value, whether values beyond become infinite.
FLOATS = {
    "Float": (24, -126, float(np.finfo(np.float32).max), True),
    "Half": (11, -14, 65504.0, True),
    "BFloat16": (8, -126, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max), True),
    "Fp8": (4, -6, 448.0, False),
    "Fp4": (2, 0, 6.0, False),
}
INTEGERS = {"Int4": (4, True), "Int8": (8, True), "UInt8": (8, False), "Int32": (32, True), "Int64": (64, True)}


def rounded(values, data_type):
    """Rounded once, to nearest even; beyond the largest value infinite or saturated."""
    bits, lowest, largest, infinite = FLOATS[data_type]
    values = np.asarray(values, np.float64)
    _, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    step = np.ldexp(1.0, np.maximum(exponent - 1, lowest) - (bits - 1))
    result = np.where(np.isfinite(values), np.rint(values / step) * step, values)
    beyond = np.abs(result) > largest
    return np.where(beyond, np.copysign(np.inf if infinite else largest, result), result)


def wrapped(values, data_type):
    """The low bits of integers, as two's complement."""
    bits, signed = INTEGERS[data_type]
    def one(value):
        value = int(value) & ((1 << bits) - 1)
        return value - (1 << bits) if signed and value >> (bits - 1) else value
    values = np.asarray(values, object)
    return np.array([one(v) for v in values.ravel()], np.int64).reshape(values.shape)


def check_rounding():
    """The rounding above against that of other implementations."""
    rng = np.random.default_rng(1)
    values = np.concatenate([
        rng.normal(size=4000) * 10.0 ** rng.integers(-9, 9, 4000),
        np.arange(-600, 600) / 2, [0.0, -0.0, np.inf, -np.inf, 65519.9, 65520.0, 2.0**-25, 1e-45],
    ]).astype(np.float32)
    with np.errstate(all="ignore"):
        half = values.astype(np.float16).astype(np.float64)
        brain = values.astype(ml_dtypes.bfloat16).astype(np.float64)
    assert np.array_equal(rounded(values, "Half"), half)
    assert np.array_equal(rounded(values, "BFloat16"), brain)
    inside = values[np.abs(values) <= 448]
    small = inside.astype(ml_dtypes.float8_e4m3fn).astype(np.float64)
    assert np.array_equal(rounded(inside, "Fp8"), small)
    inside = values[np.abs(values) <= 6]
    tiny = inside.astype(ml_dtypes.float4_e2m1fn).astype(np.float64)
    assert np.array_equal(rounded(inside, "Fp4"), tiny)


class Tensor:
    """An input: values as the layer sees them, their declared type, and whether it is constant."""

    def __init__(self, values, data_type="Float", constant=False):
        if data_type in FLOATS:
            values = rounded(values, data_type)
        elif data_type == "Bool":
            values = np.asarray(values, bool)
        elif data_type == "E8M0":
            # Powers of two, which the type holds.
            values = np.asarray(values, float)
        else:
            values = np.asarray(values, np.int64)
        self.values, self.data_type, self.constant = values, data_type, constant


def constant(values, data_type="Int64"):
    return Tensor(values, data_type, constant=True)


def small(values):
    """The same numbers in the smallest type of storage that holds them."""
    narrow = {"f": np.float32, "i": np.int32}.get(values.dtype.kind, bool)
    narrowed = values.astype(narrow)
    same = np.array_equal(narrowed.astype(values.dtype), values, equal_nan=values.dtype.kind == "f")
    # A row-major copy; `ascontiguousarray` would make a vector of a scalar.
    return np.array(narrowed if same else values, order="C")


def f32(number):
    """An argument as the layer has it."""
    return float(np.float32(number))


class Cases:
    """Cases by layer; tensors by name."""

    def __init__(self):
        check_rounding()
        self.listed, self.tensors, self.names = [], {}, set()
        self.rng = np.random.default_rng(20240607)

    def normal(self, *shape, scale=1.0):
        return self.rng.normal(size=shape) * scale

    def add(self, layer, name, arguments, inputs, output_type, expected, close=None):
        """`close`: absolute and relative difference that f32 may show; None: the same bits."""
        full = f"{layer}/{name}"
        assert full not in self.names, full
        self.names.add(full)
        listed = []
        for index, tensor in enumerate(inputs):
            if tensor is None:
                listed.append(None)
                continue
            key = f"{full}/{index}"
            self.tensors[key] = small(tensor.values)
            listed.append({"tensor": key, "type": tensor.data_type, "constant": tensor.constant})
        kind = np.float64 if output_type in FLOATS or output_type == "E8M0" else bool if output_type == "Bool" else np.int64
        expected = np.asarray(expected)
        self.tensors[f"{full}/out"] = small(expected.astype(kind))
        self.listed.append({
            "layer": layer,
            "name": name,
            "arguments": arguments,
            "inputs": listed,
            "output": {"tensor": f"{full}/out", "type": output_type},
            "close": close,
        })
