"""transpose: all permutations of odd shapes against NumPy."""

import itertools

import golden
import numpy as np
import pytest
from run_op import run

from headrace import fn


@golden.cases("transpose")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int32, np.float64])
@pytest.mark.parametrize("shape", [(2, 3), (70, 65, 3), (2, 1, 5, 3), (0, 4, 2)])
def test_every_permutation(shape, dtype):
    perms = list(itertools.permutations(range(len(shape))))
    sample = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    outputs = run(lambda x: [fn.transpose(x, perm=perm) for perm in perms] + [fn.transpose(x)], [sample])
    for perm, output in zip([*perms, None], outputs, strict=True):
        np.testing.assert_array_equal(output.samples[0], sample.transpose(perm), err_msg=str(perm))


@pytest.mark.parametrize(
    ("arguments", "layout"),
    [
        ({"perm": [2, 0, 1]}, "CHW"),
        ({"perm": [2, 0, 1], "transpose_layout": False}, "HWC"),
        ({"output_layout": "XYZ"}, "XYZ"),
        ({}, "CWH"),
    ],
)
def test_layout(arguments, layout):
    [output] = run(lambda x: fn.transpose(x, **arguments), [np.zeros((2, 3, 4))], layouts=["HWC"])
    assert output.layout == layout


@pytest.mark.parametrize(
    "arguments",
    [{"perm": [0, 1]}, {"perm": [0, 1, 1]}, {"perm": [-1, 0, 1]}, {"output_layout": "AB"}, {"output_layout": ""}],
)
def test_refused(arguments):
    with pytest.raises(RuntimeError, match="transpose"):
        run(lambda x: fn.transpose(x, **arguments), [np.zeros((2, 3, 4))])
