"""Writes tests/data: pairs of tensors and what a comparison of them must say.

Sums are exact rationals, roots and ratios are taken with 60 decimal digits, differences are those
of np.longdouble rounded to float64. Where tensoracle 1.3.0 is importable, its own answers are kept
beside, for the fields that must stay what they were.

Run with NumPy, ml_dtypes and tensoracle==1.3.0 installed:  python make_goldens.py ../data
"""

import json
import math
import pathlib
import sys
from decimal import Decimal, localcontext
from fractions import Fraction

import ml_dtypes
import numpy as np

from tensoracle import compare_outputs

QUANTILES = [0.5, 0.75, 0.9, 0.99, 0.999, 0.9999]
ELEMENTS = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
    "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64",
    "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64", "bool": "BOOL",
}
# Significand bits and exponent of the smallest normal number.
PRECISION = {
    "float64": (53, -1022), "float32": (24, -126), "float16": (11, -14), "bfloat16": (8, -126),
    "float8_e4m3fn": (4, -6), "float8_e5m2": (3, -14),
}


def decimal(fraction):
    return Decimal(fraction.numerator) / Decimal(fraction.denominator)


def as_float(value):
    """The nearest float64; infinite beyond the range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def number(value):
    """JSON as the product writes it."""
    if isinstance(value, dict):
        return {name: number(of) for name, of in value.items()}
    if isinstance(value, list):
        return [number(of) for of in value]
    if isinstance(value, str):
        return value
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def measure_floats(candidate, reference, atol, rtol):
    c, r = candidate.astype(np.float64).ravel(), reference.astype(np.float64).ravel()
    with np.errstate(all="ignore"):
        # Exact or correctly rounded: 64 bits of significand hold what matters before the rounding,
        # but for double rounding, which the rationals below do not have.
        errors = np.array([
            as_float(abs(Fraction(float(a)) - Fraction(float(b))))
            if math.isfinite(a) and math.isfinite(b) else math.nan
            for a, b in zip(c, r)
        ])
    finite = np.isfinite(c) & np.isfinite(r)
    both_nan = np.isnan(c) & np.isnan(r)
    same_infinity = ~np.isfinite(c) & (c == r)
    differing = ~finite & ~both_nan & ~same_infinity
    result = {
        "candidate_nonfinite_count": int((~np.isfinite(c)).sum()),
        "reference_nonfinite_count": int((~np.isfinite(r)).sum()),
        "both_nan_count": int(both_nan.sum()),
        "same_infinity_count": int(same_infinity.sum()),
        "differing_count": int(differing.sum()),
        "first_differing": int(np.argmax(differing)) if differing.any() else None,
    }
    index = np.nonzero(finite)[0]
    if len(index) == 0:
        result["finite"] = None
        result["first_offending"] = result["first_differing"]
        return result
    pairs = [(Fraction(float(c[i])), Fraction(float(r[i]))) for i in index]
    differences = [a - b for a, b in pairs]
    cc = sum(a * a for a, _ in pairs)
    rr = sum(b * b for _, b in pairs)
    cr = sum(a * b for a, b in pairs)
    dd = sum(d * d for d in differences)
    with localcontext() as context:
        context.prec = 60
        context.Emax, context.Emin = 999999, -999999
        root = lambda value: decimal(value).sqrt()
        relative_l2 = as_float(root(dd) / root(rr)) if rr else None
        cosine = as_float(decimal(cr) / root(cc) / root(rr)) if cc and rr else None
        rms = as_float(root(dd / len(pairs)))
        snr = as_float(10 * (decimal(rr) / decimal(dd)).log10()) if rr and dd else None
    relative = [(abs(d) / abs(b) if b else Fraction(0)) for d, (_, b) in zip(differences, pairs)]
    significand_bits, min_exponent = PRECISION[candidate.dtype.name]

    def ulps(d, b):
        exponent = max(math.frexp(float(b))[1] - 1, min_exponent) if b else min_exponent
        return abs(d) / Fraction(2) ** (exponent - (significand_bits - 1))

    outside = None
    if atol is not None:
        with np.errstate(all="ignore"):
            outside = int((errors[index] > atol + rtol * np.abs(r[index])).sum())
    limit = np.zeros(len(c)) if atol is None else atol + rtol * np.abs(np.where(finite, r, 0))
    with np.errstate(all="ignore"):
        offending = differing | (finite & (errors > limit))
    worst = max(range(len(index)), key=lambda i: (errors[index[i]], -i))
    worst_relative = max(range(len(index)), key=lambda i: (as_float(relative[i]), -i))
    sorted_errors = np.sort(errors[index])
    rank = lambda q: max(1, math.ceil(q * len(index)))
    result["first_offending"] = int(np.argmax(offending)) if offending.any() else None
    result["finite"] = {
        "count": len(index),
        "max_absolute_error": float(errors[index].max()),
        "relative_l2_error": relative_l2,
        "cosine_similarity": cosine,
        "outside_tolerance_count": outside,
        "mean_error": as_float(sum(differences) / len(pairs)),
        "mean_absolute_error": as_float(sum(map(abs, differences)) / len(pairs)),
        "rms_error": rms,
        "signal_to_noise_db": snr,
        "max_ulp_error": min(max(as_float(ulps(d, b)) for d, (_, b) in zip(differences, pairs)),
                             sys.float_info.max),
        "worst_absolute": int(index[worst]) if errors[index[worst]] > 0 else None,
        "worst_relative": int(index[worst_relative]) if relative[worst_relative] else None,
        "worst_relative_error": as_float(relative[worst_relative]),
        "quantiles": [float(sorted_errors[rank(q) - 1]) for q in QUANTILES],
    }
    return result


def measure_integers(candidate, reference):
    c, r = [int(v) for v in candidate.ravel()], [int(v) for v in reference.ravel()]
    errors = [abs(a - b) for a, b in zip(c, r)]
    mismatches = sum(e != 0 for e in errors)
    first = next((i for i, e in enumerate(errors) if e), None)
    worst = max(range(len(errors)), key=lambda i: (float(errors[i]), -i))
    return {
        "mismatch_count": mismatches,
        "first_offending": first,
        "max_absolute_error": float(errors[worst]),
        "worst_absolute": worst if errors[worst] else None,
        "mean_error": float(Fraction(sum(a - b for a, b in zip(c, r)), len(c))),
        "mean_absolute_error": float(Fraction(sum(errors), len(c))),
    }


def original(candidate, reference, atol, rtol):
    try:
        with np.errstate(all="ignore"):
            found = compare_outputs(candidate, reference, atol=atol, rtol=rtol)
    except ValueError:
        return None  # A type that NumPy does not know as a number.
    return {name: getattr(found, name) for name in found.__slots__}


rng = np.random.default_rng(20261129)
cases = []
arrays = {}


def case(name, candidate, reference, atol=None, rtol=None):
    candidate, reference = np.asarray(candidate), np.asarray(reference)
    expected = {"name": name, "atol": atol, "rtol": rtol, "dims": list(candidate.shape)}
    for side, array in [("candidate", candidate), ("reference", reference)]:
        expected[f"{side}_element"] = ELEMENTS[array.dtype.name]
        arrays[f"{name}.{side}"] = np.frombuffer(array.tobytes(), dtype=np.uint8)
    floats = candidate.dtype.name in PRECISION
    expected["measured"] = (
        measure_floats(candidate, reference, atol, rtol)
        if floats else measure_integers(candidate, reference)
    )
    expected["original"] = original(candidate, reference, atol, rtol)
    cases.append(expected)


def noisy(shape, dtype, noise=1e-3):
    reference = rng.standard_normal(shape)
    candidate = reference * (1 + noise * rng.standard_normal(shape))
    return candidate.astype(dtype), reference


def spread(count, low, high):
    """Magnitudes over many powers of ten, of both signs."""
    return rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(low, high, count)


c, r = noisy((17, 59), np.float32)
case("float32", c, r.astype(np.float32), 1e-3, 1e-3)
case("float32_no_tolerance", c, r.astype(np.float32))
c, r = noisy((1300,), np.float64, 1e-9)
case("float64", c, r, 1e-9, 1e-9)
for name in ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]:
    dtype = np.dtype(name) if name == "float16" else np.dtype(getattr(ml_dtypes, name))
    c, r = noisy((5, 7, 19), dtype, 1e-2)
    case(f"{name}_against_float32", c, r.astype(np.float32), 1e-2, 1e-2)
    case(f"float32_against_{name}", r.astype(np.float32), c, 0.0, 5e-3)
    case(f"{name}_rounded_correctly", r.astype(np.float32).astype(dtype), r.astype(np.float32))

case("one_element", np.float32([2.5]), np.float32([2.0]), 0.0, 0.0)
case("scalar", np.float64(1.0), np.float64(1.0 + 2**-52))
case("equal", np.float32([1, 2, 3]), np.float32([1, 2, 3]), 0.0, 0.0)
case("zero_reference", np.float32([1e-3, 0, -1]), np.float32([0, 0, 0]), 1e-2, 0.0)
case("zero_candidate", np.float32([0, 0, 0]), np.float32([1, 2, 3]), 1e-2, 0.5)
case("both_zero", np.zeros(600, np.float64), np.zeros(600, np.float64), 0.0, 0.0)
case("sparse", np.where(rng.random(2000) < 0.01, rng.standard_normal(2000), 0.0),
     np.where(rng.random(2000) < 0.01, rng.standard_normal(2000), 0.0), 1e-3, 1e-3)

r = spread(1200, -300, 300)
case("float64_huge_and_small", r * (1 + 1e-6 * rng.standard_normal(1200)), r, 0.0, 1e-6)
r = spread(700, 155, 300)
case("float64_squares_overflow", r * (1 + 1e-3 * rng.standard_normal(700)), r, 0.0, 1e-3)
r = spread(700, -300, -170)
case("float64_squares_underflow", r * (1 + 1e-3 * rng.standard_normal(700)), r, 0.0, 1e-3)
r = rng.integers(-500, 500, 900) * 5e-324
case("float64_subnormal", r + rng.integers(-3, 4, 900) * 5e-324, r, 1e-323, 0.0)
case("float64_differences_overflow", np.float64([1.7e308, -1.7e308, 1.0, 3.0]),
     np.float64([-1.7e308, 1.7e308, 1.5, 3.0]), 1.0, 0.0)
r = spread(1100, 300, 308)
case("float64_norms_overflow", r * 0.5, r, 0.0, 0.25)
case("float64_differences_underflow", np.float64([1.0, 2.0, 3e-200]),
     np.float64([1.0, 2.0, 2e-200]), 0.0, 0.0)
r = spread(900, -44, 38).astype(np.float32)
with np.errstate(all="ignore"):
    case("float32_huge_and_small", (r * (1 + 1e-4 * rng.standard_normal(900))).astype(np.float32)
         .clip(np.finfo(np.float32).min, np.finfo(np.float32).max), r, 0.0, 1e-4)
r = (rng.integers(-2000, 2000, 800) * 1.401298464324817e-45).astype(np.float32)
case("float32_subnormal", (r + rng.integers(-2, 3, 800) * 1.401298464324817e-45)
     .astype(np.float32), r, 0.0, 1e-3)
r = rng.standard_normal(1500) * 1e3
case("cancelling_errors", r + np.where(np.arange(1500) % 2 == 0, 1e-3, -1e-3), r, 1e-3, 0.0)
r = 1e8 + rng.standard_normal(1111)
case("small_errors_on_a_large_offset", r + 1e-6 * rng.standard_normal(1111), r, 1e-6, 0.0)

nan, inf = np.nan, np.inf
c, r = noisy((40, 31), np.float32)
r = r.astype(np.float32)
for place, (a, b) in {3: (nan, nan), 77: (inf, inf), 78: (-inf, inf), 500: (nan, 1.0),
                      700: (2.0, -inf), 1100: (-inf, -inf), 1239: (nan, inf)}.items():
    c.flat[place], r.flat[place] = a, b
case("nonfinite", c, r, 1e-3, 1e-3)
case("nonfinite_that_match", np.float16([1, nan, inf, -inf, 2]), np.float32([1, nan, inf, -inf, 3]),
     0.5, 0.0)
case("nothing_finite", np.float32([nan, inf]), np.float32([1.0, 2.0]), 0.1, 0.1)
case("nonfinite_beside_huge", np.float64([1e200, nan, 3e-200]), np.float64([2e200, 1.0, 3e-200]),
     0.0, 0.1)
case("float8_e5m2_nonfinite", np.float32([inf, -inf, nan, 1]).astype(ml_dtypes.float8_e5m2),
     np.float32([inf, inf, nan, 1]), 0.0, 0.0)

for name in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]:
    info = np.iinfo(name)
    r = rng.integers(info.min, info.max, (3, 211), dtype=name, endpoint=True)
    c = r.copy()
    for place, value in {5: info.min, 100: info.max, 632: 0}.items():
        c.flat[place] = value
    case(name, c, r)
    case(f"{name}_equal", r, r)
case("int8_against_int64", np.int8([-128, 5, 127]), np.int64([-128, 6, 2**40]))
case("int64_against_uint64", np.int64([-1, 2**62, -(2**63), 7]),
     np.uint64([2**64 - 1, 2**62, 0, 7]))
case("uint64_neighbours", np.uint64([2**64 - 1, 2**53 + 1, 9]), np.uint64([2**64 - 2, 2**53, 9]))
case("int64_against_uint8", np.int64([2**40, 255, -1]), np.uint8([0, 255, 255]))
r = rng.random((9, 70)) < 0.5
c = r ^ (rng.random((9, 70)) < 0.1)
case("bool", c, r)
case("bool_equal", r, r)

folder = pathlib.Path(sys.argv[1])
np.savez_compressed(folder / "tensors.npz", **arrays)
(folder / "expected.json").write_text(json.dumps(number(cases), indent=1) + "\n")
print(len(cases), "cases")
