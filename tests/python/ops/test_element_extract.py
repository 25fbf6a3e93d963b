"""element_extract: NumPy's indexing is the oracle."""

import golden
import numpy as np
import pytest
from run_op import run

from headrace import fn

BATCH = [np.arange(12).reshape(4, 3), np.arange(10).reshape(5, 2)]


@golden.cases("element_extract")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize(("layout", "rest"), [("FC", "C"), (None, "")])
@pytest.mark.parametrize("elements", [[0], [3, 1], [2, 2, 0]])
def test_elements(elements, layout, rest):
    outputs = run(lambda x: fn.element_extract(x, element_map=elements), BATCH, layouts=[layout])
    assert len(outputs) == len(elements)
    for element, output in zip(elements, outputs, strict=True):
        assert output.layout == rest
        for got, sample in zip(output.samples, BATCH, strict=True):
            np.testing.assert_array_equal(got, sample[element])


@pytest.mark.parametrize(("elements", "layout"), [([-1], "FC"), ([4], "FC"), ([0], "HW")])
def test_refused(elements, layout):
    with pytest.raises(RuntimeError, match="element_extract"):
        run(lambda x: fn.element_extract(x, element_map=elements), BATCH, layouts=[layout])
