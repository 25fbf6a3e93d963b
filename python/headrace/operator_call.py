"""Nodes of a pipeline's graph, as operator functions make them."""

from __future__ import annotations

import difflib
import itertools
import os
import sys
import threading
import traceback
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace import _core, argument_values, types
from headrace.data_node import DataNode
from headrace.schemas import arg_specs, find_schema, schema_name

if TYPE_CHECKING:
    from headrace.callbacks import Callback
    from headrace.conditionals.scopes import Branch
    from headrace.pipeline import Pipeline

# The package whose functions the user sees; messages name operators below it. compat.dali sets "nvidia.dali".
display_prefix = "headrace"

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_CONDITIONALS = os.path.join(_PACKAGE, "conditionals") + os.sep
_creation = itertools.count()
# How a program writes what operators without a public name do. DALI's messages show their names.
_WRITTEN_AS = {
    "_conditional.merge": "if",
    "_conditional.not_": "not",
    "_conditional.split": "if",
    "_conditional.validate_logical": "and, or",
    "_shape": "headrace.DataNode.shape",
    "_subscript_dim_check": "headrace.DataNode[...]",
    "_tensor_subscript": "headrace.DataNode[...]",
    "_to_cpu": "headrace.DataNode.cpu",
    "_to_gpu": "headrace.DataNode.gpu",
}
_SCOPE_ARGUMENT = "_scope"  # ties a node without inputs to a branch: the engine's kScopeArgument


class _PipelineStack(threading.local):
    def __init__(self) -> None:
        self.pipelines: list[Pipeline] = []


_stack = _PipelineStack()


def current_pipeline() -> Pipeline | None:
    """The pipeline of the innermost ``with pipeline:``, or None."""
    return _stack.pipelines[-1] if _stack.pipelines else None


def current_branch() -> Branch | None:
    """The branch of a conditional that nodes made now belong to, or None."""
    pipeline = current_pipeline()
    return None if pipeline is None else pipeline._branch


def push_pipeline(pipeline: Pipeline) -> None:
    _stack.pipelines.append(pipeline)


def pop_pipeline() -> None:
    _stack.pipelines.pop()


def user_frames() -> list[traceback.FrameSummary]:
    """The frames between the caller's code and headrace's, outermost first.

    Operands of `and` and `or` are called by the conditionals' runtime, whose frames don't count.
    """
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back  # type: ignore[assignment]
    frames = []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            frames.append(traceback.FrameSummary(code.co_filename, frame.f_lineno, code.co_name, lookup_line=False))
        elif not code.co_filename.startswith(_CONDITIONALS):
            break
        frame = frame.f_back  # type: ignore[assignment]
    return frames[::-1]


class OperatorInstance:
    """One node: an operator with its arguments, and the nodes that it takes data from.

    Attributes:
        schema: the operator's declaration.
        name: of the instance, unique in its pipeline.
        device: "cpu", "gpu" or "mixed".
        inputs: nodes of the positional inputs.
        args: constants, of the schema's types.
        tensor_args: arguments that are nodes.
        seed: given by the user, or None.
        created: running number; the order in which nodes were made.
        outputs: one node per output.
        callback: what the operator calls, for those that are functions of the program.
    """

    def __init__(
        self,
        schema: _core.Schema,
        device: str,
        inputs: list[DataNode],
        args: dict[str, Any],
        tensor_args: dict[str, DataNode],
        name: str | None = None,
        display_name: str | None = None,
        branch: Branch | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.schema = schema
        self.callback = callback
        self.device = device
        self.inputs = inputs
        self.args = args
        self.tensor_args = tensor_args
        self.preserve = bool(args.get("preserve", False)) or schema.has_side_effects
        self.display_name = display_name or _display_name(schema)
        self.created = next(_creation)
        self.frames = user_frames()
        self.source: Any = None  # of external_source: who makes its batches
        seed = args.pop("seed", None) if schema.is_random else None
        self.seed: int | None = None if seed is None or seed == -1 else seed & (2**64 - 1)
        pipeline = current_pipeline()
        self.is_named = name is not None
        number = pipeline._register(self) if pipeline is not None else self.created
        self.name = str(name) if name is not None else f"__{schema.name.rpartition('.')[2]}_{number}"
        self.outputs = self._make_outputs()
        for node in self.outputs:
            node.branch = branch

    def _make_outputs(self) -> list[DataNode]:
        count = self.schema.num_outputs(self.args)
        device = "cpu" if self.device == "cpu" else "gpu"
        if count == 1:
            return [DataNode(self.name, device, self)]
        return [DataNode(f"{self.name}[{i}]", device, self, i) for i in range(count)]

    def sources(self) -> list[OperatorInstance]:
        """The nodes that this one takes data from."""
        return [node.source for node in [*self.inputs, *self.tensor_args.values()]]

    def origin(self) -> str:
        """Where the user called it, formatted like a traceback."""
        return "".join(traceback.format_list(self.frames)).rstrip("\n")

    def result(self) -> Any:
        """What the operator function returns: a node, or a list of them."""
        return self.outputs[0] if len(self.outputs) == 1 else self.outputs or None


def _check_not_node(value: Any, spec: _core.ArgSpec, display_name: str) -> None:
    if isinstance(value, DataNode):
        raise TypeError(
            f"The argument `{spec.name}` for operator `{display_name}` should not be a 'DataNode' but a "
            f"'{argument_values.TYPE_NAMES[spec.type]}'."
        )
    if isinstance(value, list | tuple) and any(isinstance(element, DataNode) for element in value):
        raise TypeError(
            f"The argument `{spec.name}` for operator `{display_name}`: a list cannot mix numbers and DataNodes; "
            f"make one node of them, for example with `fn.stack`."
        )


def check_names(schema: _core.Schema, given: dict[str, Any]) -> None:
    """KeyError if an argument is not the operator's."""
    specs = arg_specs(schema.name)
    for name in given:
        if name not in specs:
            near = difflib.get_close_matches(name, specs, n=1)
            advice = f' Did you mean "{near[0]}"?' if near else ""
            raise KeyError(f'Argument "{name}" is not defined for operator "{schema_name(schema.name)}".{advice}')


def _display_name(schema: _core.Schema) -> str:
    """What messages call an operator."""
    written = _WRITTEN_AS.get(schema.name) if display_prefix == "headrace" else None
    return written or f"{display_prefix}.fn.{schema.name}"


def split_arguments(schema: _core.Schema, given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, DataNode]]:
    """Constants (converted) and nodes among an operator's keyword arguments. None means not given.

    Raises KeyError for an unknown name, TypeError for a node where none is allowed or a value of the wrong type.
    """
    specs = arg_specs(schema.name)
    display_name = _display_name(schema)
    args: dict[str, Any] = {}
    tensor_args: dict[str, DataNode] = {}
    check_names(schema, given)
    for name, value in given.items():
        spec = specs[name]
        if value is None or spec.ignored:
            continue
        if spec.renamed_to:
            warnings.warn(
                f"The argument `{name}` of operator `{display_name}` is deprecated; use `{spec.renamed_to}`.",
                DeprecationWarning,
                stacklevel=5,
            )
        target = spec.renamed_to or name
        if target in args or target in tensor_args:
            raise ValueError(f"Operator `{display_name}` got `{target}` twice: also under its old name `{name}`.")
        if isinstance(value, DataNode) and spec.per_sample:
            tensor_args[target] = value
            continue
        _check_not_node(value, spec, display_name)
        try:
            args[target] = argument_values.convert(value, spec.type)
        except (TypeError, ValueError, OverflowError) as error:
            kind = ValueError if isinstance(error, UnicodeError) else type(error)  # it takes more than a message
            raise kind(f"{error} (argument `{name}` of operator `{display_name}`)") from None
    for spec in specs.values():
        if spec.required and spec.name not in args and spec.name not in tensor_args:
            raise RuntimeError(
                f"Not all required arguments were specified for op `{display_name}` "
                f'("{schema_name(schema.name)}"). Please specify values for arguments: "{spec.name}".'
            )
    return args, tensor_args


def _is_input_set(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(element, DataNode) for element in value)


def as_node(value: Any, position: int, display_name: str, device: str) -> DataNode:
    """A positional input as a node; numbers, lists of numbers and arrays become constants."""
    if isinstance(value, DataNode):
        return value
    convertible = isinstance(value, bool | int | float | np.ndarray | np.generic | list | tuple | types.ScalarConstant)
    if convertible or (hasattr(value, "__dlpack__") and not isinstance(value, str)):
        return types.ConstantNode(device, value)
    raise TypeError(
        f"when calling operator `{display_name}`: expected inputs of type 'DataNode', list of 'DataNode' or "
        f"convertible to constant nodes. Received input `{position}` of type '{type(value).__name__}'."
    )


def _check_input_count(schema: _core.Schema, count: int, display_name: str) -> None:
    if not schema.min_inputs <= count <= schema.max_inputs:
        raise ValueError(
            f"Operator {display_name} expects from {schema.min_inputs} to {schema.max_inputs} inputs, "
            f"but received {count}."
        )


def _device_of(schema: _core.Schema, device: str | None, inputs: tuple[Any, ...]) -> str:
    if device is not None:
        if device not in ("cpu", "gpu", "mixed"):
            raise ValueError(f'Unsupported device type: "{device}".')
        return device
    on_gpu = any(isinstance(node, DataNode) and node.device == "gpu" for node in inputs)
    return "gpu" if on_gpu and "gpu" in schema.devices else "cpu"


def _call_once(
    schema: _core.Schema,
    inputs: tuple[Any, ...],
    args: tuple[dict[str, Any], dict[str, DataNode]],
    device: str | None,
    name: str | None,
    display_name: str,
    callback: Callback | None,
) -> Any:
    _check_input_count(schema, len(inputs), display_name)
    chosen = _device_of(schema, device, inputs)
    constants_on = "gpu" if chosen == "gpu" else "cpu"
    nodes = [as_node(value, i, display_name, constants_on) for i, value in enumerate(inputs)]
    tensor_args = dict(args[1])
    branch = current_branch()
    if branch is not None:
        nodes, tensor_args, branch = _enter(branch, schema, nodes, tensor_args)
    else:
        check_outside_branches([*nodes, *tensor_args.values()])
    return OperatorInstance(
        schema, chosen, nodes, dict(args[0]), tensor_args, name, display_name, branch, callback
    ).result()


def check_outside_branches(nodes: list[DataNode]) -> None:
    """RuntimeError for a node that was made in a branch: it has values for some of the samples only."""
    for node in nodes:
        if node.branch is not None:
            raise RuntimeError(
                f"The node '{node.name}' was made in a branch of an `if` statement and has no value for the samples of "
                "the other one, so it can't be used outside. Assign it to a variable that has a value in both branches."
            )


def _enter(
    branch: Branch, schema: _core.Schema, inputs: list[DataNode], tensor_args: dict[str, DataNode]
) -> tuple[list[DataNode], dict[str, DataNode], Branch | None]:
    """Inputs and arguments with the samples of the branch alone, and the branch that the new node belongs to.

    Nodes without inputs are tied to the branch. Readers and sources give all samples, wherever they stand.
    """
    if schema.is_reader or schema.is_fed:
        return inputs, tensor_args, None
    inputs = [branch.enter(node) for node in inputs]
    tensor_args = {name: branch.enter(node) for name, node in tensor_args.items()}
    if not inputs and not tensor_args:
        tensor_args[_SCOPE_ARGUMENT] = branch.witness()
    return inputs, tensor_args, branch


def call(
    schema: _core.Schema,
    inputs: tuple[Any, ...],
    arguments: dict[str, Any],
    device: str | None = None,
    name: str | None = None,
    display_name: str | None = None,
    callback: Callback | None = None,
) -> Any:
    """Makes the node of one operator call; the result is a DataNode or a list of them.

    An input that is a list of nodes stands for several calls, one for each; the result is then a list of results.
    """
    display_name = display_name or _display_name(schema)
    if schema.deprecation:
        warnings.warn(f"{display_name} is deprecated. {schema.deprecation}", DeprecationWarning, stacklevel=3)
    while inputs and inputs[-1] is None and len(inputs) > schema.min_inputs:
        inputs = inputs[:-1]
    if callback is not None:
        arguments = {**arguments, "function": callback.number}
    args = split_arguments(schema, arguments)
    sets = {len(value) for value in inputs if _is_input_set(value)}
    if not sets:
        return _call_once(schema, inputs, args, device, name, display_name, callback)
    if len(sets) > 1:
        raise ValueError(
            f"when calling operator `{display_name}`: lists of inputs must have equal lengths, got {sorted(sets)}"
        )
    results = []
    for i in range(sets.pop()):
        one = tuple(value[i] if _is_input_set(value) else value for value in inputs)
        set_name = f"{name}_{i}" if name is not None and i > 0 else name
        results.append(_call_once(schema, one, args, device, set_name, display_name, callback))
    if results and isinstance(results[0], list):
        return [list(outputs) for outputs in zip(*results, strict=True)]
    return results


def call_by_name(
    op: str,
    inputs: tuple[Any, ...],
    arguments: dict[str, Any],
    device: str | None = None,
    display_name: str | None = None,
) -> Any:
    """:func:`call` for the operator of that name."""
    return call(find_schema(op), inputs, arguments, device, arguments.pop("name", None), display_name)
