"""Brings the values that a variable got in two branches together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace import types
from headrace.conditionals.scopes import Branch, Condition
from headrace.data_node import DataNode

_NUMBERS = (bool, int, float, np.generic, np.ndarray, types.ScalarConstant)


class Unusable:
    """What a variable holds that has no value for all samples; reading the variable raises."""

    def __init__(self, make_error: Callable[[str], BaseException]) -> None:
        self.make_error = make_error


def _unbound(name: str) -> BaseException:
    return UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")


# A variable that was never assigned; the value of a function that hasn't returned; that of one without `return`.
UNBOUND = Unusable(_unbound)
NO_VALUE = Unusable(_unbound)
MISSING_RETURN = Unusable(_unbound)
RETURN_IN_ONE = Unusable(
    lambda name: RuntimeError(
        "Inconsistent `if/else` control flow: some samples return a value, others reach the end of the function. Every "
        "path must have a return statement; the `else` branch must also have a return statement."
    )
)


class Partial:
    """The value of a function for the samples that have returned."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Divergence(Exception):
    """Two values that can't be merged."""


def _initialized_in_one(condition: Condition, branch: str) -> Unusable:
    return Unusable(
        lambda name: RuntimeError(
            f"Inconsistent outputs of the `if/else` statement at {condition.where}: a variable needs a value on every "
            f"path. Variable '{name}' must also be initialized in the `{branch}` branch."
        )
    )


def _divergent(condition: Condition, error: Exception) -> Unusable:
    kind = ValueError if isinstance(error, Divergence) else TypeError
    text = str(error)
    return Unusable(
        lambda name: kind(
            f"Divergent data in the branches of the `if/else` statement at {condition.where}: the values of variable "
            f"'{name}' can't be merged into one batch. {text}"
        )
    )


def merge_values(condition: Condition, true_value: Any, false_value: Any, is_guard: bool) -> Any:
    """The variable's value behind the statement: a node, a container of nodes, or something :class:`Unusable`.

    Args:
        condition: of the statement.
        true_value, false_value: what the branches assigned.
        is_guard: the statement keeps samples that have left from running its body.
    """
    if true_value is false_value:
        return true_value
    partial = _merge_partial(condition, true_value, false_value, is_guard)
    if partial is not None:
        return partial
    for value, other, branch in ((true_value, false_value, "if"), (false_value, true_value, "else")):
        if isinstance(value, Unusable):
            return _initialized_in_one(condition, branch) if value is UNBOUND else _worse(value, other)
    return _merge_or_unusable(condition, true_value, false_value)


def _worse(value: Unusable, other: Any) -> Unusable:
    return other if isinstance(other, Unusable) and value is NO_VALUE else value


def _merge_or_unusable(condition: Condition, true_value: Any, false_value: Any, partial: bool = False) -> Any:
    try:
        return _merge(condition, true_value, false_value, partial)
    except (Divergence, TypeError, ValueError, OverflowError) as error:
        return _divergent(condition, error)


def _merge_partial(condition: Condition, true_value: Any, false_value: Any, is_guard: bool) -> Any:
    """Merges values of a function of which one isn't there for all samples; None if that isn't so."""
    values = (true_value, false_value)
    if any(value is MISSING_RETURN or value is RETURN_IN_ONE for value in values):
        return RETURN_IN_ONE
    if not any(value is NO_VALUE or isinstance(value, Partial) for value in values):
        return None
    if any(isinstance(value, Unusable) and value is not NO_VALUE for value in values):
        return None
    inner = [value.value if isinstance(value, Partial) else value for value in values]
    if any(value is NO_VALUE for value in inner):
        side = 1 if inner[0] is NO_VALUE else 0
        if isinstance(values[side], Partial):
            return values[side]
        return Partial(_as_nodes(condition.branches[side], inner[side]))
    merged = _merge_or_unusable(condition, inner[0], inner[1], partial=True)
    if isinstance(merged, Unusable):
        return merged
    is_complete = is_guard and not isinstance(true_value, Partial)
    return merged if is_complete else Partial(merged)


def _merge(condition: Condition, true_value: Any, false_value: Any, partial: bool) -> Any:
    """`partial`: the nodes may be those of branches that ended, which have the right samples already."""
    if true_value is false_value:
        return true_value
    values = (true_value, false_value)
    if all(_is_leaf(value) for value in values):
        on_gpu = any(isinstance(value, DataNode) and value.device == "gpu" for value in values)
        device = "gpu" if on_gpu else "cpu"
        nodes = [_as_node(branch, v, device, partial) for branch, v in zip(condition.branches, values, strict=True)]
        return condition.merge(*nodes)
    if type(true_value) is type(false_value):
        if isinstance(true_value, dict) and true_value.keys() == false_value.keys():
            return {key: _merge(condition, true_value[key], false_value[key], partial) for key in true_value}
        if isinstance(true_value, list | tuple) and len(true_value) == len(false_value):
            merged = [_merge(condition, *pair, partial) for pair in zip(true_value, false_value, strict=True)]
            return _rebuilt(true_value, merged)
        if isinstance(true_value, str | bytes) and true_value == false_value:
            return true_value
    structures = tuple(_structure(value) for value in values)
    if any(isinstance(value, dict | list | tuple) or value is None for value in values):
        raise Divergence(
            "The values must have the same nesting structure in both branches: the `if` branch gave "
            f"{structures[0]}, the `else` branch {structures[1]}."
        )
    raise TypeError(f"Only nodes and numbers can be merged; the branches gave {structures[0]} and {structures[1]}.")


def _rebuilt(container: Any, elements: list[Any]) -> Any:
    return type(container)(*elements) if hasattr(container, "_fields") else type(container)(elements)


def _is_leaf(value: Any) -> bool:
    if isinstance(value, DataNode | bool | int | float):
        return True
    return isinstance(value, _NUMBERS) or (hasattr(value, "__dlpack__") and not isinstance(value, str))


def _as_node(branch: Branch, value: Any, device: str = "cpu", partial: bool = False) -> DataNode:
    if not isinstance(value, DataNode):
        with branch:
            return types.ConstantNode(device, value)
    return value if partial and not branch.is_within(value.branch) else branch.enter(value)


def _as_nodes(branch: Branch, value: Any) -> Any:
    """The value with all numbers and nodes in it as nodes of the branch."""
    if _is_leaf(value):
        return _as_node(branch, value)
    if isinstance(value, dict):
        return {key: _as_nodes(branch, element) for key, element in value.items()}
    if isinstance(value, list | tuple):
        return _rebuilt(value, [_as_nodes(branch, element) for element in value])
    return value


def _structure(value: Any) -> str:
    if _is_leaf(value):
        return "*"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_structure(element)}" for key, element in value.items()) + "}"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_structure, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return "None" if value is None else f"a {type(value).__name__}"
