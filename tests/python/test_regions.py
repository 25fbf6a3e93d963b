"""Regions: what a crop keeps is all that is decoded, and every byte is that of the whole image's crop."""

import io

import numpy as np
import pytest
from PIL import Image

from headrace import fn, pipeline_def, types

HEIGHT, WIDTH = 47, 63


def encoded(image_format: str, orientation: int = 1, **options) -> np.ndarray:
    """A colourful picture with saturated edges as the bytes of a file."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    pixels = np.stack([(x * 4) % 256, (y * 5) % 256, ((x // 8 + y // 8) % 2) * 255], 2).astype(np.uint8)
    if orientation != 1:
        exif = Image.Exif()
        exif[0x112] = orientation
        options["exif"] = exif
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, image_format, **options)
    return np.frombuffer(stream.getvalue(), np.uint8)


FILES = {
    "jpeg 4:2:0": encoded("jpeg", quality=90, subsampling=2),
    "jpeg 4:4:4": encoded("jpeg", quality=90, subsampling=0),
    "jpeg progressive": encoded("jpeg", quality=90, progressive=True),
    "png": encoded("png"),
} | {f"jpeg orientation {k}": encoded("jpeg", orientation=k, quality=90) for k in range(2, 9)}


def outputs(build, *, file: np.ndarray):
    """The outputs of a one-sample pipeline, as arrays, and its statistics."""

    @pipeline_def(batch_size=1, num_threads=1, device_id=None, seed=1, prefetch_queue_depth=1)
    def pipeline():
        return build(fn.external_source(lambda: [file]))

    pipe = pipeline()
    pipe.build()
    return [np.asarray(output[0]) for output in pipe.run()], pipe.statistics()


def decoded_bytes(statistics: dict) -> int:
    (node,) = [node for node in statistics["nodes"] if node["op"] == "decoders.image"]
    return node["bytes"]


@pytest.mark.parametrize("name", FILES)
def test_random_windows_equal_the_slice_of_the_whole(name: str):
    file = FILES[name]
    (whole,), _ = outputs(fn.decoders.image, file=file)
    height, width = whole.shape[:2]
    random = np.random.default_rng(len(name))
    for _ in range(12):
        top, left = int(random.integers(height)), int(random.integers(width))
        bottom, right = int(random.integers(top, height)) + 1, int(random.integers(left, width)) + 1

        def build(data, top=top, left=left, bottom=bottom, right=right):
            image = fn.decoders.image(data)
            window = fn.slice(image, start=[top, left], end=[bottom, right], axes=[0, 1])
            return window, fn.crop_mirror_normalize(window, mirror=1, dtype=types.FLOAT, output_layout="HWC")

        (window, mirrored), _ = outputs(build, file=file)
        expected = whole[top:bottom, left:right]
        assert np.array_equal(window, expected), (top, left, bottom, right)
        assert np.array_equal(mirrored, expected[:, ::-1].astype(np.float32))


def test_two_windows_decode_the_box_around_both():
    def build(data):
        image = fn.decoders.image(data)
        first = fn.crop(image, crop=(8, 8), crop_pos_x=0.0, crop_pos_y=0.0)
        second = fn.crop_mirror_normalize(
            image, crop=(4, 6), crop_pos_x=0.5, crop_pos_y=0.25, dtype=types.FLOAT, output_layout="HWC"
        )
        return first, second

    file = FILES["jpeg 4:2:0"]
    (whole,), _ = outputs(fn.decoders.image, file=file)
    (first, second), _ = outputs(build, file=file)
    assert np.array_equal(first, whole[:8, :8])
    top, left = round(0.25 * (HEIGHT - 4) + 1e-9), round(0.5 * (WIDTH - 6) + 1e-9)
    assert np.array_equal(second, whole[top : top + 4, left : left + 6])


def test_windows_of_windows():
    def build(data):
        outer = fn.crop(fn.decoders.image(data), crop=(30, 40), crop_pos_x=1.0, crop_pos_y=1.0)
        return fn.crop(outer, crop=(10, 10), crop_pos_x=0.0, crop_pos_y=1.0)

    file = FILES["jpeg 4:2:0"]
    (whole,), _ = outputs(fn.decoders.image, file=file)
    (inner,), _ = outputs(build, file=file)
    assert np.array_equal(inner, whole[HEIGHT - 10 :, WIDTH - 40 : WIDTH - 30])


@pytest.mark.parametrize("policy", ["pad", "clamp", "reflect", "wrap"])
def test_windows_beyond_the_image(policy: str):
    def build(data):
        return fn.slice(
            fn.decoders.image(data),
            start=[-5, 50],
            end=[10, 80],
            axes=[0, 1],
            out_of_bounds_policy=policy,
            fill_values=7,
        )

    file = FILES["jpeg 4:4:4"]
    (whole,), _ = outputs(fn.decoders.image, file=file)
    mode = {"pad": "constant", "clamp": "edge", "reflect": "symmetric", "wrap": "wrap"}[policy]
    options = {"constant_values": 7} if policy == "pad" else {}
    padded = np.pad(whole, [(20, 20), (20, 20), (0, 0)], mode, **options)
    (window,), _ = outputs(build, file=file)
    assert np.array_equal(window, padded[15:30, 70:100])


def test_the_shape_is_that_of_the_whole_image():
    def build(data):
        image = fn.decoders.image(data)
        return fn.crop(image, crop=(5, 6)), fn.shapes(image)

    (window, shape), _ = outputs(build, file=FILES["jpeg 4:2:0"])
    assert window.shape == (5, 6, 3)
    assert shape.tolist() == [HEIGHT, WIDTH, 3]


def test_a_whole_image_that_is_an_output_stays_whole():
    def build(data):
        image = fn.decoders.image(data)
        return image, fn.crop(image, crop=(5, 6), crop_pos_x=0.0, crop_pos_y=0.0)

    (whole, window), _ = outputs(build, file=FILES["jpeg 4:2:0"])
    assert whole.shape == (HEIGHT, WIDTH, 3)
    assert np.array_equal(window, whole[:5, :6])


def test_who_needs_pixels_for_a_window_gets_all_of_them():
    """The window depends on the image's mean: the image is computed before the window is known."""

    def build(data):
        image = fn.decoders.image(data)
        mean = fn.reductions.mean(image, dtype=types.FLOAT)
        return fn.crop(image, crop=(5, 6), crop_pos_x=mean / 256.0, crop_pos_y=0.0)

    file = FILES["jpeg 4:2:0"]
    (whole,), _ = outputs(fn.decoders.image, file=file)
    left = int(np.floor(np.float32(whole.mean() / 256) * (WIDTH - 6) + 0.5))
    (window,), _ = outputs(build, file=file)
    assert np.array_equal(window, whole[:5, left : left + 6])
