"""PipelineInputs: the external_source nodes of one pipeline, and where each stands."""

from __future__ import annotations

import threading
from typing import Any

from headrace import _core, types
from headrace.external_source import NodeSource
from headrace.sources import FeedPosition

_SIGNAL_SLICE = 0.05  # seconds of waiting between two looks at signals


class MissingFeed(IndexError):
    """An iteration cannot start since nothing was fed in."""


class PipelineInputs:
    """Gets one batch per iteration from every source and hands it to the executor.

    Attributes:
        iteration, epoch: of the next batch; both from 0.
    """

    def __init__(self, nodes: dict[str, NodeSource], batch_size: int) -> None:
        self._nodes = nodes
        self._batch_size = batch_size
        self._fed = threading.Condition()
        self._collected: dict[str, list[_core.Batch]] = {}  # of an iteration that an interrupt left unfinished
        self.iteration = 0
        self.epoch = 0

    def __bool__(self) -> bool:
        return bool(self._nodes)

    def __contains__(self, name: str) -> bool:
        return name in self._nodes

    def names(self) -> list[str]:
        return list(self._nodes)

    def node(self, name: str) -> NodeSource:
        """The node of that name; KeyError if there is none."""
        try:
            return self._nodes[name]
        except KeyError:
            raise KeyError(f"Could not find an input named '{name}'; the pipeline has: {self.names()}") from None

    def append(self, name: str, batch: _core.Batch) -> None:
        """Queues a batch that the program feeds in."""
        node = self.node(name)
        if node.source is not None:
            raise RuntimeError(
                f"Cannot use `feed_input` on the external source '{name}' with a `source` argument specified."
            )
        self._check_size(name, batch)
        node.checks[0].check(batch)
        with self._fed:
            node.queue.append([batch])
            self._fed.notify_all()

    def convert(self, executor: _core.Executor, node: NodeSource, output: int, data: Any, layout: str | None) -> Any:
        """The data of one output as a batch."""
        chosen = node.checks[output].layout if layout is None else layout
        if not isinstance(chosen, str | types.TensorLayout):
            raise TypeError(f"ExternalSource '{node.name}': layout: expected a str, got {chosen!r}")
        try:
            return executor.make_feed(data, str(chosen), node.copy)
        except (RuntimeError, TypeError, ValueError, MemoryError) as error:
            if type(error) not in (RuntimeError, TypeError, ValueError, MemoryError):  # of the user's own code
                raise
            raise type(error)(f"ExternalSource '{node.name}': {error}") from None

    def collect(self, executor: _core.Executor) -> dict[str, list[_core.Batch]]:
        """One batch for every node, behind check_fed(). StopIteration at the end of a source.

        What one source raises costs the iteration of all, so that they stay in step: the others are asked, too.
        """
        position = FeedPosition(self.iteration, self.epoch, self._batch_size)
        feeds = self._collected
        failure: Exception | None = None
        for name, node in self._nodes.items():
            if name in feeds:
                continue
            try:
                if node.source is None:
                    feeds[name] = self._take(name, node)
                else:
                    feeds[name] = self._convert_all(executor, node, node.source.next(position))
            except StopIteration:
                self._collected = {}
                raise
            except Exception as error:
                failure = failure or error
        self._collected = {}
        self.iteration += 1
        if failure is not None:
            raise failure
        return feeds

    def _convert_all(self, executor: _core.Executor, node: NodeSource, data: Any) -> list[_core.Batch]:
        batches = []
        for i, part in enumerate(node.split(data)):
            batch = self.convert(executor, node, i, part, None)
            self._check_size(node.name, batch)
            node.checks[i].check(batch)
            batches.append(batch)
        return batches

    def _check_size(self, name: str, batch: _core.Batch) -> None:
        if len(batch) > self._batch_size:
            raise RuntimeError(
                f"ExternalSource '{name}': a batch of {len(batch)} samples, but the pipeline's batch_size is "
                f"{self._batch_size}"
            )

    def check_fed(self) -> None:
        """IndexError if nothing was fed in for a node. For before any source is asked, so that nothing is lost."""
        for name, node in self._nodes.items():
            if node.source is None and not node.blocking and name not in self._collected and not node.queue.has_next:
                raise MissingFeed(
                    f"No data was fed to the external source '{name}'. Call `feed_input` as often as "
                    f"`input_feed_count('{name}')` says before the first run, and once before each further one."
                )

    def _take(self, name: str, node: NodeSource) -> list[_core.Batch]:
        with self._fed:
            while (batches := node.queue.take()) is None:
                self._fed.wait(_SIGNAL_SLICE)
        return batches

    def reset(self) -> None:
        """Begins the next epoch."""
        self.epoch += 1
        self.iteration = 0
        for node in self._nodes.values():
            if node.source is not None:
                node.source.reset()

    def position(self) -> list[int]:
        """For a checkpoint: [epoch, iteration] of the next batch."""
        return [self.epoch, self.iteration]

    def restore(self, position: list[int]) -> list[str]:
        """Goes on at a position; returns the names of the sources that cannot, and start anew."""
        self.epoch, self.iteration = position
        return [name for name, node in self._nodes.items() if node.source is not None and not node.source.is_resumable]
