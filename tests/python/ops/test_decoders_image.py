"""Image decoders and peek_image_shape: golden values, Pillow as oracle, damaged files."""

import io

import golden
import numpy as np
import pytest
from PIL import Image

from headrace import fn, pipeline_def, types

RNG = np.random.default_rng(7)


@golden.cases("decoders_image", "decoders_image_crop", "decoders_image_slice", "peek_image_shape")
def test_golden(case):
    golden.check(case)


def encode(array, kind="JPEG", **options):
    file = io.BytesIO()
    Image.fromarray(array).save(file, kind, **options)
    return np.frombuffer(file.getvalue(), np.uint8)


def smooth(height, width, channels=3):
    y, x, c = np.mgrid[:height, :width, :channels]
    return ((np.sin(x / 7 + c) + np.cos(y / 5 - c)) * 60 + 127).astype(np.uint8)


def run(graph, *files):
    @pipeline_def(batch_size=len(files), num_threads=2, device_id=None)
    def pipe():
        return graph(fn.external_source([list(files)], cycle=True))

    (out,) = pipe().run()
    return [np.array(sample) for sample in out]


@pytest.mark.parametrize("sampling", [0, 1, 2])
@pytest.mark.parametrize("progressive", [False, True])
def test_jpeg_equals_pillow(sampling, progressive):
    files = [
        encode(smooth(h, w), subsampling=sampling, progressive=progressive) for h, w in [(37, 53), (1, 1), (64, 16)]
    ]
    for image, file in zip(run(fn.decoders.image, *files), files, strict=True):
        np.testing.assert_array_equal(image, np.asarray(Image.open(io.BytesIO(file.tobytes()))))


def test_png_is_exact():
    image = RNG.integers(0, 255, (13, 17, 3), np.uint8)
    np.testing.assert_array_equal(run(fn.decoders.image, encode(image, "PNG"))[0], image)
    bgr = run(lambda x: fn.decoders.image(x, output_type=types.BGR), encode(image, "PNG"))[0]
    np.testing.assert_array_equal(bgr, image[..., ::-1])


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_windows_equal_the_decoded_image(kind):
    file = encode(smooth(47, 61), kind)
    whole = run(fn.decoders.image, file)[0]
    crop = run(lambda x: fn.decoders.image_crop(x, crop=[20, 31], crop_pos_x=0.3, crop_pos_y=0.9), file)[0]
    np.testing.assert_array_equal(crop, whole[24:44, 9:40])
    part = run(lambda x: fn.decoders.image_slice(x, start=[5, 7], shape=[30, 11]), file)[0]
    np.testing.assert_array_equal(part, whole[7:18, 5:35])
    anchor, shape = np.float32([0.5, 0.25]), np.float32([0.25, 0.5])
    part = run(lambda x: fn.decoders.image_slice(x, anchor, shape), file)[0]
    np.testing.assert_array_equal(part, whole[12:35, 31:46])


def test_random_crop_is_that_of_the_generator():
    files = [encode(smooth(47 + i, 61)) for i in range(8)]

    @pipeline_def(batch_size=8, num_threads=2, device_id=None)
    def pipe():
        file = fn.external_source([files], cycle=True)
        anchor, shape = fn.random_crop_generator(fn.peek_image_shape(file), seed=11)
        image = fn.slice(fn.decoders.image(file), anchor, shape, axis_names="HW")
        return fn.decoders.image_random_crop(file, seed=11), image

    windows, wanted = pipe().run()
    assert len({np.array(w).shape for w in windows}) > 1
    for window, part in zip(windows, wanted, strict=True):
        np.testing.assert_array_equal(np.array(window), np.array(part))


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("cut", [0, 1, 30, 0.5])
def test_cut_files_are_errors_and_the_next_is_good(kind, cut):
    good = encode(smooth(40, 40), kind)
    bad = good[: int(cut * len(good)) if isinstance(cut, float) else cut]
    with pytest.raises(RuntimeError, match="decoders.image"):
        run(fn.decoders.image, good, bad)
    assert run(fn.decoders.image, good)[0].shape == (40, 40, 3)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (lambda x: fn.decoders.image(x, dtype=types.FLOAT16), "dtype: expected UINT8"),
        (lambda x: fn.decoders.image_crop(x, crop=[90, 9]), "reaches beyond the input"),
        (lambda x: fn.decoders.image_slice(x, start=[0], shape=[1], axes=[2]), "height and width only"),
        (lambda x: fn.peek_image_shape(x, dtype=types.UINT8), "unsupported type"),
        (lambda x: fn.decoders.image(fn.cast(x, dtype=types.INT32)), "expected an encoded file"),
    ],
)
def test_messages(graph, message):
    with pytest.raises(RuntimeError, match=message):
        run(graph, encode(smooth(8, 8)))


def test_peek_tells_the_channels():
    gray = encode(smooth(5, 7, 1)[..., 0])
    assert run(fn.peek_image_shape, gray)[0].tolist() == [5, 7, 3]
    assert run(lambda x: fn.peek_image_shape(x, image_type=types.ANY_DATA), gray)[0].tolist() == [5, 7, 1]


def without_segments(file: bytes, marker: int) -> bytes:
    """A JPEG file less its segments of one kind."""
    kept, at = bytearray(file[:2]), 2
    while True:
        end = at + 2 + int.from_bytes(file[at + 2 : at + 4], "big")
        if file[at + 1] != marker:
            kept += file[at:end]
        if file[at + 1] == 0xDA:
            return bytes(kept) + file[end:]
        at = end


@pytest.mark.parametrize("before", [{"quality": 20}, {"quality": 95}, {"quality": 30, "optimize": True}])
def test_no_image_sees_the_tables_of_the_one_before(before):
    """Without DQT a file is damaged, without DHT it has the standard tables; after progressive files (libjpeg-turbo's)
    and sequential ones, in the same worker."""
    image = smooth(48, 64)
    file = encode(image, quality=90).tobytes()
    expected = np.asarray(Image.open(io.BytesIO(file)))
    no_quantisation = np.frombuffer(without_segments(file, 0xDB), np.uint8)
    no_huffman = np.frombuffer(without_segments(file, 0xC4), np.uint8)
    others = [encode(RNG.integers(0, 255, (40, 40, 3), np.uint8), **before, progressive=p) for p in (True, False, True)]
    files = iter([no_huffman, *[f for other in others for f in (other, no_huffman, other, no_quantisation)]])

    @pipeline_def(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def one_by_one():
        return fn.decoders.image(fn.external_source(lambda: [next(files)]))

    pipe = one_by_one()
    np.testing.assert_array_equal(pipe.run()[0][0], expected)
    for _ in others:
        pipe.run()
        np.testing.assert_array_equal(pipe.run()[0][0], expected)
        pipe.run()
        with pytest.raises(RuntimeError, match=r"(?s)JPEG: .*not defined"):
            pipe.run()


@pytest.mark.parametrize(
    ("compression", "damage"),
    [(kind, "cut") for kind in ("jpeg", "group3", "group4", "tiff_lzw", "tiff_adobe_deflate", "packbits")]
    + [(kind, "zeroed") for kind in ("jpeg", "group3", "group4")],  # of the others zeros may be valid data
)
def test_a_strip_of_a_tiff_that_ends_early_is_an_error(compression, damage):
    y, x = np.mgrid[0:128, 0:128]
    picture = Image.fromarray(smooth(128, 128))
    if compression.startswith("group"):
        picture = Image.fromarray(((x // 7 + y // 5) % 2 * 255).astype(np.uint8)).convert("1")
    stream = io.BytesIO()
    picture.save(stream, "TIFF", compression=compression)
    whole = stream.getvalue()
    tags = Image.open(io.BytesIO(whole)).tag_v2
    start, size = tags[273][-1], tags[279][-1]
    np.testing.assert_array_equal(
        run(fn.decoders.image, np.frombuffer(whole, np.uint8))[0],
        np.asarray(Image.open(io.BytesIO(whole)).convert("RGB")),
    )
    damaged = bytearray(whole)
    if damage == "zeroed":
        damaged[start + size // 2 : start + size] = bytes(size - size // 2)
    else:
        entries = int.from_bytes(whole[4:8], "little")
        for i in range(int.from_bytes(whole[entries : entries + 2], "little")):
            entry = entries + 2 + 12 * i
            if int.from_bytes(whole[entry : entry + 2], "little") == 279 and len(tags[279]) == 1:
                damaged[entry + 8 : entry + 12] = (size // 2).to_bytes(4, "little")
    with pytest.raises(RuntimeError, match="TIFF"):
        run(fn.decoders.image, np.frombuffer(bytes(damaged), np.uint8))
