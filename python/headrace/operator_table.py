"""Python's binary operators and the functions of the arithmetic operator that they stand for."""

from __future__ import annotations

BINARY_OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "truediv",
    "floordiv": "floordiv",
    "mod": "mod",
    "pow": "pow",
    "eq": "eq",
    "ne": "ne",
    "lt": "lt",
    "le": "le",
    "gt": "gt",
    "ge": "ge",
    "and": "bitand",
    "or": "bitor",
    "xor": "bitxor",
    "lshift": "lshift",
    "rshift": "rshift",
}
