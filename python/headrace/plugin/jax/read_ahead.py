"""ReadAhead: batches for devices with memory of their own, handed over in groups.

A thread of its own takes the next batches from the pipelines, packs them (packing.py) and uploads the whole group with
one call while the program works, mostly without the GIL; on the program's thread one computation takes it apart. Of K
calls of next(), all but one only pick up arrays that are there. The arrays are JAX's own: those that the program keeps
or donates hold none of the pipelines' memory. The packed buffer lives until JAX has read it.

Note [reading ahead]: the pipelines are read further than the program has asked, so nothing that it would notice may
hang on that: pipelines with sources and functions of the program are left alone (may_read_ahead), errors come out where
they belong, epochs are counted when a batch is handed out, and checkpoints leave out what is held.
"""

from __future__ import annotations

import collections
import functools
import queue
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np

from headrace import types
from headrace.group import PipelineGroup
from headrace.plugin.base_iterator import Outputs, good_rows, rows_of_status
from headrace.plugin.jax.packing import Field, Packing, fields_of
from headrace.plugin.jax.placement import DeviceParts, Placement

_FIRST = 2  # batches of the first group; the very first batch goes alone
_MOST_BATCHES = 32  # of a group; more gain nothing
_MOST_BYTES = 64 << 20  # of a group
_SHARE_OF_LIMIT = 8  # a group takes at most this part of memory_limit; three may be under way

Job = Callable[[], "_Chunk"]


class Ready:
    """One batch as arrays, where the iterator expects a batch of the pipelines.

    Attributes:
        arrays: by name.
        rows: for each pipeline which rows are good; None unless they were asked for.
    """

    __slots__ = ("arrays", "rows")

    def __init__(self, arrays: dict[str, jax.Array], rows: list[np.ndarray] | None) -> None:
        self.arrays = arrays
        self.rows = rows


class _Failure:
    """An iteration that raised. It is lost unless the wait for it was all that failed."""

    __slots__ = ("error", "is_lost")

    def __init__(self, error: BaseException, is_lost: bool) -> None:
        self.error = error
        self.is_lost = is_lost


class _Form:
    """What the batches look like: their outputs' fields, and where each goes on the devices."""

    def __init__(self, fields: tuple[Field, ...], parts: list[DeviceParts], mask_name: str) -> None:
        self.fields = fields
        self.parts = parts
        self.mask_name = mask_name

    def host_arrays(self, outputs: Outputs) -> list[list[np.ndarray]] | None:
        """For each pipeline its outputs and mask; None if they look different."""
        plans = _host_arrays(outputs, len(self.fields), self.mask_name)
        if plans is None or not all(self._fits(plan) for plan in plans):
            return None
        return plans

    def in_buffer(self, packing: Packing) -> list[tuple[int, int, tuple[int, ...]]]:
        """For each output of the pipelines where its batches begin, their element type and shape."""
        outputs = self.fields[:-1] if self.mask_name else self.fields
        return [
            (offset, int(types.to_dali_type(field.dtype)), field.shape)
            for field, offset in zip(outputs, packing.offsets(), strict=False)
        ]

    def _fits(self, arrays: list[np.ndarray]) -> bool:
        return all(
            array.shape == field.shape and array.dtype == field.dtype
            for array, field in zip(arrays, self.fields, strict=True)
        )


class _Chunk:
    """What one job read: batches in packed buffers, one for each pipeline, then perhaps something else."""

    def __init__(self, form: _Form, packing: Packing) -> None:
        self.form = form
        self.packing = packing
        self.buffers: list[np.ndarray] = []
        self.rows: list[list[np.ndarray] | None] = []  # one entry for each packed batch
        self.last: Outputs | _Failure | None = None  # a batch of other shapes, or what ended the job
        self.is_followed = False  # the thread has been told what to read next
        self._uploaded: list[jax.Array] | Exception | None = None  # by device

    def upload(self) -> None:
        """One transfer to each device. What it raises comes out of take_apart(), which can be called again."""
        words = [self.packing.words(buffer) for buffer in self.buffers]
        try:
            self._uploaded = [jax.device_put(words[plan], device) for device, plan in self.form.parts[0].sources]
        except Exception as error:
            self._uploaded = error

    def take_apart(self, names: list[str]) -> list[dict[str, jax.Array]]:
        """The batches on the devices: one computation on each."""
        if self._uploaded is None:
            self.upload()
        if isinstance(self._uploaded, Exception):
            error, self._uploaded = self._uploaded, None
            raise error
        assert self._uploaded is not None
        parts = self.form.parts
        split = self.packing.splitter(parts[0].leading_axis)
        on_devices = [split(words) for words in self._uploaded]
        fields = [part.join(arrays) for part, arrays in zip(parts, zip(*on_devices, strict=True), strict=True)]
        return [dict(zip(names, arrays, strict=True)) for arrays in zip(*fields, strict=True)]


def has_own_memory(devices: Iterable[jax.Device]) -> bool:
    """All these devices take a copy of what they get."""
    return all(device.platform != "cpu" for device in devices)


def may_read_ahead(group: PipelineGroup) -> bool:
    """Nothing of the program runs in these pipelines, and nobody else takes their batches."""
    return group.delivered == 0 and not any(
        pipe._functions or pipe._inputs or pipe._overrides_iter_setup() for pipe in group.pipelines
    )


class ReadAhead:
    """Stands for a group of pipelines: gives the same iterations in the same order, in groups of 1, 2, 4, ... batches.

    Args:
        group: built; nothing was taken from it.
        places: name and placement of each output, in order, and at last of the mask.
        mask_name: of the mask; "": none.
        wants_rows: tell which rows are good.

    Attributes:
        delivered: iterations handed out, lost ones included.
    """

    def __init__(
        self, group: PipelineGroup, places: Sequence[tuple[str, Placement]], mask_name: str, wants_rows: bool
    ) -> None:
        self._group = group
        self._places = list(places) if mask_name else list(places)[:-1]
        self._mask_name = mask_name
        self._wants_rows = wants_rows or bool(mask_name)
        self._items: collections.deque[Ready | Outputs | _Failure] = collections.deque()
        self._form: _Form | None = None  # of the batches so far; None: they are not to be packed
        self._size = _FIRST  # of the next group
        self._most = _FIRST
        self._requests: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[_Chunk] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_reading = False
        self._settled: collections.deque[_Chunk] = collections.deque()  # waited for, not among the items yet
        self.delivered = group.delivered
        group.call_at_close(functools.partial(self._requests.put, None))
        weakref.finalize(self, self._requests.put, None)

    @property
    def is_open(self) -> bool:
        return self._group.is_open

    def run(self) -> Ready | Outputs:
        """The next iteration; raises what it raised."""
        _ = self._group.executor  # raises if the pipelines were closed, or the process forked
        while not self._items:
            self._refill()
        item = self._items.popleft()
        if isinstance(item, _Failure):
            self.delivered += item.is_lost
            raise item.error
        self.delivered += 1
        return item

    def checkpoint(self, iterator_state: Any = None) -> bytes:
        """The state after the last iteration handed out."""
        if self._is_reading:
            self._settled.append(self._result())
        return self._group.checkpoint(iterator_state, held=self._group.delivered - self.delivered)

    def _refill(self) -> None:
        if not self._is_reading and not self._settled and self._form is None:
            self._read_one()
            return
        self._group.consumer = threading.current_thread()
        if not self._settled:
            self._settled.append(self._result())
        chunk = self._settled[0]  # stays there until it is taken apart: that may be interrupted
        if not chunk.is_followed:
            if isinstance(chunk.last, list):
                self._look_at(chunk.last)
            elif chunk.last is None:
                self._size = min(2 * self._size, self._most)
            chunk.is_followed = True
            self._start_reading()  # the thread works meanwhile
        if chunk.rows:
            with self._group.handing_over:
                arrays = chunk.take_apart([name for name, _ in self._places])
            self._items.extend(Ready(*pair) for pair in zip(arrays, chunk.rows, strict=False))
        if chunk.last is not None:
            self._items.append(chunk.last)
        self._settled.popleft()

    def _read_one(self) -> None:
        """Without the thread: the first batch, and those that are not to be packed."""
        delivered = self._group.delivered
        try:
            outputs = self._group.run()
            _check_outputs(self._group, outputs)
        except Exception as error:
            self._items.append(_Failure(error, self._group.is_open and self._group.delivered > delivered))
            return
        self._items.append(outputs)
        self._look_at(outputs)
        self._start_reading()

    def _look_at(self, outputs: Outputs) -> None:
        """Chooses whether batches like this one are packed, and how many at most."""
        self._size = _FIRST
        self._form = None
        plans = _host_arrays(outputs, len(self._places), self._mask_name)
        fields = fields_of(plans[0]) if plans else None
        if not fields:
            return
        parts = [place.parts(field.shape) for (_, place), field in zip(self._places, fields, strict=True)]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or any(part.sources != known[0].sources for part in known):
            return
        limit = self._group.pipelines[0].memory_limit
        most_bytes = min(_MOST_BYTES, limit // _SHARE_OF_LIMIT if limit else _MOST_BYTES) // len(outputs)
        most = min(_MOST_BATCHES, most_bytes // max(1, Packing(fields, 1).nbytes))
        form = _Form(fields, known, self._mask_name)
        if most >= _FIRST and form.host_arrays(outputs) is not None:
            self._form = form
            self._most = 1 << (most.bit_length() - 1)

    def _start_reading(self) -> None:
        if self._form is None:
            return
        if self._thread is None:
            self._thread = threading.Thread(
                target=_work, args=(self._requests, self._results), name="headrace-ahead", daemon=True
            )
            self._thread.start()
        self._requests.put(functools.partial(_read, self._group, self._form, self._size, self._wants_rows))
        self._is_reading = True

    def _result(self) -> _Chunk:
        chunk = self._results.get()
        self._is_reading = False
        return chunk


def _work(requests: queue.SimpleQueue[Job | None], results: queue.SimpleQueue[_Chunk]) -> None:
    """The thread. It knows the pipelines only while it reads, so that an iterator that is dropped goes away."""
    while (job := requests.get()) is not None:
        results.put(job())
        del job


def _read(group: PipelineGroup, form: _Form, count: int, wants_rows: bool) -> _Chunk:
    """Reads, packs and uploads ``count`` batches; fewer if one looks different or something is raised."""
    chunk = _Chunk(form, Packing(form.fields, count))
    delivered = 0
    try:
        delivered = group.delivered
        targets = _make_buffers(group, chunk)
        if targets:
            status, chunk.last, failure = group.take_packed(count, chunk.buffers, form.in_buffer(chunk.packing))
            delivered += len(status)
            _keep_rows(chunk, targets, status, wants_rows)
            if status:
                chunk.upload()
            if failure is not None:
                failure.reraise()
        else:
            chunk.last = group.run()
        if chunk.last is not None:  # those that were packed look like one that was checked
            _check_outputs(group, chunk.last)
    except BaseException as error:
        chunk.last = _Failure(error, group.is_open and group.delivered > delivered)
    return chunk


def _keep_rows(
    chunk: _Chunk, targets: list[list[np.ndarray]], status: list[list[bytes | None]], wants_rows: bool
) -> None:
    """Notes which rows of the packed batches are good, and writes the masks."""
    size = chunk.form.fields[0].shape[0]
    for number, plans in enumerate(status):
        rows = [rows_of_status(plan, size) for plan in plans] if wants_rows else None
        chunk.rows.append(rows)
        if rows is not None and chunk.form.mask_name:
            for views, good in zip(targets, rows, strict=True):
                views[-1][number] = good


def _make_buffers(group: PipelineGroup, chunk: _Chunk) -> list[list[np.ndarray]]:
    """Memory for the chunk, and for each pipeline its fields there; nothing if memory_limit leaves no room."""
    try:
        for _ in group.pipelines:
            memory: Any = group.executor.make_buffer(chunk.packing.nbytes)
            chunk.buffers.append(np.asarray(memoryview(memory)))
    except MemoryError:
        return []
    return [chunk.packing.views(buffer) for buffer in chunk.buffers]


def _check_outputs(group: PipelineGroup, outputs: Outputs) -> None:
    for pipe in group.pipelines:
        if pipe._checks.needed:
            pipe._checks.check(outputs[pipe._plan])


def _host_arrays(outputs: Outputs, num_outputs: int, mask_name: str) -> list[list[np.ndarray]] | None:
    """For each pipeline its outputs, and the mask; None if the samples of one differ in shape."""
    count = num_outputs - bool(mask_name)
    try:
        plans = [[output.as_array() for output in plan[:count]] for plan in outputs]
    except RuntimeError:
        return None
    if mask_name:
        for arrays, plan in zip(plans, outputs, strict=True):
            arrays.append(good_rows(plan))
    return plans
