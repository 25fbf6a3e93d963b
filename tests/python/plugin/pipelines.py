"""Pipelines that the tests of the plugins share."""

from typing import Any

import numpy as np

from headrace import fn, pipeline_def


@pipeline_def
def labels(files: list[str], shard_id: int = 0, num_shards: int = 1, reader: dict[str, Any] | None = None):
    """Labels (B, 1) int32 of files, by a reader named "reader"."""
    return fn.readers.file(files=files, name="reader", shard_id=shard_id, num_shards=num_shards, **(reader or {}))[1]


def from_source(source: Any, batch_size: int, num_outputs: int | None = None, **arguments: Any):
    """A pipeline of an external_source of batches."""

    @pipeline_def(batch_size=batch_size, num_threads=1, **arguments)
    def pipe():
        made = fn.external_source(source, num_outputs=num_outputs)
        return tuple(made) if num_outputs else made

    return pipe()


def constant_batches(count: int, shape: tuple[int, ...], dtype: Any = np.float32):
    """A source: batch k is filled with k."""

    def source(k: int) -> np.ndarray:
        if k >= count:
            raise StopIteration
        return np.full(shape, k, dtype)

    return source
