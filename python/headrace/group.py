"""PipelineGroup: pipelines that one executor runs together, one for each local device or shard."""

from __future__ import annotations

import atexit
import collections
import json
import logging
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from headrace import _core
from headrace.pipeline_inputs import MissingFeed
from headrace.tensors import TensorListCPU

if TYPE_CHECKING:
    from headrace.pipeline import Pipeline

logger = logging.getLogger("headrace")

_CHECKPOINT_FORMAT = "headrace-checkpoint"
_EXIT_PATIENCE = 1.0  # seconds that the program's end waits for a function of the program
_THREAD_PATIENCE = 0.5  # seconds that it waits for a daemon thread that was told that the pipeline is closed
_COMPILER_PATIENCE = 10.0  # seconds that it waits for XLA to compile what takes a group of batches apart
_TWO_THREADS = (
    "two threads ask for batches at a time; with JAX functions over several devices in the graph that must be one "
    "thread, the one that runs the program's other computations over them"
)
_open_groups: weakref.WeakSet[PipelineGroup] = weakref.WeakSet()


class PipelineGroup:
    """Runs pipelines in step: iteration k of all of them is started together, by one pool of threads.

    A lone Pipeline is a group of one. The pipelines must agree in batch size, prefetch depth and checkpointing;
    ``num_threads`` is the largest of theirs.

    Args:
        pipelines: with their outputs defined, not yet built.
        primary_reader: name of the reader whose order keys random numbers; ``""``: the first one.
        exact_epochs: readers fill the last batch of an epoch, and rows that only fill are flagged.
    """

    def __init__(
        self,
        pipelines: Sequence[Pipeline],
        *,
        primary_reader: str = "",
        exact_epochs: bool = False,
        _owned_by_pipeline: bool = False,
    ) -> None:
        if not pipelines:
            raise ValueError("PipelineGroup: no pipelines")
        for pipeline in pipelines:
            if pipeline._group is not None:
                raise RuntimeError("PipelineGroup: a pipeline belongs to a group, or was built, already")
        # One of the two directions is weak, so that threads end with the last reference and not with the collector.
        self.pipelines: list[Pipeline] = [weakref.proxy(p) for p in pipelines] if _owned_by_pipeline else [*pipelines]
        self.iterator_states: list[Any] = []
        self._primary_reader = primary_reader
        self._exact_epochs = exact_epochs
        self._executor: _core.Executor | None = None
        self._forked = False
        first = self.pipelines[0]
        for what in ("max_batch_size", "prefetch_queue_depth", "_enable_checkpointing"):
            if any(getattr(pipeline, what) != getattr(first, what) for pipeline in self.pipelines):
                raise ValueError(f"PipelineGroup: the pipelines must agree in {what.lstrip('_')}")
        self.depth: int = first.prefetch_queue_depth
        self.has_joint_operators = False
        self._ahead = 0
        self._out_of_step: Exception | None = None  # what kept this process from a computation of all processes
        self._taker: threading.Thread | None = None  # the thread that took the last batch
        self.consumer: threading.Thread | None = None  # the program's, if the taker is not
        self.handing_over = threading.Lock()  # held while the consumer compiles or uploads
        self._at_close: list[Callable[[], None]] = []
        self._caller = threading.Lock()  # held while a thread asks for batches, if the operators need one
        self.restored = False
        self._restored_from: list[dict[str, Any]] = []
        # What happens when the iterations started so far have been taken: the end of data, or a source's exception.
        self._event: BaseException | None = None
        # Of an iteration that an interrupt left unfinished:
        self._collected: list[tuple[Pipeline, dict[str, list[_core.Batch]]]] = []
        self._positions: collections.deque[list[list[int]]] = collections.deque()
        self._delivered_position: list[list[int]] | None = None
        for plan, pipeline in enumerate(self.pipelines):
            pipeline._join(self if _owned_by_pipeline else weakref.proxy(self), plan)

    def build(self) -> PipelineGroup:
        """Makes the graphs and operators, opens data sets, restores a checkpoint. Idempotent."""
        if self._executor is not None:
            return self
        first = self.pipelines[0]
        graphs = [pipeline._make_graph() for pipeline in self.pipelines]
        saved = self._checkpoints_given()
        self._executor = _core.Executor(
            graphs,
            batch_size=first.max_batch_size,
            num_threads=max(pipeline.num_threads for pipeline in self.pipelines),
            memory_limit=first.memory_limit or 0,
            decoder_index_memory=first.decoder_index_memory,
            on_error=first.on_error,
            primary_reader=self._primary_reader,
            exact_epochs=self._exact_epochs,
            set_affinity=first.set_affinity,
            checkpoint=json.dumps([state["executor"] for state in saved]) if saved else "",
        )
        self.has_joint_operators = self._executor.has_joint_operators
        self._hooks = [pipeline for pipeline in self.pipelines if pipeline._overrides_iter_setup()]
        self._fed = [pipeline for pipeline in self.pipelines if pipeline._inputs]
        self._ahead = self._iterations_ahead()
        if saved:
            self._restore(saved)
        self._delivered_position = self._source_positions()
        for pipeline in self.pipelines:
            pipeline._finish_build()
        _open_groups.add(self)
        _close_first_at_exit()
        return self

    @property
    def executor(self) -> _core.Executor:
        """The built executor. RuntimeError after close() and in a forked child."""
        if self._forked:
            raise RuntimeError(
                "this pipeline was built before the process was forked and cannot be used in the child; build it "
                'in the child, or start processes with the "spawn" method'
            )
        if self._executor is None:
            raise RuntimeError("the pipeline is closed")
        return self._executor

    @property
    def is_open(self) -> bool:
        """Built and not closed; False in a forked child."""
        return self._executor is not None and not self._forked

    @property
    def at_end(self) -> bool:
        """The sources' data has ended and all iterations were taken."""
        executor = self.executor
        return isinstance(self._event, StopIteration) and executor.started == executor.delivered

    def run(self) -> list[tuple[TensorListCPU, ...]]:
        """The next iteration: per pipeline a tuple of outputs. StopIteration at the end of a source's data."""
        self.prefetch()
        return self.take()

    def prefetch(self) -> None:
        """Starts iterations until ``prefetch_queue_depth`` are under way, fewer when memory_limit is near."""
        executor = self.executor
        if self.has_joint_operators:
            self._prefetch_jointly(executor)
            return
        under_way = executor.started - executor.delivered
        while self._event is None and under_way < self.depth and (under_way == 0 or executor.room_to_start):
            if not self._start(executor):
                return
            under_way += 1

    def _iterations_ahead(self) -> int:
        """How many iterations are prepared beyond those whose joint operators were dispatched.

        0 if that would call the program's functions or sources earlier than it may expect.
        """
        calls_program = any(pipeline._calls_functions_early() for pipeline in self.pipelines)
        return 0 if not self.has_joint_operators or calls_program or self._hooks or self._fed else self.depth

    def _prefetch_jointly(self, executor: _core.Executor) -> None:
        """The same with operators over several devices: exactly ``prefetch_queue_depth`` iterations are dispatched.

        What is dispatched depends on nothing but the number of calls, so that all processes agree: it waits for inputs,
        and memory_limit is not looked at.
        """
        if not self._caller.acquire(blocking=False):
            raise RuntimeError(_TWO_THREADS)
        try:
            if self._out_of_step is not None:
                raise RuntimeError(
                    "an earlier batch failed in this process but not in the others, so their computations no longer "
                    f"match; make a new iterator in all processes. The first error was:\n{self._out_of_step}"
                )
            while self._event is None and executor.started - executor.delivered < self.depth + self._ahead:
                if not self._start(executor):
                    break
            while executor.dispatched < min(executor.started, executor.delivered + self.depth):
                executor.dispatch_joint()
        finally:
            self._caller.release()

    def take(self) -> list[tuple[TensorListCPU, ...]]:
        """Waits for the oldest iteration under way. Without one: the pending exception, StopIteration if none."""
        executor = self.executor
        self._taker = threading.current_thread()
        if executor.started == executor.delivered:
            self._raise_event()
        delivered = executor.delivered
        try:
            return self._take_jointly(executor) if self.has_joint_operators else executor.take(TensorListCPU)
        finally:  # an interrupt leaves the iteration where it is
            if self._positions and executor.delivered > delivered:
                self._delivered_position = self._positions.popleft()

    def take_packed(
        self, count: int, buffers: list[Any], fields: list[tuple[int, int, tuple[int, ...]]]
    ) -> tuple[list[list[bytes | None]], list[tuple[TensorListCPU, ...]] | None, _core.Failure | None]:
        """Takes up to ``count`` iterations into buffers, without the GIL: see ``Executor.take_packed``.

        Only for pipelines without sources and functions of the program.
        """
        self._taker = threading.current_thread()
        return self.executor.take_packed(self.depth, count, buffers, fields, TensorListCPU)

    def _take_jointly(self, executor: _core.Executor) -> list[tuple[TensorListCPU, ...]]:
        delivered = executor.delivered
        if not self._caller.acquire(blocking=False):
            raise RuntimeError(_TWO_THREADS)
        try:
            return executor.take(TensorListCPU)
        except Exception as error:
            if executor.delivered > delivered and any(pipeline._spans_processes() for pipeline in self.pipelines):
                self._out_of_step = error
            raise
        finally:
            self._caller.release()

    def _raise_event(self) -> None:
        event = self._event
        if event is None:
            raise RuntimeError("no iteration was started: call schedule_run() first")
        if not isinstance(event, StopIteration):
            self._event = None
            raise event
        raise StopIteration(*event.args)

    def _start(self, executor: _core.Executor) -> bool:
        """Starts one iteration, or records why it cannot start."""
        if self._hooks or self._fed:
            try:
                for pipeline in self._hooks:
                    pipeline.iter_setup()
                feeds = self._collect(executor)
            except MissingFeed:
                raise
            except Exception as error:
                self._event = error
                return False
            for pipeline, batches in feeds:
                for name, outputs in batches.items():
                    executor.feed(pipeline._plan, name, outputs)
            executor.start()
            self._positions.append(self._source_positions())
        else:
            executor.start()
        return True

    def _collect(self, executor: _core.Executor) -> list[tuple[Pipeline, dict[str, list[_core.Batch]]]]:
        """The next batches of all pipelines' sources. What is raised for one pipeline costs the iteration of all."""
        for pipeline in self._fed:
            pipeline._inputs.check_fed()
        feeds = self._collected
        failure: Exception | None = None
        for pipeline in self._fed[len(feeds) :]:
            try:
                feeds.append((pipeline, pipeline._inputs.collect(executor)))
            except StopIteration:
                self._collected = []
                raise
            except Exception as error:
                failure = failure or error
                feeds.append((pipeline, {}))
        self._collected = []
        if failure is not None:
            raise failure
        return feeds

    def reset(self) -> None:
        """After the end of data: begins the next epoch of all sources. Otherwise nothing."""
        if isinstance(self._event, StopIteration):
            all_taken = self.at_end
            self._event = None
            for pipeline in self._fed:
                pipeline._inputs.reset()
            if all_taken:
                self._delivered_position = self._source_positions()

    def _source_positions(self) -> list[list[int]]:
        return [pipeline._inputs.position() for pipeline in self.pipelines]

    @property
    def delivered(self) -> int:
        """Iterations taken so far, failed ones included."""
        return self.executor.delivered

    def checkpoint(self, iterator_state: Any = None, held: int = 0) -> bytes:
        """The state after the last iteration taken, as JSON.

        Args:
            iterator_state: kept in it for a framework's iterator.
            held: so many iterations of those taken have not been handed out; only without sources of the program.

        RuntimeError unless the pipelines were made with ``enable_checkpointing=True``.
        """
        if not self.pipelines[0]._enable_checkpointing:
            raise RuntimeError(
                "Cannot save the checkpoint. The `enable_checkpointing` was not specified when creating the pipeline"
            )
        state = {
            "format": _CHECKPOINT_FORMAT,
            "version": 1,
            "executor": json.loads(self.executor.checkpoint(held)),
            "sources": self._delivered_position,
            "iterator": iterator_state,
        }
        return json.dumps(state).encode()

    def _checkpoints_given(self) -> list[dict[str, Any]]:
        """The different checkpoints that the pipelines were given, in order."""
        given: list[Any] = []
        for pipeline in self.pipelines:
            one_or_more = pipeline._checkpoint
            if one_or_more is None:
                continue
            of_pipeline = list(one_or_more) if isinstance(one_or_more, list | tuple) else [one_or_more]
            given.extend(checkpoint for checkpoint in of_pipeline if checkpoint not in given)
        if given and not self.pipelines[0]._enable_checkpointing:
            raise RuntimeError(
                "Cannot restore the checkpoint. The `enable_checkpointing` was not specified when creating the pipeline"
            )
        return [_read_checkpoint(checkpoint) for checkpoint in given]

    def _restore(self, saved: list[dict[str, Any]]) -> None:
        sources = [position for state in saved for position in state["sources"]]
        if len(sources) == len(self.pipelines):
            for pipeline, position in zip(self.pipelines, sources, strict=True):
                for name in pipeline._inputs.restore(position):
                    logger.warning(
                        "external_source '%s' cannot go on where the checkpoint was taken: only callables with one "
                        "argument can; it starts anew",
                        name,
                    )
        elif self._fed:
            raise RuntimeError(
                f"checkpoint: `sources`: it was taken from {len(sources)} pipelines, this group has "
                f"{len(self.pipelines)}; an external_source cannot be cut anew"
            )
        self.iterator_states = [state.get("iterator") for state in saved]
        self._restored_from = saved
        self.restored = True

    def rest_of_epoch(self, reader: str) -> tuple[int, int]:
        """After restoring: the epoch of a reader, and how many samples all pipelines together had left of it."""
        rests = [
            saved["remaining"]
            for state in self._restored_from
            for pipeline in state["executor"]["pipelines"]
            for saved in pipeline["readers"]
            if saved["name"] == reader
        ]
        return rests[0]["epoch"], sum(end - begin for rest in rests for begin, end in rest["ranges"])

    def close(self) -> None:
        """Ends the workers and gives the memory back. Batches that were handed out stay valid. Idempotent."""
        executor, self._executor = self._executor, None
        if executor is not None and not self._forked:
            self._tell_of_close()
            executor.close()

    def call_at_close(self, function: Callable[[], None]) -> None:
        """``function`` is called before the workers end, on any thread. It must not keep the group alive."""
        self._at_close.append(function)

    def _tell_of_close(self) -> None:
        for function in self._at_close:
            function()
        self._at_close.clear()

    def _close_at_exit(self) -> None:
        """Closes, and lets a daemon thread that iterates come to its end.

        Note [daemon threads at exit]: CPython up to 3.13 unwinds a daemon thread that asks for the GIL after the
        interpreter's end. Inside a framework's C++, where arrays are made and freed, that ends the process.
        """
        executor, self._executor = self._executor, None
        if executor is not None and not self._forked:
            self._tell_of_close()
        if executor is not None and not self._forked and not executor.close_within(_EXIT_PATIENCE):
            logger.warning("a function of the pipeline is still running; the program ends without waiting for it")
        if self.handing_over.acquire(timeout=_COMPILER_PATIENCE):
            self.handing_over.release()
        for thread in (self._taker, self.consumer):
            if thread is not None and thread.daemon and thread is not threading.current_thread():
                thread.join(_THREAD_PATIENCE)

    def __del__(self) -> None:
        # The executor's own destructor would join its threads with the GIL held.
        if getattr(self, "_executor", None) is not None:
            self.close()

    def _after_fork(self) -> None:
        # The child has none of the threads; the executor must not be destroyed there either, since that joins them.
        self._forked = True
        _left_in_parent.append(self._executor)


def _read_checkpoint(given: bytes | str) -> dict[str, Any]:
    try:
        state = json.loads(given)
    except (TypeError, ValueError) as error:
        raise RuntimeError(f"checkpoint: expected the JSON that checkpoint() gave: {error}") from None
    if not isinstance(state, dict) or state.get("format") != _CHECKPOINT_FORMAT:
        raise RuntimeError("checkpoint: expected the JSON that checkpoint() gave; the field `format` differs")
    if state.get("version") != 1:
        raise RuntimeError(f"checkpoint: version {state.get('version')} is unknown, this headrace reads 1")
    sources = state.get("sources")
    pairs = isinstance(sources, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(number, int) for number in pair)
        for pair in sources
    )
    if not pairs or not isinstance(state.get("executor"), dict):
        raise RuntimeError("checkpoint: damaged: a field is missing or of another type: `sources` or `executor`")
    return state


_left_in_parent: list[Any] = []


def _close_all() -> None:
    for group in list(_open_groups):
        group._close_at_exit()


def _mark_forked() -> None:
    for group in list(_open_groups):
        group._after_fork()


def _close_first_at_exit() -> None:
    """Frameworks that are loaded end later than the pipelines, whose functions may be using them."""
    atexit.unregister(_close_all)
    atexit.register(_close_all)


os.register_at_fork(after_in_child=_mark_forked)
