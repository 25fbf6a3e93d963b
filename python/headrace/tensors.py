"""Batches and samples as Python sees them: TensorListCPU and TensorCPU, with DALI's methods.

Both are views of memory that belongs to the engine: nothing is copied when a pipeline hands them out, and whatever is
made from them (arrays, DLPack capsules, other tensors) keeps the memory alive.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from headrace import _core, types


def _as_array(tensor: _core.Tensor) -> np.ndarray:
    if tensor._dtype == types.BFLOAT16:
        bits = _core.Tensor(tensor)
        bits._describe(types.UINT16, tensor._shape, "")
        return _as_array(bits).view(types.to_numpy_type(types.BFLOAT16))
    return np.asarray(memoryview(tensor))  # type: ignore[arg-type]  # the buffer protocol has no name in 3.11


def _pointer(target: Any) -> int:
    """The address in a ctypes pointer. An integer may be anything, so it is refused."""
    address = None if isinstance(target, int) else getattr(target, "value", None)
    if isinstance(address, bool) or not isinstance(address, int) or address <= 0:
        raise TypeError(f"copy_to_external: expected a ctypes pointer (c_void_p) to the target, got {target!r}")
    return address


def _describe(name: str, dtype: types.DALIDataType, layout: str, lines: list[str], data: str | None) -> str:
    parts = [data] if data else []
    parts.append(f"dtype={dtype}")
    if layout:
        parts.append(f'layout="{layout}"')
    parts += ['device="cpu"', *lines]
    body = ",\n".join("    " + part.replace("\n", "\n    ") for part in parts)
    return f"{name}(\n{body})"


class TensorCPU(_core.Tensor):
    """One tensor in host memory.

    Args:
        object: an array, a buffer, a DLPack capsule, or an object with ``__dlpack__``. Its memory is used in place.
        layout: meaning of its axes, for example ``"HWC"``.
        is_pinned: accepted without effect.

    Works with ``numpy.asarray``, ``memoryview`` and DLPack without a copy; writes through them reach the batch.
    """

    def __init__(self, object: Any, layout: str | None = None, is_pinned: bool = False) -> None:
        if isinstance(object, _core.Tensor):
            super().__init__(object)
            if layout is not None:
                self.set_layout(layout)
        else:
            super().__init__(object, layout or "", False)

    @property
    def dtype(self) -> types.DALIDataType:
        return types.DALIDataType(self._dtype)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return _as_array(self).__array_interface__

    def shape(self) -> list[int]:
        return list(self._shape)

    def ndim(self) -> int:
        return len(self._shape)

    def layout(self) -> str:
        return self._layout

    def set_layout(self, layout: str | None) -> None:
        """Names the axes anew; ``""`` or None: no layout. ValueError for a wrong number of letters."""
        self._describe(self._dtype, self._shape, layout or "")

    def source_info(self) -> str:
        """The file or key that the sample was read from; ``""`` if unknown."""
        return self._source

    def get_property(self, key: str) -> Any:
        """``"layout"`` or ``"source_info"``; None for other keys."""
        return {"layout": self.layout, "source_info": self.source_info}.get(key, lambda: None)()

    def as_cpu(self) -> TensorCPU:
        return self

    def as_array(self) -> np.ndarray:
        """A numpy array of the same memory."""
        return _as_array(self)

    def data_ptr(self) -> int:
        """Address of the first element."""
        return self._data_ptr

    def copy_to_external(self, ptr: Any) -> None:
        """Copies the elements in C order to the memory that a ctypes pointer names."""
        import ctypes

        array = np.ascontiguousarray(_as_array(self))
        ctypes.memmove(_pointer(ptr), array.ctypes.data, array.nbytes)

    def reinterpret(self, new_type: types.DALIDataType) -> None:
        """Takes the same bytes as another type; the last extent changes with the element's size."""
        new_type = types.DALIDataType(new_type)
        old_size = np.dtype(types.to_numpy_type(self.dtype)).itemsize
        new_size = np.dtype(types.to_numpy_type(new_type)).itemsize
        shape = list(self._shape)
        if old_size != new_size:
            if not shape or shape[-1] * old_size % new_size:
                raise RuntimeError(
                    f"reinterpret: {shape} elements of {self.dtype} are no whole number of {new_type} in the last axis"
                )
            shape[-1] = shape[-1] * old_size // new_size
        self._describe(new_type, shape, self._layout)

    def squeeze(self, dim: int | None = None) -> bool:
        """Removes the axis ``dim``, or all axes, if their extent is 1. Tells whether anything changed."""
        shape = self._shape
        if dim is not None and not -len(shape) <= dim < len(shape):
            raise IndexError(f"squeeze: axis {dim} of a tensor with {len(shape)} axes")
        wanted = range(len(shape)) if dim is None else [dim % len(shape)]
        dropped = {axis for axis in wanted if shape[axis] == 1}
        kept = [axis for axis in range(len(shape)) if axis not in dropped]
        layout = "".join(self._layout[axis] for axis in kept) if self._layout else ""
        self._describe(self._dtype, [shape[axis] for axis in kept], layout)
        return bool(dropped)

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of a scalar tensor")
        return self._shape[0]

    def __repr__(self) -> str:
        return _describe("TensorCPU", self.dtype, self._layout, [f"shape={self._shape}"], str(_as_array(self)))


class TensorListCPU(_core.Batch):
    """A batch in host memory: samples of one element type and number of axes, whose shapes may differ.

    Args:
        object: an array with a leading batch axis, a list of arrays or tensors, a DLPack capsule, or another
            TensorListCPU. The memory is used in place where it is C-contiguous, else copied.
        layout: of one sample, for example ``"HWC"``.
        is_pinned, contiguous: accepted without effect.

    Raises TypeError for samples of different types or numbers of axes, ValueError for a layout of the wrong length.
    """

    def __init__(
        self, object: Any = (), layout: str | None = None, is_pinned: bool = False, contiguous: bool = True
    ) -> None:
        if isinstance(object, TensorListCPU):
            super().__init__(object)
            if layout is not None:
                self.set_layout(layout)
            return
        try:
            super().__init__(object, layout or "", False)
        except RuntimeError as error:  # samples of different kinds, or no arrays at all
            raise TypeError(f"TensorListCPU: {error}") from None

    @staticmethod
    def broadcast(tensor: TensorCPU, num_samples: int) -> TensorListCPU:
        """A list with the same tensor ``num_samples`` times, without copying."""
        return TensorListCPU._of(_core.Batch._broadcast(tensor, num_samples))

    @staticmethod
    def from_dlpack_list(
        list_of_objects: list[Any], layout: str | None = None, contiguous: bool = False
    ) -> TensorListCPU:
        """A list of tensors that support DLPack as a batch."""
        return TensorListCPU(list(list_of_objects), layout)

    @classmethod
    def _of(cls, batch: _core.Batch) -> TensorListCPU:
        made = cls.__new__(cls)
        _core.Batch.__init__(made, batch)
        return made

    @property
    def dtype(self) -> types.DALIDataType:
        return types.DALIDataType(self._dtype)

    def shape(self) -> list[tuple[int, ...]]:
        """The samples' shapes."""
        return self._shapes()

    def ndim(self) -> int:
        return self._ndim

    def layout(self) -> str:
        return self._layout

    def set_layout(self, layout: str | None) -> None:
        """Names the axes of the samples anew; ValueError for a wrong number of letters."""
        self._describe(self._dtype, layout or "")

    def is_dense_tensor(self) -> bool:
        """All samples have the same shape, so that as_tensor() and as_array() work."""
        return self._is_dense

    def at(self, index: int) -> np.ndarray:
        """Sample ``index`` (0 .. len - 1) as a numpy array; RuntimeError out of range."""
        if not 0 <= operator.index(index) < len(self):
            raise RuntimeError(f"Index is out-of-range: sample {index} of a batch of {len(self)}")
        return _as_array(self._tensor(index))

    def __getitem__(self, index: int) -> TensorCPU:
        try:
            position = operator.index(index)
        except TypeError:
            raise TypeError(
                f"TensorListCPU indices must be integers, not {type(index).__name__}; "
                "for a part of the batch take a part of as_array(), or a list of samples"
            ) from None
        size = len(self)
        if not -size <= position < size:
            raise IndexError(f"TensorListCPU index out of range: {position} of {size}")
        return TensorCPU(self._tensor(position % size))

    def __iter__(self) -> Iterator[TensorCPU]:
        for i in range(len(self)):
            yield TensorCPU(self._tensor(i))

    def as_cpu(self) -> TensorListCPU:
        return self

    def as_tensor(self) -> TensorCPU:
        """The batch as one tensor with a leading axis N; RuntimeError if shapes differ."""
        return TensorCPU(self._dense_tensor())

    def as_array(self) -> np.ndarray:
        """The batch as one numpy array; RuntimeError if shapes differ."""
        return _as_array(self._dense_tensor())

    def as_reshaped_tensor(self, shape: Sequence[int], layout: str | None = None) -> TensorCPU:
        """All elements, sample after sample, as one tensor of ``shape``; RuntimeError if the volume differs."""
        return TensorCPU(self._reshaped(list(shape), layout or ""))

    def copy_to_external(self, ptr: Any) -> None:
        """Copies all samples, one behind the other, to the memory that a ctypes pointer names."""
        self._copy_to(_pointer(ptr))

    def data_ptr(self) -> int:
        """Address of the first sample; the others follow it if the batch is dense."""
        return self._dense_tensor()._data_ptr if self._is_dense else self._data_ptr()

    def reinterpret(self, new_type: types.DALIDataType) -> None:
        """Takes the same bytes as another type of the same size."""
        self._describe(types.DALIDataType(new_type), self._layout)

    def reset(self) -> None:
        """Lets the samples go: the list is empty afterwards."""
        self._assign(_core.Batch([], "", False))

    def source_info(self, index: int) -> str:
        """The file or key that a sample was read from; ``""`` if unknown."""
        return self[index].source_info()

    def __repr__(self) -> str:
        return self._text(limit=1000)

    def __str__(self) -> str:
        return self._text(limit=100_000)

    def _text(self, limit: int) -> str:
        shapes = self._shapes()
        elements = sum(int(np.prod(shape)) for shape in shapes)
        data = None
        if 0 < elements <= limit:
            data = str(self.as_array()) if self._is_dense else "[" + ",\n ".join(str(t.as_array()) for t in self) + "]"
        shown = str(shapes) if len(shapes) <= 16 else str(shapes[:8])[:-1] + f", ... {len(shapes) - 8} more]"
        lines = [f"num_samples={len(shapes)}", f"shape={shown}"]
        return _describe("TensorListCPU", self.dtype, self._layout, lines, data)


# The names that a program may use where it doesn't care about the device.
Tensor = TensorCPU
TensorList = TensorListCPU
