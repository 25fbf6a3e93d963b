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


def wrong_number(files, saved):
    pipes = [labels(files[:11], k, 3, batch_size=3, num_threads=1, seed=4) for k in range(3)]
    DALIGenericIterator(pipes, ["label"], reader_name="reader", checkpoints=[saved[0]] * 3)


def cut_bytes(files, saved):
    make(files, "fill", [text[:-20] for text in saved])


@pytest.mark.parametrize(
    "change, message",
    [
        (wrong_batch_size, "batch_size was 3, now it is 2"),
        (wrong_policy, "last_batch_policy was 'FILL', now it is 'DROP'"),
        (wrong_data, "num_samples was 11, now it is 12|another graph"),
        (wrong_shards, "num_shards|another graph"),
        (wrong_number, "2 pipelines, this one has 3"),
        (cut_bytes, "checkpoint"),
    ],
)
def test_errors_name_what_differs(numbered_files, change, message):
    iterator = make(numbered_files, "fill")
    next(iterator)
    with pytest.raises(RuntimeError, match=message):
        change(numbered_files, iterator.checkpoints())
