"""The MNIST program of DALI's users, on one device and on four."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")
pytest.importorskip("flax")
pytest.importorskip("optax")

FOLDER = Path(__file__).parent
PACKAGE = Path(__file__).resolve().parents[3] / "python"
TRAIN, TEST = 1200, 200


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    from mnist_lmdb import write_digits

    folder = tmp_path_factory.mktemp("digits")
    write_digits(folder / "train", TRAIN, 1)
    write_digits(folder / "test", TEST, 2)
    return str(folder / "train"), str(folder / "test")


@pytest.mark.parametrize(
    "variant, length, size, shape",
    [("one", 24, TRAIN, "50 784"), ("many", 6, TRAIN // 4, "4 50 784")],
)
def test_trains(digits, variant, length, size, shape):
    environment = {
        **os.environ,
        "PYTHONPATH": str(PACKAGE),
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={1 if variant == 'one' else 4}",
    }
    done = subprocess.run(
        [sys.executable, str(FOLDER / "mnist_program.py"), variant, *digits],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("DALIGenericIterator(")
    assert f"len {length} 4 {size} {TEST}" in lines
    assert f"shape {shape}" in lines
    accuracies = [float(line.split()[1]) for line in lines if line.startswith("accuracy")]
    assert accuracies[-1] > 0.95, accuracies
