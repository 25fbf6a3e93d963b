"""fn.normalize: NumPy and DALI's golden values as oracles."""

from itertools import repeat

import golden
import numpy as np
import pytest

import headrace
from headrace import fn, types


def normalize(samples, tensors=None, layout=None, **args):
    """All samples of the result."""

    @headrace.pipeline_def(batch_size=len(samples), num_threads=2, device_id=None)
    def pipeline():
        named = {name: fn.external_source(source=repeat(t)) for name, t in (tensors or {}).items()}
        return fn.normalize(fn.external_source(source=lambda: samples, layout=layout), **named, **args)

    (out,) = pipeline().run()
    return [np.array(out[i]) for i in range(len(out))]


@golden.cases("normalize")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize("axes", [(0, 1), (2,), (0,), (1, 2), (0, 1, 2)])
def test_axes(axes):
    samples = [np.random.default_rng(h).integers(0, 255, (h, 9, 3)).astype("uint8") for h in (40, 7, 2)]
    for x, got in zip(samples, normalize(samples, axes=list(axes), ddof=1), strict=True):
        deviation = x.std(axes, ddof=1, keepdims=True)
        expected = np.divide(x - x.mean(axes, keepdims=True), deviation, where=deviation > 0, out=np.zeros(x.shape))
        np.testing.assert_allclose(got, expected, atol=1e-5)


def test_batch():
    samples = [np.random.default_rng(h).normal(size=(h, 9, 3)).astype("float32") for h in (40, 7, 2)]
    joined = np.concatenate(samples)
    mean, deviation = joined.mean((0, 1)), joined.std((0, 1))
    for x, got in zip(samples, normalize(samples, axes=[0, 1], batch=True), strict=True):
        np.testing.assert_allclose(got, (x - mean) / deviation, atol=1e-5)


def test_tensor_parameters():
    samples = [np.random.default_rng(h).normal(size=(h, 4)).astype("float32") for h in (3, 5)]
    means = [np.full((1, 4), k, "float32") + np.arange(4, dtype="float32") for k in (1, 2)]
    deviations = [1 + mean for mean in means]
    got = normalize(samples, {"mean": means, "stddev": deviations}, scale=2.0, shift=1.0)
    for x, mean, deviation, y in zip(samples, means, deviations, got, strict=True):
        np.testing.assert_allclose(y, (x - mean) / deviation * 2 + 1, atol=1e-5)


def test_rounding_and_clamping():
    x = np.array([-100, 0, 0.75, 100], "float32")
    (got,) = normalize([x], mean=0.0, stddev=1.0, scale=2.0, dtype=types.INT8)
    assert got.tolist() == [-128, 0, 2, 127]


@pytest.mark.parametrize(
    ("dtype", "args"),
    [
        ("float64", {}),
        ("float32", {"dtype": types.FLOAT16}),
        ("float32", {"axes": [2]}),
        ("float32", {"axes": []}),
        ("float32", {"axes": [0], "axis_names": "H"}),
        ("float32", {"axes": [0], "mean": 1.0, "stddev": 1.0}),
    ],
)
def test_refusals(dtype, args):
    with pytest.raises(RuntimeError):
        normalize([np.ones((2, 3), dtype)], layout="HW", **args)


def test_refuses_tensor_parameters_for_the_batch():
    with pytest.raises(RuntimeError, match="batch"):
        normalize([np.ones((2, 3), "float32")], {"mean": [np.ones((1, 3), "float32")]}, batch=True)
