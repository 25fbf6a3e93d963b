"""Iterators that can peek: the interface of clu's DatasetIterator (https://github.com/google/CommonLoopUtils)."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import threading
from collections.abc import Callable, Sequence
from typing import Any, Self, Unpack, overload

import jax
import numpy as np

from headrace.plugin.base_iterator import LastBatchPolicy
from headrace.plugin.jax.iterator import DALIGenericIterator, IteratorArguments, Shardings, make_iterator_factory
from headrace.plugin.jax.read_ahead import Ready

try:
    from clu.data.dataset_iterator import ArraySpec  # type: ignore[import-not-found, unused-ignore]
except ImportError:

    @dataclasses.dataclass(frozen=True)
    class ArraySpec:  # type: ignore[no-redef]
        """Element type and shape of an array of a batch; clu's own class where clu is installed."""

        dtype: np.dtype
        shape: tuple[int, ...]


def get_spec_for_array(jax_array: jax.Array) -> ArraySpec:
    """Element type and shape of an array."""
    return ArraySpec(shape=jax_array.shape, dtype=jax_array.dtype)


class DALIGenericPeekableIterator(DALIGenericIterator):
    """A DALIGenericIterator whose next batch can be looked at before it is taken. Arguments: as there.

    All batches must have the same shapes and element types: else ValueError.
    """

    _wants_rows = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("group") is not None:
            raise ValueError("group: a peekable iterator gives single batches; use DALIGenericIterator")
        super().__init__(*args, **kwargs)
        self._lock = threading.RLock()  # peek_async() runs on a thread of its own
        self._peeked: dict[str, jax.Array] | None = None
        self._peeked_rows: np.ndarray | None = None
        self._rows: np.ndarray | None = None
        self._spec: dict[str, ArraySpec] | None = None
        self._thread: concurrent.futures.ThreadPoolExecutor | None = None

    def __next__(self) -> dict[str, jax.Array]:
        with self._lock:
            batch = self.peek()
            self._rows, self._peeked, self._peeked_rows = self._peeked_rows, None, None
            self._in_epoch = True
            return batch

    def peek(self) -> dict[str, jax.Array]:
        """The batch that the next ``next()`` gives; StopIteration at the end of an epoch."""
        with self._lock:
            if self._peeked is None:
                in_epoch = self._in_epoch
                batch = super().__next__()
                self._in_epoch = in_epoch
                self._check_spec(batch)
                self._peeked = batch
            return self._peeked

    def peek_async(self) -> concurrent.futures.Future[dict[str, jax.Array]]:
        """peek() on another thread. RuntimeError with JAX functions over several devices in the graph."""
        if self._group.has_joint_operators:
            raise RuntimeError(
                "peek_async: the pipelines call JAX functions over several devices, which must be called on the thread "
                "that runs the program's other computations; use peek()"
            )
        if self._thread is None:
            self._thread = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="headrace-peek")
        return self._thread.submit(self.peek)

    def _masks(self, outputs: Any) -> list[np.ndarray]:
        masks = super()._masks(outputs)
        self._peeked_rows = np.concatenate(masks)
        return masks

    def _next_outputs(self) -> Any:
        outputs, rows = super()._next_outputs()
        if not self._mask_name or isinstance(outputs, Ready):
            self._masks(outputs)
        return outputs, rows

    def _check_spec(self, batch: dict[str, jax.Array]) -> None:
        spec = {name: get_spec_for_array(array) for name, array in batch.items()}
        if self._spec is None:
            self._spec = spec
        elif spec != self._spec:
            raise ValueError(
                "The shape or type of an output changed between iterations, which a peekable iterator does not "
                f"support: it was {self._spec}, now it is {spec}"
            )

    @property
    def element_spec(self) -> dict[str, ArraySpec]:
        """Element type and shape of each array of a batch; peeks if no batch was read yet."""
        if self._spec is None:
            self.peek()
        assert self._spec is not None
        return self._spec

    @property
    def is_nonpadding(self) -> np.ndarray | None:
        """For each row of the last batch: it is neither padding nor a replacement; None before the first batch."""
        return self._rows

    def __iter__(self) -> Self:
        return self if self._peeked is not None else super().__iter__()

    def reset(self) -> None:
        """As in the class above; a batch that was peeked at and not taken belongs to the present epoch."""
        if self._peeked is None:
            super().reset()

    def checkpoints(self) -> list[bytes]:
        """As in the class above; RuntimeError after peek(), since the peeked batch counts as read."""
        if self._peeked is not None:
            raise RuntimeError("checkpoints: take the batch that was peeked at first")
        return super().checkpoints()


@overload
def peekable_data_iterator(
    pipeline_fn: Callable[..., Any], output_map: Sequence[str], **arguments: Unpack[IteratorArguments]
) -> Callable[..., DALIGenericPeekableIterator]: ...


@overload
def peekable_data_iterator(
    pipeline_fn: None = None, *, output_map: Sequence[str], **arguments: Unpack[IteratorArguments]
) -> Callable[[Callable[..., Any]], Callable[..., DALIGenericPeekableIterator]]: ...


def peekable_data_iterator(
    pipeline_fn: Callable[..., Any] | None = None,
    output_map: Sequence[str] = (),
    size: int = -1,
    reader_name: str | None = None,
    auto_reset: str | bool | None = False,
    last_batch_padded: bool = False,
    last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
    prepare_first_batch: bool = True,
    sharding: Shardings | None = None,
    devices: Sequence[jax.Device] | None = None,
    pmap_compatible: bool | None = None,
    *,
    exact_epochs: bool = False,
    mask_name: str | None = None,
    on_error: str | None = None,
) -> Callable[..., Any]:
    """data_iterator() with iterators that can peek. Arguments: as there."""
    arguments = {
        "size": size,
        "reader_name": reader_name,
        "auto_reset": auto_reset,
        "last_batch_padded": last_batch_padded,
        "last_batch_policy": last_batch_policy,
        "prepare_first_batch": prepare_first_batch,
        "pmap_compatible": pmap_compatible,
        "exact_epochs": exact_epochs,
        "mask_name": mask_name,
    }

    return make_iterator_factory(
        DALIGenericPeekableIterator, pipeline_fn, output_map, sharding, devices, on_error, arguments
    )
