"""The entropy index of JPEG files: crops of later epochs begin in the middle, and have the bytes of the first."""

import io

import numpy as np
import pytest
from PIL import Image

from headrace import Pipeline, fn, pipeline_def

FILES = 6


def encoded(seed: int, **options) -> bytes:
    random = np.random.default_rng(seed)
    height, width = (int(n) for n in random.integers(180, 260, 2))
    y, x = np.mgrid[0:height, 0:width]
    pixels = np.stack([x + y, x * 2, y * 2], 2) % 200 + random.integers(0, 50, (height, width, 3))
    stream = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(stream, "jpeg", **options)
    return stream.getvalue()


@pytest.fixture
def files(tmp_path) -> list[str]:
    kinds = [{}, {"subsampling": 0}, {"restart_marker_blocks": 5}, {"progressive": True}, {"quality": 100}, {}]
    names = []
    for i, options in enumerate(kinds):
        (tmp_path / f"{i}.jpg").write_bytes(encoded(i, **options))
        names.append(str(tmp_path / f"{i}.jpg"))
    return names


def cropping(files: list[str], threads: int = 2, **options) -> Pipeline:
    """Random windows of each file, another one in each epoch, and where they lie."""
    options = {"batch_size": FILES, "num_threads": threads, "device_id": None, "seed": 3, **options}

    @pipeline_def(prefetch_queue_depth=1, **options)
    def pipeline():
        data, _ = fn.readers.file(files=files, name="reader")
        x, y = fn.random.uniform(range=[0, 1]), fn.random.uniform(range=[0, 1])
        image = fn.decoders.image(data)
        return fn.crop(image, crop=[40, 50], crop_pos_x=x, crop_pos_y=y), x, y

    return pipeline()


def counters(pipe: Pipeline) -> dict[str, int]:
    (counts,) = [node["counters"] for node in pipe.statistics()["nodes"] if "counters" in node]
    return counts


@pytest.mark.parametrize("threads", [1, 4])
def test_windows_of_every_epoch_are_those_of_the_image(files, threads):
    wholes = [np.asarray(Image.open(name)) for name in files]
    pipe = cropping(files, threads)
    for epoch in range(12):
        windows, xs, ys = pipe.run()
        for whole, window, x, y in zip(wholes, windows, xs, ys, strict=True):
            top = int(np.floor(np.float32(y) * (whole.shape[0] - 40) + 0.5))
            left = int(np.floor(np.float32(x) * (whole.shape[1] - 50) + 0.5))
            expected = whole[top : top + 40, left : left + 50]
            np.testing.assert_array_equal(np.asarray(window), expected, err_msg=f"epoch {epoch}")
    counts = counters(pipe)
    assert counts["index_images"] == FILES - 1  # all but the progressive one
    assert counts["index_hits"] == 11 * (FILES - 1)
    assert 0 < counts["index_bytes"] <= pipe.statistics()["memory"]["caches"]


def test_every_decoder_of_windows_uses_it(files):
    sequential = [name for i, name in enumerate(files) if i != 3]

    @pipeline_def(batch_size=len(sequential), num_threads=2, device_id=None, prefetch_queue_depth=1)
    def pipeline(memory):
        data, _ = fn.readers.file(files=sequential)
        slices = fn.decoders.image_slice(data, start=[30, 20], shape=[50, 60], axes=[0, 1])
        crops = fn.decoders.image_crop(data, crop=[44, 44])
        return slices, crops, fn.decoders.image_random_crop(data, random_area=[0.1, 0.4])

    runs = []
    for memory in (None, 0):
        pipe = pipeline(memory, seed=1, decoder_index_memory=memory)
        batches = [pipe.run() for _ in range(3)]
        runs.append([np.asarray(row).tobytes() for batch in batches for out in batch for row in out])
        counts = [node["counters"] for node in pipe.statistics()["nodes"] if "counters" in node]
        assert len(counts) == 3
        for count in counts:
            if memory == 0:
                assert not any(name.startswith("index") for name in count)
            else:
                assert count["index_images"] == len(sequential)  # one index for all of them
                assert count["index_hits"] >= 2 * len(sequential)
    assert runs[0] == runs[1]


def test_a_file_that_changed_is_another_one(tmp_path):
    """Of the same length and with the same header."""
    path = tmp_path / "a.jpg"
    contents = []
    for seed in (1, 2):
        stream = io.BytesIO()
        noise = np.random.default_rng(seed).integers(0, 255, (200, 220, 3), np.uint8)
        Image.fromarray(noise).save(stream, "jpeg", quality=80)
        contents.append(stream.getvalue())
    length = max(map(len, contents))
    contents = [content.ljust(length, b"\0") for content in contents]  # what follows the image doesn't matter
    assert contents[0][:300] == contents[1][:300] and contents[0] != contents[1]
    pipe = cropping([str(path)], batch_size=1)
    for turn in range(6):
        content = contents[turn // 2 % 2]
        path.write_bytes(content)
        (window,), (x,), (y,) = pipe.run()
        top, left = int(np.floor(np.float32(y) * 160 + 0.5)), int(np.floor(np.float32(x) * 170 + 0.5))
        whole = np.asarray(Image.open(io.BytesIO(content)))
        np.testing.assert_array_equal(np.asarray(window), whole[top : top + 40, left : left + 50])
    assert counters(pipe)["index_images"] == 2
    assert counters(pipe)["index_hits"] >= 3


def test_the_limit_holds(files):
    pipe = cropping(files, decoder_index_memory=1000)
    for _ in range(4):
        pipe.run()
    counts = counters(pipe)
    assert 1 <= counts["index_images"] < FILES - 1
    assert counts["index_bytes"] <= 1000
    assert counts["index_hits"] == 3 * counts["index_images"]


@pytest.mark.parametrize(("value", "error"), [(-1, ValueError), ("1 MB", TypeError), (True, TypeError)])
def test_wrong_limits_are_refused(value, error):
    with pytest.raises(error, match="decoder_index_memory"):
        Pipeline(1, 1, decoder_index_memory=value)
