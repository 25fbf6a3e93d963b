"""DataNode: what operator functions return and take: one output of one node of the graph, not data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace import types
from headrace.operator_table import BINARY_OPERATORS

if TYPE_CHECKING:
    from headrace.conditionals.scopes import Branch
    from headrace.operator_call import OperatorInstance


class NewAxis:
    """The type of ``newaxis``: in a subscript it inserts an axis of extent 1; ``newaxis("C")`` names it."""

    def __init__(self, name: str | None = None) -> None:
        if name is not None and (not isinstance(name, str) or len(name) != 1):
            raise ValueError(f"newaxis: expected a name of one letter, got {name!r}")
        self.name = name

    def __call__(self, name: str | None = None) -> NewAxis:
        return NewAxis(name)

    def __repr__(self) -> str:
        return f'newaxis("{self.name}")' if self.name else "newaxis"


newaxis = NewAxis()


class DataNode:
    """A stand-in for the batch that an operator will give.

    Supports arithmetic, comparisons, bitwise operators and subscripts, which make further nodes.

    Attributes:
        name: of the node that gives it; with ``[i]`` behind it if that has several outputs.
        device: "cpu" or "gpu".
        source: the node.
        index: number of the output.
        branch: of a conditional, that the node was made in; None outside of any.
    """

    def __init__(
        self,
        name: str,
        device: str = "cpu",
        source: OperatorInstance | Any = None,
        index: int = 0,
        ndim: int | None = None,
        dtype: types.DALIDataType | None = None,
        layout: str | None = None,
    ) -> None:
        self.name = name
        self.device = device
        self.source = source
        self.index = index
        self.ndim = ndim
        self.dtype = dtype
        self.layout = layout
        self.branch: Branch | None = None

    def __repr__(self) -> str:
        return f'DataNode(name="{self.name}", device="{self.device}", index={self.index})'

    def gpu(self) -> DataNode:
        """The same data on the GPU. Without a CUDA device it stays where it is."""
        return self if self.device == "gpu" else _call("_to_gpu", self, device="gpu")

    def cpu(self) -> DataNode:
        """The same data in host memory."""
        return self if self.device == "cpu" else _call("_to_cpu", self, device="cpu")

    def shape(self, *, dtype: types.DALIDataType | None = None, device: str = "cpu") -> DataNode:
        """The samples' extents: INT64 (or ``dtype``), shape (ndim,)."""
        return _call("_shape", self, device=device, dtype=dtype)

    def property(self, key: str, *, device: str = "cpu") -> DataNode:
        """The property ``"layout"`` or ``"source_info"`` of the samples, as UINT8 text."""
        return _call("get_property", self, device=device, key=key)

    def source_info(self, *, device: str = "cpu") -> DataNode:
        """Where the samples come from (file, key), as UINT8 text."""
        return self.property("source_info", device=device)

    def __bool__(self) -> bool:
        raise TypeError(
            '"DataNode" was used in conditional context - it might have been used in truth evaluation for `if` '
            "statement, logical expression or cast to a boolean. A node has no value when the pipeline is defined; "
            "use arithmetic or comparison operators, which work for each sample. With "
            "`pipeline_def(enable_conditionals=True)`, `if`, `and`, `or` and `not` work on nodes, but `while`, "
            "`assert`, `a if b else c` and the conditions of comprehensions don't."
        )

    def __iter__(self) -> Any:
        raise TypeError(
            f"A DataNode is not iterable: '{self.name}' is one output, whose samples are not known when the pipeline "
            "is defined. Use subscripts to get a part of each sample."
        )

    def __len__(self) -> int:
        raise TypeError("A DataNode has no len(); DataNode.shape() gives the extents of each sample.")

    __hash__ = object.__hash__

    # numpy must not take `array + node` apart into its elements.
    __array_ufunc__ = None

    def __getitem__(self, subscript: Any) -> DataNode:
        from headrace.subscripts import subscript_node

        return subscript_node(self, subscript if isinstance(subscript, tuple) else (subscript,))

    def __pos__(self) -> DataNode:
        return self

    def __neg__(self) -> DataNode:
        return arithmetic("neg", self)

    def __abs__(self) -> DataNode:
        return arithmetic("abs", self)

    def __invert__(self) -> DataNode:
        return arithmetic("invert", self)

    if TYPE_CHECKING:

        def __add__(self, other: Any) -> DataNode: ...
        def __radd__(self, other: Any) -> DataNode: ...
        def __sub__(self, other: Any) -> DataNode: ...
        def __rsub__(self, other: Any) -> DataNode: ...
        def __mul__(self, other: Any) -> DataNode: ...
        def __rmul__(self, other: Any) -> DataNode: ...
        def __truediv__(self, other: Any) -> DataNode: ...
        def __rtruediv__(self, other: Any) -> DataNode: ...
        def __floordiv__(self, other: Any) -> DataNode: ...
        def __rfloordiv__(self, other: Any) -> DataNode: ...
        def __mod__(self, other: Any) -> DataNode: ...
        def __rmod__(self, other: Any) -> DataNode: ...
        def __pow__(self, other: Any) -> DataNode: ...
        def __rpow__(self, other: Any) -> DataNode: ...
        def __eq__(self, other: Any) -> DataNode: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> DataNode: ...  # type: ignore[override]
        def __lt__(self, other: Any) -> DataNode: ...
        def __le__(self, other: Any) -> DataNode: ...
        def __gt__(self, other: Any) -> DataNode: ...
        def __ge__(self, other: Any) -> DataNode: ...
        def __and__(self, other: Any) -> DataNode: ...
        def __rand__(self, other: Any) -> DataNode: ...
        def __or__(self, other: Any) -> DataNode: ...
        def __ror__(self, other: Any) -> DataNode: ...
        def __xor__(self, other: Any) -> DataNode: ...
        def __rxor__(self, other: Any) -> DataNode: ...
        def __lshift__(self, other: Any) -> DataNode: ...
        def __rlshift__(self, other: Any) -> DataNode: ...
        def __rshift__(self, other: Any) -> DataNode: ...
        def __rrshift__(self, other: Any) -> DataNode: ...


def _add_binary_operators() -> None:
    for method, function in BINARY_OPERATORS.items():

        def forward(self: DataNode, other: Any, function: str = function) -> DataNode:
            return arithmetic(function, self, other)

        def reflected(self: DataNode, other: Any, function: str = function) -> DataNode:
            return arithmetic(function, other, self)

        setattr(DataNode, f"__{method}__", forward)
        if method not in ("eq", "ne", "lt", "le", "gt", "ge"):
            setattr(DataNode, f"__r{method}__", reflected)


_add_binary_operators()


def _call(op: str, *inputs: Any, device: str | None = None, **arguments: Any) -> DataNode:
    from headrace.operator_call import call_by_name

    return call_by_name(op, inputs, arguments, device)


def _scalar_constant(value: Any) -> types.ScalarConstant:
    if isinstance(value, types.ScalarConstant):
        return value
    if isinstance(value, np.float64):  # a subclass of float whose type the result would not have
        raise TypeError(
            "Argument to arithmetic operation not supported: got numpy.float64, expected a DataNode or a constant of "
            "type bool, int, float, a numpy scalar of another type, or types.Constant(value, types.FLOAT64)."
        )
    return types.ScalarConstant(value)


def arithmetic(function: str, *operands: Any) -> DataNode:
    """One node of the arithmetic operator. Numbers stay constants, lists and arrays become constant nodes.

    Raises TypeError for operands that are neither, and if none is a node.
    """
    from headrace import operator_call

    if not any(isinstance(operand, DataNode) for operand in operands):
        raise TypeError(f"headrace.math.{function}: at least one operand must be a DataNode")
    on_gpu = any(isinstance(operand, DataNode) and operand.device == "gpu" for operand in operands)
    device = "gpu" if on_gpu else "cpu"
    nodes: list[DataNode] = []
    constants: list[tuple[int, types.ScalarConstant]] = []
    for position, operand in enumerate(operands):
        if isinstance(operand, DataNode):
            nodes.append(operand)
        elif isinstance(operand, list | tuple | np.ndarray):
            nodes.append(types.ConstantNode(device, operand))
        else:
            constants.append((position, _scalar_constant(operand)))
    floating = (types.FLOAT16, types.FLOAT, types.FLOAT64)
    return operator_call.call_by_name(
        "_arithmetic_generic_op",
        tuple(nodes),
        {
            "function": function,
            "constant_positions": [position for position, _ in constants] or None,
            "constant_types": [constant.dtype for _, constant in constants] or None,
            "integer_constants": [c.value for _, c in constants if c.dtype not in floating] or None,
            "float_constants": [c.value for _, c in constants if c.dtype in floating] or None,
        },
        device,
        f"{operator_call.display_prefix}.math.{function}",
    )
