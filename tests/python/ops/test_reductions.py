"""fn.reductions: NumPy and DALI's golden values as oracles."""

from itertools import repeat

import golden
import numpy as np
import pytest

import headrace
from headrace import fn, types

INPUTS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float32")
ORACLES = {
    "sum": lambda x, axis: x.sum(axis),
    "mean": lambda x, axis: x.mean(axis),
    "mean_square": lambda x, axis: (x * x).mean(axis),
    "rms": lambda x, axis: np.sqrt((x * x).mean(axis)),
    "min": lambda x, axis: x.min(axis),
    "max": lambda x, axis: x.max(axis),
}


def reduce(name, *operands, layout=None, **args):
    """One sample of the result, and the output's layout."""

    @headrace.pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        nodes = [fn.external_source(source=repeat([x]), layout=layout) for x in operands]
        return getattr(fn.reductions, name)(*nodes, **args)

    (out,) = pipeline().run()
    return np.array(out[0]), out.layout()


@golden.cases(*(f"reductions_{name}" for name in (*ORACLES, "std_dev", "variance")))
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize("name", ORACLES)
def test_types_and_axes(name):
    for dtype in INPUTS:
        x = np.random.default_rng(3).integers(0, 100, (5, 40, 3)).astype(dtype)
        for axes in ([0], [1], [2], [0, 1], [0, 2], [0, 1, 2]):
            got, _ = reduce(name, x, axes=axes)
            wide = {"u": "uint64", "i": "int64", "f": "float32"}[x.dtype.kind]
            assert got.dtype == (dtype if name in ("min", "max") else wide if name == "sum" else "float32")
            np.testing.assert_allclose(got, ORACLES[name](x.astype("float64"), tuple(axes)), rtol=1e-6)


def test_deviations():
    x = np.random.default_rng(4).normal(size=(30, 20, 3)).astype("float32")
    mean = x.mean((0, 1))
    for ddof in (0, 1):
        got, _ = reduce("variance", x, mean, axes=[0, 1], ddof=ddof)
        np.testing.assert_allclose(got, x.var((0, 1), ddof=ddof), rtol=1e-5)
        got, _ = reduce("std_dev", x, mean, axes=[0, 1], ddof=ddof)
        np.testing.assert_allclose(got, x.std((0, 1), ddof=ddof), rtol=1e-5)


def test_integer_results_are_rounded_once():
    x = np.array([254, 255, 255], "uint8")
    assert reduce("mean", x, dtype=types.UINT8)[0] == 255
    assert reduce("rms", x, dtype=types.UINT8)[0] == 255
    assert reduce("sum", x, dtype=types.UINT8)[0] == 255
    assert reduce("mean_square", x, dtype=types.UINT64)[0] == round(float((x.astype(float) ** 2).mean()))


def test_layouts():
    x = np.zeros((2, 3, 4), "uint8")
    assert reduce("sum", x, layout="HWC", axis_names="HC")[1] == "W"
    assert reduce("sum", x, layout="HWC", axes=[0], keep_dims=True)[1] == "HWC"
    assert reduce("sum", x, layout="HWC")[0].shape == ()


@pytest.mark.parametrize(
    ("error", "dtype", "args"),
    [
        (RuntimeError, "float64", {}),
        (RuntimeError, "bool", {}),
        (RuntimeError, "float32", {"dtype": types.INT32}),
        (RuntimeError, "float32", {"axis_names": "H"}),
        (RuntimeError, "float32", {"axes": [0], "axis_names": "H"}),
        (IndexError, "float32", {"axes": [2]}),
        (ValueError, "float32", {"axes": [0, -2]}),
    ],
)
def test_refusals(error, dtype, args):
    with pytest.raises(error):
        reduce("sum", np.ones((2, 3), dtype), **args)
