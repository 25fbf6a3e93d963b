"""Starts the processes of a distributed program."""

import os
import socket
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[3] / "python"


def free_port():
    """A TCP port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return listener.getsockname()[1]


def run_together(commands, seconds=100):
    """Runs `python COMMAND` for each command at a time. Returns their outputs; fails if one does.

    subprocess.TimeoutExpired if they take longer; none is left running then.
    """
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    environment.pop("XLA_FLAGS", None)
    processes = [
        subprocess.Popen(
            [sys.executable, *map(str, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for command in commands
    ]
    try:
        outputs = [process.communicate(timeout=seconds) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for process, (_, errors) in zip(processes, outputs, strict=True):
        assert process.returncode == 0, errors
    return [out for out, _ in outputs]
