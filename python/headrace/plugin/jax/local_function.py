"""JAX functions that see the batch of one pipeline, on one device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Sharding, SingleDeviceSharding

from headrace import _core
from headrace.callbacks import Callback, Output, call_user, output_list
from headrace.plugin.jax.integration import device_of_pipeline
from headrace.tensors import TensorListCPU


def dense_arrays(inputs: Sequence[_core.Batch]) -> list[np.ndarray]:
    """Each batch as one array, without a copy where its samples lie side by side; RuntimeError if it is ragged."""
    arrays = []
    for number, batch in enumerate(inputs):
        try:
            arrays.append(TensorListCPU._of(batch).as_array())
        except RuntimeError as error:
            raise RuntimeError(f"input {number} of the function: its samples differ in shape: {error}") from None
    return arrays


def choose_layout(given: str | None, number: int, ndim: int, inputs: Sequence[_core.Batch]) -> str:
    """The layout of output ``number`` with ``ndim`` axes: as given, else of the input with as many axes."""
    if given is not None:
        return given
    return inputs[number]._layout if number < len(inputs) and inputs[number]._ndim == ndim else ""


def checked_results(result: Any, count: int, kinds: tuple[Any, ...]) -> Sequence[Any]:
    """What a function returned, as a list of ``count`` arrays of these kinds; RuntimeError if it is something else."""
    results = output_list(result, count)
    for number, array in enumerate(results):
        if not isinstance(array, kinds):
            got = f"{type(array).__name__} (num_outputs={count})"
            raise RuntimeError(f"output {number} of the function: expected a jax.Array, got {got}")
        if array.ndim == 0:
            raise RuntimeError(f"output {number} of the function: expected a batch on axis 0, got a scalar")
    return results


def _place(array: np.ndarray, sharding: Sharding) -> jax.Array:
    return jax.make_array_from_callback(array.shape, sharding, lambda _: array)


class LocalCallback(Callback):
    """Calls the function on the thread for Python, and waits for its results.

    Args:
        function: gets an array for each input.
        layouts: of the outputs; None: that of the input.
        sharding: over one device, or None: the pipeline's device.
        device_id: the pipeline's.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        layouts: list[str | None],
        sharding: Sharding | None,
        device_id: int | None,
    ) -> None:
        super().__init__()
        self._function = function
        self._layouts = layouts
        self._sharding = sharding
        self._device_id = device_id

    def run(self, size: int, inputs: list[_core.Batch], writable: list[bool], dispatched: Any) -> Sequence[Output]:
        if self._sharding is None:
            self._sharding = SingleDeviceSharding(device_of_pipeline(self._device_id))
        arrays = [_place(array, self._sharding) for array in dense_arrays(inputs)]
        result = call_user(self._function, arrays)
        results = checked_results(result, len(self._layouts), (jax.Array, np.ndarray))
        call_user(jax.block_until_ready, [list(results)])
        outputs: list[Output] = []
        for number, array in enumerate(results):
            if array.shape[0] != size:
                raise RuntimeError(f"output {number} of the function has {array.shape[0]} rows, the batch has {size}")
            layout = choose_layout(self._layouts[number], number, array.ndim - 1, inputs)
            outputs.append((np.asarray(array), layout, isinstance(array, np.ndarray)))
        return outputs
