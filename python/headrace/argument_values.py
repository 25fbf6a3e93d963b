"""Conversion of constant arguments to the types that a schema names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from headrace import types

# What the argument's type is called in messages.
TYPE_NAMES = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "str": "str",
    "DALIDataType": "headrace.types.DALIDataType",
    "DALIImageType": "headrace.types.DALIImageType",
    "DALIInterpType": "headrace.types.DALIInterpType",
    "layout": "str",
    "bool_list": "list of bool",
    "int_list": "list of int",
    "float_list": "list of float",
    "str_list": "list of str",
    "DALIDataType_list": "list of headrace.types.DALIDataType",
    "layout_list": "list of str",
}


def _integer(value: Any) -> int:
    number = int(value)
    if not -(2**63) <= number < 2**64:
        raise OverflowError(f"{number} does not fit into 64 bits")
    return number if number < 2**63 else number - 2**64


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    return str(value)


_ELEMENT_TYPES = frozenset(range(types.UINT8, types.BOOL + 1)) | {types.BFLOAT16, types.NO_TYPE}


def _data_type(value: Any) -> int:
    number = int(value) if isinstance(value, int) else int(types.to_dali_type(value))
    if number not in _ELEMENT_TYPES:
        raise ValueError(f"{value!r} is no element type of a tensor")
    return number


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "int": _integer,
    "float": float,
    "str": _text,
    "DALIDataType": _data_type,
    "DALIImageType": _integer,
    "DALIInterpType": _integer,
    "layout": _text,
}


def _elements(value: Any) -> Iterable[Any]:
    if isinstance(value, np.ndarray):
        return value.ravel().tolist()
    if isinstance(value, list | tuple | range | set | frozenset):
        return value
    if isinstance(value, str | bytes | os.PathLike) or not hasattr(value, "__iter__"):
        return (value,)
    return list(value)


def convert(value: Any, type_name: str) -> Any:
    """``value`` as the schema's type; lists also from a single value, an array or any iterable.

    Conversion is Python's own (``int()``, ``float()``, ...), with its exceptions: TypeError, ValueError, OverflowError.
    """
    if isinstance(value, types.ScalarConstant):
        value = value.value
    element_type = type_name.removesuffix("_list")
    scalar = _SCALARS[element_type]
    if element_type == type_name:
        return scalar(value.item() if isinstance(value, np.ndarray) and value.size == 1 else value)
    return [scalar(element) for element in _elements(value)]
