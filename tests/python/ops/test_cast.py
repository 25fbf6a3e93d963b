"""cast, cast_like: every pair of NumPy types against exact arithmetic in Python."""

import math
from fractions import Fraction

import golden
import numpy as np
import pytest
from run_op import run

from headrace import fn, types

DTYPES = {
    "bool": types.BOOL,
    "uint8": types.UINT8,
    "uint16": types.UINT16,
    "uint32": types.UINT32,
    "uint64": types.UINT64,
    "int8": types.INT8,
    "int16": types.INT16,
    "int32": types.INT32,
    "int64": types.INT64,
    "float16": types.FLOAT16,
    "float32": types.FLOAT,
    "float64": types.FLOAT64,
}
NUMBERS = [
    0,
    1,
    -1,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.49,
    127.5,
    128,
    255,
    255.5,
    300,
    -129,
    65519,
    65536,
    2**31,
    -(2**31) - 1,
]


def half_away(x) -> int:
    magnitude = math.floor(abs(Fraction(x)) + Fraction(1, 2))
    return magnitude if x > 0 else -magnitude


def expected(value, dtype: np.dtype):
    """The documented rule for one finite value."""
    exact = value.item()
    if dtype == np.bool_:
        return half_away(exact) != 0
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.float64(exact).astype(dtype)
    info = np.iinfo(dtype)
    return min(max(half_away(exact), info.min), info.max)


def values_of(dtype: str) -> np.ndarray:
    kind = np.dtype(dtype)
    if kind == np.bool_:
        return np.array([False, True])
    if kind.kind == "f":
        return np.array([n for n in NUMBERS if abs(n) < 60000 or kind.itemsize > 2]).astype(kind)
    info = np.iinfo(kind)
    return np.array([int(n) for n in NUMBERS if info.min <= n <= info.max] + [info.min, info.max], kind)


@golden.cases("cast", "cast_like")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize("source", DTYPES)
def test_every_target_type(source):
    values = values_of(source)
    outputs = run(lambda x: [fn.cast(x, dtype=dtype) for dtype in DTYPES.values()], [values])
    for target, output in zip(DTYPES, outputs, strict=True):
        wanted = np.array([expected(v, np.dtype(target)) for v in values], target)
        assert output.samples[0].dtype == wanted.dtype
        np.testing.assert_array_equal(output.samples[0], wanted, err_msg=f"{source} to {target}")


@pytest.mark.parametrize("target", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"])
def test_infinity_and_nan(target):
    [output] = run(lambda x: fn.cast(x, dtype=DTYPES[target]), [np.array([np.inf, -np.inf, np.nan], np.float32)])
    info = np.iinfo(target)
    nan = 0 if np.dtype(target).itemsize <= 2 else info.min
    assert output.samples[0].tolist() == [info.max, info.min, nan]


def test_keeps_shape_layout_and_empty_samples():
    batch = [np.zeros((0, 3), np.float32), np.full((2, 3), 2.5, np.float32)]
    like = [np.uint8(1)] * 2
    for function in (lambda x, y: fn.cast(x, dtype=types.UINT8), fn.cast_like):
        [output] = run(function, batch, like, layouts=["HW"])
        assert output.layout == "HW"
        assert [s.shape for s in output.samples] == [(0, 3), (2, 3)]
        assert (output.samples[1] == 3).all()


def test_dtype_is_required():
    with pytest.raises(Exception, match="dtype"):
        run(fn.cast, [np.zeros(1)])
