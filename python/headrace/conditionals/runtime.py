"""What rewritten functions call. `variables` and `global_variables` are Python's own `locals` and `globals`."""

from __future__ import annotations

import contextlib
import operator
import sys
from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any

from headrace import operator_call
from headrace.conditionals.branch_values import (
    MISSING_RETURN,
    NO_VALUE,
    RETURN_IN_ONE,
    UNBOUND,
    Partial,
    Unusable,
    merge_values,
)
from headrace.conditionals.functions import convert as convert
from headrace.conditionals.scopes import Condition
from headrace.data_node import DataNode

variables = locals
global_variables = globals
no_value = NO_VALUE
missing_return = MISSING_RETURN

_Place = tuple[str, Callable[[], tuple[Any, Any, bool]]]


def with_globals(local: Mapping[str, Any], outer: Mapping[str, Any]) -> Mapping[str, Any]:
    """The variables of a function that assigns global ones."""
    return ChainMap(dict(local), dict(outer))


def read(value: Any, name: str) -> Any:
    """The variable's value; raises if it has none for some of the samples."""
    if isinstance(value, Unusable):
        raise value.make_error(name)
    return value


def return_value(value: Any) -> Any:
    """What the function returns, whose end is reached."""
    if value is MISSING_RETURN:
        return None
    return read(RETURN_IN_ONE if isinstance(value, Partial) else value, "return value")


def is_true(flag: Any) -> bool:
    """The flag is set for all samples."""
    return flag is True


class _PlainIf:
    """An `if` on a Python value: one branch runs."""

    both = False
    true_branch = false_branch = contextlib.nullcontext()

    def __init__(self, value: bool) -> None:
        self.true = value
        self.false = not value


_PLAIN = (_PlainIf(False), _PlainIf(True))


class _Entry:
    """An attribute or an entry of a container that branches assign."""

    def __init__(self, text: str, container: Any, key: Any, is_attribute: bool) -> None:
        self.text = text
        self._container = container
        self._key = key
        self._is_attribute = is_attribute

    def get(self) -> Any:
        try:
            return getattr(self._container, self._key) if self._is_attribute else self._container[self._key]
        except (AttributeError, LookupError):
            return UNBOUND

    def set(self, value: Any) -> None:
        if value is not UNBOUND:
            if self._is_attribute:
                setattr(self._container, self._key, value)
            else:
                self._container[self._key] = value
        elif self.get() is not UNBOUND:
            if self._is_attribute:
                delattr(self._container, self._key)
            else:
                del self._container[self._key]


def _entries(places: tuple[_Place, ...]) -> list[_Entry]:
    entries = []
    for text, place in places:
        # a container that isn't there yet is none that the branches change
        with contextlib.suppress(NameError, AttributeError, LookupError, RuntimeError):
            entries.append(_Entry(text, *place()))
    return entries


class _NodeIf:
    """An `if` on a node: both branches run, each from the same state, and their results are merged."""

    true = false = both = True

    def __init__(
        self, condition: Condition, names: tuple[str, ...], state: Mapping[str, Any], entries: list[_Entry], guard: bool
    ) -> None:
        self._condition = condition
        self.true_branch, self.false_branch = condition.branches
        self._names = names
        self._entries = entries
        self._guard = guard
        self._before = self._state(state)
        self._true: tuple[list[Any], list[Any]] = ([], [])

    def _state(self, state: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        return [state.get(name, UNBOUND) for name in self._names], [entry.get() for entry in self._entries]

    def switch(self, state: Mapping[str, Any]) -> list[Any]:
        """Keeps what the true branch did, and undoes it for the false branch."""
        self._true = self._state(state)
        for entry, value in zip(self._entries, self._before[1], strict=True):
            entry.set(value)
        return self._before[0]

    def merge(self, state: Mapping[str, Any]) -> list[Any]:
        """The variables' values behind the statement."""
        names, entries = self._state(state)
        for entry, true_value, false_value in zip(self._entries, self._true[1], entries, strict=True):
            entry.set(read(merge_values(self._condition, true_value, false_value, False), entry.text)
                      if true_value is not false_value else true_value)  # fmt: skip
        return [
            merge_values(self._condition, true_value, false_value, self._guard)
            for true_value, false_value in zip(self._true[0], names, strict=True)
        ]


def begin_if(
    test: Any, names: tuple[str, ...], state: Mapping[str, Any], places: tuple[_Place, ...], guard: bool
) -> _PlainIf | _NodeIf:
    """The statement `if test`.

    Args:
        test: a node of scalars, or a Python value.
        names: variables that the branches assign.
        state: the variables' values now.
        places: attributes and entries that the branches assign: their text, and what finds them.
        guard: made by the rewriting, to keep out samples that have left.

    ValueError for a node on the GPU.
    """
    if not isinstance(test, DataNode):
        return _PLAIN[bool(test)]
    if test.device == "gpu":
        raise ValueError(
            f"The condition of an `if` statement must be on the CPU, but '{test.name}' is a GPU node; compute it on "
            "the CPU."
        )
    frame = sys._getframe(1)
    condition = Condition(test, _pipeline(), f"{frame.f_code.co_filename}:{frame.f_lineno}")
    return _NodeIf(condition, names, state, _entries(places), guard)


def _pipeline() -> Any:
    pipeline = operator_call.current_pipeline()
    if pipeline is None:
        raise RuntimeError("conditionals: nodes in conditions need a current pipeline; use `with pipeline:`")
    return pipeline


def subject(value: Any) -> Any:
    """What `match` looks at; TypeError for a node."""
    if isinstance(value, DataNode):
        raise TypeError(
            f"`match` on the DataNode '{value.name}', whose values are not known when the pipeline is defined; use "
            "`if` and `elif` with comparisons, which work for each sample. `match` works on Python values"
        )
    return value


def not_(value: Any) -> Any:
    """`not value`."""
    return operator_call.call_by_name("_conditional.not_", (value,), {}) if isinstance(value, DataNode) else not value


def _operand(value: Any, expression: str, side: str) -> DataNode:
    """An operand of `and` or `or` as a node; TypeError if it is none nor a number, RuntimeError on the GPU."""
    if isinstance(value, DataNode) and value.device == "gpu":
        raise RuntimeError(
            f"The {side} operand of `{expression}` must be a bool scalar on the CPU, but '{value.name}' is a GPU node."
        )
    names = {"expression_name": expression, "expression_side": side}
    return operator_call.call_by_name("_conditional.validate_logical", (value,), names)


def _logical(left: Any, right: Callable[[], Any], expression: str, asked_side: int) -> DataNode:
    """`left and right` or `left or right`. Only samples of the left operand's `asked_side` compute the right one."""
    checked = _operand(left, expression, "left")
    condition = Condition(checked, _pipeline())
    branches = condition.branches
    with branches[asked_side] as branch:
        answer = branch.enter(_operand(right(), expression, "right"))
    known = branches[1 - asked_side].enter(condition.predicate)
    return condition.merge(answer, known) if asked_side == 0 else condition.merge(known, answer)


def and_(left: Any, right: Callable[[], Any]) -> Any:
    """`left and right()`."""
    return _logical(left, right, "and", 0) if isinstance(left, DataNode) else left and right()


def or_(left: Any, right: Callable[[], Any]) -> Any:
    """`left or right()`."""
    return _logical(left, right, "or", 1) if isinstance(left, DataNode) else left or right()


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}


def compare(left: Any, *steps: tuple[str, Callable[[], Any]]) -> Any:
    """A chain of comparisons: `a < b < c` is `a < b and b < c`, with b computed once."""
    (name, get_right), *rest = steps
    right = get_right()
    result = _COMPARISONS[name](left, right)
    return and_(result, lambda: compare(right, *rest)) if rest else result
