"""Which rows of the global batch each device holds, and which pipelines this process needs for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax
from jax.sharding import Sharding

_MAX_AXES = 9  # of an output, batch axis included; more than any layout has


def num_row_blocks(sharding: Sharding) -> int:
    """Into how many blocks of rows a sharding cuts axis 0."""
    return _row_blocks(sharding)[0]


def device_blocks(sharding: Sharding) -> dict[jax.Device, int]:
    """For each device the number of its block of rows, over all processes."""
    return _row_blocks(sharding)[1]


def _row_blocks(sharding: Sharding) -> tuple[int, dict[jax.Device, int]]:
    """The number of blocks along axis 0, and the number of each device's block, over all processes.

    Every number of blocks divides the number of devices, so an array of that extent in every axis fits the sharding.
    """
    extent = len(sharding.device_set)
    indices = None
    failure: Exception | None = None
    for axes in range(1, _MAX_AXES + 1):
        try:
            indices = sharding.devices_indices_map((extent,) * axes)
            break
        except Exception as error:  # too few axes for this sharding: each kind has an error class of its own
            failure = failure or error
    if indices is None:
        raise ValueError(f"sharding: {sharding} does not fit arrays with a batch axis: {failure}")
    starts = {device: index[0].start or 0 for device, index in indices.items()}
    distinct = sorted(set(starts.values()))
    return len(distinct), {device: distinct.index(start) for device, start in starts.items()}


@dataclass(frozen=True)
class RowShards:
    """How a global batch is cut into shards of rows, one for each pipeline.

    Attributes:
        num_shards: S, over all processes. Rows [k*B/S, (k+1)*B/S) of a global batch of B come from shard k.
        local: the shards that devices of this process hold rows of, ascending.
    """

    num_shards: int
    local: tuple[int, ...]

    def device_of(self, shardings: Sequence[Sharding]) -> list[jax.Device]:
        """For each local shard a device of this process that holds it."""
        found: dict[int, jax.Device] = {}
        for sharding in shardings:
            blocks, place = _row_blocks(sharding)
            width = self.num_shards // blocks
            for device in sharding.addressable_devices:
                for shard in range(place[device] * width, (place[device] + 1) * width):
                    found.setdefault(shard, device)
        return [found[shard] for shard in self.local]


def row_shards(shardings: Sequence[Sharding]) -> RowShards:
    """The shards for outputs with these shardings: fine enough for each.

    An output that is cut into fewer blocks of rows than another takes several shards for a block. Processes that hold
    the same rows run the same shards.
    """
    blocks = [_row_blocks(sharding) for sharding in shardings]
    num_shards = math.lcm(*(count for count, _ in blocks))
    local: set[int] = set()
    for sharding, (count, place) in zip(shardings, blocks, strict=True):
        width = num_shards // count
        for device in sharding.addressable_devices:
            local.update(range(place[device] * width, (place[device] + 1) * width))
    if not local:
        raise ValueError("sharding: no device of this process takes part in it")
    return RowShards(num_shards, tuple(sorted(local)))


def batch_per_shard(batch_size: int, num_shards: int) -> int:
    """Rows of one pipeline's batch; ValueError if the global batch cannot be cut evenly."""
    if batch_size % num_shards:
        raise ValueError(
            f"batch_size: the global batch of {batch_size} must be divisible by the number of shards of rows, "
            f"{num_shards}"
        )
    return batch_size // num_shards


def sharding_list(
    sharding: Sharding | Mapping[str, Sharding], output_map: Sequence[str], mask_name: str = ""
) -> list[Sharding]:
    """The sharding of each output, from one for all or a dict by name, which may have one for the mask, too."""
    if isinstance(sharding, Mapping):
        missing = [name for name in output_map if name not in sharding]
        unknown = [name for name in sharding if name not in output_map and name != mask_name]
        if missing or unknown:
            raise ValueError(
                f"sharding: expected a sharding for each of {list(output_map)}; missing {missing}, unknown {unknown}"
            )
        shardings = [sharding[name] for name in output_map]
    else:
        shardings = [sharding] * len(output_map)
    for one in shardings:
        assert isinstance(one, Sharding), (
            f"`sharding` should be an instance of `jax.sharding.Sharding` or a dict of them, got {type(one)}"
        )
    return shardings
