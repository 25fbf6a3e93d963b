"""How the host arrays of one iteration become one jax.Array: shapes, devices, shardings.

All ways use jax.make_array_from_callback: it is public, the fastest of the public ways, and on CPU devices JAX takes
our 64-byte aligned memory as it is. The array keeps that memory until JAX drops it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import jax
import numpy as np
from jax import make_array_from_callback
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from headrace.plugin.jax import row_shards

PMAP_AXIS = "devices"


class Placement(Protocol):
    """Makes an array from the batches of this process's pipelines, in order."""

    def __call__(self, shards: list[np.ndarray]) -> jax.Array: ...

    def describe(self) -> str:
        """For repr()."""
        ...


class OneDevice:
    """(B, ...) of one pipeline; (1, B, ...) with a leading axis for pmap."""

    def __init__(self, device: jax.Device, leading_axis: bool) -> None:
        self._sharding = SingleDeviceSharding(device)
        self._leading_axis = leading_axis
        self._device = device

    def __call__(self, shards: list[np.ndarray]) -> jax.Array:
        array = shards[0][None] if self._leading_axis else shards[0]
        return make_array_from_callback(array.shape, self._sharding, lambda _: array)

    def describe(self) -> str:
        return f"device={self._device}"


class StackedOnOneDevice:
    """(P, B, ...): the batches of P pipelines side by side on one device, which takes a copy."""

    def __init__(self, device: jax.Device) -> None:
        self._sharding = SingleDeviceSharding(device)
        self._device = device

    def __call__(self, shards: list[np.ndarray]) -> jax.Array:
        array = _stacked(shards)
        return make_array_from_callback(array.shape, self._sharding, lambda _: array)

    def describe(self) -> str:
        return f"device={self._device}"


class OnePerDevice:
    """(D, B/D, ...): the batch of pipeline k on device k, as pmap wants it."""

    def __init__(self, devices: Sequence[jax.Device]) -> None:
        self._devices = list(devices)
        self._shardings: dict[int, Sharding] = {}  # by number of axes

    def __call__(self, shards: list[np.ndarray]) -> jax.Array:
        _check_equal_shapes(shards)
        shape = (len(shards), *shards[0].shape)
        sharding = self._shardings.get(len(shape)) or self._add_sharding(len(shape))

        def part(index: Any) -> np.ndarray:
            return shards[index[0].start or 0][None]

        return make_array_from_callback(shape, sharding, part)

    def _add_sharding(self, ndim: int) -> Sharding:
        self._shardings[ndim] = pmap_sharding(self._devices, ndim)
        return self._shardings[ndim]

    def describe(self) -> str:
        return f"devices={self._devices}"


def pmap_sharding(devices: Sequence[jax.Device], ndim: int) -> Sharding:
    """Entry k of axis 0 on device k, of the kind that this JAX's pmap takes without a detour."""
    if jax.__version_info__ < (0, 8, 0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            pmap_kind = jax.sharding.PmapSharding  # type: ignore[attr-defined]
        return pmap_kind.default((len(devices),) + (1,) * (ndim - 1), 0, list(devices))
    return NamedSharding(Mesh(np.array(devices, dtype=object), (PMAP_AXIS,)), PartitionSpec(PMAP_AXIS))


class Global:
    """(B, ...) over all processes, cut as the sharding says.

    Args:
        sharding: of the output.
        shards: which rows each pipeline of this process gives.
    """

    def __init__(self, sharding: Sharding, shards: row_shards.RowShards) -> None:
        self._sharding = sharding
        self._num_shards = shards.num_shards
        self._blocks = row_shards.num_row_blocks(sharding)
        self._width = shards.num_shards // self._blocks  # shards that make one block of rows
        self._position = {shard: position for position, shard in enumerate(shards.local)}

    def __call__(self, shards: list[np.ndarray]) -> jax.Array:
        _check_equal_shapes(shards)
        rows, *extents = shards[0].shape
        block_rows = rows * self._width
        blocks: dict[int, np.ndarray] = {}

        def part(index: Any) -> np.ndarray:
            start = index[0].start or 0
            block = blocks.get(start)
            if block is None:
                block = blocks[start] = self._block(shards, start // block_rows if block_rows else 0)
            rest = index[1:]
            return block if _is_whole(rest, extents) else np.ascontiguousarray(block[(slice(None), *rest)])

        return make_array_from_callback((rows * self._num_shards, *extents), self._sharding, part)

    def _block(self, shards: list[np.ndarray], number: int) -> np.ndarray:
        first = number * self._width
        if self._width == 1:
            return shards[self._position[first]]
        return np.concatenate([shards[self._position[first + i]] for i in range(self._width)])

    def describe(self) -> str:
        return f"sharding={self._sharding}"


def _is_whole(index: tuple[slice, ...], extents: list[int]) -> bool:
    return all(
        (part.start or 0) == 0 and (part.stop is None or part.stop == extent)
        for part, extent in zip(index, extents, strict=True)
    )


def _check_equal_shapes(shards: list[np.ndarray]) -> None:
    first = shards[0]
    for shard in shards:
        if shard.shape != first.shape or shard.dtype != first.dtype:
            raise RuntimeError(
                f"the pipelines' batches differ: {first.dtype} of shape {first.shape} and {shard.dtype} of shape "
                f"{shard.shape} cannot be one array"
            )


def _stacked(shards: list[np.ndarray]) -> np.ndarray:
    _check_equal_shapes(shards)
    return np.stack(shards)
