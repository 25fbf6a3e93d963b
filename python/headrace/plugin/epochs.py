"""When an iterator's epoch ends, what its size is, and which rows of the last batch count.

Pure arithmetic: nothing here reads data. One object counts the batches of all pipelines of an iterator, which are read
together. B is the batch size of one pipeline, P the number of pipelines, N the number of samples, S of shards.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


class LastBatchPolicy(enum.Enum):
    """What an iterator does with a last batch that has fewer samples than the batch size.

    FILL: the batch is filled up, with the samples that come next or, with a padded reader, by repeating the last one.
    DROP: the batch is left out. PARTIAL: the batch is cut (not for JAX, which wants equal shapes).
    """

    FILL = 0
    DROP = 1
    PARTIAL = 2


@dataclass(frozen=True)
class ReaderShards:
    """The data set as the readers of an iterator's pipelines see it.

    Attributes:
        num_samples: N, over all shards.
        num_shards: S.
        shard_ids: of each pipeline's reader.
        padded: each epoch of a shard is filled up to whole batches, the same number on all shards.
        stick_to_shard: a reader reads the same shard in each epoch, else the next one.
    """

    num_samples: int
    num_shards: int
    shard_ids: tuple[int, ...]
    padded: bool
    stick_to_shard: bool

    def shard_sizes(self) -> list[int]:
        """Samples of each shard: shard i is [floor(i*N/S), floor((i+1)*N/S))."""
        bounds = [self.num_samples * i // self.num_shards for i in range(self.num_shards + 1)]
        return [end - begin for begin, end in zip(bounds, bounds[1:], strict=False)]


class EpochCounter:
    """Counts batches. Subclasses know where the number of samples comes from.

    Attributes:
        size: samples of an epoch, as DALI's iterators tell it: of one pipeline if a reader gives it.
    """

    size: int

    def __init__(self, batch_size: int, num_pipelines: int, policy: LastBatchPolicy) -> None:
        self._batch_size = batch_size
        self._num_pipelines = num_pipelines
        self._policy = policy
        self._count = 0

    def num_batches(self) -> int:
        """Batches of an epoch."""
        raise NotImplementedError

    def finished(self) -> bool:
        """The present epoch has no more batches."""
        raise NotImplementedError

    def only_dropped_left(self) -> bool:
        """All that the present epoch still has is an incomplete batch, to be read and thrown away."""
        return False

    def count_batch(self) -> list[int] | None:
        """Counts a batch that was read from each pipeline.

        Returns the number of rows to hand out of each pipeline's batch, or None if the batch is to be thrown away.
        """
        raise NotImplementedError

    def start_epoch(self) -> None:
        """Goes on to the next epoch, when the present one is finished."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """What a checkpoint needs: JSON values."""
        return {"count": self._count}

    def restore(self, state: dict[str, Any]) -> None:
        self._count = int(state["count"])


class ReaderEpochs(EpochCounter):
    """Epochs of pipelines whose readers tell the number of samples.

    Note [epochs that overlap]: with FILL and readers that don't pad, the last batch of an epoch holds the first samples
    of the next one. `_ahead` says for each of the S ranks how many; the next epoch is that much shorter. All ranks are
    computed alike in every process, so that all make the same number of batches.
    """

    def __init__(self, batch_size: int, shards: ReaderShards, policy: LastBatchPolicy) -> None:
        super().__init__(batch_size, len(shards.shard_ids), policy)
        self._shards = shards
        self._sizes = shards.shard_sizes()  # of the shard that each rank reads in the present epoch
        self._ahead = [0] * shards.num_shards
        self._next_sizes: list[int] | None = None  # of the next epoch, while this one is a rest that was cut anew
        self._overlaps = policy is LastBatchPolicy.FILL and not shards.padded
        self.size = self._whole_size()

    def _whole_size(self) -> int:
        if self._policy is LastBatchPolicy.DROP:
            return self._shards.num_samples // self._shards.num_shards
        if self._shards.padded:
            return -(-self._shards.num_samples // self._shards.num_shards)
        return self._whole_batches(max(self._sizes))

    def num_batches(self) -> int:
        if self._policy is LastBatchPolicy.DROP:
            return self.size // self._batch_size
        return -(-self.size // self._batch_size)

    def finished(self) -> bool:
        # A dropped batch leads the count beyond the smallest shard, full batches up to it.
        limit = min(self._sizes) if self._policy is LastBatchPolicy.DROP else self.size
        return self._count >= limit

    def only_dropped_left(self) -> bool:
        dropping = self._policy is LastBatchPolicy.DROP and not self.finished()
        return dropping and self._count + self._batch_size > min(self._sizes)

    def count_batch(self) -> list[int] | None:
        self._count += self._batch_size
        full = [self._batch_size] * self._num_pipelines
        if self._policy is LastBatchPolicy.DROP:
            return full if self._count <= min(self._sizes) else None
        if self._policy is LastBatchPolicy.FILL:
            return full
        surplus = [self._count - self._sizes[shard] for shard in self._shards.shard_ids]
        return [min(self._batch_size, max(0, self._batch_size - extra)) for extra in surplus]

    def start_epoch(self) -> None:
        if self._overlaps:
            self._carry_over()
            return
        self._count = 0
        cut_anew = self._next_sizes is not None
        if cut_anew or self._policy is LastBatchPolicy.PARTIAL:
            self._next_shards()
        if cut_anew:
            self.size = self._whole_size()

    def _carry_over(self) -> None:
        read = self._count - min(self._ahead)
        self._ahead = [ahead + read - size for ahead, size in zip(self._ahead, self._sizes, strict=True)]
        self._next_shards()
        self.size = self._whole_batches(max(self._missing()))
        if self.size == 0:  # the last batch held the whole epoch
            self._ahead = [0] * len(self._ahead)
            self._next_shards()
            self.size = self._whole_batches(max(self._sizes))
        self._count = min(self._ahead)

    def _missing(self) -> list[int]:
        return [size - ahead for size, ahead in zip(self._sizes, self._ahead, strict=True)]

    def _next_shards(self) -> None:
        if self._next_sizes is not None:
            self._sizes, self._next_sizes = self._next_sizes, None
        elif not self._shards.stick_to_shard:
            self._sizes = self._sizes[1:] + self._sizes[:1]

    def _whole_batches(self, samples: int) -> int:
        return -(-samples // self._batch_size) * self._batch_size

    def state(self) -> dict[str, Any]:
        return {
            "count": self._count,
            "ahead": self._ahead,
            "shard_sizes": self._sizes,
            "next_sizes": self._next_sizes,
            "size": self.size,
        }

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._ahead = [int(ahead) for ahead in state["ahead"]]
        self._sizes = [int(size) for size in state["shard_sizes"]]
        self._next_sizes = state["next_sizes"]
        self.size = int(state["size"])

    def restore_cut_anew(self, state: dict[str, Any], batches: int, epoch: int, left: int) -> None:
        """Goes on from the :meth:`state` of another number of ranks, after ``batches`` batches of ``epoch``.

        The ``left`` samples that all ranks together had not read are shared out: rank i of S reads those from
        floor(i*left/S) to floor((i+1)*left/S). RuntimeError if the epoch had begun in the last batch of the one before.
        """
        if any(state["ahead"]):
            raise RuntimeError(
                "checkpoint: iterator: ahead: the epoch began in the last batch of the one before, so it cannot be cut "
                "anew for another number of shards; use exact_epochs, pad_last_batch or another last_batch_policy"
            )
        shards = self._shards.num_shards
        bounds = [left * i // shards for i in range(shards + 1)]
        sizes = self._shards.shard_sizes()
        turn = 0 if self._shards.stick_to_shard else (epoch + 1) % shards
        self._count = batches * self._batch_size
        self._sizes = [self._count + end - begin for begin, end in zip(bounds, bounds[1:], strict=False)]
        self._next_sizes = sizes[turn:] + sizes[:turn]
        if self._policy is not LastBatchPolicy.DROP:
            self.size = max(self._sizes) if self._shards.padded else self._whole_batches(max(self._sizes))


class SizeEpochs(EpochCounter):
    """Epochs of a given number of samples over all pipelines.

    Args:
        last_batch_padded: an epoch of the pipeline starts at its own beginning; else, with FILL, what the last batch
            has beyond `size` belongs to the next epoch.
    """

    def __init__(
        self, batch_size: int, num_pipelines: int, size: int, policy: LastBatchPolicy, last_batch_padded: bool
    ) -> None:
        super().__init__(batch_size, num_pipelines, policy)
        self.size = size
        self._step = batch_size * num_pipelines
        self._carries = policy is LastBatchPolicy.FILL and not last_batch_padded

    def num_batches(self) -> int:
        return self.size // self._step if self._policy is LastBatchPolicy.DROP else -(-self.size // self._step)

    def finished(self) -> bool:
        return self._count >= self.size

    def only_dropped_left(self) -> bool:
        dropping = self._policy is LastBatchPolicy.DROP and not self.finished()
        return dropping and self._count + self._step > self.size

    def count_batch(self) -> list[int] | None:
        before = self._count
        self._count += self._step
        if self._policy is LastBatchPolicy.DROP and self._count > self.size:
            return None
        if self._policy is not LastBatchPolicy.PARTIAL:
            return [self._batch_size] * self._num_pipelines
        left = [self.size - before - i * self._batch_size for i in range(self._num_pipelines)]
        return [min(self._batch_size, max(0, rows)) for rows in left]

    def start_epoch(self) -> None:
        self._count = self._count % self.size if self._carries else 0


class EndlessEpochs(EpochCounter):
    """Epochs of unknown length: they end when the pipeline's source does."""

    size = -1

    def num_batches(self) -> int:
        return -(-self.size // self._batch_size)

    def finished(self) -> bool:
        return False

    def count_batch(self) -> list[int] | None:
        self._count += self._batch_size
        return [self._batch_size] * self._num_pipelines

    def start_epoch(self) -> None:
        self._count = 0
