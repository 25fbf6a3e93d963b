"""stack: NumPy's stack is the oracle."""

import golden
import numpy as np
import pytest
from run_op import run

from headrace import fn


@golden.cases("stack")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.int64])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_stack(axis, dtype):
    a = [np.arange(6).reshape(2, 3).astype(dtype), np.arange(5).reshape(1, 5).astype(dtype)]
    b = [sample + dtype(10) for sample in a]
    plain, named = run(
        lambda x, y: (fn.stack(x, y, x, axis=axis), fn.stack(x, y, axis=axis, axis_name="N")), a, b, layouts=["HW"]
    )
    assert plain.layout == ""
    assert named.layout == {0: "NHW", 1: "HNW", 2: "HWN", -1: "HWN", -2: "HNW"}[axis]
    for i in range(2):
        np.testing.assert_array_equal(plain.samples[i], np.stack([a[i], b[i], a[i]], axis))
        np.testing.assert_array_equal(named.samples[i], np.stack([a[i], b[i]], axis))


def test_scalars():
    [output] = run(lambda x: fn.stack(x, x, axis_name="C"), [np.float32(3)])
    assert output.layout == "C"
    assert output.samples[0].tolist() == [3, 3]


@pytest.mark.parametrize(
    ("other", "arguments"),
    [
        (np.zeros((3, 2)), {}),
        (np.zeros((2, 3), np.int32), {}),
        (np.zeros((2, 3)), {"axis": 3}),
        (np.zeros((2, 3)), {"axis": -3}),
        (np.zeros((2, 3)), {"axis_name": "CD"}),
        (np.zeros((2, 3)), {"axis_name": "C"}),
    ],
)
def test_refused(other, arguments):
    with pytest.raises(RuntimeError, match="stack"):
        run(lambda x, y: fn.stack(x, y, **arguments), [np.zeros((2, 3))], [other])
