"""The PyTorch iterators: lists of dicts, no copies, last batches, ragged outputs."""

import numpy as np
import pytest
from pipelines import constant_batches, from_source
from shard_stream import case_name, epoch_cases
from test_iterator_epochs import iterator_arguments, pipelines_of

torch = pytest.importorskip("torch")

from headrace import fn, pipeline_def, types  # noqa: E402
from headrace.plugin import pytorch  # noqa: E402
from headrace.plugin.base_iterator import LastBatchPolicy  # noqa: E402
from headrace.plugin.pytorch import (  # noqa: E402
    DALIClassificationIterator,
    DALIGenericIterator,
    DALIRaggedIterator,
    feed_ndarray,
)

PARTIAL = [case for case in epoch_cases() if case["policy"] == "PARTIAL" and "epochs" in case]


@pytest.mark.parametrize("case", PARTIAL[::3], ids=case_name)
def test_partial_epochs_equal_dalis(case, numbered_files):
    iterator = DALIGenericIterator(pipelines_of(case, numbered_files), ["label"], **iterator_arguments(case))
    for expected in case["epochs"]:
        assert (len(iterator), iterator.size) == (expected["len"], expected["size"])
        assert [[part["label"].ravel().tolist() for part in batch] for batch in iterator] == expected["batches"]


def watch_pointers(iterator):
    pointers = []
    original = iterator._next_outputs

    def watched():
        outputs, rows = original()
        pointers.append(outputs[0][0].data_ptr())
        return outputs, rows

    iterator._next_outputs = watched
    return pointers


DTYPES = {
    types.UINT8: torch.uint8,
    types.INT64: torch.int64,
    types.BOOL: torch.bool,
    types.FLOAT16: torch.float16,
    types.BFLOAT16: torch.bfloat16,
    types.FLOAT: torch.float32,
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_are_the_pipelines_memory(dtype):
    @pipeline_def(batch_size=2, num_threads=1)
    def pipe():
        return fn.cast(fn.external_source(constant_batches(4, (2, 3), np.int32)), dtype=dtype)

    iterator = DALIGenericIterator(pipe(), ["x"])
    pointers = watch_pointers(iterator)
    held = []
    for k, batch in enumerate(iterator):
        tensor = batch[0]["x"]
        assert tensor.dtype == DTYPES[dtype]
        assert tensor.data_ptr() == pointers[-1]
        assert (tensor == (k > 0 if dtype == types.BOOL else k)).all()
        held.append(tensor)
    assert (held[0] == 0).all()


def test_classification(numbered_files):
    @pipeline_def(batch_size=4, num_threads=1)
    def pipe():
        return tuple(fn.readers.file(files=numbered_files[:6], name="reader"))

    iterator = DALIClassificationIterator(pipe(), reader_name="reader", last_batch_policy=LastBatchPolicy.PARTIAL)
    batches = [(b[0]["data"].ravel().tolist(), b[0]["label"].ravel().tolist()) for b in iterator]
    assert batches == [([0, 1, 2, 3], [0, 1, 2, 3]), ([4, 5], [4, 5])]


def test_fill_last_batch_is_an_old_name(numbered_files):
    @pipeline_def(batch_size=4, num_threads=1)
    def pipe():
        return tuple(fn.readers.file(files=numbered_files[:6], name="reader"))

    with pytest.warns(UserWarning, match="last_batch_policy"):
        iterator = DALIClassificationIterator(pipe(), reader_name="reader", fill_last_batch=False)
    assert [len(batch[0]["label"]) for batch in iterator] == [4, 2]


def ragged(kinds):
    data = [np.arange(2 * n, dtype=np.float32).reshape(n, 2) + 1 for n in (1, 3, 2)]
    iterator = DALIRaggedIterator(from_source([data], 3), ["x"], output_types=kinds)
    return data, next(iterator)[0]["x"]


def test_ragged_as_a_list():
    data, tensors = ragged(["sparse_list"])
    assert len(tensors) == 3
    for expected, tensor in zip(data, tensors, strict=True):
        np.testing.assert_array_equal(tensor.numpy(), expected)


def test_ragged_as_a_sparse_tensor():
    data, tensor = ragged(["sparse_coo"])
    expected = np.zeros((3, 3, 2), np.float32)
    for row, sample in enumerate(data):
        expected[row, : len(sample)] = sample
    np.testing.assert_array_equal(tensor.to_dense().numpy(), expected)


def test_ragged_outputs_need_a_kind():
    with pytest.raises(AssertionError, match="output_types"):
        ragged(["sparse"])
    with pytest.raises(RuntimeError):
        ragged(None)
    iterator = DALIGenericIterator(from_source([[np.zeros(2), np.zeros(3)]], 2), ["speech"])
    with pytest.raises(RuntimeError, match="'speech'"):
        next(iterator)


def test_the_mask(numbered_files):
    @pipeline_def(batch_size=4, num_threads=1)
    def pipe():
        return tuple(fn.readers.file(files=numbered_files[:6], name="reader"))

    iterator = DALIClassificationIterator(pipe(), reader_name="reader", exact_epochs=True)
    assert [batch[0]["mask"].tolist() for batch in iterator] == [[True] * 4, [True, True, False, False]]


def test_feed_ndarray():
    batch = from_source(constant_batches(2, (2, 3)), 2).run()[0]
    target = torch.ones(2, 3)
    assert feed_ndarray(batch, target) is target
    assert (target == 0).all()
    with pytest.raises(AssertionError, match="Shapes"):
        feed_ndarray(batch, torch.ones(3, 2))
    with pytest.raises(AssertionError, match="element type"):
        feed_ndarray(batch, torch.ones(2, 3, dtype=torch.int32))


@pipeline_def(batch_size=2, num_threads=1)
def on_both_devices():
    x = fn.external_source(constant_batches(2, (2, 3)))
    moved = x.gpu()
    return x, moved, moved + np.float32(1), fn.cast(x, dtype=types.UINT8, device="gpu"), x + np.float32(2)


class RecordedUploads:
    """Stands for pinned memory and a CUDA device: notes what goes where, and keeps it in host memory."""

    def __init__(self, monkeypatch):
        self.devices = []
        monkeypatch.setattr(pytorch, "_has_cuda", lambda: True)
        monkeypatch.setattr(pytorch, "_placed", self.place)

    def place(self, tensor, device):
        self.devices.append(device)
        return tensor if device is None else tensor.clone()


@pytest.mark.parametrize("device_id, cuda", [(0, "cuda:0"), (1, "cuda:1"), (None, None), (-99999, None)])
def test_outputs_of_the_gpu_go_to_cuda(monkeypatch, device_id, cuda):
    recorded = RecordedUploads(monkeypatch)
    pipe = on_both_devices(device_id=device_id)
    batch = next(DALIGenericIterator(pipe, list("abcde")))[0]
    expected = torch.device(cuda) if cuda else None
    assert recorded.devices == [None, expected, expected, expected, None]
    assert [batch[name][0, 0].item() for name in "abcde"] == [0, 0, 1, 0, 2]


def test_without_cuda_all_outputs_stay_in_host_memory(monkeypatch):
    monkeypatch.setattr(pytorch, "_has_cuda", lambda: False)
    batch = next(DALIGenericIterator(on_both_devices(device_id=0), list("abcde")))[0]
    assert {tensor.device.type for tensor in batch.values()} == {"cpu"}


@pytest.mark.parametrize("kind", ["sparse_list", "sparse_coo"])
def test_ragged_outputs_of_the_gpu(monkeypatch, kind):
    recorded = RecordedUploads(monkeypatch)
    monkeypatch.setattr(pytorch, "_devices_of_outputs", lambda pipe: [torch.device("cpu")])

    @pipeline_def(batch_size=2, num_threads=1, device_id=0)
    def pipe():
        return fn.external_source([[np.ones((1, 2), np.float32), np.ones((3, 2), np.float32)]]).gpu()

    tensors = next(DALIRaggedIterator(pipe(), ["x"], output_types=[kind]))[0]["x"]
    assert recorded.devices == [torch.device("cpu")] * 2
    dense = [t.tolist() for t in tensors] if kind == "sparse_list" else tensors.to_dense().tolist()
    ones = [1.0, 1.0]
    assert dense == ([[ones], [ones] * 3] if kind == "sparse_list" else [[ones, [0, 0], [0, 0]], [ones] * 3])
