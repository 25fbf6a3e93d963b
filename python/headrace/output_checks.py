"""OutputChecks: what the user declared about a pipeline's outputs, compared at every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace import types
from headrace.tensors import TensorListCPU


def _listed(value: Any, name: str, convert: Any) -> Any:
    if isinstance(value, list | tuple):
        return [None if element is None else convert(element, name) for element in value]
    return None if value is None else convert(value, name)


def _dtype(value: Any, name: str) -> types.DALIDataType:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, types.DALIDataType)):
        raise TypeError(f"{name}: expected a type of headrace.types, got {value!r}")
    dtype = types.to_dali_type(value)
    if dtype == types.NO_TYPE:
        raise ValueError(f"{name}: {dtype} is not allowed")
    return dtype


def _ndim(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: expected an int, got {value!r}")
    if value < 0:
        raise ValueError(f"{name}: expected a number of axes that is not negative, got {value}")
    return value


def _layout(value: Any, name: str) -> str:
    if not isinstance(value, str | types.TensorLayout):
        raise TypeError(f"{name}: expected a str, got {value!r}")
    return str(value)


def data_types_from(numbers: Any) -> Any:
    """Declared element types from their numbers: one, or a list with None where nothing was declared."""
    if isinstance(numbers, list):
        return [None if number is None else types.DALIDataType(number) for number in numbers]
    return types.DALIDataType(numbers)


class OutputChecks:
    """Declared element types, numbers of axes and layouts: one for all outputs or one for each; None: anything.

    Attributes:
        needed: something was declared.
    """

    def __init__(self, dtype: Any, ndim: Any, layout: Any) -> None:
        self._dtype = _listed(dtype, "output_dtype", _dtype)
        self._ndim = _listed(ndim, "output_ndim", _ndim)
        self._layout = _listed(layout, "output_layout", _layout)
        self.needed = any(value is not None for value in (self._dtype, self._ndim, self._layout))

    @staticmethod
    def _per_output(value: Any, count: int, name: str) -> list[Any]:
        if not isinstance(value, list):
            return [value] * count
        if len(value) != count:
            raise RuntimeError(f"{name} has {len(value)} entries, but the pipeline has {count} outputs")
        return value

    def dtypes(self, count: int) -> list[Any]:
        return self._per_output(self._dtype, count, "output_dtype")

    def ndims(self, count: int) -> list[Any]:
        return self._per_output(self._ndim, count, "output_ndim")

    def layouts(self, count: int) -> list[Any]:
        return self._per_output(self._layout, count, "output_layout")

    def parameters(self) -> dict[str, Any]:
        """As arguments of Pipeline, for JSON: nothing where nothing was declared."""
        names = {"output_dtype": self._dtype, "output_ndim": self._ndim, "output_layout": self._layout}
        return {name: value for name, value in names.items() if value is not None}

    def check(self, outputs: Sequence[TensorListCPU]) -> None:
        """RuntimeError naming what was expected and what came."""
        count = len(outputs)
        for i, (output, dtype, ndim, layout) in enumerate(
            zip(outputs, self.dtypes(count), self.ndims(count), self.layouts(count), strict=True)
        ):
            for what, expected, received in (
                ("element type", dtype, output.dtype),
                ("number of axes", ndim, output.ndim()),
                ("layout", layout, output.layout()),
            ):
                if expected is not None and expected != received:
                    raise RuntimeError(
                        f"Output {i} of the pipeline: unexpected {what}. Expected: {expected}, received: {received}"
                    )
