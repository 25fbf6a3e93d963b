"""JAX functions that see the global batch of all pipelines and processes.

Note [joint order]: XLA runs a program over several devices when all of them have been told to. Two processes that tell
them in different orders, or two threads of one process, wait for each other for ever. So these functions are called on
one thread, the one that asks for batches, and which are called there depends on nothing but the number of batches
asked for (PipelineGroup.prefetch).
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.sharding import Sharding

from headrace import _core
from headrace.callbacks import Callback, Output, call_user
from headrace.plugin.jax.local_function import checked_results, choose_layout, dense_arrays
from headrace.plugin.jax.pace import needs_pace
from headrace.plugin.jax.placement import Global
from headrace.plugin.jax.row_shards import RowShards, row_shards

if TYPE_CHECKING:
    from headrace.pipeline import Pipeline


class _Results:
    """What a function returned for one iteration, and the rows that one pipeline of this process gets."""

    def __init__(self, arrays: Sequence[Any], shards: RowShards, shard: int) -> None:
        self._arrays = arrays
        self._shards = shards
        self._shard = shard

    def rows(self, size: int) -> list[np.ndarray]:
        """Waits for the results. For each the ``size`` rows of this pipeline."""
        call_user(jax.block_until_ready, [list(self._arrays)])
        rows = []
        for number, array in enumerate(self._arrays):
            expected = size * self._shards.num_shards
            if array.shape[0] != expected:
                raise RuntimeError(
                    f"output {number} of the function has {array.shape[0]} rows, the global batch has {expected}"
                )
            rows.append(_local_rows(array, self._shard * size, size, number))
        return rows


def _local_rows(array: Any, first: int, count: int, number: int) -> np.ndarray:
    """Rows of a global array from the shards of this process: a view of one if that has them, else put together."""
    whole = tuple(slice(0, extent) for extent in array.shape)
    pieces: dict[Any, Any] = {}
    for shard in array.addressable_shards:
        index = tuple(slice(*part.indices(extent)) for part, extent in zip(shard.index, array.shape, strict=True))
        start, stop = max(first, index[0].start), min(first + count, index[0].stop)
        if start >= stop:
            continue
        if stop - start == count and index[1:] == whole[1:]:
            return np.asarray(shard.data)[first - index[0].start :][:count]
        pieces.setdefault(tuple((part.start, part.stop) for part in index), (start, stop, index, shard))
    rows = np.empty((count, *array.shape[1:]), array.dtype)
    filled = 0
    for start, stop, index, shard in pieces.values():
        part = np.asarray(shard.data)[start - index[0].start : stop - index[0].start]
        rows[(slice(start - first, stop - first), *index[1:])] = part
        filled += part.size
    if filled != rows.size:
        raise RuntimeError(
            f"output {number} of the function: rows {first} .. {first + count - 1} belong to a pipeline of this "
            f"process, but its devices have only {filled} of {rows.size} elements of them; the result is cut as "
            f"{array.sharding}: cut it like the input, for example by out_specs or out_shardings"
        )
    return rows


class JointCallback(Callback):
    """Calls the function for all pipelines of a group at once; each gets its rows of the result.

    Args:
        function: gets a global array for each input.
        layouts: of the outputs; None: that of the input.
        sharding: of the inputs, over several devices.
        pipeline: the one that the node belongs to.
    """

    is_joint = True

    def __init__(
        self,
        function: Callable[..., Any],
        layouts: list[str | None],
        sharding: Sharding,
        pipeline: Pipeline | None,
    ) -> None:
        super().__init__()
        self._function = function
        self._layouts = layouts
        self._sharding = sharding
        self._pipeline = weakref.ref(pipeline) if pipeline is not None else lambda: None
        self._place: tuple[RowShards, Global] | None = None
        self._one_at_a_time = needs_pace(sharding.device_set)
        self._last: Sequence[Any] = ()
        self.spans_processes = not sharding.is_fully_addressable

    def dispatch(self, inputs: list[list[_core.Batch]]) -> Sequence[Any]:
        shards, place = self._place or self._choose_place(len(inputs))
        plans = [dense_arrays(batches) for batches in inputs]
        if self._one_at_a_time:  # Several CPU devices share a pool of threads: see plugin/jax/pace.py.
            call_user(jax.block_until_ready, [list(self._last)])
        arrays = [place([arrays[number] for arrays in plans]) for number in range(len(plans[0]))]
        results = checked_results(call_user(self._function, arrays), len(self._layouts), (jax.Array,))
        self._last = results if self._one_at_a_time else ()
        return [_Results(results, shards, shard) for shard in shards.local]

    def _choose_place(self, num_pipelines: int) -> tuple[RowShards, Global]:
        pipeline = self._pipeline()
        shards = pipeline._row_shards if pipeline is not None else None
        if shards is None:
            shards = row_shards([self._sharding])
        blocks = row_shards([self._sharding])
        if len(shards.local) != num_pipelines:
            raise RuntimeError(
                f"sharding: this process holds {len(shards.local)} of {shards.num_shards} shards of rows and needs a "
                f"pipeline for each, but {num_pipelines} run together; give data_iterator the same sharding"
            )
        if math.lcm(shards.num_shards, blocks.num_shards) != shards.num_shards:
            raise RuntimeError(
                f"sharding: it cuts the rows into {blocks.num_shards} blocks, but the iterator's global batch has "
                f"{shards.num_shards} shards, which cannot be joined to such; give data_iterator the same sharding"
            )
        self._place = shards, Global(self._sharding, shards)
        return self._place

    def run(self, size: int, inputs: list[_core.Batch], writable: list[bool], dispatched: Any) -> Sequence[Output]:
        return [
            (rows, choose_layout(self._layouts[number], number, rows.ndim - 1, inputs), False)
            for number, rows in enumerate(dispatched.rows(size))
        ]
