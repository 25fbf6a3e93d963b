"""DALIGenericIterator and data_iterator: pipelines as an iterator over dicts of jax.Arrays."""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypedDict, TypeVar, Unpack, overload

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding

from headrace import graph_builder
from headrace.machine import default_num_threads
from headrace.pipeline import Pipeline
from headrace.pipeline_function import pipeline_def
from headrace.plugin.base_iterator import BaseIterator, LastBatchPolicy
from headrace.plugin.jax import placement, read_ahead
from headrace.plugin.jax.integration import device_of_pipeline
from headrace.plugin.jax.pace import Pace, needs_pace
from headrace.plugin.jax.row_shards import batch_per_shard, row_shards, sharding_list
from headrace.plugin.jax.stacking import Stack

Shardings = Sharding | Mapping[str, Sharding]


def default_num_threads_value() -> int:
    """Threads of an iterator's pipelines if the program doesn't say: the cores that it may use."""
    return default_num_threads()


class DALIGenericIterator(BaseIterator):
    """Iterates over batches as dicts from the names in ``output_map`` to jax.Arrays.

    On CPU devices the arrays use the pipelines' memory, which they keep. On others JAX copies it there; pipelines
    without Python functions and sources are then read ahead, and small batches copied many at a time (read_ahead.py).

    Args:
        pipelines, output_map, size, reader_name, auto_reset, last_batch_padded, prepare_first_batch, exact_epochs,
            mask_name, checkpoints: see :class:`~headrace.plugin.base_iterator.BaseIterator`.
        last_batch_policy: FILL or DROP.
        sharding: arrays are global, (B, ...) over all processes, and cut like this: any sharding of JAX, or a dict
            with one for each output. Pipeline k gives the rows of the k-th of the shards of rows that this process
            holds, in the order of rows; devices with the same rows share them.
        pmap_compatible: a leading axis of devices: (1, B, ...) for one pipeline.
        devices: instead of ``sharding``: pipeline k's batch goes to device k, as (D, B/D, ...); with
            ``pmap_compatible=False`` as one global array (B, ...).
        group: K: each ``next()`` gives K batches, stacked for lax.scan: (K, B, ...), the axes of B cut as without
            ``group``; with an axis of devices (D, K, B/D, ...). The last group of an epoch, and one before an error,
            has fewer. ``len()`` counts groups, all else batches.

    Without ``sharding`` and ``devices`` a pipeline's batch (B, ...) goes to the local device of number ``device_id``,
    or to JAX's default device where there is none of that number; several pipelines give (P, B, ...).
    """

    _wants_rows = False  # subclasses look at which rows are good

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        sharding: Shardings | None = None,
        pmap_compatible: bool | None = None,
        *,
        devices: Sequence[jax.Device] | None = None,
        group: int | None = None,
        exact_epochs: bool = False,
        mask_name: str | None = None,
        checkpoints: Sequence[bytes | str] | None = None,
    ) -> None:
        assert last_batch_policy is not LastBatchPolicy.PARTIAL, (
            "JAX iterator does not support partial last batch policy."
        )
        _check_layout(sharding, devices, pmap_compatible)
        self._group_size = _checked_group(group)
        self._pending: Exception | None = None  # what next() raises after the group before it
        self._stack: Stack | None = None  # a group that an interrupt left unfinished
        self._before_stack: list[bytes] = []  # checkpoints, where they are enabled
        self._is_global = sharding is not None or devices is not None
        if sharding is not None:
            shards = row_shards(sharding_list(sharding, output_map, mask_name or "mask"))
            for pipeline in [pipelines] if isinstance(pipelines, Pipeline) else pipelines:
                pipeline._row_shards = shards
        super().__init__(
            pipelines,
            output_map,
            size,
            reader_name,
            auto_reset,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
            exact_epochs=exact_epochs,
            mask_name=mask_name,
            checkpoints=checkpoints,
        )
        self._places = self._choose_places(sharding, devices, pmap_compatible)
        self._place_mask = self._places[-1][1]
        self._pace = Pace() if needs_pace(_devices_of(sharding, devices)) else None
        local = {device for _, place in self._places for device in place.devices}
        if group is None and read_ahead.has_own_memory(local) and read_ahead.may_read_ahead(self._group):
            self._stream = read_ahead.ReadAhead(self._group, self._places, self._mask_name, self._wants_rows)
            self._checked = []  # it checks them

    def _may_be_endless(self) -> bool:
        return self._is_global or super()._may_be_endless()  # the pipelines of one global batch end together

    def _choose_places(
        self, sharding: Shardings | None, devices: Sequence[jax.Device] | None, pmap_compatible: bool | None
    ) -> list[tuple[str, placement.Placement]]:
        """For each output, and at last for the mask, how its arrays are made."""
        names = [*self.output_map, self._mask_name]
        if sharding is not None:
            shardings = sharding_list(sharding, self.output_map, self._mask_name)
            shardings.append(_mask_sharding(sharding, shardings, self._mask_name))
            places = _global_places(shardings, len(self._pipes))
        else:
            places = [_plain_place(self._pipes, devices, pmap_compatible)] * len(names)
        return list(zip(names, places, strict=True))

    def __next__(self) -> dict[str, jax.Array]:
        if self._group_size:
            return self._next_group(self._group_size)
        outputs, _ = self._next_outputs()
        if isinstance(outputs, read_ahead.Ready):
            return outputs.arrays
        if self._pace is not None:
            self._pace.wait()
        batch = {}
        memory = []
        for number, (name, place) in enumerate(self._places[:-1]):
            with _naming(name):
                shards = [plan[number].as_array() for plan in outputs]
                batch[name] = place(shards)
            memory += shards
        if self._pace is not None:
            self._pace.add(batch.values(), memory)
        if self._mask_name:
            batch[self._mask_name] = self._place_mask(self._masks(outputs))
        return batch

    def _masks(self, outputs: Any) -> list[np.ndarray]:
        if isinstance(outputs, read_ahead.Ready):
            assert outputs.rows is not None
            return outputs.rows
        return super()._masks(outputs)

    def _next_group(self, count: int) -> dict[str, jax.Array]:
        if self._pending is not None:
            pending, self._pending = self._pending, None
            raise pending
        if self._pace is not None:
            self._pace.wait()
        if self._stack is None:
            if self._pipes[0]._enable_checkpointing:
                self._before_stack = super().checkpoints()
            self._stack = Stack(count, len(self.output_map), self._group.executor.make_buffer)
        stack = self._stack
        while stack.size < count and not (stack.size and self._no_more_in_epoch()):
            try:
                outputs, _ = self._next_outputs()
                stack.add(outputs, self._masks(outputs) if self._mask_name else None)
            except Exception as error:
                if not stack.size:
                    raise
                self._pending = error
                break
        group = self._place_stack(stack)
        self._stack = None
        return group

    def checkpoints(self) -> list[bytes]:
        if self._stack is not None and self._stack.size:
            return self._before_stack  # its batches have not been handed out
        return super().checkpoints()

    def _no_more_in_epoch(self) -> bool:
        return self._ended() or self._counter.only_dropped_left()

    def _place_stack(self, stack: Stack) -> dict[str, jax.Array]:
        groups = {}
        memory = []
        for number, (name, place) in enumerate(self._places[:-1]):
            with _naming(name):
                shards = stack.output(number)
                groups[name] = place.stack(shards)
            memory += shards
        if self._pace is not None:
            self._pace.add(groups.values(), memory)
        if self._mask_name:
            groups[self._mask_name] = self._places[-1][1].stack(stack.masks())
        return groups

    def __len__(self) -> int:
        """Calls of ``next()`` in an epoch."""
        return -(-super().__len__() // (self._group_size or 1))

    def __iter__(self) -> Self:
        self._drop_pending_end()
        return super().__iter__()

    def reset(self) -> None:
        """Starts the next epoch. In the middle of an epoch it is ignored, with a warning."""
        self._drop_pending_end()
        super().reset()

    def _drop_pending_end(self) -> None:
        if isinstance(self._pending, StopIteration):
            self._pending = None

    def _description(self) -> list[str]:
        return [*super()._description(), self._places[0][1].describe()] if self.output_map else super()._description()


AnyIterator = TypeVar("AnyIterator", bound=DALIGenericIterator)


def _checked_group(group: int | None) -> int:
    """The number of batches in a group; 0: no groups."""
    if group is None:
        return 0
    if isinstance(group, bool) or not isinstance(group, int | np.integer):
        raise TypeError(f"group: expected a number of batches, got {group!r}")
    if group < 1:
        raise ValueError(f"group: expected at least one batch, got {group}")
    return int(group)


@contextlib.contextmanager
def _naming(output: str) -> Iterator[None]:
    """A RuntimeError says which output it is about."""
    try:
        yield
    except RuntimeError as error:
        raise RuntimeError(f"output {output!r}: {error}") from error


def _devices_of(sharding: Shardings | None, devices: Sequence[jax.Device] | None) -> set[jax.Device]:
    shardings = sharding.values() if isinstance(sharding, Mapping) else [sharding] if sharding is not None else []
    return set(devices or ()).union(*(one.device_set for one in shardings))


def _check_layout(sharding: Any, devices: Any, pmap_compatible: bool | None) -> None:
    if sharding is not None and devices is not None:
        raise ValueError("Only one of `sharding` and `devices` arguments can be provided.")
    if sharding is not None and pmap_compatible:
        raise ValueError("pmap_compatible: pmap takes no global arrays; give `devices` instead of `sharding`")
    if devices is None:
        return
    if not len(devices):
        raise ValueError("devices: expected at least one")
    for device in devices:
        if not isinstance(device, jax.Device):
            raise TypeError(f"devices: expected devices as jax.devices() gives them, got {device!r}")
    if len(set(devices)) != len(devices):
        raise ValueError(f"devices: each may be named once, got {list(devices)}")


def _global_places(shardings: list[Sharding], num_pipelines: int) -> list[placement.Placement]:
    shards = row_shards(shardings)
    if len(shards.local) != num_pipelines:
        raise ValueError(
            f"sharding: this process holds {len(shards.local)} of {shards.num_shards} shards of rows and needs one "
            f"pipeline for each, got {num_pipelines}"
        )
    return [placement.Global(sharding, shards) for sharding in shardings]


def _mask_sharding(given: Shardings, shardings: list[Sharding], mask_name: str) -> Sharding:
    """How the mask, (B,), is cut: its entry in the dict, else like the first output's rows."""
    if isinstance(given, Mapping) and mask_name in given:
        return given[mask_name]
    first = shardings[0]
    if isinstance(first, NamedSharding):
        return NamedSharding(first.mesh, PartitionSpec(*first.spec[:1]))
    return first


def _plain_place(
    pipes: list[Pipeline], devices: Sequence[jax.Device] | None, pmap_compatible: bool | None
) -> placement.Placement:
    if devices is not None:
        local = _local(devices)
        if len(local) != len(pipes):
            raise ValueError(f"devices: expected one for each of the {len(pipes)} pipelines, got {local}")
        if pmap_compatible is False:
            sharding = _rows_over(devices)
            return placement.Global(sharding, row_shards([sharding]))
        return placement.OnePerDevice(local)
    targets = [device_of_pipeline(pipe.device_id) for pipe in pipes]
    if len(pipes) == 1:
        return placement.OneDevice(targets[0], bool(pmap_compatible))
    if len(set(targets)) == len(targets):
        return placement.OnePerDevice(targets)
    if len(set(targets)) == 1:
        return placement.StackedOnOneDevice(targets[0])
    raise ValueError(f"pipelines: their devices must all differ or all be the same, got {targets}")


def _local(devices: Sequence[jax.Device]) -> list[jax.Device]:
    return [device for device in devices if device.process_index == jax.process_index()]


def _rows_over(devices: Sequence[jax.Device]) -> Sharding:
    mesh = Mesh(np.array(list(devices), dtype=object), (placement.PMAP_AXIS,))
    return NamedSharding(mesh, PartitionSpec(placement.PMAP_AXIS))


def make_iterator_factory(
    iterator_type: type[AnyIterator],
    pipeline_fn: Callable[..., Any] | None,
    output_map: Sequence[str],
    sharding: Shardings | None,
    devices: Sequence[jax.Device] | None,
    on_error: str | None,
    iterator_arguments: dict[str, Any],
) -> Callable[..., Any]:
    """What data_iterator and peekable_data_iterator return; without a function, what makes that of one."""
    if pipeline_fn is None:
        return lambda function: make_iterator_factory(
            iterator_type, function, output_map, sharding, devices, on_error, iterator_arguments
        )
    if not output_map:
        raise ValueError("output_map: expected the names of the function's outputs")
    _check_layout(sharding, devices, iterator_arguments["pmap_compatible"])
    makes_pipelines = hasattr(pipeline_fn, "_is_pipeline_def")
    make_pipeline = pipeline_fn if makes_pipelines else pipeline_def(pipeline_fn)
    parameters = inspect.signature(pipeline_fn).parameters

    @functools.wraps(pipeline_fn)
    def create_iterator(*args: Any, checkpoints: Sequence[bytes | str] | None = None, **kwargs: Any) -> AnyIterator:
        mask_name = iterator_arguments.get("mask_name") or "mask"
        num_shards, local = _shards_for(sharding, devices, output_map, mask_name)
        arguments = {**getattr(pipeline_fn, "_pipeline_kwargs", {}), **kwargs}
        if hasattr(arguments.get("batch_size"), "__index__") and "batch_size" not in parameters:
            arguments["batch_size"] = batch_per_shard(operator.index(arguments["batch_size"]), num_shards)
        if on_error is not None:
            arguments.setdefault("on_error", on_error)
        seed = arguments.get("seed")
        if "seed" not in parameters and (seed is None or seed == -1):
            arguments["seed"] = _common_seed()
        pipes = [
            make_pipeline(*args, **arguments, **_shard_arguments(parameters, kwargs, shard, num_shards, pipeline_fn))
            for shard in local
        ]
        return iterator_type(
            pipes, output_map, sharding=sharding, devices=devices, checkpoints=checkpoints, **iterator_arguments
        )

    return create_iterator


def _shards_for(
    sharding: Shardings | None, devices: Sequence[jax.Device] | None, output_map: Sequence[str], mask_name: str
) -> tuple[int, list[int]]:
    """The number of shards over all processes, and those of this process."""
    if sharding is not None:
        shards = row_shards(sharding_list(sharding, output_map, mask_name))
        return shards.num_shards, list(shards.local)
    if devices is not None:
        local = [position for position, device in enumerate(devices) if device in _local(devices)]
        return len(list(devices)), local
    return 1, [0]


def _shard_arguments(
    parameters: Mapping[str, inspect.Parameter],
    given: Mapping[str, Any],
    shard: int,
    num_shards: int,
    function: Callable[..., Any],
) -> dict[str, int]:
    """shard_id and num_shards for the user's function, as far as it takes them and the caller didn't say."""
    values = {"shard_id": shard, "num_shards": num_shards}
    missing = [name for name in values if name not in parameters]
    if num_shards > 1 and missing:
        raise TypeError(
            f"{getattr(function, '__name__', function)}: with {num_shards} shards the function must take shard_id and "
            f"num_shards and give them to its reader, else each shard would have the same data; it lacks {missing}"
        )
    return {
        name: value
        for name, value in values.items()
        if name in parameters
        and name not in given
        and (num_shards > 1 or parameters[name].default is inspect.Parameter.empty)
    }


def _common_seed() -> int:
    """One seed for all pipelines; with several processes, which can't agree on a random one, always the same."""
    return 0 if jax.process_count() > 1 else graph_builder.as_seed(None)


class IteratorArguments(TypedDict, total=False):
    """For type checkers: what data_iterator() takes by name besides the function and ``output_map``."""

    size: int
    reader_name: str | None
    auto_reset: str | bool | None
    last_batch_padded: bool
    last_batch_policy: LastBatchPolicy
    prepare_first_batch: bool
    sharding: Shardings | None
    devices: Sequence[jax.Device] | None
    pmap_compatible: bool | None
    exact_epochs: bool
    mask_name: str | None
    on_error: str | None


class GroupedIteratorArguments(IteratorArguments, total=False):
    """IteratorArguments of iterators that don't peek."""

    group: int | None


@overload
def data_iterator(
    pipeline_fn: Callable[..., Any], output_map: Sequence[str], **arguments: Unpack[GroupedIteratorArguments]
) -> Callable[..., DALIGenericIterator]: ...


@overload
def data_iterator(
    pipeline_fn: None = None, *, output_map: Sequence[str], **arguments: Unpack[GroupedIteratorArguments]
) -> Callable[[Callable[..., Any]], Callable[..., DALIGenericIterator]]: ...


def data_iterator(
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
    group: int | None = None,
    exact_epochs: bool = False,
    mask_name: str | None = None,
    on_error: str | None = None,
) -> Callable[..., Any]:
    """Makes a factory of iterators from a function that defines a graph, as a decorator or a function.

    The factory takes the function's arguments and those of Pipeline by keyword, and ``checkpoints``::

        @data_iterator(output_map=["images", "labels"], reader_name="reader")
        def training(path):
            jpegs, labels = fn.readers.file(file_root=path, random_shuffle=True, name="reader")
            return fn.decoders.image(jpegs), labels


        for batch in training("/data", batch_size=32):
            ...

    With ``sharding`` or ``devices`` the function is called once for each shard of rows that this process holds, with
    ``shard_id`` and ``num_shards``; ``batch_size`` is that of the global batch. Arguments: see
    :class:`DALIGenericIterator`; ``on_error`` is Pipeline's.
    """
    arguments = {
        "size": size,
        "reader_name": reader_name,
        "auto_reset": auto_reset,
        "last_batch_padded": last_batch_padded,
        "last_batch_policy": last_batch_policy,
        "prepare_first_batch": prepare_first_batch,
        "pmap_compatible": pmap_compatible,
        "group": group,
        "exact_epochs": exact_epochs,
        "mask_name": mask_name,
    }

    return make_iterator_factory(DALIGenericIterator, pipeline_fn, output_map, sharding, devices, on_error, arguments)
