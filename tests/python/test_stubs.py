"""Type stubs: up to date, and a user's program passes mypy with them."""

import pathlib
import subprocess
import sys

import pytest

import headrace

ROOT = pathlib.Path(headrace.__file__).parents[2]

PROGRAM = """
from typing import assert_type

import numpy as np
from headrace import Pipeline, TensorListCPU, fn, math, ops, pipeline_def, types
from headrace.plugin.jax import DALIGenericIterator, data_iterator
from headrace.plugin.jax.clu import DALIGenericPeekableIterator, peekable_data_iterator


@pipeline_def(batch_size=32, num_threads=4)
def images(path: str, scale: float = 1.0):
    jpegs, labels = fn.readers.caffe2(path=path, random_shuffle=True, name="reader")
    decoded = fn.decoders.image(jpegs, device="mixed", output_type=types.GRAY)
    normalized = fn.crop_mirror_normalize(decoded, dtype=types.FLOAT, std=[255.0], crop=(28, 28))
    flat = fn.reshape(normalized, shape=[-1]) * scale + math.min(labels, 3)
    return flat[0:10], fn.one_hot(labels.gpu(), num_classes=10), ops.Cast(dtype=types.UINT8)(flat)


pipe: Pipeline = images("/data", seed=1, batch_size=8)
outputs: tuple[TensorListCPU, ...] = pipe.run()
array: np.ndarray = outputs[0].as_array()
shapes: list[tuple[int, ...]] = outputs[0].shape()
size: int = pipe.epoch_size("reader")


@data_iterator(output_map=["images", "labels"], reader_name="reader", exact_epochs=True)
def training(path: str):
    jpegs, labels = fn.readers.caffe2(path=path, name="reader")
    return fn.decoders.image(jpegs), labels


iterator: DALIGenericIterator = training("/data", batch_size=8)
assert_type(training("/data"), DALIGenericIterator)
assert_type(peekable_data_iterator(images, ["images"], size=10)("/data"), DALIGenericPeekableIterator)
for batch in iterator:
    batch["images"].astype("float32")
"""

WRONG = """
from headrace import fn, types
from headrace.plugin.jax import data_iterator

fn.cast(3, dtyp=types.FLOAT)
fn.crop_mirror_normalize(3, dtype="float")
data_iterator(output_map=["images"], sizes=3)
"""


def mypy(folder, program):
    pytest.importorskip("mypy")
    path = folder / "program.py"
    path.write_text(program)
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache"), str(path)]
    environment = {"MYPYPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_a_users_program_passes_and_a_wrong_one_fails(tmp_path):
    right = mypy(tmp_path, PROGRAM)
    assert right.returncode == 0, right.stdout
    wrong = mypy(tmp_path, WRONG)
    assert "dtyp" in wrong.stdout and "incompatible type" in wrong.stdout and "sizes" in wrong.stdout


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "python" / "headrace" / "py.typed").exists()
