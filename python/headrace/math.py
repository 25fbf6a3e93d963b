"""Mathematical functions of nodes, element by element. Numbers are allowed where at least one operand is a node.

Integers become FLOAT in functions that give fractions; f64 stays FLOAT64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.data_node import DataNode, arithmetic


def _unary(name: str, doc: str) -> Callable[[Any], DataNode]:
    def function(input: Any) -> DataNode:
        return arithmetic(name, input)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def min(left: Any, right: Any) -> DataNode:
    """The smaller operand."""
    return arithmetic("min", left, right)


def max(left: Any, right: Any) -> DataNode:
    """The larger operand."""
    return arithmetic("max", left, right)


def clamp(value: Any, lo: Any, hi: Any) -> DataNode:
    """``value``, but at least ``lo`` and at most ``hi``."""
    return arithmetic("clamp", value, lo, hi)


def pow(base: Any, exponent: Any) -> DataNode:
    """``base ** exponent`` in the common type; a negative exponent of integers gives 0."""
    return arithmetic("pow", base, exponent)


def fpow(base: Any, exponent: Any) -> DataNode:
    """``base ** exponent`` as a float."""
    return arithmetic("fpow", base, exponent)


def atan2(x: Any, y: Any) -> DataNode:
    """Angle of the point (y, x): the arc tangent of ``x / y``, in (-pi, pi]."""
    return arithmetic("atan2", x, y)


abs = _unary("abs", "Absolute value; keeps the type.")
fabs = _unary("fabs", "Absolute value as a float.")
floor = _unary("floor", "Largest integer that is not larger, as a float.")
ceil = _unary("ceil", "Smallest integer that is not smaller, as a float.")
sqrt = _unary("sqrt", "Square root.")
rsqrt = _unary("rsqrt", "One over the square root.")
cbrt = _unary("cbrt", "Cubic root.")
exp = _unary("exp", "e to the power of the operand.")
log = _unary("log", "Natural logarithm.")
log2 = _unary("log2", "Logarithm to base 2.")
log10 = _unary("log10", "Logarithm to base 10.")
sin = _unary("sin", "Sine of an angle in radians.")
cos = _unary("cos", "Cosine of an angle in radians.")
tan = _unary("tan", "Tangent of an angle in radians.")
asin = _unary("asin", "Arc sine, in radians.")
acos = _unary("acos", "Arc cosine, in radians.")
atan = _unary("atan", "Arc tangent, in radians.")
sinh = _unary("sinh", "Hyperbolic sine.")
cosh = _unary("cosh", "Hyperbolic cosine.")
tanh = _unary("tanh", "Hyperbolic tangent.")
asinh = _unary("asinh", "Inverse hyperbolic sine.")
acosh = _unary("acosh", "Inverse hyperbolic cosine.")
atanh = _unary("atanh", "Inverse hyperbolic tangent.")
