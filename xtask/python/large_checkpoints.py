"""Writes a zip checkpoint of many float32 tensors, as torch.save would, without torch.

usage: large_checkpoints.py PATH TENSORS ELEMENTS

Writes to a temporary name first, so that PATH is complete when it is there.
"""

import os
import random
import struct
import sys
import zipfile

BLOCK = 1 << 20


def text(value: str) -> bytes:
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def integer(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def pickle(tensors: int, elements: int) -> bytes:
    """A dictionary of one-dimensional tensors, each of its own storage; protocol 2."""
    out = [b"\x80\x02}("]
    for number in range(tensors):
        storage = (
            b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(str(number)) + text("cpu")
            + integer(elements) + b"tQ"
        )
        out.append(
            text(f"layers.{number}.weight") + b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage
            + integer(0) + integer(elements) + b"\x85" + integer(1) + b"\x85\x89"
            + b"ccollections\nOrderedDict\n)RtR"
        )
    out.append(b"u.")
    return b"".join(out)


def main(path: str, tensors: int, elements: int) -> None:
    generator = random.Random(1)
    # Numbers in [1, 2): random mantissas under one exponent.
    words = memoryview(bytearray(generator.randbytes(BLOCK))).cast("I")
    block = bytes(memoryview(
        struct.pack(f"<{len(words)}I", *((word & 0x7FFFFF) | 0x3F800000 for word in words))))
    partial = f"{path}.partial"
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickle(tensors, elements))
        archive.writestr("archive/byteorder", "little")
        for number in range(tensors):
            with archive.open(f"archive/data/{number}", "w") as record:
                left = 4 * elements
                while left:
                    record.write(block[:left])
                    left -= min(left, len(block))
        archive.writestr("archive/version", "3\n")
    os.replace(partial, path)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
