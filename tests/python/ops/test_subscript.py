"""Subscripts of nodes: the same text is evaluated on NumPy arrays."""

import golden
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_op import run

import headrace

BATCH = [np.arange(5 * 7 * 3, dtype=np.uint16).reshape(5, 7, 3), np.arange(4 * 2 * 6, dtype=np.uint16).reshape(4, 2, 6)]


@golden.cases("subscript")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize(
    "text",
    ["x[0]", "x[-1]", "x[1, -2]", "x[0, 0, 0]", "x[:, 1]", "x[:]", "x[1:, ::2, ::-1]",
     "x[-100:100:3]", "x[100::-1, 0]", "x[-100::-1]", "x[3:1]", "x[:, :, 2:0:-1]", "x[::-2, 1:2, -2]", "x[:-1, :-1]"],
)  # fmt: skip
def test_same_as_numpy(text):
    [output] = run(lambda x: eval(text, {"x": x}), BATCH)
    for got, sample in zip(output.samples, BATCH, strict=True):
        np.testing.assert_array_equal(got, eval(text, {"x": sample}))


bounds = st.none() | st.integers(-9, 9)
slices = st.builds(slice, bounds, bounds, st.none() | st.integers(-4, 4).filter(bool))


@settings(max_examples=40, deadline=None)
@given(st.tuples(slices, slices, slices))
def test_any_slices(subscripts):
    [output] = run(lambda x: x[subscripts], BATCH)
    for got, sample in zip(output.samples, BATCH, strict=True):
        np.testing.assert_array_equal(got, sample[subscripts])


def test_nodes_as_indices_and_bounds():
    at, low = [np.int32(1), np.int32(-1)], [np.uint8(1), np.uint8(0)]
    one, part = run(lambda x, i, lo: (x[i, lo], x[lo:, i::-1]), BATCH, at, low)
    for i, sample in enumerate(BATCH):
        np.testing.assert_array_equal(one.samples[i], sample[at[i], low[i]])
        np.testing.assert_array_equal(part.samples[i], sample[low[i] :, at[i] :: -1])


def test_layout_and_new_axes():
    new = headrace.newaxis
    outputs = run(lambda x: (x[0], x[:, 0], x[new, 0], x[:, new("D")], x[None]), BATCH, layouts=["HWC"])
    assert [output.layout for output in outputs] == ["WC", "HC", "", "HDWC", "HWC"]
    np.testing.assert_array_equal(outputs[2].samples[0], BATCH[0][np.newaxis, 0])
    np.testing.assert_array_equal(outputs[3].samples[0], BATCH[0][:, np.newaxis])
    np.testing.assert_array_equal(outputs[4].samples[0], BATCH[0])


@pytest.mark.parametrize(
    ("text", "error"),
    [("x[9]", RuntimeError), ("x[-6]", RuntimeError), ("x[0, 0, 0, 0]", RuntimeError), ("x[:, :, :, :]", RuntimeError),
     ("x[[0]]", TypeError), ("x[1.5]", TypeError), ("x[f]", RuntimeError), ("x[v]", RuntimeError)],
)  # fmt: skip
def test_refused(text, error):
    with pytest.raises(error):
        run(lambda x, f, v: eval(text, {"x": x, "f": f, "v": v}), BATCH, [np.float32(1)] * 2, [np.array([1])] * 2)
