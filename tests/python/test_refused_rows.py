"""on_error="skip" and "zero": what stands in a refused row's place, in branches, of any type, on any threads."""

import numpy as np
import pytest
from PIL import Image

from headrace import fn, pipeline_def, types

BATCH = 8
BAD = 4


def write_files(folder, sizes) -> list[str]:
    """File i holds sizes[i] bytes of value i."""
    names = [str(folder / f"{i:02}") for i in range(len(sizes))]
    for i, (name, size) in enumerate(zip(names, sizes, strict=True)):
        with open(name, "wb") as file:
            file.write(bytes([i]) * size)
    return names


@pytest.fixture
def images(tmp_path) -> list[str]:
    """Pictures of one value, 10 and up, the class of each is its place modulo 2; that of BAD has no sound pixels."""
    names = []
    for i in range(BATCH):
        path = tmp_path / f"{i}.png"
        Image.fromarray(np.full((8, 8, 3), 10 + i, np.uint8)).save(path)
        names.append(str(path))
    with open(names[BAD], "r+b") as file:
        data = bytearray(file.read())
        start = data.index(b"IDAT") + 6
        data[start : start + 20] = bytes(20)
        file.seek(0)
        file.write(data)
    return names


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("policy", ["skip", "zero"])
@pytest.mark.parametrize("first_class", [0, 1, 77])
def test_functions_of_branches_see_each_row_once(images, policy, threads, first_class):
    """The refused row, its pixels or zeros, is in one branch: that of the label that stands in its place."""
    seen: list[tuple[str, int]] = []

    def look(branch):
        return lambda image: (seen.append((branch, int(image.flat[0]))), image)[1]

    options = {"batch_size": BATCH, "num_threads": threads, "prefetch_queue_depth": 1, "on_error": policy}

    @pipeline_def(device_id=None, enable_conditionals=True, **options)
    def pipeline():
        data, label = fn.readers.file(files=images, labels=[i % 2 for i in range(BATCH)])
        image = fn.decoders.image(data)
        if label[0] == first_class:
            out = fn.python_function(image, function=look("first"))
        else:
            out = fn.python_function(image, function=look("else"))
        return out, label

    pipe = pipeline()
    pipe.build()
    for _ in range(3):
        seen.clear()
        out, labels = pipe.run()
        values = [int(np.asarray(row).flat[0]) for row in out]
        labels = [int(np.asarray(label)[0]) for label in labels]
        expected = sorted(
            ("else" if policy == "zero" and i == BAD else "first" if label == first_class else "else", value)
            for i, (value, label) in enumerate(zip(values, labels, strict=True))
        )
        assert sorted(seen) == expected
        for i, value in enumerate(values):
            if i != BAD:
                assert value == 10 + i
        assert values[BAD] == 0 if policy == "zero" else values[BAD] in {10 + i for i in range(BATCH) if i != BAD}


@pytest.mark.parametrize("policy", ["skip", "zero"])
def test_the_first_rows_type_is_that_of_the_batch(tmp_path, policy):
    """Rows of two axes and of three in turn; a refused first one has no say."""
    count = 16
    names = write_files(tmp_path, [1] * count)

    def kinds(threads: int, bad_first: bool) -> list[int]:
        @pipeline_def(batch_size=count, num_threads=threads, device_id=None, seed=1, on_error=policy)
        def pipeline():
            data, label = fn.readers.file(files=names)
            place = fn.cast(data, dtype=types.INT32)
            axes = 2 + place % 2  # 2, 3, 2, 3 ...
            shape = fn.slice([2, 2, 1], 0, axes, axes=[0], normalized_anchor=False, normalized_shape=False)
            volume = 4 + 1000 * (place == 0) if bad_first else fn.constant(idata=[4])
            values = fn.slice(fn.zeros(shape=[4]), 0, volume, axes=[0], normalized_anchor=False, normalized_shape=False)
            return fn.reshape(values + 1.0, shape=shape)

        pipe = pipeline()
        pipe.build()
        return [np.asarray(row).ndim for row in pipe.run()[0]]

    for bad_first in (False, True):
        (alone, *rest) = [kinds(threads, bad_first) for threads in [1, *[4] * 30]]
        assert alone in ([2] * count, [3] * count)
        if policy == "zero" or not bad_first:  # else row 0 holds a substitute, of either kind
            assert alone[0] == 2 + bad_first
        assert rest == [alone] * 30


@pytest.mark.parametrize("batch_size", [1, 2, 4, 16])
def test_zeros_have_the_shape_of_a_row_that_does_not_depend_on_timing(tmp_path, batch_size):
    bad = 8
    sizes = [7 if i == bad else 2 * (i + 1) * 2000 for i in range(16)]  # 7 is not divisible by 2
    names = write_files(tmp_path, sizes)

    @pipeline_def(num_threads=4, batch_size=batch_size, device_id=None, on_error="zero", prefetch_queue_depth=3)
    def pipeline():
        data, _ = fn.readers.file(files=names)
        return fn.reshape(fn.cast(data, dtype=types.FLOAT), shape=[-1, 2])

    first_of_batch = bad // batch_size * batch_size
    like = 0 if batch_size == 1 else first_of_batch + 1 if first_of_batch == bad else first_of_batch
    for _ in range(20):
        pipe = pipeline()
        rows = [np.asarray(row) for _ in range(16 // batch_size) for row in pipe.run()[0]]
        assert rows[bad].shape == (sizes[like] // 2, 2)
        assert not rows[bad].any()
        assert [row.shape[0] for i, row in enumerate(rows) if i != bad] == [s // 2 for s in sizes if s != 7]


def test_zeros_without_a_known_shape_say_so(tmp_path):
    names = write_files(tmp_path, [7, 8])

    @pipeline_def(num_threads=1, batch_size=1, device_id=None, on_error="zero", prefetch_queue_depth=1)
    def pipeline():
        data, _ = fn.readers.file(files=names)
        return fn.reshape(data, shape=[-1, 2], name="pairs")

    pipe = pipeline()
    with pytest.raises(RuntimeError, match='no good sample of "pairs" has come yet'):
        pipe.run()
    assert np.asarray(pipe.run()[0][0]).tolist() == [[1, 1]] * 4
    assert np.asarray(pipe.run()[0][0]).tolist() == [[0, 0]] * 4


def test_a_ragged_batch_does_not_make_later_ones_ragged(tmp_path):
    names = write_files(tmp_path, [7 if i == 3 else 64 for i in range(40)])

    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def pipeline():
        data, _ = fn.readers.file(files=names)
        return fn.cast(data, dtype=types.FLOAT)

    pipe = pipeline()
    pipe.build()
    together = []
    for _ in range(5):
        (out,) = pipe.run()
        places = [np.asarray(row).__array_interface__["data"][0] for row in out]
        together.append(bool(np.all(np.diff(places) == np.asarray(out[0]).nbytes)))
    assert together[0] is False
    assert all(together[2:])  # the second was expected to be ragged like the first


def test_zeros_go_by_conditions_that_the_row_has():
    """A row refused behind functions: the condition of the other branch's inner `if` has no value for it."""

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, enable_conditionals=True, on_error="zero")
    def pipeline():
        n = fn.external_source(lambda: [np.array(i, np.int32) for i in range(BATCH)])
        as_row = {"function": lambda x: np.array([x], np.float32)}
        if n < 4:
            is_even = fn.python_function(n, function=lambda x: np.array(x % 2 == 0))
            row = fn.python_function(n, **as_row)
            if is_even:  # noqa: SIM108
                r = row + 100
            else:
                r = row - 100
        else:
            row = fn.python_function(n, **as_row)
            past_the_end = fn.cast(n == 5, dtype=types.INT32) * 5
            r = fn.slice(row, 0, past_the_end + 1, axes=[0])
        return r

    pipe = pipeline()
    for _ in range(2):
        assert pipe.run()[0].as_array().ravel().tolist() == [100, -99, 102, -97, 4, 0, 6, 7]


def test_the_error_is_that_of_the_first_row_and_operator():
    rows = [np.zeros(4, np.float32)] * 64

    def fail(_):
        raise ValueError("in the function")

    @pipeline_def(batch_size=64, num_threads=8, device_id=None)
    def two_operators():
        x = fn.external_source(lambda: rows)
        return fn.python_function(x, function=fail), fn.reshape(x, shape=[5])

    pipe = two_operators()
    for _ in range(500):
        with pytest.raises((RuntimeError, ValueError), match=r"(?s)reshape.*Sample 0 of the batch"):
            pipe.run()
