"""Writes the files under tests/data with NumPy and Python's zipfile, and what they hold.

Run with NumPy and ml_dtypes installed:  python make_files.py ../data
"""

import io
import json
import pathlib
import sys
import zipfile

import ml_dtypes
import numpy as np

NAMES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "int8": "I8", "int16": "I16",
    "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16", "uint32": "U32",
    "uint64": "U64", "bool": "BOOL",
}
folder = pathlib.Path(sys.argv[1])
expected = {}


def expect(file, name, array):
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
    expected.setdefault(file, {})[name] = {
        "element": NAMES[array.dtype.newbyteorder("=").name],
        "dims": list(array.shape),
        "hex": little.tobytes().hex(),
    }


def npy_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


class Unseekable(io.RawIOBase):
    """Makes zipfile write sizes and checksums after each member, in data descriptors."""

    def __init__(self, file):
        self.file = file

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)


rng = np.random.default_rng(5)
every = {
    f"of_{name}": (
        rng.standard_normal((2, 3)).astype(name)
        if name.startswith("float")
        else rng.integers(0, 2, (2, 3)).astype(name) if name == "bool"
        else rng.integers(np.iinfo(name).min, np.iinfo(name).max, (2, 3), dtype=name)
    )
    for name in NAMES
}
np.savez(folder / "every_type.npz", **every)
np.savez_compressed(folder / "every_type_deflated.npz", **every)
for name, array in every.items():
    expect("every_type.npz", name, array)
    expect("every_type_deflated.npz", name, array)

orders = {
    "column_major": np.asfortranarray(np.arange(24, dtype=np.int16).reshape(2, 3, 4)),
    "big_endian": np.arange(6, dtype=">f8").reshape(2, 3) / 7,
    "both": np.asfortranarray(np.arange(12, dtype=">u4").reshape(3, 4)),
    "column_major_vector": np.asfortranarray(np.arange(5, dtype=np.float32)),
    "scalar": np.array(2.5, dtype=np.float32),
    "empty": np.zeros((3, 0, 2), dtype=np.float32),
}
np.savez(folder / "orders.npz", **orders)
np.savez_compressed(folder / "orders_deflated.npz", **orders)
for name, array in orders.items():
    expect("orders.npz", name, array)
    expect("orders_deflated.npz", name, array)

with open(folder / "streamed.npz", "wb") as file:
    with zipfile.ZipFile(Unseekable(file), "w") as archive:
        for name, method in [("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)]:
            info = zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0))
            info.compress_type = method
            with archive.open(info, "w", force_zip64=True) as member:
                member.write(npy_bytes(every["of_float32"]))
            expect("streamed.npz", name, every["of_float32"])
        archive.writestr("notes.txt", "not an array")

np.save(folder / "single.npy", every["of_float64"])
expect("single.npy", "single", every["of_float64"])
np.save(folder / "bfloat16.npy", np.zeros(3, dtype=ml_dtypes.bfloat16))
np.save(folder / "complex.npy", np.zeros(3, dtype=np.complex64))

(folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
