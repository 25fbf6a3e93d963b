"""squeeze: NumPy's squeeze is the oracle."""

import golden
import numpy as np
import pytest
from run_op import run

from headrace import fn

BATCH = [np.arange(6).reshape(1, 2, 1, 3), np.arange(4).reshape(1, 2, 1, 2)]


@golden.cases("squeeze")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize(
    ("arguments", "axes", "layout"),
    [
        ({"axes": [0]}, (0,), "HWC"),
        ({"axes": [2, 0]}, (0, 2), "HC"),
        ({"axes": [-2]}, (2,), "FHC"),
        ({"axis_names": "WF"}, (0, 2), "HC"),
        ({"axes": []}, (), "FHWC"),
    ],
)
def test_squeeze(arguments, axes, layout):
    [output] = run(lambda x: fn.squeeze(x, **arguments), BATCH, layouts=["FHWC"])
    assert output.layout == layout
    for got, sample in zip(output.samples, BATCH, strict=True):
        np.testing.assert_array_equal(got, sample.squeeze(axes))


@pytest.mark.parametrize(
    "arguments",
    [{}, {"axes": [1]}, {"axes": [0, 0]}, {"axes": [4]}, {"axis_names": "Z"}, {"axes": [0], "axis_names": "F"}],
)
def test_refused(arguments):
    with pytest.raises(RuntimeError, match="squeeze"):
        run(lambda x: fn.squeeze(x, **arguments), BATCH, layouts=["FHWC"])
