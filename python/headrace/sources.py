"""Python sources: what an external_source node calls for its data, and how."""

from __future__ import annotations

import collections
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace import _core, types


class FeedPosition:
    """Which batch a source has to make.

    Attributes:
        iteration: number of the batch in this epoch, from 0.
        epoch: number of the epoch, from 0.
        batch_size: samples to make, in per-sample mode.
    """

    __slots__ = ("iteration", "epoch", "batch_size")

    def __init__(self, iteration: int, epoch: int, batch_size: int) -> None:
        self.iteration = iteration
        self.epoch = epoch
        self.batch_size = batch_size


def _positional_parameters(source: Callable[..., Any]) -> int:
    """How many arguments a callable takes by position; parameters with defaults count."""
    try:
        parameters = inspect.signature(source).parameters.values()
    except ValueError:  # a built-in without a signature
        return 0
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(parameter.kind in kinds for parameter in parameters)
    has_any_number = any(parameter.kind == inspect.Parameter.VAR_POSITIONAL for parameter in parameters)
    return max(count, 1) if has_any_number else count


class CallableSource:
    """Calls a function for each batch or each sample."""

    is_resumable: bool

    def __init__(self, source: Callable[..., Any], batch: bool, batch_info: bool) -> None:
        count = _positional_parameters(source)
        if count > 1:
            raise TypeError(
                "The `source` callable must accept either 0 or 1 positional arguments to indicate whether it accepts "
                f"the batch or sample indexing information. {source!r} takes {count}."
            )
        self._source = source
        self._takes_index = count == 1
        self._batch = batch
        self._batch_info = batch_info
        self.is_resumable = self._takes_index

    def next(self, position: FeedPosition) -> Any:
        if not self._batch:
            return [self._sample(position, row) for row in range(position.batch_size)]
        if not self._takes_index:
            return self._source()
        if self._batch_info:
            return self._source(types.BatchInfo(position.iteration, position.epoch))
        return self._source(position.iteration)

    def _sample(self, position: FeedPosition, row: int) -> Any:
        if not self._takes_index:
            return self._source()
        number = position.iteration * position.batch_size + row
        return self._source(types.SampleInfo(number, row, position.iteration, position.epoch))

    def reset(self) -> None:
        """Nothing to do: the position tells the function that an epoch begins."""


class IterableSource:
    """Takes batches or samples from an iterable, or from what a generator function returns."""

    is_resumable = False

    def __init__(self, source: Any, batch: bool, cycle: str) -> None:
        self._source = source
        self._batch = batch
        self._cycle = cycle
        self._iterator = self._begin()

    def _begin(self) -> Iterator[Any]:
        return iter(self._source() if inspect.isgeneratorfunction(self._source) else self._source)

    def _item(self) -> Any:
        try:
            return next(self._iterator)
        except StopIteration:
            if self._cycle != "quiet":
                raise
        self._iterator = self._begin()
        return next(self._iterator)

    def next(self, position: FeedPosition) -> Any:
        if self._batch:
            return self._item()
        return [self._item() for _ in range(position.batch_size)]

    def reset(self) -> None:
        if self._cycle == "raise":
            self._iterator = self._begin()


_CYCLES = {None: "no", False: "no", "no": "no", True: "quiet", "quiet": "quiet", "raise": "raise"}


def make_source(source: Any, batch: bool, cycle: Any, batch_info: bool) -> CallableSource | IterableSource:
    """The way to call a user's source. TypeError if it is neither callable nor iterable."""
    try:
        mode = _CYCLES[cycle]
    except (KeyError, TypeError):
        raise ValueError(f'cycle: expected None, a bool, "no", "quiet" or "raise", got {cycle!r}') from None
    if inspect.isgenerator(source) and mode != "no":
        raise TypeError(
            "Cannot cycle through a generator - if the generator is a result of calling a generator function, pass "
            "that function instead as `source`."
        )
    if inspect.isgeneratorfunction(source) or hasattr(source, "__iter__") or hasattr(source, "__getitem__"):
        return IterableSource(source, batch, mode)
    if not callable(source):
        raise TypeError("The `source` must be callable, iterable or a parameterless generator function.")
    if cycle is not None:
        raise ValueError("The argument `cycle` can only be specified if `source` is iterable.")
    return CallableSource(source, batch, batch_info)


class OutputCheck:
    """What the data of one output must be like: as declared, and as it was in the iterations before."""

    def __init__(self, name: str, layout: str | None, dtype: Any, ndim: int | None) -> None:
        if layout is not None and not isinstance(layout, str | types.TensorLayout):
            raise TypeError(f"external_source: layout: expected a str, got {layout!r}")
        self._name = name
        self.layout = str(layout) if layout is not None else ""
        self._dtype = None if dtype is None else types.to_dali_type(dtype)
        self._ndim = None if ndim is None else int(ndim)
        self._kind: tuple[int, int, str] | None = None
        if self._ndim is not None and self._ndim < 0:
            raise ValueError(f"external_source: ndim: expected a number of axes that is not negative, got {ndim}")
        if self._ndim is not None and self.layout and len(self.layout) != self._ndim:
            raise ValueError(f'external_source: layout "{self.layout}" does not have ndim={self._ndim} axes')

    def check(self, batch: _core.Batch) -> None:
        """RuntimeError if the batch is of another kind."""
        kind = (batch._dtype, batch._ndim, batch._layout)
        if kind == self._kind or len(batch) == 0:
            return
        dtype = types.DALIDataType(kind[0])
        if self._dtype is not None and dtype != self._dtype:
            raise RuntimeError(f"ExternalSource '{self._name}' expected data of type {self._dtype}, got {dtype}")
        if self._ndim is not None and kind[1] != self._ndim:
            raise RuntimeError(f"ExternalSource '{self._name}' expected data with {self._ndim} axes, got {kind[1]}")
        if self._kind is not None:
            raise RuntimeError(
                f"ExternalSource '{self._name}': type, number of axes and layout must not change between iterations: "
                f"expected {self._text(self._kind)}, got {self._text(kind)}"
            )
        self._kind = kind

    @staticmethod
    def _text(kind: tuple[int, int, str]) -> str:
        return f'{types.DALIDataType(kind[0])} with {kind[1]} axes and layout "{kind[2]}"'


class FeedQueue:
    """Batches of one external_source node that were fed in and not yet taken."""

    def __init__(self, repeat_last: bool) -> None:
        self._batches: collections.deque[list[_core.Batch]] = collections.deque()
        self._last: list[_core.Batch] | None = None
        self._repeat_last = repeat_last

    def __len__(self) -> int:
        return len(self._batches)

    def append(self, batches: list[_core.Batch]) -> None:
        self._batches.append(batches)

    @property
    def has_next(self) -> bool:
        return bool(self._batches) or self._last is not None

    def take(self) -> list[_core.Batch] | None:
        """The next batch; with repeat_last the one before again; None if there is none."""
        if self._batches:
            batches = self._batches.popleft()
            self._last = batches if self._repeat_last else None
            return batches
        return self._last


def per_output(value: Any, count: int, what: str) -> Sequence[Any]:
    """One value for each output, from one for all or a list of them."""
    if isinstance(value, list | tuple):
        if len(value) > count:
            raise ValueError(f"external_source: {what} has {len(value)} entries for {count} outputs")
        return [*value, *[None] * (count - len(value))]
    return [value] * count
