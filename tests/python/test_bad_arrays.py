"""Batches and tensors from objects that are no arrays, or none that headrace has; wrong calls of their methods."""

import ctypes

import numpy as np
import pytest

from headrace import _core, fn, pipeline_def, types
from headrace.tensors import TensorCPU, TensorListCPU

DATA = [np.arange(12, dtype=np.uint8).reshape(2, 2, 3)] * 2


class WithDlpack:
    """An object that answers the calls of DLPack as told."""

    def __init__(self, capsule, device=(1, 0)):
        self._capsule, self._device = capsule, device

    def __dlpack__(self, **_):
        return self._capsule()

    def __dlpack_device__(self):
        return self._device


def used_capsule():
    capsule = np.zeros(3).__dlpack__()
    TensorCPU(capsule)
    return capsule


def raise_key_error():
    raise KeyError("the program's own")


NO_ARRAYS = [
    (None, TypeError, "NoneType"),
    (5, TypeError, "int"),
    ("text", TypeError, "str"),
    ({}, TypeError, "dict"),
    (object(), TypeError, "object"),
    (np.zeros((2, 3), complex), TypeError, "native byte order"),
    (np.zeros((2, 3), ">i4"), TypeError, "big-endian"),
    (np.zeros((2, 3), ">f8"), TypeError, "big-endian"),
    (np.zeros((2, 3), "U3"), TypeError, "3w"),
    (np.zeros((2, 3), "S3"), TypeError, "3s"),
    (np.zeros((2, 3), object), TypeError, '"O"'),
    (np.zeros((2, 3), "M8[s]"), TypeError, "ndarray"),
    (np.zeros((2, 3), "m8[s]"), TypeError, "ndarray"),
    (np.zeros((2, 3), np.longdouble), TypeError, '"g"'),
    (np.zeros(2, [("a", "i4"), ("b", "f4")]), TypeError, "native byte order"),
    (np.zeros((2,) + (1,) * 17), ValueError, "16 axes"),
    (np.broadcast_to(np.uint8(1), (2, 1 << 61)), MemoryError, "bytes"),
    (WithDlpack(lambda: 5), ValueError, "capsule"),
    (WithDlpack(used_capsule), ValueError, "capsule"),
    (WithDlpack(np.zeros(3).__dlpack__, (2, 0)), TypeError, r"device \(2, 0\)"),
    (WithDlpack(np.zeros(3).__dlpack__, "xy"), TypeError, "__dlpack_device__"),
    (WithDlpack(np.zeros(3).__dlpack__, (1,)), TypeError, "__dlpack_device__"),
    (WithDlpack(raise_key_error), KeyError, "the program's own"),
]


@pytest.mark.parametrize(("value", "error", "message"), NO_ARRAYS)
def test_what_is_no_array_is_refused_everywhere(value, error, message):
    for make in (TensorCPU, TensorListCPU, lambda v: TensorListCPU([v])):
        with pytest.raises((error, TypeError), match=message):
            make(value)
    calls = []

    def source():
        calls.append(value)
        return value if len(calls) == 2 else np.full((2, 3), len(calls), np.float32)

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline():
        return fn.external_source(source, name="the source")

    pipe = pipeline()
    assert pipe.run()[0].at(0).tolist() == [1, 1, 1]
    # A list or a number is no array here, which DALI calls a RuntimeError.
    with pytest.raises((error, RuntimeError), match=message) as raised:
        pipe.run()
    assert error is KeyError or "the source" in str(raised.value)
    assert pipe.run()[0].at(0).tolist() == [3, 3, 3]


@pytest.mark.parametrize("size", [2**31, 2**32 + 1])
def test_a_batch_of_too_many_empty_samples_is_refused(size):
    with pytest.raises(ValueError, match=f"batch.*{size}"):
        TensorListCPU(np.zeros((size, 0), np.uint8))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda b: b[0:2], TypeError, "slice"),
        (lambda b: b["a"], TypeError, "str"),
        (lambda b: b[1.5], TypeError, "float"),
        (lambda b: b[None], TypeError, "NoneType"),
        (lambda b: b[2**70], IndexError, "out of range"),
        (lambda b: b.at(2), RuntimeError, "out-of-range"),
        (lambda b: b.copy_to_external(5), TypeError, "c_void_p"),
        (lambda b: b.copy_to_external(b.data_ptr()), TypeError, "c_void_p"),
        (lambda b: b.copy_to_external(ctypes.c_void_p()), TypeError, "c_void_p"),
        (lambda b: b[0].copy_to_external(2**70), TypeError, "c_void_p"),
        (lambda b: b.as_reshaped_tensor([-2, -12]), RuntimeError, "negative"),
        (lambda b: b.as_reshaped_tensor([2**32, 2**32]), RuntimeError, "large"),
        (lambda b: b.as_reshaped_tensor([3, 8, 2**61 + 1]), RuntimeError, "large"),
        (lambda b: b.as_reshaped_tensor("abc"), TypeError, "'a'"),
        (lambda b: b.as_reshaped_tensor([2.5]), TypeError, "2.5"),
        (lambda b: b.as_reshaped_tensor([24], layout="HW"), ValueError, "HW"),
        (lambda b: b.set_layout("HW"), ValueError, "HW"),
        (lambda b: b.set_layout("H\0W"), ValueError, "ASCII"),
        (lambda b: b.set_layout("Hé"), ValueError, "ASCII"),
        (lambda b: b.reinterpret(types.INT32), RuntimeError, "size"),
        (lambda b: b.reinterpret(types.STRING), RuntimeError, "size"),
        (lambda b: TensorListCPU.broadcast(b[0], -1), ValueError, "-1"),
        (lambda b: TensorListCPU([]).as_array(), BufferError, "empty batch"),
        (lambda b: memoryview(_core.Tensor.__new__(_core.Tensor)), BufferError, "__init__"),
        (lambda b: TensorListCPU([TensorCPU.__new__(TensorCPU)]), TypeError, "__init__"),
    ],
)
def test_wrong_calls_of_batches(call, error, message):
    batch = TensorListCPU(DATA)
    with pytest.raises(error, match=message):
        call(batch)
    np.testing.assert_array_equal(batch.as_array(), np.stack(DATA))


def test_a_broadcast_of_nothing_keeps_the_type():
    batch = TensorListCPU.broadcast(TensorCPU(DATA[0]), 0)
    assert (len(batch), batch.dtype, batch.as_array().dtype) == (0, types.UINT8, np.uint8)


@pytest.mark.parametrize("dtype", [np.uint8, np.float64, np.bool_, np.float16, np.int64])
def test_strided_and_empty_arrays_come_out_right(dtype):
    whole = np.arange(60).reshape(3, 4, 5).astype(dtype)
    views = [whole[:, ::2], whole[::-1], whole.T, whole[:, :, 1:2], whole[:, :0]]
    views.append(np.broadcast_to(whole[:1], (3, 4, 5)))
    views.append(np.asfortranarray(whole))
    for view in views:
        np.testing.assert_array_equal(TensorListCPU(view).as_array(), view)
        np.testing.assert_array_equal(TensorCPU(view).as_array(), view)


def test_arrays_of_other_libraries():
    torch = pytest.importorskip("torch")
    jnp = pytest.importorskip("jax.numpy")
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    for array in (torch.from_numpy(values), torch.from_numpy(values).T, jnp.asarray(values)):
        np.testing.assert_array_equal(TensorListCPU(array).as_array(), np.asarray(array))
    half = TensorListCPU(torch.from_numpy(values).to(torch.bfloat16))
    assert half.dtype == types.BFLOAT16
    with pytest.raises(TypeError):
        TensorListCPU(torch.zeros((2, 3), dtype=torch.complex64))
    with pytest.raises((TypeError, RuntimeError, BufferError)):
        TensorListCPU(torch.zeros((2, 3), requires_grad=True))
