"""From the nodes that Python made to the engine's graph: which are needed, their names, their seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace import _core, types
from headrace.callbacks import Callback
from headrace.data_node import DataNode
from headrace.external_source import NodeSource
from headrace.operator_call import OperatorInstance, check_outside_branches

_MASK = 2**64 - 1


def _fnv1a(text: str) -> int:
    """64-bit FNV-1a hash (http://www.isthe.com/chongo/tech/comp/fnv/)."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & _MASK
    return value


def node_seed(pipeline_seed: int, op: str, ordinal: int) -> int:
    """Seed of the ordinal-th node of an operator: SplitMix64 (Steele, Lea, Flood 2014) of the pipeline's seed and op.

    Counting the needed nodes of each operator apart keeps a node's seed when others come and go.
    """
    z = ((pipeline_seed ^ _fnv1a(op)) + (ordinal + 1) * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def output_node(value: Any, index: int) -> DataNode:
    """A pipeline's output as a node; constants become nodes.

    TypeError for containers and strings, NotImplementedError for None.
    """
    if isinstance(value, DataNode):
        check_outside_branches([value])
        return value
    if value is None:
        raise NotImplementedError(f"The pipeline's output {index} is None; return nodes or constants.")
    if isinstance(value, list | tuple) and any(isinstance(element, DataNode) for element in value):
        raise TypeError(
            f"Illegal pipeline output type. The output {index} contains a nested `DataNode`. "
            "Return a tuple of nodes, or unpack the list with `*`."
        )
    if isinstance(value, str | bytes | dict | set):
        raise TypeError(
            f"Illegal output type. The output {index} is a `{type(value).__name__}`. "
            "Allowed types are `DataNode` and types convertible to constants (numbers, lists of numbers, arrays)."
        )
    return types.ConstantNode("cpu", value)


def needed_instances(outputs: list[DataNode], created: list[OperatorInstance]) -> list[OperatorInstance]:
    """The nodes that the outputs, and nodes that must stay, depend on; in order of creation."""
    needed: dict[int, OperatorInstance] = {}
    waiting = [node.source for node in outputs] + [instance for instance in created if instance.preserve]
    while waiting:
        instance = waiting.pop()
        if not isinstance(instance, OperatorInstance):
            raise TypeError("the graph has a DataNode that no operator made")
        if instance.created not in needed:
            needed[instance.created] = instance
            waiting.extend(instance.sources())
    return [needed[number] for number in sorted(needed)]


class GraphBuilder:
    """Puts instances into a graph of the engine.

    Attributes:
        graph: the result.
        sources: the Python side of the external_source nodes, by name.
        functions: operators that call functions of the program: their names for the user, and what they call.
    """

    def __init__(self, pipeline_seed: int) -> None:
        self.graph = _core.Graph()
        self.sources: dict[str, NodeSource] = {}
        self.functions: list[tuple[str, Callback]] = []
        self._seed = pipeline_seed
        self._numbers: dict[int, int] = {}
        self._ordinals: dict[str, int] = {}

    def add(self, instance: OperatorInstance) -> None:
        op = instance.schema.name
        name = instance.name
        while not instance.is_named and self.graph.find(name) >= 0:
            name += "_"
        self._numbers[instance.created] = self.graph.add(
            op,
            name,
            instance.device,
            [self.edge(node) for node in instance.inputs],
            instance.args,
            {key: self.edge(node) for key, node in instance.tensor_args.items()},
            self._seed_of(instance),
            instance.display_name,
            instance.origin(),
        )
        if instance.source is not None:
            self.sources[name] = instance.source
        if instance.callback is not None:
            self.functions.append((instance.display_name, instance.callback))

    def _seed_of(self, instance: OperatorInstance) -> int:
        if not instance.schema.is_random:
            return 0
        op = instance.schema.name
        ordinal = self._ordinals[op] = self._ordinals.get(op, -1) + 1
        return instance.seed if instance.seed is not None else node_seed(self._seed, op, ordinal)

    def edge(self, node: DataNode) -> tuple[int, int]:
        number = self._numbers.get(node.source.created)
        if number is None:  # nodes are added in the order of creation
            raise RuntimeError(f"the pipeline's graph has a cycle: '{node.name}' depends on itself")
        return number, node.index


def as_seed(value: int | None) -> int:
    """The pipeline's seed; None and -1: a random one. TypeError if it is no integer."""
    if value is None or value == -1:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"Pipeline: seed: expected an integer, got {value!r}")
    return value.__index__() & _MASK
