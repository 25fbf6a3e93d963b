"""types: values, conversions, constants."""

import numpy as np
import pytest

from headrace import Pipeline, types

VALUES = {
    "UINT8": 0, "UINT16": 1, "UINT32": 2, "UINT64": 3, "INT8": 4, "INT16": 5, "INT32": 6, "INT64": 7, "FLOAT16": 8,
    "FLOAT": 9, "FLOAT64": 10, "BOOL": 11, "STRING": 12, "NO_TYPE": -1, "RGB": 0, "BGR": 1, "GRAY": 2, "YCbCr": 3,
    "ANY_DATA": 4, "INTERP_NN": 0, "INTERP_LINEAR": 1, "INTERP_CUBIC": 2, "INTERP_LANCZOS3": 3,
    "INTERP_TRIANGULAR": 4, "INTERP_GAUSSIAN": 5,
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), VALUES.items())
def test_numbers_are_dalis(name, value):
    assert int(getattr(types, name)) == value


def test_names_are_printed():
    assert str(types.FLOAT) == f"{types.FLOAT}" == "DALIDataType.FLOAT"
    assert repr(types.GRAY) == "<DALIImageType.GRAY: 2>"


@pytest.mark.parametrize("dtype", [t for t in types.DALIDataType if 0 <= t <= 11])
def test_numpy_types_there_and_back(dtype):
    assert types.to_dali_type(types.to_numpy_type(dtype)) == dtype
    assert types.to_dali_type(np.dtype(types.to_numpy_type(dtype))) == dtype


@pytest.mark.parametrize(("python", "dtype"), [(int, types.INT32), (float, types.FLOAT), (bool, types.BOOL)])
def test_python_types(python, dtype):
    assert types.to_dali_type(python) == dtype


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert types.to_numpy_type(types.BFLOAT16) is ml_dtypes.bfloat16
    assert types.to_dali_type(ml_dtypes.bfloat16) == types.BFLOAT16


@pytest.mark.parametrize("bad", [np.complex64, "text", str, np.dtype("U3")])
def test_no_element_type(bad):
    with pytest.raises(TypeError):
        types.to_dali_type(bad)


@pytest.mark.parametrize(
    ("value", "kwargs", "expected"),
    [
        (1, {"shape": (2, 2)}, np.ones((2, 2), np.int32)),
        (1.5, {"device": "cpu"}, np.float32(1.5)),
        (True, {"shape": [1]}, np.array([True])),
        ([1, 2], {}, np.int32([1, 2])),
        ([[1, 2], [3, 4]], {"dtype": types.UINT8}, np.uint8([[1, 2], [3, 4]])),
        (np.float64([1, 2]), {}, np.float32([1, 2])),
        (np.int64([1, 2]), {}, np.int32([1, 2])),
        (np.float16([1, 2]), {}, np.float16([1, 2])),
        (np.uint64([2**63 + 1]), {}, np.uint64([2**63 + 1])),
        ([1, 2, 3, 4], {"shape": (2, 2), "layout": "HW"}, np.int32([[1, 2], [3, 4]])),
        (np.zeros((0, 3), np.int16), {}, np.zeros((0, 3), np.int16)),
    ],
)
def test_constant_nodes(value, kwargs, expected):
    pipe = Pipeline(2, 1)
    pipe.set_outputs(types.Constant(value, **kwargs))
    (out,) = pipe.run()
    assert out.dtype == types.to_dali_type(expected.dtype)
    assert np.array_equal(out.at(1), expected) and out.layout() == kwargs.get("layout", "")


def test_scalar_constants():
    constant = types.Constant(300)
    assert isinstance(constant, types.ScalarConstant) and constant.dtype == types.INT32
    assert constant.float32().dtype == types.FLOAT and constant.uint64().value == 300
    assert types.Constant(2.7).int32().value == 2
    with pytest.raises(TypeError):
        bool(constant)
    with pytest.raises(TypeError):
        types.ScalarConstant("a")
    with pytest.raises(TypeError):
        constant + 1


def test_layout_and_infos():
    layout = types.TensorLayout("HWC")
    assert (len(layout), str(layout), layout == "HWC", layout == types.TensorLayout("CHW")) == (3, "HWC", True, False)
    assert types.SampleInfo(5, 1, 2, 0) == types.SampleInfo(5, 1, 2, 0) != types.SampleInfo(5, 1, 2, 1)
    assert repr(types.BatchInfo(3, 1)) == "BatchInfo(iteration=3, epoch_idx=1)"
