"""Branches: the scopes that nodes are made in, and how values get into them and out again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace import operator_call
from headrace.data_node import DataNode
from headrace.schemas import find_schema

if TYPE_CHECKING:
    from headrace.pipeline import Pipeline


class Condition:
    """What decides a branch: a node of scalars, with its two branches.

    Attributes:
        predicate: the node; of the scope around.
        where: file and line of the statement.
    """

    def __init__(self, predicate: DataNode, pipeline: Pipeline, where: str = "") -> None:
        self.where = where
        self.outer = pipeline._branch
        self.predicate = predicate if self.outer is None else self.outer.enter(predicate)
        self.pipeline = pipeline
        self.branches = (Branch(self, 0), Branch(self, 1))
        self._splits: dict[tuple[int, int], list[DataNode]] = {}
        self._frames = operator_call.user_frames()

    def _make(self, op: str, inputs: list[DataNode], **args: Any) -> Any:
        """A node of the scope around, whose inputs have their rows already. Errors name the condition's line."""
        device = "gpu" if any(node.device == "gpu" for node in inputs) else "cpu"
        instance = operator_call.OperatorInstance(
            find_schema(op), device, inputs, args, {"predicate": self.predicate}, branch=self.outer
        )
        instance.frames = self._frames
        return instance.result()

    def split(self, node: DataNode) -> list[DataNode]:
        """The node's samples for either branch; made once for each node."""
        key = (node.source.created, node.index)
        if key not in self._splits:
            outputs = self._make("_conditional.split", [node], _if_stmt=True)
            for output, branch in zip(outputs, self.branches, strict=True):
                output.branch = branch
            self._splits[key] = outputs
        return self._splits[key]

    def merge(self, true_value: DataNode, false_value: DataNode) -> DataNode:
        """Takes each sample from the branch that it went through. The values must be of these branches."""
        if true_value.device != false_value.device:
            with self.branches[0]:
                true_value = true_value.gpu()
            with self.branches[1]:
                false_value = false_value.gpu()
        return self._make("_conditional.merge", [true_value, false_value])


class Branch:
    """One side of a condition. As a context, what is made belongs to it.

    Attributes:
        condition: whose side it is.
        side: 0 where the condition is true, else 1.
    """

    def __init__(self, condition: Condition, side: int) -> None:
        self.condition = condition
        self.side = side

    @property
    def outer(self) -> Branch | None:
        return self.condition.outer

    def __enter__(self) -> Branch:
        self.condition.pipeline._branch = self
        return self

    def __exit__(self, *exception: Any) -> None:
        self.condition.pipeline._branch = self.outer

    def is_within(self, branch: Branch | None) -> bool:
        """This is the branch, or one inside it; None is the whole pipeline."""
        inner: Branch | None = self
        while inner is not None and inner is not branch:
            inner = inner.outer
        return inner is branch

    def enter(self, node: DataNode) -> DataNode:
        """The node's samples of this branch; RuntimeError for a node of a branch that ended."""
        if node.branch is self:
            return node
        if not self.is_within(node.branch):
            operator_call.check_outside_branches([node])
        return self._rows_of(node)

    def _rows_of(self, node: DataNode) -> DataNode:
        if node.branch is self:
            return node
        whole = node if node.branch is self.outer or self.outer is None else self.outer._rows_of(node)
        return self.condition.split(whole)[self.side]

    def witness(self) -> DataNode:
        """Some value that exactly the branch's samples have."""
        return self._rows_of(self.condition.predicate)
