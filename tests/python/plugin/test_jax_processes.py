"""Two processes of two devices each: global arrays, and which shards each process reads."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")

FOLDER = Path(__file__).parent
PACKAGE = Path(__file__).resolve().parents[3] / "python"


def free_port():
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def results():
    port = str(free_port())
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    processes = [
        subprocess.Popen(
            [sys.executable, str(FOLDER / "process_program.py"), str(number), port],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for number in range(2)
    ]
    try:
        outputs = [process.communicate(timeout=100) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, outputs, strict=True):
        assert process.returncode == 0, errors
    return [json.loads(out.splitlines()[-1]) for out, _ in outputs]


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
