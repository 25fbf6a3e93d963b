"""Sources, subscripts and arithmetic give what DALI gives. DALI_PYTHON names a Python that has DALI installed."""

import os
import pathlib
import subprocess
import sys

import pytest

import headrace

PROGRAM = pathlib.Path(__file__).with_name("dali_front_program.py")


def lines_of(command):
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(headrace.__file__).parents[1])}
    done = subprocess.run([*command, str(PROGRAM)], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.dali
def test_the_same_program_prints_the_same():
    python = os.environ.get("DALI_PYTHON")
    if not python:
        pytest.skip("DALI_PYTHON is not set")
    ours = lines_of([sys.executable, "-m", "headrace.compat.dali"])
    theirs = lines_of([python])
    assert len(ours) > 60
    assert ours == theirs


def test_the_program_runs():
    assert len(lines_of([sys.executable, "-m", "headrace.compat.dali"])) > 60
