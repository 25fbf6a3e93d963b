"""Programs over several devices are dispatched in one order in all processes, whatever is slow where."""

import subprocess
from pathlib import Path

import pytest
from processes import free_port, run_together

pytest.importorskip("jax")

PROGRAM = Path(__file__).parent / "joint_order_program.py"


def train(devices, steps, order, seconds):
    port = free_port()
    return run_together(
        ([PROGRAM, process, devices, port, steps, order] for process in range(2)),
        seconds,
    )


@pytest.mark.parametrize("devices, steps", [(1, 300), (2, 60)])
def test_training_with_random_delays(devices, steps):
    first, second = (out.splitlines()[-1] for out in train(devices, steps, "equal", 60))
    assert first == second and first.startswith("trained")


def test_another_order_in_one_process_hangs():
    """The control: without one order the program above does not get through."""
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        train(1, 300, "reversed", 12)
    assert b"begins" in caught.value.stdout
