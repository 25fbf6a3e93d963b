"""reshape, reinterpret: NumPy's reshape and view are the oracles."""

import golden
import numpy as np
import pytest
from run_op import run

from headrace import fn, types

BATCH = [np.arange(6, dtype=np.int16).reshape(2, 3), np.arange(12, dtype=np.int16).reshape(4, 3)]


@golden.cases("reshape", "reinterpret")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize(
    ("arguments", "shape", "layout"),
    [
        ({"shape": [-1]}, (-1,), ""),
        ({"shape": [3, -1]}, (3, -1), "HW"),
        ({"shape": [1, -1, 3], "layout": "CHW"}, (1, -1, 3), "CHW"),
        ({"rel_shape": [0.5, 2]}, lambda s: (s[0] // 2, s[1] * 2), "HW"),
        ({"rel_shape": [-1.0]}, (-1,), ""),
        ({"src_dims": [1, 0]}, lambda s: s[::-1], "HW"),
        ({"src_dims": [0, -1, 1]}, lambda s: (s[0], 1, s[1]), ""),
        ({"rel_shape": [1, -1], "src_dims": [-1, 0]}, (1, -1), "HW"),
        ({"layout": "AB"}, lambda s: s, "AB"),
        ({"layout": ""}, lambda s: s, ""),
    ],
)
def test_reshape(arguments, shape, layout):
    [output] = run(lambda x: fn.reshape(x, **arguments), BATCH, layouts=["HW"])
    assert output.layout == layout
    for got, sample in zip(output.samples, BATCH, strict=True):
        np.testing.assert_array_equal(got, sample.reshape(shape(sample.shape) if callable(shape) else shape))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_shape_from_a_node(dtype):
    shapes = [np.array([3, 2], dtype), np.array([2, 6], dtype)]
    [by_argument] = run(lambda x, s: fn.reshape(x, shape=s), BATCH, shapes)
    [by_input] = run(lambda x, s: fn.reshape(x, s), BATCH, shapes)
    for output in (by_argument, by_input):
        assert [s.shape for s in output.samples] == [(3, 2), (2, 6)]
        for got, sample in zip(output.samples, BATCH, strict=True):
            np.testing.assert_array_equal(got.ravel(), sample.ravel())


def test_samples_without_elements():
    for shape in ([3, 0], [-1, 3]):
        [output] = run(lambda x, shape=shape: fn.reshape(x, shape=shape), [np.zeros((0, 3))])
        assert output.samples[0].size == 0


def test_reinterpret_is_a_view():
    [bytes_, halves, pairs] = run(
        lambda x: (
            fn.reinterpret(x, dtype=types.UINT8),
            fn.reinterpret(x, dtype=types.FLOAT16, layout="AB"),
            fn.reinterpret(x, dtype=types.UINT8, shape=[-1, 2]),
        ),
        BATCH,
        layouts=["HW"],
    )
    for i, sample in enumerate(BATCH):
        np.testing.assert_array_equal(bytes_.samples[i], sample.view(np.uint8))
        np.testing.assert_array_equal(halves.samples[i], sample.view(np.float16))
        np.testing.assert_array_equal(pairs.samples[i], sample.reshape(-1, 1).view(np.uint8))
    assert (bytes_.layout, halves.layout) == ("HW", "AB")


@pytest.mark.parametrize(
    "arguments",
    [{}, {"shape": [4, 2]}, {"shape": [-1, -1]}, {"shape": [0, -1]}, {"layout": "C"}, {"src_dims": [2, 0]},
     {"rel_shape": [1.0, 1, 1]}, {"shape": [6], "rel_shape": [1.0]}],
)  # fmt: skip
def test_refused(arguments):
    with pytest.raises(RuntimeError, match="reshape"):
        run(lambda x: fn.reshape(x, **arguments), BATCH)
