"""Layers that move elements about: concatenation, constant, gather, identity, padding, select,
shape, shuffle, slice."""

import itertools

import numpy as np

from storage import FLOATS, INTEGERS, Tensor, constant

TYPES = ["Float", "Half", "BFloat16", "Int8", "UInt8", "Int32", "Int64", "Bool", "Fp8"]


def numbers(cases, shape, data_type="Float"):
    """Values of any type, told apart as far as it can."""
    count = int(np.prod(shape))
    if data_type == "Bool":
        values = cases.rng.integers(0, 2, count).astype(bool)
    elif data_type in FLOATS:
        values = (np.arange(count) % 30) * 0.5 - 7
    else:
        values = np.arange(count) % 120 if data_type == "UInt8" else np.arange(count) % 120 - 60
    return Tensor(values.reshape(shape), data_type)


def each_type(cases, layer, arguments, inputs, expected):
    """One case of each type; inputs that are no arrays pass through."""
    for data_type in TYPES:
        given = [numbers(cases, x, data_type) if isinstance(x, tuple) else x for x in inputs]
        values = [x.values for x in given if x is not None]
        cases.add(layer, f"of {data_type}", arguments, given, data_type, expected(*values))


def concatenation(cases):
    def add(name, shapes, axis):
        parts = [Tensor(cases.normal(*shape)) for shape in shapes]
        expected = np.concatenate([p.values for p in parts], axis=axis)
        cases.add("concatenation", name, {"Concatenation": {"axis": axis}}, parts, "Float", expected)
    add("one", [(3, 4)], 0)
    for axis in range(-3, 3):
        shapes = [[2, 3, 4] for _ in range(3)]
        shapes[1][axis], shapes[2][axis] = 5, 1
        add(f"three along {axis}", [tuple(s) for s in shapes], axis)
    add("nothing among them", [(2, 3), (0, 3), (1, 3)], 0)
    add("nothing along another axis", [(0, 3), (0, 2)], 1)
    add("many", [(1, 2)] * 40, 0)
    add("vectors", [(3,), (1,)], -1)
    x = Tensor(cases.normal(2, 2))
    arguments = {"Concatenation": {"axis": 1}}
    cases.add("concatenation", "with a constant", arguments, [x, constant(x.values, "Float")], "Float",
              np.concatenate([x.values, x.values], 1))
    each_type(cases, "concatenation", arguments, [(3, 5), (3, 3)], lambda a, b: np.concatenate([a, b], 1))


def identity(cases):
    each_type(cases, "identity", {"Identity": {}}, [(2, 5)], lambda x: x)
    cases.add("identity", "scalar", {"Identity": {}}, [Tensor(2.5)], "Float", np.array(2.5))
    cases.add("identity", "empty", {"Identity": {}}, [Tensor(np.zeros((2, 0)))], "Float", np.zeros((2, 0)))
    odd = [np.nan, np.inf, -np.inf, -0.0, 1e-45]
    cases.add("identity", "special", {"Identity": {}}, [Tensor(odd)], "Float", Tensor(odd).values)


def constants(cases):
    """A constant as it is: the other input of an identity of no consequence."""
    for data_type in TYPES + ["Int4", "Fp4"]:
        if data_type == "Int4":
            values = Tensor([[-8, 7, 3], [1, 0, -1]], "Int4")
        elif data_type == "Fp4":
            values = Tensor([0.5, -6.0, 1.5, 0.0, 4.0], "Fp4")
        else:
            values = numbers(cases, (2, 3), data_type)
        given = constant(values.values, data_type)
        cases.add("constant", f"of {data_type}", {"Identity": {}}, [given], data_type, values.values)
    cases.add("constant", "scalar", {"Identity": {}}, [constant(7.5, "Float")], "Float", np.array(7.5))
    cases.add("constant", "empty", {"Identity": {}}, [constant(np.zeros((0, 3)), "Float")], "Float", np.zeros((0, 3)))


def place(index, size):
    return index + size if index < 0 else index


def gather_default(data, indices, axis, shared):
    axis = place(axis, data.ndim)
    if shared:
        rows = max(data.shape[0], indices.shape[0]) if 0 not in (data.shape[0], indices.shape[0]) else 0
        parts = [gather_default(data[0 if data.shape[0] == 1 else r], indices[0 if indices.shape[0] == 1 else r], axis - 1, 0)
                 for r in range(rows)]
        return np.stack(parts)
    size = data.shape[axis]
    out = np.zeros(data.shape[:axis] + indices.shape + data.shape[axis + 1:], data.dtype)
    for position in np.ndindex(indices.shape):
        index = place(int(indices[position]), size)
        if 0 <= index < size:
            out[(slice(None),) * axis + position] = data[(slice(None),) * axis + (index,)]
    return out


def gather_element(data, indices, axis):
    axis = place(axis, data.ndim)
    out = np.zeros(indices.shape, data.dtype)
    for position in np.ndindex(indices.shape):
        index = place(int(indices[position]), data.shape[axis])
        if 0 <= index < data.shape[axis]:
            out[position] = data[position[:axis] + (index,) + position[axis + 1:]]
    return out


def gather_nd(data, indices, shared):
    out = np.zeros(indices.shape[:-1] + data.shape[shared + indices.shape[-1]:], data.dtype)
    for position in np.ndindex(indices.shape[:-1]):
        coordinate = [place(int(i), data.shape[shared + n]) for n, i in enumerate(indices[position])]
        if all(0 <= c < data.shape[shared + n] for n, c in enumerate(coordinate)):
            out[position] = data[position[:shared] + tuple(coordinate)]
    return out


def gather(cases):
    def add(name, mode, data, indices, axis=0, shared=0, index_type="Int64", fixed=False):
        data = Tensor(cases.normal(*data))
        indices = Tensor(indices, index_type, fixed)
        arguments = {"Gather": {"mode": mode, "axis": axis, "elementwise_dims": shared}}
        d, i = data.values, indices.values
        expected = {"Default": lambda: gather_default(d, i, axis, shared), "Element": lambda: gather_element(d, i, axis),
                    "Nd": lambda: gather_nd(d, i, shared)}[mode]()
        cases.add("gather", f"{mode}/{name}", arguments, [data, indices], "Float", expected)
    pick = cases.rng.integers
    for axis in range(-3, 3):
        add(f"along {axis}", "Default", (3, 4, 5), pick(-3, 3, (2, 3)), axis)
        add(f"along {axis}", "Element", (3, 4, 5), pick(-3, 3, (3, 4, 5)), axis)
    for index_type in ["Int32", "Int64"]:
        add(f"by {index_type}", "Default", (6, 4), [5, 0, -6, -1], 0, 0, index_type)
        add(f"by {index_type}", "Element", (6, 2), [[5, -1], [0, -6]], 0, 0, index_type)
        add(f"by {index_type}", "Nd", (6, 4), [[5, -1], [0, -4]], 0, 0, index_type)
    add("by a constant", "Default", (6, 4), [2, 2, 3], 0, fixed=True)
    add("by a scalar", "Default", (6, 4), 3)
    add("by a scalar along 1", "Default", (6, 4), -1, 1)
    add("by nothing", "Default", (6, 4), np.zeros((0,)), 0)
    add("out of bounds", "Default", (3, 2), [3, -4, 2**31 - 1, -(2**31), 0], 0, 0, "Int32")
    add("far out of bounds", "Default", (3, 2), [2**62, -(2**63), 1], 0)
    add("of nothing", "Default", (0, 2), [0, -1], 0)
    add("shared", "Default", (3, 5, 2), pick(-5, 5, (3, 4)), 1, 1)
    add("shared, further axis", "Default", (3, 2, 5), pick(0, 5, (3, 4)), 2, 1)
    add("shared, data broadcast", "Default", (1, 5, 2), pick(0, 5, (3, 4)), 1, 1)
    add("shared, indices broadcast", "Default", (3, 5, 2), pick(0, 5, (1, 4)), 1, 1)
    add("shared, vectors of indices", "Default", (3, 5), pick(0, 5, (3,)), 1, 1)
    add("fewer", "Element", (3, 4), pick(0, 3, (2, 3)), 0)
    add("more along the axis", "Element", (3, 4), pick(0, 4, (3, 9)), 1)
    add("out of bounds", "Element", (3, 2), [[3, -4], [0, 1]], 0)
    add("rows", "Nd", (3, 4, 5), [[0], [-1], [2]])
    add("elements", "Nd", (3, 4), [[[0, 1], [2, -1]], [[1, 1], [2, 3]]])
    add("one element", "Nd", (3, 4), [1, 2])
    add("whole", "Nd", (2, 3), np.zeros((4, 0)))
    add("out of bounds", "Nd", (3, 4), [[3, 0], [0, 4], [-4, 0], [2, 3]])
    add("shared", "Nd", (2, 3, 4), [[[0], [2]], [[1], [-1]]], 0, 1)
    add("shared elements", "Nd", (2, 3, 4), [[[0, 1], [2, 3]], [[1, 1], [0, -1]]], 0, 1)
    add("two shared", "Nd", (2, 2, 3), [[[[0], [2]], [[1], [1]]], [[[2], [0]], [[0], [-1]]]], 0, 2)
    index = Tensor([1, -1, 7], "Int64")
    each_type(cases, "gather", {"Gather": {"mode": "Default", "axis": 1, "elementwise_dims": 0}}, [(3, 5), index],
              lambda d, i: gather_default(d, i, 1, 0))


def padding(cases):
    def expected(x, pre, post):
        for axis, (before, behind) in enumerate(zip(pre, post), x.ndim - 2):
            size = x.shape[axis]
            x = np.take(x, range(max(0, -before), size - max(0, -behind)), axis)
            widths = [(0, 0)] * x.ndim
            widths[axis] = (max(0, before), max(0, behind))
            x = np.pad(x, widths)
        return x
    def add(name, shape, pre, post):
        x = Tensor(cases.normal(*shape))
        arguments = {"Padding": {"pre_padding": pre, "post_padding": post}}
        cases.add("padding", name, arguments, [x], "Float", expected(x.values, pre, post))
    add("nothing", (2, 3, 4), [0, 0], [0, 0])
    add("before", (2, 3, 4), [1, 2], [0, 0])
    add("behind", (1, 2, 3, 4), [0, 0], [3, 1])
    add("around a matrix", (3, 4), [1, 1], [1, 1])
    add("crop", (2, 5, 6), [-1, -2], [-2, -1])
    add("crop and pad", (2, 5, 6), [-1, 2], [3, -4])
    add("crop to nothing", (2, 3, 4), [-1, 0], [-2, 0])
    add("pad nothing", (2, 0, 4), [1, 0], [2, 1])
    add("two spatial behind more", (2, 2, 2, 3, 4), [0, 1], [1, 0])
    arguments = {"Padding": {"pre_padding": [1, 0], "post_padding": [0, -1]}}
    each_type(cases, "padding", arguments, [(3, 5)], lambda x: expected(x, [1, 0], [0, -1]))


def select(cases):
    def add(name, c, a, b):
        c = Tensor(cases.rng.integers(0, 2, c), "Bool")
        a, b = Tensor(cases.normal(*a)), Tensor(cases.normal(*b))
        cases.add("select", name, {"Select": {}}, [c, a, b], "Float", np.where(c.values, a.values, b.values))
    add("same shapes", (3, 4), (3, 4), (3, 4))
    add("as documented", (1, 1, 5, 9), (1, 1, 5, 9), (1, 3, 1, 9))
    add("as documented, empty", (1, 1, 0, 9), (1, 1, 0, 9), (1, 3, 1, 9))
    add("condition broadcast", (1, 1), (3, 4), (3, 4))
    add("values broadcast", (3, 4), (1, 4), (3, 1))
    add("each along another axis", (2, 1, 1), (1, 3, 1), (1, 1, 4))
    add("scalars", (), (), ())
    poison = Tensor([np.nan, 1.0, np.inf])
    cases.add("select", "not taken", {"Select": {}}, [Tensor([False, True, False], "Bool"), poison, Tensor([5.0, np.nan, 6.0])],
              "Float", [5.0, 1.0, 6.0])
    condition = Tensor([[True], [False], [True]], "Bool")
    each_type(cases, "select", {"Select": {}}, [condition, (3, 5), (1, 5)], lambda c, a, b: np.where(c, a, b))


def shape(cases):
    for dims in [(), (3,), (2, 0, 4), (1, 2, 3, 4, 5, 6, 7, 1)]:
        x = Tensor(np.zeros(dims))
        cases.add("shape", "x".join(map(str, dims)) or "scalar", {"Shape": {}}, [x], "Int64", np.array(dims, np.int64))
    cases.add("shape", "of Bool", {"Shape": {}}, [Tensor([[True, False]], "Bool")], "Int64", [1, 2])


def shuffle(cases):
    def arguments(first=None, reshape=None, second=None, zero=True):
        return {"Shuffle": {"first_transpose": first, "reshape": reshape, "second_transpose": second, "zero_is_placeholder": zero}}
    def expected(x, first, to, second):
        x = x if first is None else x.transpose(first)
        x = x if to is None else x.reshape(to)
        return x if second is None else x.transpose(second)
    def add(name, dims, first=None, reshape=None, second=None, zero=True, to=None):
        x = Tensor(cases.normal(*dims))
        out = expected(x.values, first, to or reshape, second)
        cases.add("shuffle", name, arguments(first, reshape, second, zero), [x], "Float", out)
    for permutation in itertools.permutations(range(3)):
        add(f"transpose {permutation}", (2, 3, 4), list(permutation))
        add(f"second transpose {permutation}", (2, 3, 4), None, None, list(permutation))
    for permutation in [(0, 2, 1, 3), (3, 2, 1, 0), (0, 3, 1, 2), (1, 0, 3, 2)]:
        add(f"transpose {permutation}", (2, 3, 4, 5), list(permutation))
    add("transpose of five", (2, 3, 2, 3, 2), [4, 1, 3, 0, 2])
    add("transpose of large matrix", (70, 45), [1, 0])
    add("nothing", (2, 3))
    add("flatten", (2, 3, 4), None, [-1])
    add("copy and infer", (2, 3, 4), None, [0, -1], to=(2, 12))
    add("copy in place", (2, 3, 4), None, [0, 2, -1], to=(2, 2, 6))
    add("insert ones", (2, 3), None, [1, 2, 1, 3, 1])
    add("to a scalar", (1, 1), None, [], to=())
    add("from a scalar", (), None, [1, 1, 1])
    add("heads", (2, 5, 12), None, [0, 0, 3, 4], [0, 2, 1, 3], to=(2, 5, 3, 4))
    add("heads joined", (2, 3, 5, 4), [0, 2, 1, 3], [0, 0, -1], to=(2, 5, 12))
    add("all three", (2, 3, 4), [2, 0, 1], [4, 6], [1, 0])
    add("copies after the transpose", (2, 3, 4), [2, 1, 0], [0, 6], to=(4, 6))
    add("zero is a size", (0, 3, 4), None, [3, 4, 0], None, False)
    add("zero copies zero", (0, 3, 4), None, [0, 12], to=(0, 12))
    add("infer zero", (0, 3), None, [-1, 5], to=(0, 5))
    add("no dimension of eight changes", (1, 2, 1, 2, 1, 2, 1, 2), [7, 6, 5, 4, 3, 2, 1, 0], [4, 4], [1, 0])
    for number, (dims, wanted, to) in enumerate([((2, 3, 4), [4, 6], (4, 6)), ((2, 3, 4), [0, -1], (2, 12)), ((1, 1), [1], (1,))]):
        x = Tensor(cases.normal(*dims))
        for index_type in ["Int32", "Int64"]:
            cases.add("shuffle", f"to a tensor/{number}/{index_type}", arguments(), [x, constant(wanted, index_type)], "Float", x.values.reshape(to))
    each_type(cases, "shuffle", arguments([1, 0], [3, -1]), [(2, 6)], lambda x: x.T.reshape(3, -1))


def coordinate(index, size, mode):
    """Where a coordinate reads; None: outside."""
    if 0 <= index < size:
        return index
    if mode == "Wrap":
        return index % size
    if mode == "Clamp":
        return min(max(index, 0), size - 1)
    if mode == "Reflect":
        if size == 1:
            return 0
        period = 2 * (size - 1)
        index %= period
        return index if index < size else period - index
    assert mode == "Fill", (index, size, mode)
    return None


def sliced(x, start, size, stride, mode, fill=0):
    out = np.full(size, fill, x.dtype)
    for position in np.ndindex(tuple(size)):
        read = [coordinate(b + p * s, n, mode) for b, p, s, n in zip(start, position, stride, x.shape)]
        if None not in read:
            out[position] = x[tuple(read)]
    return out


def slices(cases):
    def arguments(start, size, stride, axes=None, mode="StrictBounds"):
        return {"Slice": {"start": start, "size": size, "stride": stride, "axes": axes, "mode": mode}}
    def add(name, dims, start, size, stride, mode="StrictBounds", axes=None):
        x = Tensor(cases.normal(*dims))
        full = [list(t) for t in ([0] * len(dims), list(dims), [1] * len(dims))]
        for n, axis in enumerate(range(len(dims)) if axes is None else axes):
            full[0][axis], full[1][axis], full[2][axis] = start[n], size[n], stride[n]
        expected = sliced(x.values, *full, mode)
        given = [x] + [None] * 5
        cases.add("slice", name, arguments(start, size, stride, axes, mode), given, "Float", expected)
    add("as documented", (2, 3), [1, 0], [1, 2], [1, 2])
    add("as documented, one axis", (2, 3), [1], [2], [1], axes=[1])
    add("whole", (2, 3), [0, 0], [2, 3], [1, 1])
    add("steps", (7, 9), [1, 0], [3, 5], [2, 2])
    add("backwards", (5, 4), [4, 3], [5, 2], [-1, -3])
    add("standing still", (3, 4), [1, 2], [4, 3], [0, 0])
    add("repeat rows", (3, 1), [0, 0], [3, 5], [1, 0])
    add("nothing", (3, 4), [1, 0], [0, 4], [1, 1])
    add("nothing far away", (3, 4), [99, 0], [0, 4], [1, 1])
    add("of nothing", (0, 4), [0, 1], [0, 2], [1, 1])
    add("scalar", (), [], [], [])
    add("negative axis", (2, 3, 4), [1], [2], [2], axes=[-1])
    add("axes out of order", (4, 5, 6), [1, 2], [3, 2], [1, 1], axes=[2, 0])
    add("no axes", (2, 3), [], [], [], axes=[])
    for mode in ["Wrap", "Clamp", "Fill", "Reflect"]:
        add(f"{mode}/before and behind", (4, 3), [-3, -2], [11, 8], [1, 1], mode)
        add(f"{mode}/far", (3,), [-10], [21], [1], mode)
        add(f"{mode}/backwards", (4,), [7], [12], [-1], mode)
        add(f"{mode}/steps", (5,), [-6], [9], [2], mode)
        add(f"{mode}/wide steps", (4,), [-9], [5], [5], mode)
        add(f"{mode}/single element", (1, 2), [-2, 0], [5, 2], [1, 1], mode)
        add(f"{mode}/inside", (5, 5), [1, 1], [3, 2], [1, 2], mode)
        add(f"{mode}/one axis", (2, 4, 3), [-1], [6], [1], mode, axes=[1])
        add(f"{mode}/nothing", (3,), [5], [0], [1], mode)
        add(f"{mode}/standing outside", (3,), [-2], [4], [0], mode)
    add("Fill/of nothing", (0,), [0], [3], [1], "Fill")
    x = Tensor(cases.normal(3, 4))
    for name, fill in [("input", Tensor(2.5)), ("constant", constant(-1.5, "Float")), ("of rank one", Tensor([4.0])), ("nan", Tensor(np.nan))]:
        expected = sliced(x.values, [-1, -1], [5, 6], [1, 1], "Fill", float(fill.values.ravel()[0]))
        cases.add("slice", f"Fill/{name}", arguments([-1, -1], [5, 6], [1, 1], None, "Fill"), [x, None, None, None, fill, None], "Float", expected)
    outside = sliced(x.values, [1, 3], [2, 2], [1, -2], "StrictBounds")
    for index_type in ["Int32", "Int64"]:
        start, size, stride, axes = (constant(v, index_type) for v in ([1, 3], [2, 2], [1, -2], [0, -1]))
        cases.add("slice", f"all tensors/{index_type}", arguments([], [], []), [x, start, size, stride, None, axes], "Float", outside)
        cases.add("slice", f"start tensor/{index_type}", arguments([], [2, 2], [1, -2]), [x, start, None, None, None, None], "Float", outside)
        cases.add("slice", f"size tensor/{index_type}", arguments([1, 3], [], [1, -2]), [x, None, size, None, None, None], "Float", outside)
        cases.add("slice", f"stride tensor/{index_type}", arguments([1, 3], [2, 2], []), [x, None, None, stride, None, None], "Float", outside)
    for data_type in TYPES:
        given = numbers(cases, (3, 5), data_type)
        expected = sliced(given.values, [-1, 1], [4, 2], [1, 2], "Fill")
        cases.add("slice", f"of {data_type}", arguments([-1, 1], [4, 2], [1, 2], None, "Fill"), [given] + [None] * 5, data_type, expected)


def moved_cases(cases):
    assert set(INTEGERS) >= {t for t in TYPES if t not in FLOATS and t != "Bool"}
    concatenation(cases)
    constants(cases)
    gather(cases)
    identity(cases)
    padding(cases)
    select(cases)
    shape(cases)
    shuffle(cases)
    slices(cases)
