"""get_property, shapes, copy, and the moves between devices: what the input says is the oracle."""

import golden
import numpy as np
import pytest
from run_op import run

from headrace import fn, types

BATCH = [np.arange(6).reshape(2, 3), np.zeros((0, 4), int)]


@golden.cases("get_property")
def test_golden(case):
    golden.check(case)


def test_layout_and_missing_source():
    layout, source = run(lambda x: (fn.get_property(x, key="layout"), x.source_info()), BATCH, layouts=["HW"])
    assert layout.samples[0].tobytes() == b"HW"
    assert [sample.shape for sample in source.samples] == [(0,), (0,)]


def test_source_of_a_file(tmp_path):
    folder = tmp_path / "kind"
    folder.mkdir()
    (folder / "a.jpg").write_bytes(b"content")

    def graph():
        data, label = fn.readers.file(file_root=str(tmp_path))
        return data.source_info(), fn.reshape(data, shape=[-1, 1]).property("source_info"), label.source_info()

    outputs = run(graph)
    assert [output.samples[0].tobytes() for output in outputs] == [b"kind/a.jpg", b"kind/a.jpg", b""]


def test_unknown_property():
    with pytest.raises(RuntimeError, match="colour"):
        run(lambda x: fn.get_property(x, key="colour"), BATCH)


@pytest.mark.parametrize(
    ("dtype", "numpy_dtype"),
    [(None, np.int64), (types.INT32, np.int32), (types.UINT64, np.uint64), (types.FLOAT, np.float32)],
)
def test_shape(dtype, numpy_dtype):
    [output] = run(lambda x: x.shape(dtype=dtype) if dtype else x.shape(), BATCH)
    for got, sample in zip(output.samples, BATCH, strict=True):
        assert got.dtype == numpy_dtype
        assert got.tolist() == list(sample.shape)


def test_shape_of_scalars_and_refused_types():
    [output] = run(lambda x: x.shape(), [np.float32(1)])
    assert output.samples[0].shape == (0,)
    with pytest.raises(RuntimeError, match="dtype"):
        run(lambda x: x.shape(dtype=types.UINT8), BATCH)


def test_shapes_is_deprecated():
    with pytest.warns(DeprecationWarning):
        [output] = run(lambda x: fn.shapes(x, type=types.INT32), BATCH)
    assert output.samples[0].tolist() == [2, 3]


def test_copy_and_device_moves_keep_everything():
    copied, moved = run(lambda x: (fn.copy(x), fn.copy(x.gpu()).cpu()), BATCH, layouts=["HW"])
    for output in (copied, moved):
        assert output.layout == "HW"
        for got, sample in zip(output.samples, BATCH, strict=True):
            np.testing.assert_array_equal(got, sample)
