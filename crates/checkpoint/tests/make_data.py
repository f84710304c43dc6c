"""Writes the checkpoints in data/more and what torch makes of each, as expected.json.

Run with torch 2.15.0 and numpy. The files are committed; this is how they came about. A digest is
SHA-256 over tensors sorted by name: name, NUL, safetensors type, NUL, sizes with commas, NUL,
number of bytes in 8 bytes, bytes.
"""

import collections
import hashlib
import io
import json
import os
import pickle
import struct
import sys
import tarfile
import zipfile

import numpy as np
import torch

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "more")
NAMES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2",
    torch.float8_e4m3fnuz: "F8_E4M3FNUZ", torch.float8_e5m2fnuz: "F8_E5M2FNUZ",
    torch.float8_e8m0fnu: "F8_E8M0",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8",
    torch.uint64: "U64", torch.uint32: "U32", torch.uint16: "U16", torch.uint8: "U8",
    torch.bool: "BOOL", torch.complex64: "C64",
}
expected = {}


def flat(value, prefix=""):
    for key, item in value.items():
        if isinstance(item, dict):
            yield from flat(item, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", item


def digest(tensors):
    total = hashlib.sha256()
    for name, tensor in sorted(tensors.items(), key=lambda item: item[0].encode()):
        tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
        raw = tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
        shape = ",".join(map(str, tensor.shape))
        total.update(f"{name}\0{NAMES[tensor.dtype]}\0{shape}\0".encode())
        total.update(struct.pack("<Q", len(raw)) + raw)
    return total.hexdigest()


def path(name):
    return os.path.join(OUT, name)


def accept(name):
    """Records what torch loads from a file that is already written, by this script."""
    loaded = torch.load(path(name), map_location="cpu", weights_only=False)
    tensors = dict(flat(loaded))
    casts = {
        cast: digest({
            key: tensor.to(dtype) if tensor.is_floating_point() else tensor
            for key, tensor in tensors.items()
        })
        for cast, dtype in
        [("f16", torch.float16), ("bf16", torch.bfloat16), ("f32", torch.float32)]
    }
    expected[name] = {
        "verdict": "accept",
        "tensors": len(tensors),
        "dtypes": dict(collections.Counter(NAMES[tensor.dtype] for tensor in tensors.values())),
        "digest": digest(tensors),
        "casts": casts,
    }


def save(name, value, **options):
    torch.save(value, path(name), **options)


def saved(name, value, **options):
    save(name, value, **options)
    accept(name)


def refused(name, value, **options):
    save(name, value, **options)
    expected[name] = {"verdict": "refuse"}


def rezip(source, target, change=lambda name, data: (name, data), method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path(source)) as old, zipfile.ZipFile(path(target), "w", method) as new:
        for entry in old.infolist():
            new.writestr(*change(entry.filename, old.read(entry.filename)))


torch.manual_seed(1)
base = torch.arange(24.0)
views = {
    "whole": base, "head": base[:6], "middle": base[4:16].view(3, 4), "strided": base[::5],
    "transposed": base.view(4, 6).t(), "expanded": torch.tensor([3.0]).expand(2, 3),
    "same": base,
}
saved("views_legacy.pt", views, _use_new_zipfile_serialization=False)
saved("views_protocol5.pt", views, pickle_protocol=5)
saved("views_legacy_protocol4.pt", views, pickle_protocol=4, _use_new_zipfile_serialization=False)
saved("channels_last.pt", {
    "image": torch.randn(4, 3, 5, 5).to(memory_format=torch.channels_last),
    "permuted": torch.randn(2, 3, 4).permute(2, 0, 1),
    "flag": torch.tensor([[True, False], [False, False]]).t(),
    "half": torch.randn(3, 4).half()[:, 1::2],
    "double": torch.randn(5, 2, dtype=torch.float64).t(),
})
# Every number of 8 bits, and numbers around the limits of 16.
octets = torch.arange(256, dtype=torch.uint8)
edges = torch.tensor([
    0.0, -0.0, 1.0, 65504.0, 65519.9, 65520.0, -1e9, 6e-8, 3e-8, 2.9e-8, 1e-40, float("inf"),
    1.00048828125, 1.00146484375, 3.3895e38, 1.00390625, 1.01171875,
])
saved("float8.pt", {
    name: octets.view(getattr(torch, name))[:limit]
    for name, limit in [
        ("float8_e4m3fn", 127), ("float8_e5m2", 125), ("float8_e4m3fnuz", 128),
        ("float8_e5m2fnuz", 128), ("float8_e8m0fnu", 255),
    ]
} | {
    "negative_e4m3fn": octets.view(torch.float8_e4m3fn)[128:255],
    "negative_e5m2": octets.view(torch.float8_e5m2)[128:253],
    "negative_e4m3fnuz": octets.view(torch.float8_e4m3fnuz)[129:],
    "negative_e5m2fnuz": octets.view(torch.float8_e5m2fnuz)[129:],
})
saved("edges.pt", {
    "f32": edges, "f64": edges.double() * (1 + 2**-30), "f16": edges.half(),
    "bf16": edges.bfloat16(), "i32": torch.tensor([1, 2], dtype=torch.int32),
})
saved("unsigned.pt", {
    "u16": torch.tensor([0, 65535], dtype=torch.uint16),
    "u32": torch.tensor([[1], [4294967295]], dtype=torch.uint32).t(),
    "u64": torch.tensor([2**64 - 1, 5], dtype=torch.uint64)[1:],
})
saved("little.pt", {
    "f32": torch.randn(3, 4).t(), "f16": torch.randn(5).half(), "i64": torch.tensor([1, -2**40]),
    "u8": torch.tensor([7, 8], dtype=torch.uint8), "c64": torch.randn(2, dtype=torch.complex64),
    "f64": torch.randn(2, dtype=torch.float64), "bool": torch.tensor([True]),
})
rezip("little.pt", "deflated.pt", method=zipfile.ZIP_DEFLATED)
accept("deflated.pt")

SIZES = {"data/0": 4, "data/1": 2, "data/2": 8, "data/3": 1, "data/4": 4, "data/5": 8, "data/6": 1}


def to_big(name, data):
    inside = name.split("/", 1)[1]
    if inside == "byteorder":
        return name, b"big"
    size = SIZES.get(inside, 1)
    return name, b"".join(data[at:at + size][::-1] for at in range(0, len(data), size))


rezip("little.pt", "big.pt", to_big)
accept("big.pt")
rezip("little.pt", "big_deflated.pt", to_big, zipfile.ZIP_DEFLATED)
accept("big_deflated.pt")
assert expected["big.pt"] == expected["little.pt"] == expected["big_deflated.pt"]

tagged = torch.nn.Parameter(torch.ones(2, 2))
tagged.note = "an attribute"
saved("parameters.pt", {
    "tagged": tagged, "buffer": torch.nn.Buffer(torch.zeros(3)),
    "frozen": torch.nn.Parameter(torch.ones(1), requires_grad=False),
})
saved("mappings.pt", {
    "ordered": collections.OrderedDict(a=torch.ones(1)),
    "counted": collections.Counter({"b": torch.ones(2)}),
    "plain": {"c": {"d": torch.ones(3)}, "empty": {}},
})
save("default.pt", {"d": collections.defaultdict(dict, {"a": torch.ones(2)})})
accept("default.pt")
module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
saved("state_dict.pt", module.state_dict())
saved("empties.pt", {
    "none": torch.empty(0), "rows": torch.empty(0, 4), "scalar": torch.tensor(2.5),
    "sliced": torch.arange(6.0)[6:], "middle": torch.empty(2, 0, 3, dtype=torch.int16),
})
saved("nothing.pt", {})

conjugate = torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex64).conj()
refused("conjugate.pt", {"c": conjugate, "n": conjugate.clone().conj().imag, "fine": torch.ones(1)})
refused("complex128.pt", {"c": torch.ones(2, dtype=torch.complex128)})
refused("sparse.pt", {"s": torch.eye(3).to_sparse(), "csr": torch.eye(3).to_sparse_csr()})
refused("integer_keys.pt", {0: torch.ones(1), 1: torch.zeros(2), "a": {(1, 2): torch.ones(1)}})
refused("leaves.pt", {
    "none": None, "flag": True, "size": torch.Size([2]), "device": torch.device("cpu"),
    "dtype": torch.float16, "list": [torch.ones(1)], "tuple": (1,), "set": {1}, "bytes": b"ab",
    "array": np.ones(2), "scalar": np.float64(2), "big": 2**70, "complex": 1j,
    "w": torch.ones(1), "layout": torch.strided,
})
refused("reserved.pt", {"__metadata__": torch.ones(1)})
refused("dots.pt", {"a.b": torch.ones(1), "a": {"b": torch.zeros(1)}})
cycle = {"w": torch.ones(1)}
cycle["again"] = {"cycle": cycle}
refused("cycle.pt", cycle)


class Evil:
    def __reduce__(self):
        return (os.system, ("touch PWNED",))


refused("evil_legacy.pt", {"a": torch.ones(1), "x": Evil()}, _use_new_zipfile_serialization=False)
rezip("little.pt", "short_storage.pt", lambda name, data:
      (name, data[:16] if name.endswith("/data/0") else data))
rezip("little.pt", "long_storage.pt", lambda name, data:
      (name, data + bytes(8) if name.endswith("/data/0") else data))
rezip("little.pt", "wrong_order.pt", lambda name, data:
      (name, b"middle" if name.endswith("/byteorder") else data))
for name in ["short_storage.pt", "long_storage.pt", "wrong_order.pt"]:
    expected[name] = {"verdict": "refuse"}


def number(value):
    return struct.pack("<q", value)


def old_tar(name):
    """What torch before 0.1.10 wrote; torch.load still reads it."""
    class Reference:
        def __init__(self, key):
            self.key = key

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            return str(value.key) if isinstance(value, Reference) else None

    def dump(value):
        return pickle.dumps(value, 2)

    floats, longs = np.arange(12, dtype="<f4"), np.array([5, -6], dtype="<i8")
    storages = dump(2)
    storages += dump((1, "cpu", torch.FloatStorage)) + number(12) + floats.tobytes()
    storages += dump((2, "cpu", torch.LongStorage)) + number(2) + longs.tobytes()
    storages += dump([(3, 1, 4, 6)])

    def tensor(key, storage, kind, sizes, strides, offset):
        raw = struct.pack("<ii", len(sizes), 0)
        return dump((key, storage, kind)) + raw + b"".join(
            map(number, [*sizes, *strides, offset]))

    tensors = dump(4)
    tensors += tensor(11, 1, torch.FloatTensor, [3, 4], [4, 1], 0)
    tensors += tensor(12, 1, torch.FloatTensor, [4, 3], [1, 4], 0)
    tensors += tensor(13, 2, torch.LongTensor, [1], [1], 1)
    tensors += tensor(14, 3, torch.FloatTensor, [2, 2], [2, 1], 1)
    stream = io.BytesIO()
    Pickler(stream, 2).dump(collections.OrderedDict(
        matrix=Reference(11), transposed=Reference(12), last=Reference(13), view=Reference(14)))
    with tarfile.open(path(name), "w:", format=tarfile.PAX_FORMAT) as archive:
        for member, data in [("sys_info", dump({"little_endian": True})), ("pickle",
                             stream.getvalue()), ("tensors", tensors), ("storages", storages)]:
            entry = tarfile.TarInfo(member)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


old_tar("old.tar")
accept("old.tar")

# Pickles alone, from which the pickle machine is fuzzed.
os.makedirs(path("pickles"), exist_ok=True)
for name in sorted(expected):
    if zipfile.is_zipfile(path(name)) and name not in ["nothing.pt", "big.pt", "deflated.pt"]:
        with zipfile.ZipFile(path(name)) as archive:
            inside = [entry for entry in archive.namelist() if entry.endswith("/data.pkl")]
            with open(path(f"pickles/{name[:-3]}.pkl"), "wb") as file:
                file.write(archive.read(inside[0]))

with open(path("expected.json"), "w") as file:
    json.dump(expected, file, indent=1, sort_keys=True)
    file.write("\n")
print(len(expected), "files,", sum(os.path.getsize(path(name)) for name in expected), "bytes",
      file=sys.stderr)
