"""BaseIterator: what the iterators of all frameworks share: epochs, reset, errors, checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np

from headrace.group import PipelineGroup
from headrace.pipeline import Pipeline
from headrace.plugin.epochs import (
    EndlessEpochs,
    EpochCounter,
    LastBatchPolicy,
    ReaderEpochs,
    ReaderShards,
    SizeEpochs,
)
from headrace.tensors import TensorListCPU

__all__ = ["BaseIterator", "LastBatchPolicy"]

logger = logging.getLogger("headrace")

_NO_DATA = "It seems that there is no data in the pipeline"

Outputs = list[tuple[TensorListCPU, ...]]  # of one iteration: for each pipeline its outputs


class Stream(Protocol):
    """Where an iterator's iterations come from: its PipelineGroup, or what stands for it."""

    @property
    def is_open(self) -> bool: ...

    @property
    def delivered(self) -> int:
        """Iterations handed out so far, failed ones included."""
        ...

    def run(self) -> Any:
        """The next iteration; StopIteration at the end of data."""
        ...

    def checkpoint(self, iterator_state: Any = None) -> bytes:
        """The state after the last iteration handed out."""
        ...


class BaseIterator:
    """Runs pipelines in step and says when their epochs end.

    Args:
        pipelines: one, or several of equal batch size; one executor runs them all.
        output_map: names of the pipelines' outputs, in order.
        size: samples of an epoch over all pipelines; -1: until the pipeline's source ends.
        reader_name: instead of ``size``: the reader that tells it.
        auto_reset: True or ``"yes"``: the end of an epoch resets the iterator.
        last_batch_padded: with ``size``: each epoch of the pipelines starts at its own beginning.
        last_batch_policy: what happens to an incomplete last batch.
        prepare_first_batch: start reading at once, not with the first ``next()``.
        exact_epochs: each epoch has each sample once; the last batch is filled up and a mask tells. Needs a reader.
        mask_name: under this name a batch has a bool for each row: False for rows that only fill the batch up, or
            replace a bad sample. By default ``"mask"`` with ``exact_epochs`` or pipelines whose ``on_error`` isn't
            ``"raise"``, else none; ``""``: none.
        checkpoints: what :meth:`checkpoints` gave; the pipelines go on there. With another number of shards: the
            lists of all processes, joined; what was left of the epoch is shared out anew. The batch size over all
            shards must stay the same.
    """

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
        *,
        exact_epochs: bool = False,
        mask_name: str | None = None,
        checkpoints: Sequence[bytes | str] | None = None,
    ) -> None:
        self._pipes: list[Pipeline] = [pipelines] if isinstance(pipelines, Pipeline) else list(pipelines)
        self.output_map = list(output_map)
        self._reader_name = reader_name
        self._auto_reset = _is_auto_reset(auto_reset)
        self._policy = last_batch_policy
        self._check_arguments(size, last_batch_padded)
        self.batch_size = self._pipes[0].max_batch_size
        if exact_epochs and not reader_name:
            raise ValueError("exact_epochs: needs reader_name: without a reader nobody knows what an epoch is")
        self._mask_name = self._choose_mask(mask_name, exact_epochs)
        _give_checkpoints(self._pipes, checkpoints)
        self._group = _form_group(self._pipes, reader_name or "", exact_epochs)
        self._stream: Stream = self._group
        self._check_num_outputs()
        self._counter = self._make_counter(size, last_batch_padded)
        self._checked = [pipe for pipe in self._pipes if pipe._checks.needed]
        self._source_ended = False
        self._in_epoch = False  # a batch of the present epoch was handed out
        self._taken = self._group.executor.delivered
        if self._group.restored:
            self._restore(self._group.iterator_states)
        elif prepare_first_batch:
            self._check_for_data()
        if prepare_first_batch:
            self._group.prefetch()
            if self._group.at_end and not self._group.restored:
                raise RuntimeError(
                    "It seems that there is no data in the pipeline: its source ended before the first batch"
                )

    # -- construction -----------------------------------------------------------------------------------------------

    def _check_arguments(self, size: int, last_batch_padded: bool) -> None:
        if not self._pipes:
            raise IndexError("pipelines: expected at least one")
        if not isinstance(self._policy, LastBatchPolicy):
            raise ValueError(
                f"Wrong type for `last_batch_policy`. Expected {LastBatchPolicy}, got {type(self._policy)}"
            )
        if isinstance(size, bool) or not isinstance(size, int | np.integer):
            raise TypeError(f"size: expected an integer, got {size!r}")
        assert size != 0, "Size cannot be 0"
        assert not self._reader_name or size < 0, "When reader_name is provided, size should not be set"
        assert not self._reader_name or not last_batch_padded, (
            "When reader_name is provided, last_batch_padded should not be set"
        )
        assert self._reader_name or size > 0 or self._may_be_endless(), (
            "Negative size is supported only for a single pipeline"
        )
        assert len(set(self.output_map)) == len(self.output_map), (
            f"output_map names should be distinct, got {self.output_map}"
        )
        assert len({pipe.max_batch_size for pipe in self._pipes}) == 1, (
            f"All pipelines should have the same batch size set, got {[pipe.max_batch_size for pipe in self._pipes]}"
        )

    def _may_be_endless(self) -> bool:
        """The iterator needs neither ``size`` nor ``reader_name``."""
        return len(self._pipes) == 1

    def _choose_mask(self, mask_name: str | None, exact_epochs: bool) -> str:
        if mask_name is None:
            flags = exact_epochs or self._pipes[0].on_error != "raise"
            mask_name = "mask" if flags else ""
        assert mask_name not in self.output_map, f"mask_name: {mask_name!r} is an output's name already"
        return mask_name

    def _check_num_outputs(self) -> None:
        for number, pipe in enumerate(self._pipes):
            have = pipe.num_outputs
            if len(self.output_map) > have:
                raise IndexError(
                    f"output_map: {len(self.output_map)} names {self.output_map} for pipeline {number}, which has "
                    f"{have} outputs"
                )
            if len(self.output_map) < have and number == 0:
                logger.warning(
                    "output_map: %d names for %d outputs; the others are dropped", len(self.output_map), have
                )

    def _make_counter(self, size: int, last_batch_padded: bool) -> EpochCounter:
        count = len(self._pipes)
        if self._reader_name:
            return ReaderEpochs(self.batch_size, self._reader_shards(self._reader_name), self._policy)
        if size < 0:
            return EndlessEpochs(self.batch_size, count, LastBatchPolicy.FILL)
        return SizeEpochs(self.batch_size, count, size, self._policy, last_batch_padded)

    def _reader_shards(self, reader_name: str) -> ReaderShards:
        metas = [pipe.reader_meta(reader_name) for pipe in self._pipes]
        for what in ("epoch_size", "number_of_shards", "pad_last_batch", "stick_to_shard"):
            values = [meta[what] for meta in metas]
            assert len(set(values)) == 1, f"Reader {reader_name}: {what} differs between the pipelines: {values}"
        return ReaderShards(
            num_samples=metas[0]["epoch_size"],
            num_shards=metas[0]["number_of_shards"],
            shard_ids=tuple(meta["shard_id"] for meta in metas),
            padded=bool(metas[0]["pad_last_batch"]),
            stick_to_shard=bool(metas[0]["stick_to_shard"]),
        )

    def _check_for_data(self) -> None:
        if self._counter.finished() or self._counter.only_dropped_left():
            raise RuntimeError(
                f"{_NO_DATA}: with batch_size={self.batch_size} and {self._policy} an epoch has no batch; size is "
                f"{self.size}"
            )

    # -- epochs -----------------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Samples of an epoch, as DALI counts: with ``reader_name`` those of one shard, rounded up to whole batches
        unless the policy is DROP; else as given; -1 if unknown."""
        return self._counter.size

    def __len__(self) -> int:
        """Batches of an epoch."""
        return self._counter.num_batches()

    def __iter__(self) -> Self:
        """The iterator itself; starts the next epoch if the present one has ended."""
        if self._in_epoch or self._source_ended:
            self.reset()
        return self

    def __next__(self) -> Any:
        raise NotImplementedError

    def next(self) -> Any:
        """The next batch; StopIteration at the end of an epoch."""
        return self.__next__()

    def reset(self) -> None:
        """Starts the next epoch. In the middle of an epoch it is ignored, with a warning."""
        if not self._ended() and self._counter.only_dropped_left():
            self._read_dropped()
        if self._ended():
            self._start_epoch()
        elif self._in_epoch:
            logger.warning("the iterator is in the middle of an epoch: it goes on there; reset() is ignored")

    def _ended(self) -> bool:
        return self._source_ended or self._counter.finished()

    def _start_epoch(self) -> None:
        self._group.reset()
        self._counter.start_epoch()
        self._source_ended = False
        self._in_epoch = False

    def _read_dropped(self) -> None:
        try:
            self._read()
        except StopIteration:
            pass
        except Exception:
            logger.debug("an error in a batch that was to be dropped", exc_info=True)

    def _end_epoch(self) -> StopIteration:
        if self._auto_reset:
            self._start_epoch()
        return StopIteration()

    def _next_outputs(self) -> tuple[Outputs, list[int] | None]:
        """The outputs of the next batch that counts, and how many rows of each pipeline's do; None: all.

        Raises StopIteration at the end of an epoch, and what an operator or a source raised; then the batch is lost,
        but it counts as one of the epoch, and the next call goes on behind it.
        """
        if self._ended():
            raise self._end_epoch()
        outputs, rows = self._read()
        if rows is None:
            raise self._end_epoch()
        self._in_epoch = True
        for pipe in self._checked:
            pipe._checks.check(outputs[pipe._plan])
        return outputs, rows if self._policy is LastBatchPolicy.PARTIAL else None

    def _read(self) -> tuple[Outputs, list[int] | None]:
        try:
            outputs = self._stream.run()
        except StopIteration:
            self._source_ended = True
            raise self._end_epoch() from None
        except BaseException:
            self._count_lost()
            raise
        self._taken += 1
        return outputs, self._counter.count_batch()

    def _count_lost(self) -> None:
        """After an exception: counts the iteration if the executor does, as it does unless the wait was interrupted."""
        if self._stream.is_open and self._stream.delivered > self._taken:
            self._taken += 1
            self._in_epoch = True
            self._counter.count_batch()

    def _masks(self, outputs: Outputs) -> list[np.ndarray]:
        """For each pipeline which rows are good."""
        return [good_rows(plan) for plan in outputs]

    # -- state ------------------------------------------------------------------------------------------------------

    def checkpoints(self) -> list[bytes]:
        """The state after the last batch handed out, as JSON, once for each pipeline.

        Give them to an equal iterator as ``checkpoints``, or each to its pipeline as ``checkpoint``. ValueError unless
        the pipelines were made with ``enable_checkpointing=True``.
        """
        if not self._pipes[0]._enable_checkpointing:
            raise ValueError(
                "Cannot access checkpoints with checkpointing disabled; make the pipelines with "
                "enable_checkpointing=True"
            )
        state = {
            **self._fixed_state(),
            "batch_size": self.batch_size,
            "in_epoch": self._in_epoch,
            "source_ended": self._source_ended,
            "counter": self._counter.state(),
        }
        return [self._stream.checkpoint(state)] * len(self._pipes)

    def _fixed_state(self) -> dict[str, Any]:
        """What must be equal where a checkpoint is restored."""
        return {
            "global_batch_size": self.batch_size * self._num_shards(),
            "last_batch_policy": self._policy.name,
            "epochs": type(self._counter).__name__,
        }

    def _num_shards(self) -> int:
        """Pipelines that share the data: those of all processes, if a reader tells their number."""
        if not self._reader_name:
            return len(self._pipes)
        return int(self._pipes[0].reader_meta(self._reader_name)["number_of_shards"])

    def _restore(self, states: list[Any]) -> None:
        state = states[0]
        if state is None:  # taken by a pipeline that no iterator ran
            return
        for field, now in self._fixed_state().items():
            if state.get(field) != now:
                raise RuntimeError(f"checkpoint: iterator: {field} was {state.get(field)!r}, now it is {now!r}")
        if any(other != state for other in states):
            raise RuntimeError("checkpoint: iterator: the checkpoints were not all taken after the same batch")
        self._in_epoch = bool(state["in_epoch"])
        self._source_ended = bool(state["source_ended"])
        if state["batch_size"] == self.batch_size:
            self._counter.restore(state["counter"])
        else:
            assert isinstance(self._counter, ReaderEpochs) and self._reader_name
            batches = int(state["counter"]["count"]) // int(state["batch_size"])
            self._counter.restore_cut_anew(state["counter"], batches, *self._group.rest_of_epoch(self._reader_name))

    def close(self) -> None:
        """Ends the pipelines' threads and gives their memory back; batches that were handed out stay valid."""
        self._group.close()

    def _description(self) -> list[str]:
        """What repr() tells, besides the class."""
        first = self._pipes[0]
        parts = [
            f"outputs={self.output_map}",
            f"batch_size={self.batch_size * len(self._pipes)}",
            f"size={self.size}",
            f"len={max(0, len(self)) if self.size > 0 else 'unknown'}",
        ]
        if self._reader_name:
            parts.append(f"reader_name={self._reader_name!r}")
        parts.append(f"last_batch_policy={self._policy.name}")
        if len(self._pipes) > 1:
            parts.append(f"pipelines={len(self._pipes)}")
        if self._mask_name:
            parts.append(f"mask={self._mask_name!r}")
        return [*parts, f"num_threads={first.num_threads}", f"prefetch_queue_depth={first.prefetch_queue_depth}"]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._description())})"


def good_rows(plan: tuple[TensorListCPU, ...]) -> np.ndarray:
    """(B,) bool: which rows of one pipeline's outputs are neither padding nor replacements."""
    for output in plan:
        status: Any = output._row_status()
        if status is not None:
            return rows_of_status(status, len(output))
    return rows_of_status(None, len(plan[0]))


def rows_of_status(status: bytes | None, size: int) -> np.ndarray:
    """The same from one byte per row; None: a source gave all outputs."""
    return np.ones(size, bool) if status is None else np.frombuffer(status, np.uint8) == 0


def _is_auto_reset(value: str | bool | None) -> bool:
    known = {True: True, False: False, None: False, "yes": True, "no": False}
    if value not in known:
        raise ValueError(f"Unsupported value for `auto_reset` {value}; expected True, False, 'yes' or 'no'")
    return known[value]


def _give_checkpoints(pipes: list[Pipeline], checkpoints: Sequence[bytes | str] | None) -> None:
    if checkpoints is None:
        return
    if isinstance(checkpoints, bytes | str) or not checkpoints:
        raise ValueError(
            "checkpoints: expected the list that checkpoints() gave, or those of all processes in one list"
        )
    for pipe in pipes:
        if pipe._built:
            raise RuntimeError("checkpoints: the pipelines were built already; give them before")
        pipe._checkpoint = list(checkpoints)
        pipe._enable_checkpointing = True


def _form_group(pipes: list[Pipeline], reader_name: str, exact_epochs: bool) -> PipelineGroup:
    """One group of all pipelines, built. A single pipeline that has run already keeps its own."""
    own = pipes[0]._group
    if len(pipes) == 1 and own is not None and own.is_open and own.executor.started > 0:
        if exact_epochs:
            raise RuntimeError("exact_epochs: the pipeline has run already; give it to the iterator before")
        return own
    for pipe in pipes:
        pipe._leave_group()
    return PipelineGroup(pipes, primary_reader=reader_name, exact_epochs=exact_epochs).build()
