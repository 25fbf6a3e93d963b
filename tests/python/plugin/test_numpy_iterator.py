"""The NumPy iterator's arrays: views of the pipeline's memory, joined over pipelines, ragged outputs."""

import numpy as np
import pytest
from pipelines import constant_batches, from_source, labels

from headrace.plugin.base_iterator import LastBatchPolicy
from headrace.plugin.numpy import DALIGenericIterator


def test_arrays_are_views_that_stay():
    iterator = DALIGenericIterator(from_source(constant_batches(20, (2, 3)), 2), ["x"])
    arrays = [batch["x"] for batch in iterator]
    assert not any(array.flags.owndata for array in arrays)
    for k, array in enumerate(arrays):
        assert (array == k).all()


def test_pipelines_are_joined_along_the_rows(numbered_files):
    pipes = [labels(numbered_files[:7], k, 2, batch_size=3, num_threads=1) for k in range(2)]
    iterator = DALIGenericIterator(
        pipes, ["label"], reader_name="reader", mask_name="good", last_batch_policy=LastBatchPolicy.PARTIAL
    )
    batches = list(iterator)
    assert [batch["label"].ravel().tolist() for batch in batches] == [[0, 1, 2, 3, 4, 5], [6]]
    assert [batch["good"].tolist() for batch in batches] == [[True] * 6, [True]]


def test_ragged_outputs_are_named():
    iterator = DALIGenericIterator(from_source([[np.zeros(2), np.zeros(3)]], 2), ["speech"])
    with pytest.raises(RuntimeError, match="'speech'"):
        next(iterator)
