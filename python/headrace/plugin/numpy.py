"""DALIGenericIterator for NumPy: batches as dicts of arrays."""

from __future__ import annotations

import numpy as np

from headrace.plugin.base_iterator import BaseIterator, LastBatchPolicy
from headrace.tensors import TensorListCPU

__all__ = ["DALIGenericIterator", "LastBatchPolicy"]


class DALIGenericIterator(BaseIterator):
    """Iterates over batches as dicts from the names in ``output_map`` to arrays of shape (B, ...).

    One pipeline's arrays are views of its memory, which they keep: nothing is copied, and a later batch never
    overwrites them. The batches of several pipelines are joined along axis 0. Arguments: see
    :class:`~headrace.plugin.base_iterator.BaseIterator`.
    """

    def __next__(self) -> dict[str, np.ndarray]:
        outputs, rows = self._next_outputs()
        batch = {}
        for number, name in enumerate(self.output_map):
            batch[name] = _join([_array(name, plan[number]) for plan in outputs], rows)
        if self._mask_name:
            batch[self._mask_name] = _join(self._masks(outputs), rows)
        return batch


def _array(name: str, output: TensorListCPU) -> np.ndarray:
    try:
        return output.as_array()
    except RuntimeError as error:
        raise RuntimeError(f"output {name!r}: {error}") from error


def _join(arrays: list[np.ndarray], rows: list[int] | None) -> np.ndarray:
    if rows is not None:
        arrays = [array[:count] for array, count in zip(arrays, rows, strict=True)]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
