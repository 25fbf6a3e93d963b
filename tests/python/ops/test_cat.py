"""cat: NumPy's concatenate is the oracle."""

import golden
import numpy as np
import pytest
from run_op import run

from headrace import fn


@golden.cases("cat")
def test_golden(case):
    golden.check(case)


def part(extent, axis, dtype, start):
    shape = [3, 4, 5]
    shape[axis] = extent
    return (np.arange(np.prod(shape)).reshape(shape) + start).astype(dtype)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.int64])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_parts_of_different_extents(axis, dtype):
    a, b, c = ([part(extent, axis, dtype, extent) for extent in extents] for extents in ([1, 2], [3, 0], [1, 1]))
    [output] = run(lambda *nodes: fn.cat(*nodes, axis=axis), a, b, c, layouts=["HWC"])
    assert output.layout == "HWC"
    for i, got in enumerate(output.samples):
        np.testing.assert_array_equal(got, np.concatenate([a[i], b[i], c[i]], axis))


def test_axis_name_and_single_input():
    sample = np.arange(6).reshape(2, 3)
    named, single = run(lambda x: (fn.cat(x, x, axis_name="W"), fn.cat(x)), [sample], layouts=["HW"])
    np.testing.assert_array_equal(named.samples[0], np.concatenate([sample, sample], 1))
    np.testing.assert_array_equal(single.samples[0], sample)


def test_inputs_without_elements_are_left_out():
    [output] = run(fn.cat, [np.zeros((0, 7))], [np.ones((2, 3))])
    np.testing.assert_array_equal(output.samples[0], np.ones((2, 3)))


@pytest.mark.parametrize(
    ("other", "arguments"),
    [
        (np.zeros((2, 3), np.float32), {}),
        (np.zeros(3), {}),
        (np.zeros((2, 4)), {}),
        (np.zeros((2, 3)), {"axis": 2}),
        (np.zeros((2, 3)), {"axis": -3}),
        (np.zeros((2, 3)), {"axis_name": "C"}),
        (np.zeros((2, 3)), {"axis_name": "H", "axis": 0}),
    ],
)
def test_refused(other, arguments):
    with pytest.raises(RuntimeError, match="cat"):
        run(lambda x, y: fn.cat(x, y, **arguments), [np.zeros((2, 3))], [other], layouts=["HW"])
