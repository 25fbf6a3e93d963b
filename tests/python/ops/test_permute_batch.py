"""permute_batch: Python's list indexing is the oracle."""

import golden
import numpy as np
import pytest
from run_op import run

from headrace import fn

BATCH = [np.full(i + 1, i) for i in range(4)]


@golden.cases("permute_batch")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize("indices", [[3, 2, 1, 0], [0, 0, 3, 3], [1, 2, 3, 0]])
def test_order(indices):
    by_list, by_node = run(
        lambda x, i: (fn.permute_batch(x, indices=indices), fn.permute_batch(x, indices=i)),
        BATCH,
        [np.int32(i) for i in indices],
    )
    for output in (by_list, by_node):
        for got, index in zip(output.samples, indices, strict=True):
            np.testing.assert_array_equal(got, BATCH[index])


def test_further_use_of_repeated_samples():
    [output] = run(lambda x: fn.permute_batch(x, indices=[1, 1, 0, 1]) + 1, [np.full(3, i) for i in range(4)])
    assert [sample.tolist() for sample in output.samples] == [[2] * 3, [2] * 3, [1] * 3, [2] * 3]


@pytest.mark.parametrize("indices", [[0, 1], [0, 1, 2, 4], [0, 1, 2, -1], 1])
def test_refused(indices):
    with pytest.raises(RuntimeError, match="permute_batch"):
        run(lambda x: fn.permute_batch(x, indices=indices), BATCH)
