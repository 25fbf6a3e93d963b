"""Decodes JPEG files with headrace and with Pillow and prints how many were compared; exits with 1 at a difference.

Arguments: folders with JPEG files. Files made here come first: qualities, samplings, restart intervals, sizes.
"""

import io
import itertools
import pathlib
import sys

import numpy as np
from PIL import Image

from headrace import fn, pipeline_def, types

REGIONS = 50


def made_files():
    """Bytes of JPEG files of noise on gradients."""
    random = np.random.default_rng(3)
    sizes = itertools.cycle([(1, 1), (7, 40), (40, 7), (16, 16), (33, 17), (28, 28), (37, 61)])
    for quality, subsampling, restart in itertools.product((50, 75, 90, 95, 100), (0, 1, 2, None), (0, 1, 3)):
        width, height = next(sizes)
        y, x = np.mgrid[0:height, 0:width]
        pixels = np.stack([x * 7, y * 5, (x // 8 + y // 8) % 2 * 255], 2) + random.integers(0, 30, (height, width, 3))
        image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
        stream = io.BytesIO()
        options = {"restart_marker_blocks": restart} if restart else {}
        if subsampling is None:
            image.convert("L").save(stream, "jpeg", quality=quality, **options)
        else:
            image.save(stream, "jpeg", quality=quality, subsampling=subsampling, **options)
        yield stream.getvalue()


def files_of(folder: str):
    """Bytes of the JPEG files under a folder that are neither CMYK nor damaged."""
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.suffix.lower() in (".jpg", ".jpeg"):
            yield path.read_bytes()


def pillow(data: bytes):
    """The stored pixels as RGB; None where Pillow refuses or the file is CMYK."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            return None if image.mode == "CMYK" else np.asarray(image.convert("RGB"))
    except OSError:
        return None


@pipeline_def(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
def decoding(feed):
    """The whole image and a window of it, which is all that is decoded for it."""
    data, start, shape = fn.external_source(feed, num_outputs=3, batch=False)
    whole = fn.decoders.image(data, adjust_orientation=False, output_type=types.RGB)
    window = fn.decoders.image_slice(
        data, start, shape, axes=[0, 1], normalized_anchor=False, normalized_shape=False, adjust_orientation=False
    )
    return whole, window


def main(folders) -> int:
    """Compares all; the exit status."""
    random = np.random.default_rng(5)
    files = list(made_files())
    for folder in folders:
        files += files_of(folder)
    work = []
    for data in files:
        expected = pillow(data)
        if expected is None:
            continue
        height, width = expected.shape[:2]
        for _ in range(REGIONS if len(folders) == 0 else 3):
            top, left = int(random.integers(height)), int(random.integers(width))
            size = (int(random.integers(1, height - top + 1)), int(random.integers(1, width - left + 1)))
            work.append((data, expected, (top, left), size))
    feed = iter(
        (np.frombuffer(data, np.uint8), np.array(start, np.int32), np.array(size, np.int32))
        for data, _, start, size in work
    )
    pipe = decoding(feed)
    pipe.build()
    for _, expected, (top, left), (height, width) in work:
        whole, window = (np.asarray(output[0]) for output in pipe.run())
        if not np.array_equal(whole, expected):
            print(f"the image differs: {expected.shape}")
            return 1
        if not np.array_equal(window, expected[top : top + height, left : left + width]):
            print(f"the window differs: {expected.shape} at {top}, {left}: {height} x {width}")
            return 1
    print(len({id(data) for data, *_ in work}), "files")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
