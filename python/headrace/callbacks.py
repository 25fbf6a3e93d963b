"""Callbacks: functions of the program that operators call, and how the engine finds them."""

from __future__ import annotations

import itertools
import traceback
import weakref
from collections.abc import Sequence
from typing import Any

from headrace import _core

# What a callback gives for one output: data as for a batch, its layout, and whether the data must be copied.
Output = tuple[Any, str, bool]

_numbers = itertools.count(1)
_callbacks: weakref.WeakValueDictionary[int, Callback] = weakref.WeakValueDictionary()


class Callback:
    """What an operator of the graph calls. It lives as long as the operator's node.

    Attributes:
        number: by which the engine knows it.
        is_joint: called for all pipelines of a group at once, on the thread that asks for batches.
        spans_processes: the other processes of the program must call theirs as often.
    """

    is_joint = False
    spans_processes = False

    def __init__(self) -> None:
        self.number = next(_numbers)
        _callbacks[self.number] = self

    def run(self, size: int, inputs: list[_core.Batch], writable: list[bool], dispatched: Any) -> Sequence[Output]:
        """The outputs for one batch of each input.

        Args:
            size: samples of the batch, at least 1.
            inputs: batches.
            writable: of which the memory may be changed.
            dispatched: what :meth:`dispatch` gave for this pipeline.
        """
        raise NotImplementedError

    def dispatch(self, inputs: list[list[_core.Batch]]) -> Sequence[Any]:
        """Begins the work for all pipelines of a group. For each an object for its :meth:`run`."""
        raise NotImplementedError


def _find(number: int) -> Callback:
    callback = _callbacks.get(number)
    if callback is None:
        raise RuntimeError("the pipeline that this function belongs to is gone")
    return callback


def _run(number: int, size: int, inputs: list[_core.Batch], writable: list[bool], dispatched: Any) -> Sequence[Output]:
    return _find(number).run(size, inputs, writable, dispatched)


def _dispatch(number: int, inputs: list[list[_core.Batch]]) -> Sequence[Any]:
    return _find(number).dispatch(inputs)


def call_user(function: Any, arguments: Sequence[Any], what: str = "") -> Any:
    """Calls a function of the program. What it raises becomes a RuntimeError with its traceback as text.

    Args:
        function: the function.
        arguments: by position.
        what: for the message: which sample.
    """
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
        text = "".join(traceback.format_exception(type(error), error, trace)).rstrip()
        raise RuntimeError(f"the function raised an exception{what}:\n\n{text}") from None


def output_list(result: Any, count: int) -> Sequence[Any]:
    """What a function returned, as a list of its outputs; RuntimeError if there are not ``count``."""
    if count == 0:
        return ()
    outputs: Sequence[Any] = (result,)
    if isinstance(result, tuple) or (count > 1 and isinstance(result, list)):
        outputs = result
    elif result is None:
        outputs = ()
    if len(outputs) != count:
        raise RuntimeError(f"the function returned {len(outputs)} outputs, expected {count} (num_outputs)")
    return outputs


def layout_list(output_layouts: Any, num_outputs: int, name: str) -> list[str | None]:
    """The layout of each output, None where not given, from one for all or a list."""
    if output_layouts is None:
        return [None] * num_outputs
    if isinstance(output_layouts, str):
        return [output_layouts] * num_outputs
    layouts: list[str | None] = [None if layout is None else str(layout) for layout in output_layouts]
    if len(layouts) > num_outputs:
        raise ValueError(f"[{name}] output_layouts: {len(layouts)} layouts for {num_outputs} outputs")
    return [*layouts, *[None] * (num_outputs - len(layouts))]


_core.set_callbacks(_run, _dispatch)
