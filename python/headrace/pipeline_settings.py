"""PipelineSettings: the constructor's arguments of Pipeline, checked, and the properties that give them back."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from headrace import graph_builder, types
from headrace.machine import available_memory, default_num_threads
from headrace.output_checks import OutputChecks

logger = logging.getLogger("headrace")

_said_no_cuda = False


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"Pipeline: {name}: expected an integer, got {value!r}")
    number = value.__index__()
    if not 1 <= number < 2**31:
        raise ValueError(f"Pipeline: {name}: expected a number from 1 to 2^31 - 1, got {number}")
    return number


def _memory_limit(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"Pipeline: memory_limit: expected a number of bytes, got {value!r}")
    number = value.__index__()
    if not 0 < number < 2**63:
        raise ValueError(f"Pipeline: memory_limit: expected a positive number of bytes, got {number}")
    return number


def _decoder_index_memory(value: Any) -> int:
    if value is None:
        return available_memory() // 100
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"Pipeline: decoder_index_memory: expected a number of bytes, got {value!r}")
    number = value.__index__()
    if not 0 <= number < 2**63:
        raise ValueError(f"Pipeline: decoder_index_memory: expected a number of bytes, 0 or more, got {number}")
    return number


def _device_id(value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not hasattr(value, "__index__")):
        raise TypeError(f"Pipeline: device_id: expected an integer or None, got {value!r}")
    return None if value == types.CPU_ONLY_DEVICE_ID else value


def _queue_depth(value: Any) -> int:
    if isinstance(value, dict):
        if set(value) != {"cpu_size", "gpu_size"}:
            raise ValueError('prefetch_queue_depth: expected the keys "cpu_size" and "gpu_size"')
        return max(_positive(f"prefetch_queue_depth[{key!r}]", size) for key, size in value.items())
    return _positive("prefetch_queue_depth", value)


def _note_device(device_id: int | None) -> None:
    global _said_no_cuda
    if device_id is not None and device_id != types.CPU_ONLY_DEVICE_ID and not _said_no_cuda:
        _said_no_cuda = True
        logger.warning("device_id=%s: there is no CUDA device; the graph runs on the CPU", device_id)


class PipelineSettings:
    """What a pipeline was made with: the constructor of Pipeline, whose docstring tells what the arguments mean."""

    def __init__(
        self,
        batch_size: int | None = None,
        num_threads: int | None = None,
        device_id: int | None = None,
        seed: int | None = None,
        exec_pipelined: bool = True,
        prefetch_queue_depth: int | dict[str, int] = 2,
        exec_async: bool = True,
        bytes_per_sample: int = 0,
        set_affinity: bool = False,
        max_streams: int | None = None,
        default_cuda_stream_priority: int | None = None,
        *,
        enable_memory_stats: bool = False,
        enable_checkpointing: bool = False,
        checkpoint: bytes | str | Sequence[bytes | str] | None = None,
        py_num_workers: int = 1,
        py_start_method: str = "fork",
        py_callback_pickler: Any = None,
        output_dtype: Any = None,
        output_ndim: Any = None,
        output_layout: Any = None,
        exec_dynamic: bool | None = None,
        experimental_exec_dynamic: bool | None = None,
        stream_policy: Any = None,
        concurrency: Any = None,
        memory_limit: int | None = None,
        decoder_index_memory: int | None = None,
        on_error: str = "raise",
    ) -> None:
        if batch_size is None:
            raise ValueError("Pipeline: batch_size is missing")
        self._batch_size = _positive("batch_size", batch_size)
        self._num_threads = default_num_threads() if num_threads is None else _positive("num_threads", num_threads)
        self._device_id = _device_id(device_id)
        self._seed = graph_builder.as_seed(seed)
        depth = _queue_depth(prefetch_queue_depth)
        self._depth = depth if exec_pipelined else 1
        self._given_depth = prefetch_queue_depth
        self._exec_pipelined = exec_pipelined
        self._exec_async = exec_async
        self._bytes_per_sample = bytes_per_sample
        self._set_affinity = set_affinity
        self._max_streams = max_streams
        self._stream_priority = default_cuda_stream_priority
        self._enable_memory_stats = enable_memory_stats
        self._enable_checkpointing = enable_checkpointing
        self._checkpoint = checkpoint
        self._py_num_workers = py_num_workers
        self._py_start_method = py_start_method
        self._exec_dynamic = exec_dynamic if exec_dynamic is not None else experimental_exec_dynamic
        self._stream_policy = stream_policy
        self._concurrency = concurrency
        self._checks = OutputChecks(output_dtype, output_ndim, output_layout)
        if on_error not in ("raise", "skip", "zero"):
            raise ValueError(f'Pipeline: on_error: expected "raise", "skip" or "zero", got {on_error!r}')
        self.memory_limit = _memory_limit(memory_limit)
        self._given_index_memory = decoder_index_memory
        self.decoder_index_memory = _decoder_index_memory(decoder_index_memory)
        self.on_error = on_error
        self._begin()
        _note_device(device_id)

    def _begin(self) -> None:
        """Called when the arguments are known to be right."""

    def _parameters(self) -> dict[str, Any]:
        """What a serialised pipeline keeps of them."""
        return {
            "batch_size": self._batch_size,
            "num_threads": self._num_threads,
            "device_id": self._device_id,
            "seed": self._seed,
            "exec_pipelined": self._exec_pipelined,
            "prefetch_queue_depth": self._given_depth,
            "exec_async": self._exec_async,
            "set_affinity": self._set_affinity,
            "enable_checkpointing": self._enable_checkpointing,
            "memory_limit": self.memory_limit,
            "decoder_index_memory": self._given_index_memory,
            "on_error": self.on_error,
            **self._checks.parameters(),
        }

    @property
    def batch_size(self) -> int:
        return self._batch_size

    @property
    def max_batch_size(self) -> int:
        return self._batch_size

    @property
    def num_threads(self) -> int:
        return self._num_threads

    @property
    def device_id(self) -> int | None:
        return self._device_id

    @property
    def seed(self) -> int:
        return self._seed

    @property
    def exec_pipelined(self) -> bool:
        return self._exec_pipelined

    @property
    def exec_async(self) -> bool:
        return self._exec_async

    @property
    def exec_separated(self) -> bool:
        return isinstance(self._given_depth, dict)

    @property
    def exec_dynamic(self) -> bool:
        return True if self._exec_dynamic is None else self._exec_dynamic

    @property
    def prefetch_queue_depth(self) -> int:
        return self._depth

    @property
    def cpu_queue_size(self) -> int:
        return self._given_depth["cpu_size"] if isinstance(self._given_depth, dict) else self._given_depth

    @property
    def gpu_queue_size(self) -> int:
        return self._given_depth["gpu_size"] if isinstance(self._given_depth, dict) else self._given_depth

    @property
    def set_affinity(self) -> bool:
        return self._set_affinity

    @property
    def max_streams(self) -> int | None:
        return self._max_streams

    @property
    def default_cuda_stream_priority(self) -> int | None:
        return self._stream_priority

    @property
    def enable_memory_stats(self) -> bool:
        return self._enable_memory_stats

    @property
    def py_num_workers(self) -> int:
        return self._py_num_workers

    @property
    def py_start_method(self) -> str:
        return self._py_start_method

    @property
    def stream_policy(self) -> Any:
        return self._stream_policy

    @property
    def concurrency(self) -> Any:
        return self._concurrency


PipelineSettings.__init__.__qualname__ = "Pipeline"  # what Python's messages about wrong arguments name
