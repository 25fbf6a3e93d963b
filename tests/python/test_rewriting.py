"""Rewriting (equal nodes merged, regions, what is not read left out) changes no byte, in any spelling."""

import io

import numpy as np
import pytest
from PIL import Image

from headrace import fn, pipeline_def, types

RUNS = 2


def encoded(seed, image_format, **options):
    """A file of noise on a gradient, of an odd size."""
    random = np.random.default_rng(seed)
    height, width = (int(n) for n in random.integers(35, 80, 2))
    y, x = np.mgrid[0:height, 0:width]
    pixels = np.stack([(x * 5) % 256, (y * 7) % 256, (x + y) % 256], 2) + random.integers(-20, 20, (height, width, 3))
    stream = io.BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(stream, image_format, **options)
    return np.frombuffer(stream.getvalue(), np.uint8)


def rotated():
    exif = Image.Exif()
    exif[0x112] = 6
    return exif


FILES = [
    encoded(0, "jpeg", quality=92, subsampling=2),
    encoded(1, "jpeg", quality=80, subsampling=0, exif=rotated()),
    encoded(2, "png"),
]


def run(define, files=FILES, **options):
    """The bytes, shapes and types of every sample of every output over RUNS batches, and the statistics."""

    @pipeline_def(batch_size=len(files), num_threads=2, device_id=None, seed=5, prefetch_queue_depth=1, **options)
    def pipeline():
        result = define(fn.external_source(lambda: list(files)))
        return tuple(result) if isinstance(result, list) else result

    pipe = pipeline()
    pipe.build()
    batches = [pipe.run() for _ in range(RUNS)]
    arrays = [np.asarray(sample) for batch in batches for output in batch for sample in output]
    return [(a.dtype, a.shape, a.tobytes()) for a in arrays], pipe.statistics()


class Writer:
    """Random graphs of image operators; equal seeds make equal graphs."""

    def __init__(self, seed):
        self._random = np.random.default_rng(seed)
        self._draws = 0

    def _coin(self):
        self._draws += 1
        return fn.random.coin_flip(seed=self._draws) if self._random.integers(2) else int(self._random.integers(2))

    def _place(self):
        self._draws += 1
        if self._random.integers(2):
            return fn.random.uniform(range=[0.0, 1.0], seed=self._draws)
        return float(self._random.uniform())

    def _start(self, data):
        kind = self._random.integers(4)
        window = [int(n) for n in self._random.integers(15, 35, 2)]
        if kind == 0:
            return fn.decoders.image_crop(data, crop=window, crop_pos_x=self._place(), crop_pos_y=self._place())
        if kind == 1:
            return fn.decoders.image_random_crop(data, seed=9)
        if kind == 2:
            return fn.decoders.image_slice(data, rel_start=[0.1, 0.2], rel_end=[0.9, 0.7], axis_names="HW")
        return fn.decoders.image(data)

    def _step(self, image):
        kind = self._random.integers(7)
        size = [int(n) for n in self._random.integers(16, 60, 2)]
        window = [int(n) for n in self._random.integers(3, 15, 2)]
        if kind == 0:
            return fn.resize(image, size=size)
        if kind == 1:
            return fn.resize_crop_mirror(image, size=size, crop=window, mirror=self._coin())
        if kind == 2:
            where = {"crop_pos_x": self._place(), "crop_pos_y": self._place()}
            return fn.crop(image, crop=window, out_of_bounds_policy="trim_to_shape", **where)
        if kind == 3:
            return fn.flip(image, horizontal=self._coin(), vertical=self._coin())
        if kind == 4:
            return fn.random_resized_crop(image, size=size, seed=int(self._random.integers(3)))
        if kind == 5:
            return fn.slice(image, rel_start=[0.3, 0.1], rel_shape=[0.5, 0.6], axes=[0, 1])
        return fn.transpose(fn.transpose(image, perm=[1, 0, 2]), perm=[1, 0, 2])

    def _branch(self, image):
        for _ in range(self._random.integers(1, 4)):
            image = self._step(image)
        end = self._random.integers(4)
        if end == 0:
            return fn.crop_mirror_normalize(image, mirror=self._coin(), mean=[9.0], std=[3.0], dtype=types.FLOAT)
        if end == 1:
            return image.shape()
        if end == 2:
            return fn.reductions.mean(image, axes=[0, 1])
        return image

    def outputs(self, data):
        """Two to four values of one or two images."""
        images = [self._start(data) for _ in range(self._random.integers(1, 3))]
        return [self._branch(images[self._random.integers(len(images))]) for _ in range(self._random.integers(2, 5))]


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_give_the_same_without_rewriting(seed, monkeypatch):
    values, _ = run(lambda data: Writer(seed).outputs(data))
    monkeypatch.setenv("HEADRACE_REWRITE", "off")
    assert run(lambda data: Writer(seed).outputs(data))[0] == values


def test_control_another_graph_is_seen(monkeypatch):
    """A window that is one pixel off, as a wrong region would give, is not the same."""

    def cropped(left):
        return lambda data: fn.slice(fn.decoders.image(data), start=[4, left], shape=[20, 20], axes=[0, 1])

    values, _ = run(cropped(5))
    monkeypatch.setenv("HEADRACE_REWRITE", "off")
    assert run(cropped(5))[0] == values
    assert run(cropped(6))[0] != values


def test_what_rewriting_saves(monkeypatch):
    """The switch does something: nodes and pixels that are computed without rewriting only."""

    def define(data):
        first, second = fn.decoders.image(data), fn.decoders.image(data)
        return fn.crop(first, crop=[8, 8]), fn.crop(second, crop=[8, 8]), fn.decoders.image(data).shape()

    def decoded(statistics):
        return [node["bytes"] for node in statistics["nodes"] if node["op"] == "decoders.image"]

    values, statistics = run(define)
    monkeypatch.setenv("HEADRACE_REWRITE", "off")
    plain_values, plain = run(define)
    assert plain_values == values
    whole = RUNS * sum(np.asarray(Image.open(io.BytesIO(file.tobytes()))).size for file in FILES)
    assert decoded(plain) == [whole] * 3
    assert len(decoded(statistics)) == 1 and decoded(statistics)[0] < whole / 4


@pytest.mark.parametrize("switches", [("off", "off"), ("off", "on"), ("on", "off")])
def test_checkpoints_do_not_depend_on_the_switch(switches, monkeypatch, tmp_path):
    files = []
    for i in range(6):
        files.append(str(tmp_path / str(i)))
        (tmp_path / str(i)).write_bytes(bytes([i]))

    @pipeline_def(batch_size=2, num_threads=1, device_id=None, seed=1, enable_checkpointing=True)
    def pipeline():
        data, _ = fn.readers.file(files=files, name="reader")
        twins = [fn.cast(data, dtype=types.INT32), fn.cast(data, dtype=types.INT32)]
        return *twins, fn.random.uniform(), fn.random.uniform()

    def values(pipe):
        return [np.asarray(row).tolist() for out in pipe.run() for row in out]

    monkeypatch.setenv("HEADRACE_REWRITE", switches[0])
    first = pipeline()
    first.run()
    saved = first.checkpoint()
    monkeypatch.setenv("HEADRACE_REWRITE", switches[1])
    assert values(pipeline(checkpoint=saved)) == values(first)


def test_zeros_of_both_signs_are_two_constants():
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        return fn.constant(fdata=[0.0]), fn.constant(fdata=[-0.0]), fn.zeros(shape=[1]) / -1.0

    signs = [bool(np.signbit(np.asarray(out[0]))[0]) for out in pipeline().run()]
    assert signs == [False, True, True]


CROP = {"crop": [20, 24], "crop_pos_x": 0.3, "crop_pos_y": 0.8}
NORMALISE = {"mean": [10.0, 20.0, 30.0], "std": [2.0, 3.0, 4.0], "dtype": types.FLOAT, "output_layout": "CHW"}
SPELLINGS = {
    "image_crop": (
        lambda data: fn.decoders.image_crop(data, **CROP),
        lambda data: fn.crop(fn.decoders.image(data), **CROP),
    ),
    "image_slice": (
        lambda data: fn.decoders.image_slice(data, start=[3, 5], shape=[11, 20], axes=[0, 1]),
        lambda data: fn.slice(fn.decoders.image(data), start=[3, 5], shape=[11, 20], axes=[0, 1]),
    ),
    "image_random_crop": (
        lambda data: fn.decoders.image_random_crop(data, seed=4),
        lambda data: fn.slice(
            fn.decoders.image(data), *fn.random_crop_generator(fn.peek_image_shape(data), seed=4), axis_names="HW"
        ),
    ),
    "crop_mirror_normalize": (
        lambda data: fn.crop_mirror_normalize(fn.decoders.image(data), mirror=1, **CROP, **NORMALISE),
        lambda data: fn.crop_mirror_normalize(
            fn.flip(fn.crop(fn.decoders.image(data), **CROP), horizontal=1), **NORMALISE
        ),
    ),
    "the whole tail": (
        lambda data: fn.crop_mirror_normalize(
            fn.resize(fn.decoders.image_crop(data, **CROP), size=[30, 28]), crop=[16, 16], mirror=1, **NORMALISE
        ),
        lambda data: fn.transpose(
            fn.crop_mirror_normalize(
                fn.flip(fn.crop(fn.resize(fn.crop(fn.decoders.image(data), **CROP), size=[30, 28]), crop=[16, 16])),
                **NORMALISE | {"output_layout": "HWC"},
            ),
            perm=[2, 0, 1],
        ),
    ),
}


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("rewriting", ["on", "off"])
def test_fused_and_unfused_spellings_give_the_same(name, rewriting, monkeypatch):
    monkeypatch.setenv("HEADRACE_REWRITE", rewriting)
    fused, unfused = SPELLINGS[name]
    assert run(fused)[0] == run(unfused)[0]


def test_an_unknown_setting(monkeypatch):
    monkeypatch.setenv("HEADRACE_REWRITE", "maybe")
    with pytest.raises(RuntimeError, match="HEADRACE_REWRITE: expected on or off, got maybe"):
        run(fn.decoders.image)
