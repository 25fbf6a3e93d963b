"""zeros, ones, full, their _like forms, and constants: NumPy's functions of the same names are the oracle."""

import golden
import numpy as np
import pytest
from run_op import run

from headrace import fn, types


@golden.cases("zeros", "ones", "full", "zeros_like", "ones_like", "full_like")
def test_golden(case):
    golden.check(case)


def test_zeros_and_ones():
    outputs = run(
        lambda s: (
            fn.zeros(shape=[2, 3]),
            fn.ones(shape=3, dtype=types.FLOAT16, layout="W"),
            fn.ones(shape=s, dtype=types.BOOL),
            fn.zeros(),
            fn.ones(shape=[0, 2]),
        ),
        [np.int32([2, 3])],
    )
    wanted = [
        np.zeros((2, 3), "i4"),
        np.ones(3, "f2"),
        np.ones((2, 3), bool),
        np.zeros((), "i4"),
        np.ones((0, 2), "i4"),
    ]
    for output, array in zip(outputs, wanted, strict=True):
        assert output.samples[0].dtype == array.dtype
        np.testing.assert_array_equal(output.samples[0], array)
    assert [output.layout for output in outputs] == ["", "W", "", "", ""]


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.int64])
@pytest.mark.parametrize("value_shape", [(), (3,), (2, 1), (1, 3), (2, 3), (4, 1, 1), (4, 1, 3), (4, 2, 3)])
def test_full_broadcasts(value_shape, dtype):
    value = (np.arange(np.prod(value_shape, dtype=int)).reshape(value_shape) + 1).astype(dtype)
    full, like = run(
        lambda v, x: (fn.full(v, shape=[4, 2, 3], layout="ABC"), fn.full_like(x, v)),
        [value],
        [np.zeros((4, 2, 3), np.uint8)],
        layouts=[None, "CHW"],
    )
    np.testing.assert_array_equal(full.samples[0], np.full((4, 2, 3), value))
    np.testing.assert_array_equal(like.samples[0], np.full((4, 2, 3), value.astype(np.uint8)))
    assert (full.samples[0].dtype, like.samples[0].dtype) == (dtype, np.uint8)
    assert (full.layout, like.layout) == ("ABC", "CHW")


def test_full_of_numbers_takes_their_type():
    outputs = run(lambda: (fn.full(3, shape=[2]), fn.full(2.5, shape=[2]), fn.full(True, shape=[]), fn.full(7)))
    assert [(o.samples[0].dtype, o.samples[0].tolist()) for o in outputs] == [
        (np.int32, [3, 3]),
        (np.float32, [2.5, 2.5]),
        (np.bool_, True),
        (np.int32, 7),
    ]


def test_full_like_rounds_and_clamps():
    [output] = run(fn.full_like, [np.zeros((2, 3), np.uint8)], [np.float32([-1.5, 2.5, 300])])
    assert output.samples[0].tolist() == [[0, 3, 255]] * 2


def test_like_takes_shape_layout_and_type():
    batch = [np.zeros((2, 3), np.float32), np.zeros((0, 3), np.float32)]
    zeros, ones = run(lambda x: (fn.zeros_like(x), fn.ones_like(x, dtype=types.INT8)), batch, layouts=["HW"])
    for output, wanted in ((zeros, np.zeros((2, 3), np.float32)), (ones, np.ones((2, 3), np.int8))):
        assert output.layout == "HW"
        assert output.samples[0].dtype == wanted.dtype
        np.testing.assert_array_equal(output.samples[0], wanted)
        assert output.samples[1].shape == (0, 3)


def test_constants():
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    outputs = run(
        lambda: (
            types.Constant(array, layout="HW"),
            types.Constant([1.5, 2]),
            fn.constant(idata=[7], shape=[2, 2], dtype=types.UINT8),
            fn.constant(fdata=[2.5], shape=[], dtype=types.INT64),
        )
    )
    wanted = [array, np.float32([1.5, 2]), np.full((2, 2), 7, np.uint8), np.int64(3)]
    for output, value in zip(outputs, wanted, strict=True):
        assert output.samples[0].dtype == value.dtype
        np.testing.assert_array_equal(output.samples[0], value)
    assert outputs[0].layout == "HW"


@pytest.mark.parametrize(
    "build",
    [
        lambda: fn.zeros(shape=[2, -1]),
        lambda: fn.ones(shape=[2], layout="HW"),
        lambda: fn.full(types.Constant([1, 2, 3]), shape=[2, 2]),
        lambda: fn.full(types.Constant([[1, 2], [3, 4]]), shape=[2]),
        lambda: fn.constant(),
        lambda: fn.constant(idata=[1, 2], shape=[3]),
        lambda: fn.constant(idata=[1], fdata=[1.0]),
    ],
)
def test_refused(build):
    with pytest.raises(RuntimeError):
        run(build)
