"""pad: NumPy's pad to the extents of the documented rule."""

import golden
import numpy as np
import pytest
from run_op import run

from headrace import fn

BATCH = [np.arange(6).reshape(2, 3) + 1, np.arange(4).reshape(4, 1) + 1]


@golden.cases("pad")
def test_golden(case):
    golden.check(case)


def padded(sample, shape, value=0):
    return np.pad(
        sample, [(0, want - have) for want, have in zip(shape, sample.shape, strict=True)], constant_values=value
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16, np.float32, np.int64, np.float64])
@pytest.mark.parametrize(
    ("arguments", "shapes"),
    [
        ({}, [(4, 3), (4, 3)]),
        ({"axes": [0]}, [(4, 3), (4, 1)]),
        ({"axes": -1, "fill_value": 7}, [(2, 3), (4, 3)]),
        ({"axis_names": "WH", "align": 3}, [(6, 3), (6, 3)]),
        ({"align": [4, 2], "axes": [1, 0]}, [(4, 4), (4, 4)]),
        ({"shape": [6, 5], "fill_value": 3}, [(6, 5), (6, 5)]),
        ({"shape": [1, 2]}, [(2, 3), (4, 2)]),
        ({"shape": 5, "axes": [1]}, [(2, 5), (4, 5)]),
        ({"shape": [-1, 4]}, [(4, 4), (4, 4)]),
    ],
)
def test_extents(arguments, shapes, dtype):
    batch = [sample.astype(dtype) for sample in BATCH]
    [output] = run(lambda x: fn.pad(x, **arguments), batch, layouts=["HW"])
    assert output.layout == "HW"
    for got, sample, shape in zip(output.samples, batch, shapes, strict=True):
        np.testing.assert_array_equal(got, padded(sample, shape, arguments.get("fill_value", 0)))


def test_arguments_per_sample():
    fill, axes, shape = [np.float32(5), np.float32(-6)], [np.int32([0]), np.int32([1])], [np.int32([3]), np.int32([-1])]
    [output] = run(lambda x, f, a, s: fn.pad(x, fill_value=f, axes=a, shape=s), BATCH, fill, axes, shape)
    np.testing.assert_array_equal(output.samples[0], padded(BATCH[0], (3, 3), 5))
    np.testing.assert_array_equal(output.samples[1], padded(BATCH[1], (4, 3), -6))


def test_fill_value_is_rounded_and_clamped():
    batch = [np.zeros(1, np.uint8), np.zeros(2, np.uint8)]
    outputs = run(lambda x: [fn.pad(x, fill_value=v) for v in (300, -5.5, 2.5)], batch)
    assert [output.samples[0][1] for output in outputs] == [255, 0, 3]


@pytest.mark.parametrize(
    "arguments",
    [{"axes": [2]}, {"axes": [0, -2]}, {"axis_names": "C"}, {"align": [0]}, {"align": [1, 2, 3]},
     {"align": [2**63 - 1, 1]}, {"align": [2**62, 2**62]},
     {"axes": [0], "axis_names": "H"}],
)  # fmt: skip
def test_refused(arguments):
    with pytest.raises(RuntimeError, match="pad"):
        run(lambda x: fn.pad(x, **arguments), BATCH, layouts=["HW"])
