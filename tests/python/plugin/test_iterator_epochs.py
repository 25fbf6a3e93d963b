"""Epochs of iterators over real readers and sources: against DALI's, resets, ends, arguments."""

import logging

import numpy as np
import pytest
from pipelines import constant_batches, from_source, labels
from shard_stream import case_name, epoch_cases

from headrace.plugin.base_iterator import LastBatchPolicy
from headrace.plugin.numpy import DALIGenericIterator


def pipelines_of(case, files):
    return [
        labels(
            files[: case["n"]],
            shard,
            case["num_shards"],
            case["reader_args"],
            batch_size=case["batch"],
            num_threads=1,
        )
        for shard in case["shards"]
    ]


def iterator_arguments(case):
    arguments = dict(case["iterator_args"], last_batch_policy=LastBatchPolicy[case["policy"]])
    if "reader_name" in arguments:
        arguments["reader_name"] = "reader"
    return arguments


FULL_BATCHES = [case for case in epoch_cases() if case["policy"] != "PARTIAL"]


@pytest.mark.parametrize("case", FULL_BATCHES[:32] + FULL_BATCHES[32::4], ids=case_name)
def test_epochs_equal_dalis(case, numbered_files):
    if "error" in case:
        with pytest.raises(RuntimeError, match="no data"):
            DALIGenericIterator(pipelines_of(case, numbered_files), ["label"], **iterator_arguments(case))
        return
    iterator = DALIGenericIterator(pipelines_of(case, numbered_files), ["label"], **iterator_arguments(case))
    for expected in case["epochs"]:
        assert (len(iterator), iterator.size) == (expected["len"], expected["size"])
        batches = [b["label"].reshape(len(case["shards"]), case["batch"]).tolist() for b in iterator]
        assert batches == expected["batches"]


def one_epoch(iterator):
    return [batch["label"].ravel().tolist() for batch in iterator]


def seven(numbered_files, **arguments):
    pipe = labels(numbered_files[:7], batch_size=2, num_threads=1)
    return DALIGenericIterator(pipe, ["label"], reader_name="reader", **arguments)


def test_partial_cuts_the_last_batch(numbered_files):
    iterator = seven(numbered_files, last_batch_policy=LastBatchPolicy.PARTIAL)
    assert one_epoch(iterator) == [[0, 1], [2, 3], [4, 5], [6]]
    assert one_epoch(iterator) == [[1, 2], [3, 4], [5, 6], [0]]


def test_the_end_repeats_until_reset(numbered_files):
    iterator = seven(numbered_files)
    one_epoch(iterator)
    for _ in range(3):
        with pytest.raises(StopIteration):
            next(iterator)
    iterator.reset()
    assert next(iterator)["label"].ravel().tolist() == [1, 2]


@pytest.mark.parametrize("auto_reset", [True, "yes"])
def test_auto_reset(numbered_files, auto_reset):
    iterator = seven(numbered_files, auto_reset=auto_reset)
    batches = []
    for _ in range(3):
        with pytest.raises(StopIteration):
            while True:
                batches.append(next(iterator)["label"].ravel().tolist())
    assert len(batches) == 4 + 3 + 4


def test_reset_and_iter_in_mid_epoch_go_on_and_say_so(numbered_files, caplog):
    iterator = seven(numbered_files)
    next(iterator)
    with caplog.at_level(logging.WARNING, "headrace"):
        iterator.reset()
    assert "middle of an epoch" in caplog.text
    assert one_epoch(iterator) == [[2, 3], [4, 5], [6, 0]]


def test_reset_before_the_first_batch_is_silent(numbered_files, caplog):
    iterator = seven(numbered_files)
    with caplog.at_level(logging.WARNING, "headrace"):
        iterator.reset()
        iter(iterator)
    assert not caplog.records
    assert len(one_epoch(iterator)) == 4


@pytest.mark.parametrize("policy, expected", [("FILL", [3, 3, 3]), ("PARTIAL", [3, 3, 3]), ("DROP", [2, 2, 2])])
def test_padded_epochs_have_len_batches_however_they_are_consumed(numbered_files, policy, expected):
    for consume in ("for", "exactly len"):
        pipe = labels(numbered_files[:10], reader={"pad_last_batch": True}, batch_size=4, num_threads=1)
        iterator = DALIGenericIterator(pipe, ["label"], reader_name="reader", last_batch_policy=LastBatchPolicy[policy])
        counts = []
        for _ in range(3):
            if consume == "for":
                batches = one_epoch(iterator)
            else:
                batches = [next(iterator)["label"].ravel().tolist() for _ in range(len(iterator))]
                iterator.reset()
            assert batches[0] == [0, 1, 2, 3]
            counts.append(len(batches))
        assert counts == expected, consume


def test_exact_epochs_have_every_sample_once(numbered_files):
    for shards, policy in [(1, "FILL"), (3, "FILL"), (3, "PARTIAL")]:
        pipes = [
            labels(numbered_files[:13], k, shards, {"random_shuffle": True}, batch_size=4, num_threads=1, seed=3)
            for k in range(shards)
        ]
        iterator = DALIGenericIterator(
            pipes, ["label"], reader_name="reader", exact_epochs=True, last_batch_policy=LastBatchPolicy[policy]
        )
        orders = []
        for _ in range(3):
            seen = []
            for batch in iterator:
                assert batch["mask"].dtype == bool
                seen += batch["label"].ravel()[batch["mask"]].tolist()
            assert sorted(seen) == list(range(13))
            orders.append(seen)
        assert orders[0] != orders[1]


def test_the_mask_has_the_name_asked_for(numbered_files):
    pipe = labels(numbered_files[:7], batch_size=2, num_threads=1)
    batch = next(DALIGenericIterator(pipe, ["label"], reader_name="reader", mask_name="good"))
    assert list(batch) == ["label", "good"]
    pipe = labels(numbered_files[:7], batch_size=2, num_threads=1)
    unmasked = DALIGenericIterator(pipe, ["label"], reader_name="reader", exact_epochs=True, mask_name="")
    assert list(next(unmasked)) == ["label"]


def test_epochs_of_a_source_end_where_it_ends():
    iterator = DALIGenericIterator(from_source(constant_batches(3, (2, 1)), 2), ["x"])
    assert (len(iterator), iterator.size) == (0, -1)
    for _ in range(3):
        assert [batch["x"][0, 0] for batch in iterator] == [0, 1, 2]
    with pytest.raises(StopIteration):
        next(iterator)


def test_batches_of_a_source_may_differ_in_size():
    sizes = [3, 1, 2]
    iterator = DALIGenericIterator(from_source([np.zeros((n, 2)) for n in sizes], 3), ["x"])
    assert [batch["x"].shape[0] for batch in iterator] == sizes


def test_a_source_without_data():
    with pytest.raises(RuntimeError, match="no data"):
        DALIGenericIterator(from_source(constant_batches(0, (2, 1)), 2), ["x"])
    lazy = DALIGenericIterator(from_source(constant_batches(0, (2, 1)), 2), ["x"], prepare_first_batch=False)
    with pytest.raises(StopIteration):
        next(lazy)


@pytest.mark.parametrize("prepare, before", [(True, 2), (False, 0)])
def test_how_far_sources_are_called_ahead(prepare, before):
    calls = []

    def source(k):
        calls.append(k)
        return np.zeros((2, 1))

    iterator = DALIGenericIterator(from_source(source, 2), ["x"], prepare_first_batch=prepare)
    assert len(calls) == before
    for k in range(1, 5):
        next(iterator)
        assert calls == list(range(k + 1))  # k runs + prefetch depth 2 - 1


WRONG = {
    "size is no integer": ({"size": 3.5}, TypeError, "size.*3.5"),
    "size 0": ({"size": 0}, AssertionError, "cannot be 0"),
    "size and reader": ({"size": 3, "reader_name": "reader"}, AssertionError, "size should not be set"),
    "padded and reader": (
        {"last_batch_padded": True, "reader_name": "reader"},
        AssertionError,
        "last_batch_padded should not be set",
    ),
    "names twice": ({"output_map": ["a", "a"], "reader_name": "reader"}, AssertionError, "distinct"),
    "too many names": ({"output_map": ["a", "b"], "reader_name": "reader"}, IndexError, "2 names .* has 1 output"),
    "auto_reset": ({"auto_reset": "maybe", "reader_name": "reader"}, ValueError, "auto_reset.*maybe"),
    "policy": ({"last_batch_policy": 1, "reader_name": "reader"}, ValueError, "last_batch_policy"),
    "unknown reader": ({"reader_name": "nobody"}, RuntimeError, "nobody not found"),
    "exact without reader": ({"exact_epochs": True}, ValueError, "needs reader_name"),
    "mask is an output": ({"mask_name": "a", "reader_name": "reader"}, AssertionError, "'a'"),
    "checkpoints": ({"checkpoints": [], "reader_name": "reader"}, ValueError, "expected the list that checkpoints"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(numbered_files, name):
    arguments, kind, message = WRONG[name]
    pipe = labels(numbered_files[:7], batch_size=2, num_threads=1)
    with pytest.raises(kind, match=message):
        DALIGenericIterator(pipe, **{"output_map": ["a"], **arguments})


def test_pipelines_that_do_not_fit_together(numbered_files):
    def pipe(batch_size=2, n=7):
        return labels(numbered_files[:n], batch_size=batch_size, num_threads=1)

    with pytest.raises(AssertionError, match="same batch size"):
        DALIGenericIterator([pipe(2), pipe(3)], ["a"], reader_name="reader")
    with pytest.raises(AssertionError, match="single pipeline"):
        DALIGenericIterator([pipe(), pipe()], ["a"])
    with pytest.raises(AssertionError, match=r"epoch_size differs.*\[7, 8\]"):
        DALIGenericIterator([pipe(n=7), pipe(n=8)], ["a"], reader_name="reader")
    with pytest.raises(IndexError):
        DALIGenericIterator([], ["a"], reader_name="reader")


def test_built_pipelines_are_taken_too(numbered_files):
    pipes = [labels(numbered_files[:8], k, 2, batch_size=2, num_threads=1) for k in range(2)]
    for pipe in pipes:
        pipe.build()
    iterator = DALIGenericIterator(pipes, ["label"], reader_name="reader")
    assert one_epoch(iterator) == [[0, 1, 4, 5], [2, 3, 6, 7]]
    alone = labels(numbered_files[:8], batch_size=2, num_threads=1)
    alone.run()
    assert next(DALIGenericIterator(alone, ["label"], reader_name="reader"))["label"].ravel().tolist() == [2, 3]


def test_a_closed_iterator_says_so(numbered_files):
    iterator = seven(numbered_files)
    kept = next(iterator)["label"]
    iterator.close()
    iterator.close()
    with pytest.raises(RuntimeError, match="closed"):
        next(iterator)
    assert kept.ravel().tolist() == [0, 1]


def test_repr_tells_what_matters(numbered_files):
    text = repr(seven(numbered_files))
    for part in ("DALIGenericIterator", "['label']", "batch_size=2", "size=8", "len=4", "'reader'", "FILL"):
        assert part in text
