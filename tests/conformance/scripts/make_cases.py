"""Writes data/numpy.json and data/numpy.safetensors: layers with inputs and expected outputs.

Every expected output is computed here with NumPy in float64 (integers: in Python's or NumPy's
integers), from TensorRT's documentation of the layer; nothing of tensoracle takes part. Run it as

    python -m venv VENV && VENV/bin/pip install numpy==2.4.6 ml_dtypes==0.6.0 safetensors==0.8.0
    VENV/bin/python tests/conformance/scripts/make_cases.py

Values are random with a fixed seed, and rounded to the declared type first. Tensors are stored as
F32, F64, I32, I64 or BOOL whatever their declared type, which stands in the JSON.
"""

import json
import pathlib

import numpy
from safetensors.numpy import save_file

from layers_computed import computed_cases
from layers_moved import moved_cases
from layers_products import product_cases
from storage import Cases

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


def main():
    cases = Cases()
    with numpy.errstate(all="ignore"):
        computed_cases(cases)
        moved_cases(cases)
        product_cases(cases)
    lines = ",\n".join(json.dumps(case) for case in cases.listed)
    (DATA / "numpy.json").write_text(f"[\n{lines}\n]\n")
    save_file(cases.tensors, DATA / "numpy.safetensors")
    print(f"{len(cases.listed)} cases, {len(cases.tensors)} tensors")


if __name__ == "__main__":
    main()
