"""Subscripts of nodes: ``images[0, y:y + 8, ::-1, newaxis("C")]``."""

from __future__ import annotations

import operator
from typing import Any

from headrace.data_node import DataNode, NewAxis


def _index(value: Any) -> Any:
    """An integer or a node; TypeError for anything else."""
    if isinstance(value, DataNode):
        return value
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"Invalid type for an index: {type(value).__name__}; expected an integer or a DataNode"
        ) from None


def _slice_arguments(axis: int, subscript: slice) -> dict[str, Any]:
    parts = {"lo": subscript.start, "hi": subscript.stop, "step": subscript.step}
    arguments = {f"{part}_{axis}": _index(value) for part, value in parts.items() if value is not None}
    if arguments.get(f"step_{axis}") == 0 and not isinstance(arguments[f"step_{axis}"], DataNode):
        raise ValueError("slice step cannot be zero")
    return arguments


def _new_axis_positions(subscripts: tuple[Any, ...]) -> list[tuple[int, NewAxis]]:
    """Where the new axes stand in the output: integer indices drop their axis."""
    positions = []
    axis = 0
    for subscript in subscripts:
        if isinstance(subscript, NewAxis):
            positions.append((axis, subscript))
        axis += isinstance(subscript, NewAxis | slice) or subscript is None
    return positions


def subscript_node(node: DataNode, subscripts: tuple[Any, ...]) -> DataNode:
    """The part of each sample that the subscripts name.

    Integers (negative ones count from the end) and nodes with one integer per sample drop their axis; slices keep it;
    ``None`` is ``:``. Out of range: RuntimeError when the pipeline runs.
    """
    from headrace.operator_call import call_by_name

    arguments: dict[str, Any] = {}
    axis = 0
    for subscript in subscripts:
        if isinstance(subscript, NewAxis):
            continue
        if subscript is Ellipsis:
            raise NotImplementedError("Ellipsis in indexing is not implemented")
        if isinstance(subscript, slice):
            arguments.update(_slice_arguments(axis, subscript))
        elif subscript is not None:
            arguments[f"at_{axis}"] = _index(subscript)
        axis += 1
    if arguments:
        node = call_by_name("_tensor_subscript", (node,), {**arguments, "num_subscripts": axis})
    elif axis > 0:
        node = call_by_name("_subscript_dim_check", (node,), {"num_subscripts": axis})
    positions = _new_axis_positions(subscripts)
    if not positions:
        return node
    names = [new_axis.name for _, new_axis in positions]
    if any(names) and not all(names):
        raise ValueError("newaxis: either all or none of the new axes of a subscript must have a name")
    return call_by_name(
        "expand_dims",
        (node,),
        {
            "axes": [position for position, _ in positions],
            "new_axis_names": "".join(name or "" for name in names) or None,
        },
    )
