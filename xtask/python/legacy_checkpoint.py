"""Reads a checkpoint in PyTorch's format from before 1.6, without PyTorch.

The file is a row of pickles: a magic number, a protocol version, facts about the writing system,
the object, and the list of storage keys; then, for each key, the element count and the bytes.
Only the few globals that a state dict needs are let in.
"""

import collections
import pickle
import struct

import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C
STORAGE_DTYPES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


def read(path) -> dict[str, np.ndarray]:
    """The state dict as contiguous arrays in the order of the file."""
    storages: dict[str, np.ndarray] = {}
    views = []

    class Unpickler(pickle.Unpickler):
        def find_class(self, module, name):
            if (module, name) == ("collections", "OrderedDict"):
                return collections.OrderedDict
            if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
                return lambda storage, offset, size, stride, *_: (storage, offset, size, stride)
            if module == "torch" and name in STORAGE_DTYPES:
                return STORAGE_DTYPES[name]
            raise pickle.UnpicklingError(f"{path} asks for {module}.{name}")

        def persistent_load(self, saved):
            kind, dtype, key, _location, count, view = saved
            if kind != "storage" or view is not None:
                raise pickle.UnpicklingError(f"{path} holds a {kind} with view {view}")
            storages.setdefault(key, np.empty(count, dtype))
            return key

    with open(path, "rb") as file:
        if pickle.load(file) != MAGIC:
            raise ValueError(f"{path} does not start with the legacy format's magic number")
        pickle.load(file)
        pickle.load(file)
        views = Unpickler(file).load()
        for key in pickle.load(file):
            (count,) = struct.unpack("<q", file.read(8))
            storage = storages[key]
            if count != storage.size or file.readinto(memoryview(storage).cast("B")) != storage.nbytes:
                raise ValueError(f"{path}: storage {key} is cut short")

    def array(storage, offset, size, stride):
        base = storages[storage][offset:]
        steps = [step * base.itemsize for step in stride]
        return np.ascontiguousarray(np.lib.stride_tricks.as_strided(base, size, steps)).reshape(size)

    return {name: array(*view) for name, view in views.items()}
