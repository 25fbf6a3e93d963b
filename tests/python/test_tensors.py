"""TensorCPU and TensorListCPU: construction, description, views, DLPack, lifetime, refusals."""

import ctypes
import gc

import numpy as np
import pytest

from headrace import Pipeline, TensorCPU, TensorListCPU, fn, types

DTYPES = [np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32,
          np.float64, np.bool_]  # fmt: skip
RAGGED = [np.arange(3, dtype=np.float32), np.arange(2, dtype=np.float32)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (1, 1, 5), (0, 2)])
def test_arrays_there_and_back(dtype, shape):
    array = np.arange(2 * int(np.prod(shape))).reshape((2, *shape)).astype(dtype)
    for batch in (TensorListCPU(array), TensorListCPU(list(array)), TensorListCPU([TensorCPU(a) for a in array])):
        assert (len(batch), batch.ndim(), batch.shape()) == (2, len(shape), [shape] * 2)
        assert batch.dtype == types.to_dali_type(dtype)
        assert np.array_equal(batch.as_array(), array) and batch.as_array().dtype == dtype
        assert np.array_equal(batch.at(1), array[1]) and np.array_equal(np.asarray(batch[-1]), array[1])
        assert [np.asarray(tensor).tolist() for tensor in batch] == array.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_out_and_in(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    batch = TensorListCPU(array.copy())
    for exporter in (batch, batch.as_tensor()):
        assert exporter.__dlpack_device__() == (1, 0)
        assert np.array_equal(np.from_dlpack(exporter), array)
    assert np.array_equal(np.asarray(TensorCPU(batch.as_tensor().__dlpack__())), array)
    assert np.array_equal(TensorListCPU(batch.__dlpack__()).as_array(), array)


def test_dlpack_versions_and_copies():
    tensor = TensorCPU(np.zeros(3, np.float32))
    assert "dltensor_versioned" in repr(tensor.__dlpack__(max_version=(1, 0)))
    assert "versioned" not in repr(tensor.__dlpack__(stream=None, max_version=None))
    copy = np.from_dlpack(tensor, copy=True)
    np.from_dlpack(tensor)[:] = 5
    assert copy.tolist() == [0, 0, 0] and np.asarray(tensor).tolist() == [5, 5, 5]
    with pytest.raises(BufferError):
        tensor.__dlpack__(dl_device=(2, 0))


def test_unused_and_used_capsules_free_their_memory():
    tensor = TensorCPU(np.zeros(3))
    for _ in range(1000):
        tensor.__dlpack__()
        tensor.__dlpack__(max_version=(1, 1))
    gc.collect()
    assert np.asarray(tensor).tolist() == [0, 0, 0]


def test_views_share_memory_and_keep_it():
    pipe = Pipeline(2, 1)
    pipe.set_outputs(fn.constant(idata=[1, 2, 3]))
    (batch,) = pipe.run()
    assert batch.data_ptr() % 64 == 0 and batch.data_ptr() == batch.as_tensor().data_ptr() == batch[0].data_ptr()
    view, array, memory = np.asarray(batch[1]), batch.as_array(), memoryview(batch[0])
    view[0] = 9
    assert batch.at(1)[0] == 9 and array[1, 0] == 9
    del batch, pipe
    gc.collect()
    assert view.tolist() == [9, 2, 3] and memory.tolist() == [1, 2, 3] and memory.format == "i"


def test_layouts():
    batch = TensorListCPU(np.zeros((2, 4, 3)), "HW")
    assert (batch.layout(), batch[0].layout(), batch.as_tensor().layout()) == ("HW", "HW", "NHW")
    batch.set_layout("AB")
    assert batch[1].layout() == "AB" and batch[1].get_property("layout") == "AB" and batch[1].get_property("x") is None
    batch.set_layout(None)
    assert batch.layout() == ""
    for bad in ("A", "ABC"):
        with pytest.raises(ValueError, match="axes"):
            batch.set_layout(bad)
        with pytest.raises(ValueError, match="axes"):
            TensorListCPU(np.zeros((2, 4, 3)), bad)


def test_ragged_batches():
    batch = TensorListCPU(RAGGED)
    assert not batch.is_dense_tensor() and batch.shape() == [(3,), (2,)]
    for call in (batch.as_array, batch.as_tensor, batch.__dlpack__):
        with pytest.raises(RuntimeError, match=r"ragged.*\(3,\) and \(2,\)"):
            call()
    assert np.asarray(batch.as_reshaped_tensor([5])).tolist() == [0, 1, 2, 0, 1]
    with pytest.raises(RuntimeError, match="elements"):
        batch.as_reshaped_tensor([4])
    with pytest.raises(ValueError):
        np.array(batch)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ([np.zeros(2), np.zeros(2, int)], TypeError),
        ([np.zeros(2), np.zeros((2, 1))], TypeError),
        ([1, 2], TypeError),
        (3, TypeError),
        (np.zeros((2, 2), ">f8"), TypeError),
        (np.zeros((2, 2), complex), TypeError),
    ],
)
def test_lists_refused(data, error):
    with pytest.raises(error):
        TensorListCPU(data)


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda b: b[2], IndexError),
        (lambda b: b[-3], IndexError),
        (lambda b: b[0:1], TypeError),
        (lambda b: b["a"], TypeError),
        (lambda b: b[1.5], TypeError),
        (lambda b: b[None], TypeError),
        (lambda b: b.at(2), RuntimeError),
        (lambda b: b.at(-1), RuntimeError),
        (lambda b: b.copy_to_external(0), TypeError),
        (lambda b: b.copy_to_external("p"), TypeError),
        (lambda b: b + 1, TypeError),
        (lambda b: TensorCPU(3), TypeError),
        (lambda b: b[0].squeeze(4), IndexError),
    ],
)
def test_uses_refused(use, error):
    with pytest.raises(error):
        use(TensorListCPU(np.zeros((2, 3))))


def test_copy_to_external():
    target = np.zeros(5, np.float32)
    TensorListCPU(RAGGED).copy_to_external(ctypes.c_void_p(target.ctypes.data))
    assert target.tolist() == [0, 1, 2, 0, 1]
    TensorCPU(RAGGED[0][::-1]).copy_to_external(ctypes.c_void_p(target.ctypes.data))
    assert target.tolist() == [2, 1, 0, 0, 1]


def test_broadcast_dlpack_list_reset_and_copies():
    batch = TensorListCPU.broadcast(TensorCPU(np.int32([1, 2])), 3)
    assert batch.as_array().tolist() == [[1, 2]] * 3
    assert TensorListCPU.from_dlpack_list(RAGGED, "X").layout() == "X"
    other = TensorListCPU(batch, "Q")
    batch.reset()
    assert (len(batch), len(other), other.layout()) == (0, 3, "Q")
    assert other.as_cpu() is other


def test_squeeze_and_reinterpret():
    tensor = TensorCPU(np.float32([[[1.5]], [[2.5]]]), "HWC")
    assert tensor.squeeze(1) and tensor.shape() == [2, 1] and tensor.layout() == "HC"
    assert not tensor.squeeze(0)
    assert tensor.squeeze() and tensor.shape() == [2]
    tensor.reinterpret(types.UINT32)
    assert np.asarray(tensor).tolist() == np.float32([1.5, 2.5]).view(np.uint32).tolist()
    tensor.reinterpret(types.UINT8)
    assert tensor.shape() == [8]
    with pytest.raises(RuntimeError):
        TensorCPU(np.uint8([1, 2, 3])).reinterpret(types.INT16)
    batch = TensorListCPU(np.int32([[1], [-1]]))
    batch.reinterpret(types.UINT32)
    assert batch.as_array().tolist() == [[1], [2**32 - 1]]


def test_constructors_use_memory_in_place():
    array = np.zeros((2, 3), np.float32)
    for holder in (TensorListCPU(array), TensorCPU(array)):
        assert holder.data_ptr() == array.ctypes.data


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([[1.5, 2.5]], ml_dtypes.bfloat16)
    batch = TensorListCPU(array)
    assert batch.dtype == types.BFLOAT16 and np.array_equal(batch.as_array(), array)
    with pytest.raises(BufferError):
        memoryview(batch[0])


def test_repr_shows_data():
    batch = TensorListCPU(np.int32([[1, 2], [3, 4]]), "W")
    assert "[[1 2]" in repr(batch) and 'layout="W"' in repr(batch) and "num_samples=2" in repr(batch)
    assert "[1 2]" in repr(batch[0]) and "shape=(2,)" in repr(batch[0])
    assert "0" not in repr(TensorListCPU(np.zeros((2000, 1)))).partition("dtype")[0]
    assert "num_samples=0" in repr(TensorListCPU([]))
