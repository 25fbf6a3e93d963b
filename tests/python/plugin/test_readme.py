"""The program of the README runs as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")

ROOT = Path(__file__).resolve().parents[3]
TELL = "\nprint(epoch, images.shape, labels.shape, len(images.sharding.device_set))\n"


def test_program_runs_on_four_devices(tmp_path):
    from mnist_lmdb import write_digits

    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    folder = tmp_path / "demo_output" / "lmdb_data"
    folder.mkdir(parents=True)
    write_digits(folder / "training", 1000, 1)
    done = subprocess.run(
        [sys.executable, "-c", program + TELL],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "python"),
            "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["5 250", "4 (4, 50, 784) (4, 50, 10) 4"]
