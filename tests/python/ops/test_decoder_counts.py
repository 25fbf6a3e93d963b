"""Statistics of image decoders: which decoder made how many images."""

import io
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import headrace
from headrace import fn, pipeline_def

PIXELS = np.arange(40 * 48 * 3, dtype=np.uint8).reshape(40, 48, 3)
BATCH = 4
CROP = {"crop": (20, 20)}


def encode(kind: str, mode: str = "RGB", **options) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(PIXELS).convert(mode).save(file, kind, **options)
    return np.frombuffer(file.getvalue(), np.uint8)


def counts_of(file: np.ndarray, decode=fn.decoders.image, **arguments) -> dict[str, int]:
    """The counts after one batch of depth 1."""

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, prefetch_queue_depth=1)
    def pipe():
        return decode(fn.external_source([[file] * BATCH]), **arguments)

    with_one = pipe()
    with_one.run()
    (counts,) = [node["counters"] for node in with_one.statistics()["nodes"] if "counters" in node]
    return counts


@pytest.mark.parametrize(
    ("file", "arguments", "decoder"),
    [
        (encode("JPEG"), {}, "jpeg"),
        (encode("JPEG", "L"), {}, "jpeg"),
        (encode("JPEG", "CMYK"), {}, "jpeg"),
        (encode("JPEG", progressive=True), {}, "jpeg_by_libjpeg_turbo"),
        (encode("JPEG"), {"use_fast_idct": True}, "jpeg_by_libjpeg_turbo"),
        (encode("PNG"), {}, "png"),
        (encode("WEBP"), {}, "webp"),
        (encode("TIFF"), {}, "tiff"),
        (encode("BMP"), {}, "bmp"),
    ],
)
def test_each_decoder_counts_its_images(file, arguments, decoder):
    assert counts_of(file, **arguments) == {decoder: BATCH}


@pytest.mark.parametrize(
    ("decode", "arguments"),
    [
        (fn.decoders.image_crop, CROP),
        (fn.decoders.image_random_crop, {}),
        (fn.decoders.image_slice, {"start": [0, 0], "shape": [20, 20]}),
    ],
)
def test_decoders_of_regions_count_too(decode, arguments):
    assert counts_of(encode("JPEG"), decode, **arguments) == {"jpeg": BATCH}


def test_headrace_jpeg_turbo_leaves_all_to_libjpeg_turbo():
    program = (
        f"import test_decoder_counts as t; assert t.counts_of(t.encode('JPEG')) == {{'jpeg_by_libjpeg_turbo': {BATCH}}}"
    )
    path = os.pathsep.join([str(pathlib.Path(headrace.__file__).parents[1]), str(pathlib.Path(__file__).parent)])
    environment = {**os.environ, "PYTHONPATH": path, "HEADRACE_JPEG": "turbo"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=120)
