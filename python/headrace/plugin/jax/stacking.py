"""Stacks of batches for lax.scan: K batches of the pipelines as arrays with an axis of K."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.plugin.base_iterator import Outputs


class Stack:
    """Host memory for up to ``count`` batches: for each pipeline and output one array (count, B, ...)."""

    def __init__(self, count: int, num_outputs: int, make_buffer: Callable[[int], Any]) -> None:
        self._count = count
        self._num_outputs = num_outputs
        self._make_buffer = make_buffer
        self._plans: list[list[np.ndarray]] = []
        self._masks: list[list[np.ndarray]] = []
        self.size = 0

    def add(self, outputs: Outputs, masks: list[np.ndarray] | None) -> None:
        """Copies a batch; RuntimeError if its shapes differ from those of the first one."""
        batches = [[output.as_array() for output in plan[: self._num_outputs]] for plan in outputs]
        if not self._plans:
            self._plans = [[self._make(array) for array in arrays] for arrays in batches]
        for stacks, arrays in zip(self._plans, batches, strict=True):
            for stack, array in zip(stacks, arrays, strict=True):
                if stack.shape[1:] != array.shape or stack.dtype != array.dtype:
                    raise RuntimeError(
                        f"group: batches of one group must be alike, got {array.dtype} of shape {array.shape} behind "
                        f"{stack.dtype} of shape {stack.shape[1:]}"
                    )
        for stacks, arrays in zip(self._plans, batches, strict=True):
            for stack, array in zip(stacks, arrays, strict=True):
                stack[self.size] = array
        if masks is not None:
            self._masks.append(masks)
        self.size += 1

    def _make(self, array: np.ndarray) -> np.ndarray:
        buffer = np.asarray(memoryview(self._make_buffer(self._count * array.nbytes)))
        return buffer.view(array.dtype).reshape(self._count, *array.shape)

    def output(self, number: int) -> list[np.ndarray]:
        """For each pipeline the batches of one output, (size, B, ...)."""
        return [stacks[number][: self.size] for stacks in self._plans]

    def masks(self) -> list[np.ndarray]:
        """For each pipeline which rows are good, (size, B)."""
        return [np.stack(masks) for masks in zip(*self._masks, strict=True)]
