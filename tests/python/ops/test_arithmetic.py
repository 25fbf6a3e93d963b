"""Operators of nodes and headrace.math: NumPy with DALI's promotion as the oracle, and DALI's golden values."""

import itertools
import operator
import warnings
from itertools import repeat

import golden
import numpy as np
import pytest

import headrace
from headrace import fn, math

# The table of DALI's documentation: the type in which two operands meet.
NAMES = ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float32", "float64")
FLOATS = ("float32", "float64")


def promoted(a: str, b: str) -> np.dtype:
    """NumPy's rule, except that 64-bit integers and floats don't escape to float64."""
    if a in FLOATS or b in FLOATS:
        return np.dtype("float64" if "float64" in (a, b) else "float32")
    joined = np.promote_types(a, b)
    return np.dtype("int64") if joined.kind == "f" else joined


def evaluate(function, *operands, layouts=None):
    """One sample of the result, and the output's layout."""

    @headrace.pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        layout = layouts or [None] * len(operands)
        nodes = [fn.external_source(source=repeat([x]), layout=t) for x, t in zip(operands, layout, strict=True)]
        return function(*nodes)

    (out,) = pipeline().run()
    return np.array(out[0]), out.layout()


@golden.cases("arithmetic", "bitwise", "math", "scalar_operands")
def test_golden(case):
    golden.check(case)


def values(name: str, key: int) -> np.ndarray:
    info = np.iinfo(name) if name not in (*FLOATS, "bool") else None
    numbers = np.random.default_rng(key).integers(-9, 100, 33)
    if info:
        numbers = np.clip(numbers, info.min, info.max)
    return np.where(numbers == 0, 3, numbers).astype(name)


@pytest.mark.parametrize("symbol", ["add", "sub", "mul", "floordiv", "mod", "truediv"])
def test_type_pairs(symbol):
    function = getattr(operator, symbol)
    pairs = [(a, b) for a, b in itertools.product(NAMES, NAMES) if (a, b) != ("bool", "bool")]
    for a, b in pairs:
        x, y = values(a, 1), values(b, 2)
        got, _ = evaluate(function, x, y)
        dtype = promoted(a, b)
        if symbol == "truediv" and dtype.kind != "f":
            dtype = np.dtype("float32")
        left, right = x.astype(dtype), y.astype(dtype)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            if symbol == "floordiv":  # towards zero; floats are plainly divided
                exact = left / right
                expected = exact if dtype.kind == "f" else np.trunc(exact).astype(dtype)
            elif symbol == "mod":
                expected = np.fmod(left, right)
            else:
                expected = function(left, right)
        assert got.dtype == dtype, (a, b)
        np.testing.assert_array_equal(got, expected, err_msg=f"{a} {symbol} {b}")


@pytest.mark.parametrize(
    "shapes",
    [
        ((), (4,)),
        ((2, 3), (3,)),
        ((2, 3), (2, 1)),
        ((4, 1), (1, 5)),
        ((30, 40, 3), (3,)),
        ((30, 40, 3), (30, 1, 3)),
        ((0, 3), (1, 3)),
    ],
)
def test_broadcasting(shapes):
    x, y = (np.arange(np.prod(shape), dtype="float32").reshape(shape) for shape in shapes)
    got, _ = evaluate(lambda a, b: a * 2 - b, x, y)
    np.testing.assert_array_equal(got, x * 2 - y)


def test_ragged_batch_and_nested_expressions():
    images = [np.full((h, 5, 3), h, "uint8") for h in (1, 7, 2)]

    @headrace.pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def pipeline():
        x = fn.external_source(source=lambda: images, layout="HWC")
        return math.clamp((x - np.array([1, 2, 3], "float32")) / 2, 0, 2.5), 1 - x, -x

    scaled, reflected, negative = pipeline().run()
    assert scaled.layout() == "HWC"
    for i, image in enumerate(images):
        expected = np.clip((image.astype("float32") - np.array([1, 2, 3], "float32")) / 2, 0, 2.5)
        np.testing.assert_array_equal(np.array(scaled[i]), expected)
        np.testing.assert_array_equal(np.array(reflected[i]), 1 - image.astype("int32"))
        np.testing.assert_array_equal(np.array(negative[i]), -image)


def test_constants_keep_dalis_types():
    one = np.ones(2, "uint8")
    for constant, dtype in (
        (1, "int32"),
        (1.5, "float32"),
        (True, "uint8"),
        (np.int8(1), "int16"),
        (np.uint64(2**63), "uint64"),
    ):
        got, _ = evaluate(lambda a, c=constant: a + c, one)
        assert got.dtype == dtype, constant
        np.testing.assert_array_equal(got, one.astype(dtype) + np.array(constant).astype(dtype))
    got, _ = evaluate(lambda a: a * 1.1, np.ones(1, "float64"))
    assert got[0] == np.float32(1.1)


def test_comparisons_see_values_across_signs():
    big, minus = np.array([2**63], "uint64"), np.array([-1], "int32")
    assert evaluate(operator.gt, big, minus)[0].tolist() == [True]
    assert evaluate(operator.lt, minus, big)[0].tolist() == [True]
    assert evaluate(operator.ne, np.array([2**64 - 1], "uint64"), np.array([-1], "int64"))[0].tolist() == [True]


def test_edges_of_integers():
    least = np.array([-(2**31)], "int32")
    assert evaluate(operator.floordiv, least, np.array([-1], "int32"))[0][0] == least[0]
    assert evaluate(operator.mod, least, np.array([-1], "int32"))[0][0] == 0
    assert evaluate(lambda a: abs(a), np.array([-128], "int8"))[0][0] == -128
    assert evaluate(operator.lshift, np.array([3, 3], "uint8"), np.array([8, 32], "uint8"))[0].tolist() == [0, 3]


def test_layouts():
    x, row = np.zeros((2, 3), "float32"), np.zeros(3, "float32")
    assert evaluate(operator.add, x, row, layouts=("HW", "W"))[1] == "HW"
    assert evaluate(operator.add, row, x, layouts=(None, "HW"))[1] == "HW"
    with pytest.raises(RuntimeError, match="layouts"):
        evaluate(operator.add, x, row, layouts=("HW", "H"))


FLAG, HALF, ONE = np.ones(1, "bool"), np.ones(1, "float16"), np.ones(1, "int32")


@pytest.mark.parametrize(
    ("error", "function", "operands"),
    [
        (ValueError, operator.floordiv, (ONE, 0 * ONE)),
        (ValueError, operator.mod, (ONE, np.zeros(1, "uint8"))),
        (RuntimeError, operator.add, (FLAG, FLAG)),
        (RuntimeError, operator.truediv, (FLAG, FLAG)),
        (RuntimeError, operator.neg, (FLAG,)),
        (RuntimeError, math.sqrt, (FLAG,)),
        (RuntimeError, operator.add, (HALF, ONE)),
        (RuntimeError, operator.and_, (np.ones(1, "float32"), ONE)),
        (RuntimeError, operator.invert, (np.ones(1, "float32"),)),
        (RuntimeError, operator.add, (np.zeros((2, 3)), np.zeros(4))),
        (RuntimeError, operator.add, (np.zeros((2, 1, 3, 1, 2, 1, 3)), np.zeros((2, 3, 1, 2, 1, 3, 1)))),
        (OverflowError, lambda a: a + 3_000_000_000, (ONE,)),
    ],
)
def test_refusals(error, function, operands):
    with pytest.raises(error):
        evaluate(function, *operands)


def test_bool_products_stay_bool():
    got, _ = evaluate(operator.mul, np.array([True, True]), np.array([True, False]))
    assert got.dtype == bool
    assert got.tolist() == [True, False]
