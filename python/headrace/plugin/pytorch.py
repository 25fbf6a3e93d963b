"""Iterators for PyTorch: a list with one dict of tensors for each pipeline.

Outputs that are on the GPU by the graph (``device="mixed"``, ``"gpu"``, ``.gpu()``) come as tensors on the CUDA device
of number ``device_id`` if PyTorch has CUDA, the others in host memory.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from headrace.pipeline import Pipeline
from headrace.plugin.base_iterator import BaseIterator, LastBatchPolicy
from headrace.plugin.epochs import SizeEpochs
from headrace.tensors import TensorCPU, TensorListCPU

__all__ = [
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIRaggedIterator",
    "LastBatchPolicy",
    "feed_ndarray",
    "to_torch_tensor",
]

DENSE_TAG = "dense"
SPARSE_LIST_TAG = "sparse_list"
SPARSE_COO_TAG = "sparse_coo"


def to_torch_tensor(dali_tensor: TensorCPU | TensorListCPU, copy: bool = False) -> torch.Tensor:
    """A tensor, or a batch of equal shapes, as a torch.Tensor of the same memory, or of a copy."""
    tensor = torch.from_dlpack(dali_tensor)
    return tensor.clone() if copy else tensor


def feed_ndarray(dali_tensor: TensorCPU | TensorListCPU, arr: torch.Tensor, cuda_stream: Any = None) -> torch.Tensor:
    """Copies a tensor, or a batch of equal shapes, into ``arr``, which must have its shape and type.

    Args:
        cuda_stream: accepted without effect, since the data is in host memory.
    """
    source = torch.from_dlpack(dali_tensor)
    assert list(source.shape) == list(arr.shape), (
        f"Shapes do not match: DALI tensor has size {list(source.shape)}, but PyTorch Tensor has size {list(arr.shape)}"
    )
    assert source.dtype == arr.dtype, (
        f"The element type of DALI Tensor/TensorList doesn't match: {source.dtype} vs {arr.dtype}"
    )
    arr.copy_(source)
    return arr


def _has_cuda() -> bool:
    return torch.cuda.is_available()


def _placed(tensor: torch.Tensor, device: torch.device | None) -> torch.Tensor:
    """The tensor itself, or a copy on a CUDA device, ordered on PyTorch's current stream without waiting for it.

    PyTorch keeps the pinned memory until the copy was made.
    """
    return tensor if device is None else tensor.pin_memory().to(device, non_blocking=True)


def _devices_of_outputs(pipe: Pipeline) -> list[torch.device | None]:
    """Where each output goes; None: it stays in host memory."""
    graph = pipe._make_graph()
    if pipe.device_id is None or pipe.device_id < 0 or not _has_cuda():
        return [None] * len(graph.outputs())
    nodes = graph.nodes()
    cuda = torch.device("cuda", pipe.device_id)
    return [None if nodes[node]["device"] == "cpu" else cuda for node, _ in graph.outputs()]


class _Part(NamedTuple):
    """What one pipeline gives of a batch.

    Attributes:
        rows: how many count; None: all.
        devices: where each output goes; None: host memory.
    """

    outputs: tuple[TensorListCPU, ...]
    rows: int | None
    devices: list[torch.device | None]


class _TorchIterator(BaseIterator):
    """Arguments: see BaseIterator; fill_last_batch is an old name of FILL and PARTIAL, dynamic_shape has no effect."""

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        **ours: Any,
    ) -> None:
        if fill_last_batch is not None:
            warnings.warn("Please do not use `fill_last_batch` and use `last_batch_policy` instead.", stacklevel=3)
            last_batch_policy = LastBatchPolicy.FILL if fill_last_batch else LastBatchPolicy.PARTIAL
        super().__init__(
            pipelines,
            output_map,
            size,
            reader_name,
            auto_reset,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
            **ours,
        )
        self._devices = [_devices_of_outputs(pipe) for pipe in self._pipes]

    def _next_parts(self) -> list[_Part]:
        outputs, rows = self._next_outputs()
        counts: list[int | None] = list(rows) if rows is not None else [None] * len(outputs)
        parts = [_Part(*part) for part in zip(outputs, counts, self._devices, strict=True)]
        # With `size` whole pipelines beyond it are left out; readers may lack samples and then give an empty batch.
        return [part for part in parts if part.rows != 0 or not isinstance(self._counter, SizeEpochs)]

    def _mask(self, outputs: tuple[TensorListCPU, ...], rows: int | None) -> torch.Tensor:
        return torch.from_numpy(self._masks([outputs])[0][:rows])


class DALIGenericIterator(_TorchIterator):
    """Iterates over batches as lists with one dict per pipeline, from the names in ``output_map`` to tensors.

    Tensors in host memory are the pipelines' memory, which they keep: nothing is copied.

    Args:
        pipelines, output_map, size, reader_name, auto_reset, last_batch_padded, last_batch_policy,
            prepare_first_batch, exact_epochs, mask_name, checkpoints: see
            :class:`~headrace.plugin.base_iterator.BaseIterator`.
        fill_last_batch: old: True is FILL, False is PARTIAL.
        dynamic_shape: accepted without effect.
    """

    def __next__(self) -> list[dict[str, torch.Tensor]]:
        batch = []
        for outputs, rows, devices in self._next_parts():
            entry = {}
            for name, output, device in zip(self.output_map, outputs, devices, strict=False):
                try:
                    tensor = to_torch_tensor(output)
                except RuntimeError as error:
                    raise RuntimeError(f"output {name!r}: {error}") from error
                entry[name] = _placed(tensor if rows is None else tensor[:rows], device)
            if self._mask_name:
                entry[self._mask_name] = self._mask(outputs, rows)
            batch.append(entry)
        return batch


class DALIClassificationIterator(DALIGenericIterator):
    """A DALIGenericIterator whose outputs are ``"data"`` and ``"label"``. Arguments: as there."""

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        **ours: Any,
    ) -> None:
        super().__init__(
            pipelines,
            ["data", "label"],
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            dynamic_shape,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
            **ours,
        )


class DALIRaggedIterator(_TorchIterator):
    """Iterates over batches whose samples may differ in shape.

    Args:
        output_types: for each output how it comes: ``"dense"`` (one tensor, the default), ``"sparse_list"`` (a list of
            tensors) or ``"sparse_coo"`` (one sparse tensor of the largest shape, with a leading batch axis).

    The others: see :class:`DALIGenericIterator`.
    """

    DENSE_TAG = DENSE_TAG
    SPARSE_LIST_TAG = SPARSE_LIST_TAG
    SPARSE_COO_TAG = SPARSE_COO_TAG

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        output_types: Sequence[str] | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        **ours: Any,
    ) -> None:
        kinds = [DENSE_TAG] * len(output_map) if output_types is None else list(output_types)
        assert len(kinds) == len(output_map) and set(kinds) <= {DENSE_TAG, SPARSE_LIST_TAG, SPARSE_COO_TAG}, (
            f"output_types: expected one of dense, sparse_list, sparse_coo for each output, got {kinds}"
        )
        self._kinds = kinds
        super().__init__(
            pipelines,
            output_map,
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            dynamic_shape,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
            **ours,
        )

    def __next__(self) -> list[dict[str, Any]]:
        batch = []
        for outputs, rows, devices in self._next_parts():
            entry = {}
            for name, kind, output, device in zip(self.output_map, self._kinds, outputs, devices, strict=False):
                entry[name] = _ragged(output, kind, rows, device)
            if self._mask_name:
                entry[self._mask_name] = self._mask(outputs, rows)
            batch.append(entry)
        return batch


def _ragged(output: TensorListCPU, kind: str, rows: int | None, device: torch.device | None) -> Any:
    if kind == DENSE_TAG:
        return _placed(to_torch_tensor(output)[:rows], device)
    samples = [_placed(torch.from_dlpack(tensor), device) for tensor in itertools.islice(output, rows)]
    if kind == SPARSE_LIST_TAG:
        return samples
    indices = [
        torch.cat([torch.full((1, part.numel()), row, device=device), _all_indices(part)])
        for row, part in enumerate(samples)
    ]
    extents = [max(sizes) for sizes in zip(*(part.shape for part in samples), strict=True)]
    return torch.sparse_coo_tensor(
        torch.cat(indices, dim=1), torch.cat([part.flatten() for part in samples]), [len(samples), *extents]
    )


def _all_indices(tensor: torch.Tensor) -> torch.Tensor:
    """(ndim, numel): the index of each element in C order."""
    return torch.ones(tensor.shape, dtype=torch.bool, device=tensor.device).nonzero().T
