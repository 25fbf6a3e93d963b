"""Branches against "compute both, then select": images, bad samples, and every kind of segment."""
# ruff: noqa: SIM108

import numpy as np
import pytest
from PIL import Image

from headrace import fn, pipeline_def, types

RECORDS, BATCH = 13, 4


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Files whose pixels are their number."""
    folder = tmp_path_factory.mktemp("numbers")
    paths = [folder / f"{i:03d}.png" for i in range(RECORDS)]
    for i, path in enumerate(paths):
        Image.fromarray(np.full((6, 5, 3), i, np.uint8)).save(path)
    return [str(path) for path in paths]


def cut(path, folder):
    """A copy of the file that ends too soon."""
    with open(path, "rb") as file:
        data = file.read(40)
    broken = folder / "broken.png"
    broken.write_bytes(data)
    return str(broken)


def branching(files, on_error, in_python=False):
    """(100 + pixel where the label is odd, else the pixel; the label). Both branches decode."""

    def plus(rows):
        return [row + np.uint8(100) for row in rows]

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, seed=3, enable_conditionals=True, on_error=on_error)
    def pipeline():
        data, label = fn.readers.file(files=files, name="reader")
        if label[0] & 1:
            image = fn.decoders.image(data)
            if in_python:
                image = fn.python_function(image, function=plus, batch_processing=True, output_layouts="HWC")
            else:
                image = fn.cast(image + 100, dtype=types.UINT8)
        else:
            image = fn.decoders.image(data)
        return image, label

    return pipeline()


def rows_of(pipe, batches):
    """(pixel, label) of each row of so many batches."""
    rows = []
    for _ in range(batches):
        rows += rows_of_batch(pipe.run())
    assert len(rows) == batches * BATCH
    return rows


def rows_of_batch(outputs):
    return [(int(np.asarray(image).flat[0]), int(np.asarray(label)[0])) for image, label in zip(*outputs, strict=True)]


def selected(label):
    return label + 100 if label % 2 else label


@pytest.mark.parametrize("in_python", [False, True])
def test_both_branches_then_select(images, in_python):
    rows = rows_of(branching(images, "raise", in_python), 7)
    assert rows == [(selected(k % RECORDS), k % RECORDS) for k in range(7 * BATCH)]


def test_control_the_other_branch_is_seen(images):
    rows = rows_of(branching(images, "raise"), 3)
    assert rows != [(k + 100 if k % 2 == 0 else k, k) for k in range(3 * BATCH)]


@pytest.mark.parametrize("in_python", [False, True])
@pytest.mark.parametrize("bad", [0, 1, 5, 12])
def test_skip_replaces_a_row_that_fails_in_a_branch(images, bad, in_python, tmp_path):
    """All of the row, and by the branch of the substitute, whichever that is; no other row changes."""
    files = [*images]
    files[bad] = cut(images[bad], tmp_path)
    substitutes = set()
    for place, (pixel, label) in enumerate(rows_of(branching(files, "skip", in_python), 26)):
        assert pixel == selected(label)
        if place % RECORDS == bad:
            assert label != bad
            substitutes.add(label % 2)
        else:
            assert label == place % RECORDS
    assert substitutes == {0, 1}


@pytest.mark.parametrize("bad", [1, 4])
def test_zero_blanks_a_row_that_fails_in_a_branch(images, bad, tmp_path):
    files = [*images]
    files[bad] = cut(images[bad], tmp_path)
    for place, (pixel, label) in enumerate(rows_of(branching(files, "zero"), 7)):
        record = place % RECORDS
        if record == bad:
            assert pixel == 0 and label in (0, bad)
        else:
            assert (pixel, label) == (selected(record), record)


@pytest.mark.parametrize("bad", [1, 4])
def test_raise_names_the_file_and_the_next_batch_is_right(images, bad, tmp_path):
    files = [*images]
    files[bad] = cut(images[bad], tmp_path)
    pipe = branching(files, "raise")
    for step in range(7):
        records = [(step * BATCH + slot) % RECORDS for slot in range(BATCH)]
        if bad in records:
            with pytest.raises(RuntimeError, match=rf"(?s)decoders.image.*Sample {records.index(bad)} of.*broken.png"):
                pipe.run()
        else:
            assert rows_of_batch(pipe.run()) == [(selected(record), record) for record in records]


SIZES = [5, 0, 1, 3]


def double(rows):
    return [2 * row for row in rows]


# What a branch may consist of: (graph, oracle), by kind of segment.
SEGMENTS = {
    "sample operators": (lambda x: x * 2 + 1, lambda x: 2 * x + 1),
    "a view": (lambda x: fn.reshape(x, shape=[2, 2]), lambda x: x.reshape(2, 2)),
    "a batch operator": (lambda x: fn.normalize(x, batch=True, mean=1.0, stddev=2.0), lambda x: (x - 1) / 2),
    "a Python function": (lambda x: fn.python_function(x, function=lambda row: row - 7), lambda x: x - 7),
    "a Python function of batches": (
        lambda x: fn.python_function(x, function=double, batch_processing=True),
        lambda x: 2 * x,
    ),
    "on the GPU": (lambda x: fn.copy(x.gpu()), lambda x: x),
    "several segments": (
        lambda x: fn.python_function(x + 1, function=lambda row: row * 3) - 1,
        lambda x: (x + 1) * 3 - 1,
    ),
}


@pytest.mark.parametrize("name", SEGMENTS)
@pytest.mark.parametrize("depth", [1, 3])
def test_empty_and_partial_batches_flow_through(name, depth):
    graph, oracle = SEGMENTS[name]
    random = np.random.default_rng(2)
    feeds = [[random.integers(-9, 9, 4).astype(np.int32) for _ in range(size)] for size in SIZES]

    @pipeline_def(batch_size=5, num_threads=2, prefetch_queue_depth=depth, enable_conditionals=True)
    def pipeline():
        x = fn.external_source(feeds)
        if x[0] > 0:
            y = graph(x)
        else:
            y = graph(x * 10)
        return y

    pipe = pipeline()
    for rows in feeds:
        (got,) = pipe.run()
        assert len(got) == len(rows)
        for value, row in zip(got, rows, strict=True):
            np.testing.assert_array_equal(np.asarray(value), oracle(row if row[0] > 0 else row * 10))
