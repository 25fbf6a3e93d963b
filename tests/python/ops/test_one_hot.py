"""one_hot: rows of NumPy's identity matrix are the oracle."""

import golden
import numpy as np
import pytest
from run_op import run

from headrace import fn, types


@golden.cases("one_hot")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.float32])
def test_axes(axis, dtype):
    labels = np.array([[0, 3, 1], [2, 2, 0]], dtype)
    [output] = run(lambda x: fn.one_hot(x, num_classes=4, axis=axis), [labels])
    np.testing.assert_array_equal(output.samples[0], np.moveaxis(np.eye(4)[labels.astype(int)], -1, axis))
    assert output.samples[0].dtype == np.float32


def test_labels_that_are_no_class_and_fractions():
    [output] = run(lambda x: fn.one_hot(x, num_classes=2, axis=-1), [np.array([-1, 2, 1.9, -0.5, np.nan, 1e30])])
    np.testing.assert_array_equal(output.samples[0], [[0, 0], [0, 0], [0, 1], [1, 0], [0, 0], [0, 0]])


def test_one_element_gives_a_vector_unless_axis_is_given():
    labels = [np.array([2]), np.array([0])]
    plain, with_axis = run(lambda x: (fn.one_hot(x, num_classes=3), fn.one_hot(x, num_classes=3, axis=-1)), labels)
    assert [s.shape for s in plain.samples + with_axis.samples] == [(3,), (3,), (1, 3), (1, 3)]


def test_values_types_and_layout():
    options = {"num_classes": 2, "on_value": 300, "off_value": 1.5, "axis_name": "C"}
    kinds = {types.UINT8: [255, 2], types.FLOAT16: [300, 1.5], types.INT64: [300, 2]}
    outputs = run(
        lambda x: [fn.one_hot(x, dtype=dtype, **options) for dtype in kinds], [np.zeros((1, 2), bool)], layouts=["HW"]
    )
    for output, (on, off) in zip(outputs, kinds.values(), strict=True):
        assert output.layout == "HWC"
        assert output.samples[0].tolist() == [[[on, off]] * 2]


@pytest.mark.parametrize(
    "arguments", [{"axis": 3}, {"axis": -2}, {"axis_name": "CD"}, {"axis_name": ""}, {"num_classes": -1}]
)
def test_refused(arguments):
    with pytest.raises(RuntimeError, match="one_hot"):
        run(lambda x: fn.one_hot(x, **{"num_classes": 3, **arguments}), [np.zeros((1, 2), int)], layouts=["HW"])
