"""EXIF orientations: every format that can carry one, whole images and windows, against Pillow's transposition."""

import io

import numpy as np
import pytest
from PIL import Image, ImageOps

from headrace import fn, pipeline_def, types

HEIGHT, WIDTH = 37, 53
FILES = {
    "jpeg": ("JPEG", "RGB", {"quality": 95, "subsampling": 0}),
    "jpeg gray": ("JPEG", "L", {"quality": 95}),
    "png": ("PNG", "RGB", {}),
    "png alpha": ("PNG", "RGBA", {}),
    "tiff": ("TIFF", "RGB", {}),
    "tiff alpha": ("TIFF", "RGBA", {}),
    "webp": ("WEBP", "RGB", {"lossless": True}),
    "webp alpha": ("WEBP", "RGBA", {"lossless": True, "exact": True}),
}
OUTPUT_TYPES = {"RGB": types.RGB, "GRAY": types.GRAY, "ANY_DATA": types.ANY_DATA}


def encoded(name: str, orientation: int) -> bytes:
    kind, mode, options = FILES[name]
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    pixels = np.stack([x * 4, y * 6, (x + 2 * y) % 256, 255 - x - y], 2).astype(np.uint8)
    exif = Image.Exif()
    exif[0x112] = orientation
    stream = io.BytesIO()
    Image.fromarray(pixels, "RGBA").convert(mode).save(stream, kind, exif=exif, **options)
    return stream.getvalue()


def upright(file: bytes, output_type: str) -> np.ndarray:
    """What Pillow shows, as (height, width, channels)."""
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(file)))
    if output_type == "RGB":
        image = image.convert("RGB")
    array = np.asarray(image)
    return array if array.ndim == 3 else array[..., None]


def run(graph, file: bytes) -> list[np.ndarray]:
    @pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def pipeline():
        return tuple(graph(fn.external_source([[np.frombuffer(file, np.uint8)] * 3])))

    outputs = pipeline().run()
    for output in outputs:
        for sample in output:
            np.testing.assert_array_equal(sample, output[0])
    return [np.array(output[0]) for output in outputs]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", FILES)
def test_images_are_turned_as_pillow_turns_them(name: str, orientation: int):
    file = encoded(name, orientation)
    assert Image.open(io.BytesIO(file)).getexif()[0x112] == orientation
    kinds = ["RGB", "ANY_DATA"]
    wholes = [upright(file, kind) for kind in kinds]
    height, width = wholes[0].shape[:2]
    assert (height, width) == ((HEIGHT, WIDTH) if orientation < 5 else (WIDTH, HEIGHT))
    window = {"start": [5, 7], "end": [21, 30], "axes": [0, 1]}

    def graph(data):
        for kind in kinds:
            yield fn.decoders.image(data, output_type=OUTPUT_TYPES[kind])
        for kind in kinds:
            yield fn.decoders.image_slice(data, output_type=OUTPUT_TYPES[kind], **window)

    got = run(graph, file)
    for kind, whole, image, part in zip(kinds, wholes, got[:2], got[2:], strict=True):
        np.testing.assert_array_equal(image, whole, err_msg=kind)
        np.testing.assert_array_equal(part, whole[5:21, 7:30], err_msg=f"window of {kind}")


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", FILES)
def test_orientations_can_be_left_alone(name: str, orientation: int):
    def graph(data):
        yield fn.decoders.image(data, adjust_orientation=False)
        yield fn.decoders.image(data, adjust_orientation=False, output_type=types.GRAY)
        yield fn.decoders.image(data, output_type=types.GRAY)

    file = encoded(name, orientation)
    stored, gray, turned_gray = run(graph, file)
    np.testing.assert_array_equal(stored, upright(encoded(name, 1), "RGB"))
    image = Image.fromarray(gray[..., 0])
    image.getexif()[0x112] = orientation
    np.testing.assert_array_equal(turned_gray[..., 0], np.asarray(ImageOps.exif_transpose(image)))
