"""Two processes of two devices each: global arrays, and which shards each process reads."""

import json
from pathlib import Path

import numpy as np
import pytest
from processes import free_port, run_together

pytest.importorskip("jax")

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def results():
    port = free_port()
    outputs = run_together([FOLDER / "process_program.py", number, port] for number in range(2))
    return [json.loads(out.splitlines()[-1]) for out in outputs]


CALLS = {
    "rows": [[[0, 4], [1, 4]], [[2, 4], [3, 4]]],
    "processes": [[[0, 2]], [[1, 2]]],
    "across": [[[0, 2], [1, 2]], [[0, 2], [1, 2]]],
    "whole": [[[0, 1]], [[0, 1]]],
}


@pytest.mark.parametrize("name", CALLS)
def test_each_process_reads_the_shards_that_its_devices_hold(results, name):
    assert [result[name]["calls"] for result in results] == CALLS[name]


@pytest.mark.parametrize("name", CALLS)
def test_global_arrays(results, name):
    for result in results:
        for k, (shape, shards, total) in enumerate(result[name]["batches"]):
            whole = (100 * k + np.arange(8, dtype=np.float32))[:, None].repeat(4, 1)
            assert shape == [8, 4]
            assert total == whole.sum()
            assert len(shards) == 2
            for index, data in shards:
                np.testing.assert_array_equal(whole[tuple(slice(*bounds) for bounds in index)], data)
