"""Both JPEG decoders give Pillow's pixels, whole and in windows. HEADRACE_TEST_IMAGES names folders with more files."""

import os
import pathlib
import subprocess
import sys

import pytest

import headrace

PROGRAM = pathlib.Path(__file__).with_name("jpeg_exact_program.py")


def run(decoder: str, *folders: str) -> int:
    """How many files the program compared; HEADRACE_JPEG is read once per process."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(pathlib.Path(headrace.__file__).parents[1]),
        "HEADRACE_JPEG": decoder,
    }
    command = [sys.executable, str(PROGRAM), *folders]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.split()[0])


@pytest.mark.parametrize("decoder", ["own", "turbo"])
def test_files_of_every_quality_and_sampling(decoder: str):
    assert run(decoder) == 60


@pytest.mark.parametrize("decoder", ["own", "turbo"])
def test_photos(decoder: str):
    folders = os.environ.get("HEADRACE_TEST_IMAGES")
    if not folders:
        pytest.skip("HEADRACE_TEST_IMAGES names no folder")
    assert run(decoder, *folders.split(os.pathsep)) > 60


def test_an_unknown_decoder_is_named():
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(headrace.__file__).parents[1]), "HEADRACE_JPEG": "fast"}
    done = subprocess.run([sys.executable, str(PROGRAM)], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "expected turbo or own, got fast" in done.stderr
