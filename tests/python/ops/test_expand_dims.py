"""expand_dims: NumPy's expand_dims is the oracle."""

import golden
import numpy as np
import pytest
from run_op import run

from headrace import fn

BATCH = [np.arange(6).reshape(2, 3), np.arange(4).reshape(1, 4)]


@golden.cases("expand_dims")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize(
    ("axes", "names", "layout"),
    [
        ([0], None, ""),
        ([2, 0], None, ""),
        ([], None, "HW"),
        ([0], "C", "CHW"),
        ([2, 0], "XY", "YHXW"),
        ([1, 3], "XY", "HXWY"),
    ],
)
def test_expand_dims(axes, names, layout):
    [output] = run(lambda x: fn.expand_dims(x, axes=axes, new_axis_names=names), BATCH, layouts=["HW"])
    assert output.layout == layout
    for got, sample in zip(output.samples, BATCH, strict=True):
        np.testing.assert_array_equal(got, np.expand_dims(sample, tuple(axes)))


@pytest.mark.parametrize(
    ("arguments", "input_layout"),
    [
        ({"axes": [-1]}, "HW"),
        ({"axes": [3]}, "HW"),
        ({"axes": [1, 1]}, "HW"),
        ({"axes": [0], "new_axis_names": "CD"}, "HW"),
        ({"axes": [0], "new_axis_names": "C"}, None),
    ],
)
def test_refused(arguments, input_layout):
    with pytest.raises(RuntimeError, match="expand_dims"):
        run(lambda x: fn.expand_dims(x, **arguments), BATCH, layouts=[input_layout])
