"""Iterators resumed at every step go on exactly as the uninterrupted ones; errors name what differs."""

import json

import numpy as np
import pytest
from pipelines import labels

from headrace import fn, pipeline_def
from headrace.plugin.base_iterator import LastBatchPolicy
from headrace.plugin.numpy import DALIGenericIterator

KINDS = {
    "fill": ({}, {}),
    "fill, padded": ({"pad_last_batch": True}, {}),
    "drop": ({}, {"last_batch_policy": LastBatchPolicy.DROP}),
    "partial": ({"stick_to_shard": True}, {"last_batch_policy": LastBatchPolicy.PARTIAL}),
    "exact, shuffled": ({"random_shuffle": True}, {"exact_epochs": True}),
    "shuffled anew": ({"shuffle_after_epoch": True}, {"auto_reset": True}),
}


def make(files, kind, checkpoints=None, num_shards=2):
    reader, arguments = KINDS[kind]
    pipes = [
        labels(files[:11], k, num_shards, reader, batch_size=3, num_threads=1, seed=4, enable_checkpointing=True)
        for k in range(num_shards)
    ]
    return DALIGenericIterator(pipes, ["label"], reader_name="reader", checkpoints=checkpoints, **arguments)


def steps(iterator, count, output="label"):
    """What `count` calls of next() give; None at the end of an epoch, which starts the next one."""
    taken = []
    while len(taken) < count:
        try:
            taken.append(next(iterator)[output].ravel().tolist())
        except StopIteration:
            taken.append(None)
            iterator.reset()
    return taken


@pytest.mark.parametrize("kind", KINDS)
def test_resume_at_every_step(numbered_files, kind):
    total = 11
    whole = steps(make(numbered_files, kind), total)
    for step in range(total):
        first = make(numbered_files, kind)
        taken = steps(first, step)
        assert taken == whole[:step]
        resumed = make(numbered_files, kind, first.checkpoints())
        assert taken + steps(resumed, total - step) == whole, step


def test_resume_at_the_end_of_an_epoch(numbered_files):
    first = make(numbered_files, "fill")
    list(first)
    resumed = make(numbered_files, "fill", first.checkpoints())
    with pytest.raises(StopIteration):
        next(resumed)
    assert [b["label"].tolist() for b in resumed] == [b["label"].tolist() for b in first]


def test_a_callable_source_and_random_numbers_resume():
    @pipeline_def(batch_size=2, num_threads=1, seed=9, enable_checkpointing=True)
    def pipe():
        def source(k):
            if k == 4:
                raise StopIteration
            return np.full((2, 1), k, np.float32)

        return fn.external_source(source) + fn.random.uniform(range=[0.0, 0.5], shape=[1])

    whole = steps(DALIGenericIterator(pipe(), ["x"]), 7, "x")
    for step in range(7):
        first = DALIGenericIterator(pipe(), ["x"])
        taken = steps(first, step, "x")
        resumed = DALIGenericIterator(pipe(), ["x"], checkpoints=first.checkpoints())
        assert taken + steps(resumed, 7 - step, "x") == whole


def test_checkpoints_are_json_one_for_each_pipeline(numbered_files):
    iterator = make(numbered_files, "fill")
    next(iterator)
    saved = iterator.checkpoints()
    assert len(saved) == 2
    assert all(isinstance(json.loads(text), dict) and len(text) < 2500 for text in saved)
    pipes = [
        labels(numbered_files[:11], k, 2, batch_size=3, seed=4, enable_checkpointing=True, checkpoint=saved[k])
        for k in range(2)
    ]
    resumed = DALIGenericIterator(pipes, ["label"], reader_name="reader")
    np.testing.assert_array_equal(next(resumed)["label"], next(iterator)["label"])


def test_checkpoints_must_be_enabled(numbered_files):
    pipe = labels(numbered_files, batch_size=2, num_threads=1)
    with pytest.raises(ValueError, match="checkpointing disabled"):
        DALIGenericIterator(pipe, ["label"], reader_name="reader").checkpoints()


def wrong_batch_size(files, saved):
    pipes = [labels(files[:11], k, 2, batch_size=2, num_threads=1, seed=4) for k in range(2)]
    DALIGenericIterator(pipes, ["label"], reader_name="reader", checkpoints=saved)


def wrong_policy(files, saved):
    pipes = [labels(files[:11], k, 2, batch_size=3, num_threads=1, seed=4) for k in range(2)]
    DALIGenericIterator(
        pipes, ["label"], reader_name="reader", checkpoints=saved, last_batch_policy=LastBatchPolicy.DROP
    )


def wrong_data(files, saved):
    pipes = [labels(files[:12], k, 2, batch_size=3, num_threads=1, seed=4) for k in range(2)]
    DALIGenericIterator(pipes, ["label"], reader_name="reader", checkpoints=saved)


def wrong_shards(files, saved):
    pipes = [labels(files[:11], k, 3, batch_size=3, num_threads=1, seed=4) for k in range(2)]
    DALIGenericIterator(pipes, ["label"], reader_name="reader", checkpoints=saved)


def one_rank_only(files, saved):
    rank = labels(files[:11], 0, 2, batch_size=3, num_threads=1, seed=4, enable_checkpointing=True)
    iterator = DALIGenericIterator(rank, ["label"], reader_name="reader")
    next(iterator)
    pipe = labels(files[:11], 0, 1, batch_size=6, num_threads=1, seed=4)
    DALIGenericIterator(pipe, ["label"], reader_name="reader", checkpoints=iterator.checkpoints())


def carried_over(files, saved):
    iterator = make(files, "fill")
    list(iterator)
    next(iter(iterator))
    pipe = labels(files[:11], 0, 1, batch_size=6, num_threads=1, seed=4)
    DALIGenericIterator(pipe, ["label"], reader_name="reader", checkpoints=iterator.checkpoints())


def two_moments(files, saved):
    iterator = make(files, "fill")
    for _ in range(2):
        next(iterator)
    make(files, "fill", [saved[0], iterator.checkpoints()[1]])


def cut_bytes(files, saved):
    make(files, "fill", [text[:-20] for text in saved])


@pytest.mark.parametrize(
    "change, message",
    [
        (wrong_batch_size, "global_batch_size was 6, now it is 4"),
        (two_moments, "taken at the same step, got one after 1 batches and one after 2"),
        (wrong_policy, "last_batch_policy was 'FILL', now it is 'DROP'"),
        (wrong_data, "num_samples was 11, now it is 12|another graph"),
        (wrong_shards, "global_batch_size was 6, now it is 9"),
        (one_rank_only, "states of all 2 shards, got 1"),
        (carried_over, "iterator: ahead"),
        (cut_bytes, "checkpoint"),
    ],
)
def test_errors_name_what_differs(numbered_files, change, message):
    iterator = make(numbered_files, "fill")
    next(iterator)
    with pytest.raises(RuntimeError, match=message):
        change(numbered_files, iterator.checkpoints())


def make_ranks(files, kind, num_shards, per_process, checkpoints=None):
    """An iterator for each process, with `per_process` of the shards; 12 samples a batch over all."""
    reader, arguments = KINDS[kind]
    return [
        DALIGenericIterator(
            [
                labels(
                    (files + files)[:37],
                    shard,
                    num_shards,
                    reader,
                    batch_size=12 // num_shards,
                    num_threads=1,
                    seed=4,
                    enable_checkpointing=True,
                )
                for shard in range(first, first + per_process)
            ],
            ["label"],
            reader_name="reader",
            mask_name="mask",
            checkpoints=checkpoints,
            **arguments,
        )
        for first in range(0, num_shards, per_process)
    ]


def read_on(iterator, count=None):
    """The ids of the next batches, of `count` or to the end of the epoch, without those that only fill up."""
    ids, batches = [], 0
    for batch in iterator:
        mask = np.asarray(batch["mask"]).ravel().astype(bool)
        ids += np.asarray(batch["label"]).ravel()[mask].tolist()
        batches += 1
        if batches == count:
            break
    return ids, batches


@pytest.mark.parametrize("before", [(2, 1), (4, 2), (1, 1)])
@pytest.mark.parametrize("after", [(1, 1), (2, 1), (2, 2), (4, 1), (3, 3)])
@pytest.mark.parametrize("kind", ["fill, padded", "partial", "exact, shuffled", "drop", "fill"])
def test_on_other_processes_and_shards_the_epoch_goes_on(numbered_files, kind, before, after):
    ranks = make_ranks(numbered_files, kind, *before)
    seen = [identity for rank in ranks for identity in read_on(rank, 2)[0]]
    assert len(seen) == 24
    checkpoints = [checkpoint for rank in ranks for checkpoint in rank.checkpoints()]
    resumed = make_ranks(numbered_files, kind, *after, checkpoints=checkpoints)
    rests = [read_on(rank) for rank in resumed]
    assert len({batches for _, batches in rests}) == 1  # the processes stay in step
    rest = [identity for ids, _ in rests for identity in ids]
    left = sorted(set(range(37)) - set(seen))
    if kind == "drop":  # as much of the rest as makes whole batches
        assert len(rest) == 12
        assert set(rest) < set(left)
    elif kind == "fill":  # the last batch has the first samples of the next epoch behind the last of this one
        assert len(rest) == 24
        assert set(rest) > set(left)
    else:
        assert sorted(rest) == left
    whole = [read_on(rank) for rank in resumed]  # the next epoch is an ordinary one
    if kind not in ("drop", "fill"):
        assert sorted(identity for ids, _ in whole for identity in ids) == list(range(37))
    assert len({batches for _, batches in whole}) == 1
