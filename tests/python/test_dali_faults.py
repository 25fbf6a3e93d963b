"""Input that crashes DALI 2.4, or that it takes and answers wrongly: here a right answer or an error that says why.

More of them: test_bad_arrays.py (array types, indices of tensor lists), test_decoders_image.py (ANY_DATA).
"""

import numpy as np
import pytest

from headrace import Pipeline, fn, pipeline_def, types


def run(graph) -> np.ndarray:
    """The first sample of a pipeline of one output."""

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline():
        return graph()

    return np.asarray(pipeline().run()[0].at(0))


def test_a_shuffling_reader_needs_something_to_choose_from(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    with pytest.raises(RuntimeError, match="initial_fill: expected at least 1, got 0"):
        run(lambda: fn.readers.file(files=[str(tmp_path / "a")], random_shuffle=True, initial_fill=0)[0])


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_reductions_compute_wider_than_their_result(name: str):
    data = np.full(1000, 200, np.uint8)
    wide = getattr(np, name)(data.astype(np.int64))
    assert run(lambda: getattr(fn.reductions, name)(types.Constant(data), dtype=types.UINT8)) == min(wide, 255)


def test_squeeze_counts_negative_axes_from_the_end():
    assert run(lambda: fn.squeeze(types.Constant(np.zeros((3, 1), np.float32)), axes=[-1])).shape == (3,)


@pytest.mark.parametrize("make", [Pipeline, pipeline_def])
def test_an_unknown_setting_is_named(make):
    with pytest.raises(TypeError, match=rf"{make.__name__}\(\) got an unexpected keyword argument 'batch_sise'"):
        make(batch_sise=3)


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**40])
def test_integers_beyond_32_bits_do_not_wrap(value: int):
    with pytest.raises(OverflowError, match=f"{value} is out of range for int32"):
        run(lambda: types.Constant(value))
    assert run(lambda: types.Constant(value, dtype=types.INT64)) == value
