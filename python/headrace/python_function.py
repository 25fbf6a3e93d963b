"""fn.python_function, fn.dl_tensor_python_function and their classes: functions of the program in a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace import _core, operator_call
from headrace.callbacks import Callback, Output, call_user, layout_list, output_list
from headrace.schemas import find_schema
from headrace.tensors import TensorCPU


class FunctionCallback(Callback):
    """Calls a function for each sample or each batch.

    Args:
        function: gets one argument for each input.
        layouts: of the outputs; None: none.
        by_batch: arguments are lists of samples, results lists of arrays.
    """

    def __init__(self, function: Callable[..., Any], layouts: list[str | None], by_batch: bool) -> None:
        super().__init__()
        self._function = function
        self._layouts = [layout or "" for layout in layouts]
        self._by_batch = by_batch

    def run(self, size: int, inputs: list[_core.Batch], writable: list[bool], dispatched: Any) -> Sequence[Output]:
        samples = [
            [self._argument(batch._tensor(row), may_write) for row in range(size)]
            for batch, may_write in zip(inputs, writable, strict=True)
        ]
        results = self._call_with_batch(samples, size) if self._by_batch else self._call_with_each(samples, size)
        return [(data, layout, copy) for (data, copy), layout in zip(results, self._layouts, strict=True)]

    def _call_with_each(self, samples: list[list[Any]], size: int) -> list[tuple[Any, bool]]:
        rows: list[list[Any]] = [[] for _ in self._layouts]
        for number in range(size):
            arguments = [column[number] for column in samples]
            row = self._call(arguments, f" for sample {number} of the batch")
            for i, column in enumerate(rows):
                column.append(row[i] if self._may_use(row, i) else self._copy(row[i]))
        return [(column, False) for column in rows]

    def _call_with_batch(self, samples: list[list[Any]], size: int) -> list[tuple[Any, bool]]:
        outputs = self._call(samples)
        results = []
        for i, output in enumerate(outputs):
            if not hasattr(output, "__len__") or len(output) != size:
                got = f"{len(output)} samples" if hasattr(output, "__len__") else type(output).__name__
                raise RuntimeError(f"output {i} of the function: expected a list of {size} arrays, got {got}")
            del output
            results.append((outputs[i], not self._may_use(outputs, i)))
        return results

    def _call(self, arguments: list[Any], what: str = "") -> list[Any]:
        """The outputs in a list that holds the only references of ours."""
        return list(output_list(call_user(self._function, arguments, what), len(self._layouts)))

    def _may_use(self, outputs: list[Any], i: int) -> bool:
        """The array needs no copy: the function cannot reach it any more, and so not return or change it again."""
        return type(outputs[i]) is np.ndarray and _core.is_only_reference(outputs, i)

    def _argument(self, tensor: _core.Tensor, may_write: bool) -> Any:
        array = TensorCPU(tensor).as_array()
        return array if may_write else array.copy()

    def _copy(self, array: Any) -> Any:
        return array.copy() if isinstance(array, np.ndarray) else array


class CapsuleCallback(FunctionCallback):
    """The same with DLPack capsules, and objects that can make one as results."""

    def _argument(self, tensor: _core.Tensor, may_write: bool) -> Any:
        return tensor.__dlpack__() if may_write else tensor.__dlpack__(copy=True)

    def _may_use(self, outputs: list[Any], i: int) -> bool:
        return False

    def _copy(self, array: Any) -> Any:
        try:
            return _core.Tensor(array, "", True)
        except TypeError as error:
            raise RuntimeError(f"the function's result: {error}") from None


def _add_node(
    op: str,
    kind: type[FunctionCallback],
    inputs: tuple[Any, ...],
    function: Callable[..., Any],
    num_outputs: int,
    output_layouts: Any,
    batch_processing: bool,
    device: str | None,
    name: str | None,
    **arguments: Any,
) -> Any:
    if not callable(function):
        raise TypeError(f"[{op}] function: expected a callable, got {type(function).__name__}")
    layouts = layout_list(output_layouts, num_outputs, op)
    callback = kind(function, layouts, bool(batch_processing))
    given = {"num_outputs": num_outputs, "batch_processing": bool(batch_processing), **arguments}
    return operator_call.call(find_schema(op), inputs, given, device, name, callback=callback)


def python_function(
    *inputs: Any,
    function: Callable[..., Any],
    num_outputs: int = 1,
    output_layouts: Any = None,
    batch_processing: bool = False,
    device: str | None = None,
    name: str | None = None,
    preserve: bool = False,
    bytes_per_sample_hint: Any = None,
) -> Any:
    """A node that calls a Python function with NumPy arrays.

    Args:
        inputs: nodes; the function gets one argument for each.
        function: gets arrays of one sample and returns an array, or a tuple of ``num_outputs`` arrays. It may write to
            its arguments, which nobody else sees. It runs on a thread of its own, one call at a time, in order.
        num_outputs: 0: the function is called for its effect, and nothing is returned.
        output_layouts: layout of all outputs, or a list with one for each; without: none.
        batch_processing: the function gets lists of arrays, one entry for each sample, and returns such lists.
        device: ``"cpu"`` or ``"gpu"``. Without CUDA the function gets NumPy arrays either way.
        name: of the node.
        preserve, bytes_per_sample_hint: accepted without effect; the function is called even if nobody uses what it
            returns.

    An exception of the function comes out of ``run()`` as a RuntimeError with the function's traceback. A pipeline with
    such a node cannot be serialized.
    """
    return _add_node(
        "python_function",
        FunctionCallback,
        inputs,
        function,
        num_outputs,
        output_layouts,
        batch_processing,
        device,
        name,
        preserve=preserve,
        bytes_per_sample_hint=bytes_per_sample_hint,
    )


def dl_tensor_python_function(
    *inputs: Any,
    function: Callable[..., Any],
    num_outputs: int = 1,
    output_layouts: Any = None,
    batch_processing: bool = True,
    synchronize_stream: bool = True,
    device: str | None = None,
    name: str | None = None,
    preserve: bool = False,
    bytes_per_sample_hint: Any = None,
) -> Any:
    """A node that calls a Python function with DLPack capsules, which any framework takes.

    Args:
        function: gets capsules of CPU memory and returns capsules or objects with ``__dlpack__``, which are copied.
        batch_processing: True: the function gets lists of capsules, one entry for each sample, and returns such lists;
            False: it gets the capsules of one sample.
        synchronize_stream: accepted without effect.
        inputs, num_outputs, output_layouts, device, name, preserve, bytes_per_sample_hint: as for
            :func:`python_function`.
    """
    return _add_node(
        "dl_tensor_python_function",
        CapsuleCallback,
        inputs,
        function,
        num_outputs,
        output_layouts,
        batch_processing,
        device,
        name,
        synchronize_stream=synchronize_stream,
        preserve=preserve,
        bytes_per_sample_hint=bytes_per_sample_hint,
    )


class PythonFunction:
    """Class form of :func:`python_function`: arguments here or in the call."""

    _add = staticmethod(python_function)

    def __init__(
        self, function: Callable[..., Any], num_outputs: int = 1, device: str = "cpu", **arguments: Any
    ) -> None:
        self.device = device
        self._arguments = {"function": function, "num_outputs": num_outputs, "device": device, **arguments}

    def __call__(self, *inputs: Any, **arguments: Any) -> Any:
        return self._add(*inputs, **{**self._arguments, **arguments})


class DLTensorPythonFunction(PythonFunction):
    """Class form of :func:`dl_tensor_python_function`."""

    _add = staticmethod(dl_tensor_python_function)
