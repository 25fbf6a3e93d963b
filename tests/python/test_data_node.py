"""DataNode: operators with constants, subscripts, refusals. Oracle: numpy."""

import operator

import numpy as np
import pytest

from headrace import DataNode, Pipeline, fn, math, newaxis, types

A = np.array([[7, -3, 2], [1, 5, -8]], np.int32)


def run(*make, data=A, layout=None, batch_size=None):
    """Outputs of functions of one node that holds `data` in every sample."""
    pipe = Pipeline(batch_size or 2, 1)
    with pipe:
        node = fn.external_source(source=lambda: [data] * (batch_size or 2), layout=layout)
        pipe.set_outputs(*(f(node) for f in make))
    outputs = pipe.run()
    return outputs[0] if len(outputs) == 1 else outputs


BINARY = ["add", "sub", "mul", "truediv", "eq", "ne", "lt", "le", "gt", "ge", "and_", "or_", "xor", "lshift", "rshift"]


@pytest.mark.parametrize("name", BINARY)
def test_operators_with_a_number_on_either_side(name):
    function = getattr(operator, name)
    data = np.abs(A)
    left, right = run(lambda x: function(x, 2), lambda x: function(2, x), data=data)
    for out, expected in ((left, function(data, 2)), (right, function(2, data))):
        assert np.allclose(out.at(1), expected)


def test_unary_operators():
    outputs = run(operator.neg, operator.pos, operator.invert, abs)
    for out, expected in zip(outputs, (-A, A, ~A, abs(A)), strict=True):
        assert np.array_equal(out.at(0), expected)


@pytest.mark.parametrize(
    ("constant", "dtype"),
    [
        (2, types.INT32),
        (2.5, types.FLOAT),
        (True, types.INT32),
        (np.int64(2), types.INT64),
        (np.float32(2), types.FLOAT),
        (types.Constant(2).int64(), types.INT64),
        (types.Constant(2, types.FLOAT64), types.FLOAT64),
        ([1, 2, 3], types.INT32),
        (np.float64([1, 2, 3]), types.FLOAT),
        (np.int8([1, 2, 3]), types.INT32),
    ],
)
def test_types_of_constants(constant, dtype):
    value = constant.value if isinstance(constant, types.ScalarConstant) else np.asarray(constant)
    for out in run(lambda x: x + constant, lambda x: constant + x):
        assert out.dtype == dtype
        assert np.allclose(out.at(0), A + value)


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda x: x + np.float64(1), TypeError),
        (lambda x: x + "a", TypeError),
        (lambda x: x + None, TypeError),
        (lambda x: x @ x, TypeError),
        (lambda x: divmod(x, 2), TypeError),
        (lambda x: bool(x), TypeError),
        (lambda x: 1 if x == 2 else 3, TypeError),
        (lambda x: not x, TypeError),
        (lambda x: x and x, TypeError),
        (lambda x: list(x), TypeError),
        (lambda x: len(x), TypeError),
        (lambda x: x[...], NotImplementedError),
        (lambda x: x[[0]], TypeError),
        (lambda x: x["a"], TypeError),
        (lambda x: x[0.5], TypeError),
        (lambda x: x[::0], ValueError),
        (lambda x: math.sqrt(2), TypeError),
        (lambda x: x[newaxis("A"), newaxis], ValueError),
    ],
)
def test_refusals(use, error):
    with pytest.raises(error):
        use(fn.constant(idata=[1]))


@pytest.mark.parametrize(
    "subscript",
    [
        np.s_[0],
        np.s_[-1],
        np.s_[1, 2],
        np.s_[:, -3],
        np.s_[:],
        np.s_[:, :],
        np.s_[1:],
        np.s_[:, ::-1],
        np.s_[:, 2:0:-1],
        np.s_[:, 1:99],
        np.s_[5:],
        np.s_[::-2, ::2],
        np.s_[np.int64(1)],
    ],
)
def test_subscripts_agree_with_numpy(subscript):
    assert np.array_equal(run(lambda x: x[subscript]).at(0), A[subscript])


def test_nodes_as_subscripts():
    pipe = Pipeline(2, 1)
    with pipe:
        x = fn.external_source(source=lambda: [A, A])
        i = fn.external_source(source=lambda: np.int32([0, 1]))
        pipe.set_outputs(x[i], x[0, i : i + 2], x[:, i])
    row, part, column = pipe.run()
    for k in range(2):
        assert np.array_equal(row.at(k), A[k])
        assert np.array_equal(part.at(k), A[0, k : k + 2])
        assert np.array_equal(column.at(k), A[:, k])


@pytest.mark.parametrize(
    ("subscript", "shape", "layout"),
    [
        (np.s_[0], (3,), "W"),
        (np.s_[:, 0], (2,), "H"),
        (np.s_[:, None], (2, 3), "HW"),
        ((newaxis,), (1, 2, 3), ""),
        ((newaxis("C"),), (1, 2, 3), "CHW"),
        ((slice(None), newaxis("C")), (2, 1, 3), "HCW"),
        ((0, newaxis("C")), (1, 3), "CW"),
        ((newaxis("F"), slice(None), slice(None), newaxis("C")), (1, 2, 3, 1), "FHWC"),
    ],
)
def test_layouts_of_subscripts_and_new_axes(subscript, shape, layout):
    out = run(lambda x: x[subscript], layout="HW")
    assert out.shape() == [shape] * 2 and out.layout() == layout


@pytest.mark.parametrize("subscript", [np.s_[2], np.s_[-3], np.s_[0, 0, 0], np.s_[:, :, :]])
def test_subscripts_out_of_range(subscript):
    with pytest.raises(RuntimeError):
        run(lambda x: x[subscript])


def test_shape_property_and_source_info():
    shape, shape32, layout, source = run(
        lambda x: x.shape(), lambda x: x.shape(dtype=types.INT32), lambda x: x.property("layout"),
        lambda x: x.source_info(), layout="HW",
    )  # fmt: skip
    assert shape.dtype == types.INT64 and shape.at(0).tolist() == [2, 3]
    assert shape32.dtype == types.INT32
    assert bytes(layout.at(0)) == b"HW" and source.at(0).size == 0


def test_shape_of_gpu_data_is_known_on_the_cpu():
    assert run(lambda x: x.gpu().shape()).at(0).tolist() == [2, 3]


def test_math_functions_make_floats():
    data = np.array([0.25, 0.5], np.float32)
    for name in ("sqrt", "exp", "log", "sin", "atan", "floor", "ceil", "cbrt", "log2", "tanh"):
        assert np.allclose(
            run(getattr(math, name), data=data).at(0),
            getattr(np, "arctan" if name == "atan" else name)(data),
            atol=1e-6,
        )
    lo, hi, clamped, power = run(
        lambda x: math.min(x, 1), lambda x: math.max(1, x), lambda x: math.clamp(x, -2, 4), lambda x: math.pow(x, 2)
    )
    assert np.array_equal(lo.at(0), np.minimum(A, 1)) and np.array_equal(hi.at(0), np.maximum(A, 1))
    assert np.array_equal(clamped.at(0), A.clip(-2, 4)) and np.array_equal(power.at(0), A**2)


def test_numpy_leaves_nodes_whole():
    assert isinstance(np.int32([1, 2, 3]) + fn.constant(idata=[1]), DataNode)
    assert isinstance(np.float32(2) * fn.constant(idata=[1]), DataNode)


def test_repr_and_hash():
    node = fn.constant(idata=[1], name="n")
    assert repr(node) == 'DataNode(name="n", device="cpu", index=0)'
    assert len({node, node}) == 1
