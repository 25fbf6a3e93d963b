"""How several batches lie in one buffer of host memory, and the jitted function that takes them apart on a device.

A call into JAX costs more than the bytes of a small batch: one buffer for K batches of all outputs is one upload and
one computation, whatever the number of outputs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import numpy as np

_ALIGNMENT = 256  # of each output's bytes, as GPUs like it
_MOST_SPLITS = 128  # compiled functions that are kept


class Field(NamedTuple):
    """One output of one batch: (B, ...) of an element type that JAX has."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class Packing(NamedTuple):
    """Several batches in one buffer: for each field its arrays one behind the other, (batches, B, ...)."""

    fields: tuple[Field, ...]
    batches: int

    def offsets(self) -> list[int]:
        """Where each field begins, and at last where the buffer ends, in bytes."""
        ends = [0]
        for field in self.fields:
            ends.append(-(-(ends[-1] + self.batches * field.nbytes) // _ALIGNMENT) * _ALIGNMENT)
        return ends

    @property
    def nbytes(self) -> int:
        return self.offsets()[-1]

    def views(self, buffer: np.ndarray) -> list[np.ndarray]:
        """For each field the (batches, B, ...) array in a buffer of ``nbytes`` uint8."""
        return [
            buffer[offset : offset + self.batches * field.nbytes].view(field.dtype).reshape(self.batches, *field.shape)
            for field, offset in zip(self.fields, self.offsets(), strict=False)
        ]

    def words(self, buffer: np.ndarray) -> np.ndarray:
        """The buffer as it is uploaded: as unsigned integers of the smallest element, of four bytes at most."""
        return buffer.view(self._word())

    def _word(self) -> np.dtype:
        return np.dtype(f"u{min(4, *(field.dtype.itemsize for field in self.fields))}")

    def splitter(self, leading_axis: bool) -> Callable[[jax.Array], list[list[jax.Array]]]:
        """A jitted function from the uploaded words to ``batches`` arrays for each field.

        They are (B, ...), or (1, B, ...) with ``leading_axis``, on the device of the words.
        """
        return _splitter(self, leading_axis)


@functools.lru_cache(_MOST_SPLITS)
def _splitter(packing: Packing, leading_axis: bool) -> Callable[[jax.Array], list[list[jax.Array]]]:
    size = packing._word().itemsize

    def split(words: jax.Array) -> list[list[jax.Array]]:
        parts = []
        for field, offset in zip(packing.fields, packing.offsets(), strict=False):
            part = words[offset // size : (offset + packing.batches * field.nbytes) // size]
            stacked = _typed(part, field.dtype).reshape(packing.batches, *field.shape)
            parts.append([stacked[k][None] if leading_axis else stacked[k] for k in range(packing.batches)])
        return parts

    return jax.jit(split)


def _typed(words: jax.Array, dtype: np.dtype) -> jax.Array:
    """The same bytes as elements of another type."""
    if dtype == np.bool_:
        return words != 0
    wider = dtype.itemsize // words.dtype.itemsize
    if wider > 1:
        words = words.reshape(-1, wider)
    return jax.lax.bitcast_convert_type(words, dtype)


def fields_of(batches: Sequence[np.ndarray]) -> tuple[Field, ...] | None:
    """One field for each output; None if JAX would narrow one of the types (64 bits without ``jax_enable_x64``)."""
    x64 = jax.config.jax_enable_x64  # type: ignore[attr-defined]
    if not x64 and any(array.dtype.itemsize == 8 for array in batches):
        return None
    return tuple(Field(array.shape, array.dtype) for array in batches)
