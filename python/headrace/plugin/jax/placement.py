"""How the host arrays of one iteration become one jax.Array: shapes, devices, shardings.

All ways use jax.make_array_from_callback: it is public, the fastest of the public ways, and on CPU devices JAX takes
our 64-byte aligned memory as it is. The array keeps that memory until JAX drops it.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from jax import make_array_from_callback
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from headrace.plugin.jax import row_shards

PMAP_AXIS = "devices"


Arrays = list[jax.Array]


class DeviceParts(NamedTuple):
    """How arrays come about that consist of whole batches of pipelines, each on its device.

    Attributes:
        sources: the devices of this process, and for each the pipeline whose batch it gets.
        leading_axis: the batch is (1, B, ...) there.
        join: global arrays from the lists of those that each device has.
    """

    sources: tuple[tuple[jax.Device, int], ...]
    leading_axis: bool
    join: Callable[[Sequence[Arrays]], Arrays]


class Placement(Protocol):
    """Makes an array from the batches of this process's pipelines, in order."""

    devices: list[jax.Device]  # of this process

    def __call__(self, shards: list[np.ndarray]) -> jax.Array: ...

    def stack(self, shards: list[np.ndarray]) -> jax.Array:
        """The same from stacks of batches (K, B, ...): an array with an axis of K before that of the rows."""
        ...

    def parts(self, shape: tuple[int, ...]) -> DeviceParts | None:
        """For batches (B, ...) of this shape; None if devices get other things than whole batches."""
        ...

    def describe(self) -> str:
        """For repr()."""
        ...


class OneDevice:
    """(B, ...) of one pipeline; (1, B, ...) with a leading axis for pmap."""

    def __init__(self, device: jax.Device, leading_axis: bool) -> None:
        self._sharding = SingleDeviceSharding(device)
        self._leading_axis = leading_axis
        self.devices = [device]

    def __call__(self, shards: list[np.ndarray]) -> jax.Array:
        array = shards[0][None] if self._leading_axis else shards[0]
        return make_array_from_callback(array.shape, self._sharding, lambda _: array)

    stack = __call__

    def parts(self, shape: tuple[int, ...]) -> DeviceParts:
        return DeviceParts(((self.devices[0], 0),), self._leading_axis, lambda arrays: arrays[0])

    def describe(self) -> str:
        return f"device={self.devices[0]}"


class StackedOnOneDevice:
    """(P, B, ...): the batches of P pipelines side by side on one device, which takes a copy."""

    def __init__(self, device: jax.Device) -> None:
        self._sharding = SingleDeviceSharding(device)
        self.devices = [device]

    def __call__(self, shards: list[np.ndarray]) -> jax.Array:
        return self._place(_stacked(shards))

    def stack(self, shards: list[np.ndarray]) -> jax.Array:
        """(K, P, B, ...)"""
        return self._place(_stacked(shards, axis=1))

    def _place(self, array: np.ndarray) -> jax.Array:
        return make_array_from_callback(array.shape, self._sharding, lambda _: array)

    def parts(self, shape: tuple[int, ...]) -> None:
        return None

    def describe(self) -> str:
        return f"device={self.devices[0]}"


class OnePerDevice:
    """(D, B/D, ...): the batch of pipeline k on device k, as pmap wants it."""

    def __init__(self, devices: Sequence[jax.Device]) -> None:
        self.devices = list(devices)
        self._shardings: dict[int, Sharding] = {}  # by number of axes

    def __call__(self, shards: list[np.ndarray]) -> jax.Array:
        _check_equal_shapes(shards)
        shape = (len(shards), *shards[0].shape)
        sharding = self._shardings.get(len(shape)) or self._add_sharding(len(shape))

        def part(index: Any) -> np.ndarray:
            return shards[index[0].start or 0][None]

        return make_array_from_callback(shape, sharding, part)

    stack = __call__

    def parts(self, shape: tuple[int, ...]) -> DeviceParts:
        whole = (len(self.devices), *shape)
        sharding = self._shardings.get(len(whole)) or self._add_sharding(len(whole))
        return DeviceParts(
            tuple((device, plan) for plan, device in enumerate(self.devices)),
            True,
            functools.partial(_join, whole, sharding),
        )

    def _add_sharding(self, ndim: int) -> Sharding:
        self._shardings[ndim] = pmap_sharding(self.devices, ndim)
        return self._shardings[ndim]

    def describe(self) -> str:
        return f"devices={self.devices}"


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
        self.devices = list(sharding.addressable_devices)

    def __call__(self, shards: list[np.ndarray]) -> jax.Array:
        return self._make(shards, self._sharding, 0)

    def stack(self, shards: list[np.ndarray]) -> jax.Array:
        """(K, B, ...): the rows are axis 1, cut as the sharding says; ValueError for shardings without axes' names."""
        if isinstance(self._sharding, NamedSharding):
            stacked: Sharding = NamedSharding(self._sharding.mesh, PartitionSpec(None, *self._sharding.spec))
        elif isinstance(self._sharding, SingleDeviceSharding):
            stacked = self._sharding
        else:
            raise ValueError(f"group: expected a NamedSharding, got {self._sharding}")
        return self._make(shards, stacked, 1)

    def _make(self, shards: list[np.ndarray], sharding: Sharding, axis: int) -> jax.Array:
        """A global array whose rows are ``axis``."""
        _check_equal_shapes(shards)
        shape = list(shards[0].shape)
        block_rows = shape[axis] * self._width
        shape[axis] *= self._num_shards
        blocks: dict[int, np.ndarray] = {}

        def part(index: Any) -> np.ndarray:
            start = index[axis].start or 0
            block = blocks.get(start)
            if block is None:
                block = blocks[start] = self._block(shards, start // block_rows if block_rows else 0, axis)
            rest = (*index[:axis], slice(None), *index[axis + 1 :])
            return block if _is_whole(rest, block.shape) else np.ascontiguousarray(block[rest])

        return make_array_from_callback(tuple(shape), sharding, part)

    def parts(self, shape: tuple[int, ...]) -> DeviceParts | None:
        if not shape:
            return None
        whole = (shape[0] * self._num_shards, *shape[1:])
        try:
            if self._width > 1 or self._sharding.shard_shape(whole) != shape:
                return None
        except ValueError:  # it doesn't fit this shape, which __call__ says better
            return None
        block_of = row_shards.device_blocks(self._sharding)
        sources = tuple((device, self._position[block_of[device]]) for device in self.devices)
        return DeviceParts(sources, False, functools.partial(_join, whole, self._sharding))

    def _block(self, shards: list[np.ndarray], number: int, axis: int) -> np.ndarray:
        first = number * self._width
        if self._width == 1:
            return shards[self._position[first]]
        return np.concatenate([shards[self._position[first + i]] for i in range(self._width)], axis)

    def describe(self) -> str:
        return f"sharding={self._sharding}"


def _join(shape: tuple[int, ...], sharding: Sharding, arrays: Sequence[Arrays]) -> Arrays:
    return [
        jax.make_array_from_single_device_arrays(shape, sharding, list(shards)) for shards in zip(*arrays, strict=True)
    ]


def _is_whole(index: tuple[slice, ...], extents: tuple[int, ...]) -> bool:
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


def _stacked(shards: list[np.ndarray], axis: int = 0) -> np.ndarray:
    _check_equal_shapes(shards)
    return np.stack(shards, axis)
