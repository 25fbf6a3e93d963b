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
@pytest.mark.parametrize("dtype", [types.UINT8, types.FLOAT, types.INT16])
def test_windows_beyond_the_image(policy: str, dtype):
    def build(data):
        return fn.slice(
            fn.decoders.image(data),
            start=[-5, 50],
            end=[10, 80],
            axes=[0, 1],
            out_of_bounds_policy=policy,
            fill_values=7,
            dtype=dtype,
        )

    file = FILES["jpeg 4:4:4"]
    (whole,), _ = outputs(fn.decoders.image, file=file)
    mode = {"pad": "constant", "clamp": "edge", "reflect": "symmetric", "wrap": "wrap"}[policy]
    options = {"constant_values": 7} if policy == "pad" else {}
    padded = np.pad(whole, [(20, 20), (20, 20), (0, 0)], mode, **options)
    (window,), _ = outputs(build, file=file)
    assert window.dtype == types.to_numpy_type(dtype)
    assert np.array_equal(window, padded[15:30, 70:100])


@pytest.mark.parametrize("dtype", [types.UINT8, types.FLOAT])
def test_a_small_window_beyond_the_corner_of_a_large_image(dtype):
    """The part that is decoded is much smaller than the image."""
    stream = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (1500, 1400, 3), np.uint8)).save(stream, "jpeg")
    file = np.frombuffer(stream.getvalue(), np.uint8)
    whole = np.asarray(Image.open(stream))
    corner = {"start": [-10, -20], "end": [20, 30], "axes": [0, 1], "out_of_bounds_policy": "pad", "dtype": dtype}
    crop = {"crop": [1510, 1420], "out_of_bounds_policy": "pad", "dtype": dtype}
    (window, around), _ = outputs(
        lambda data: (fn.slice(fn.decoders.image(data), **corner), fn.crop(fn.decoders.image(data), **crop)), file=file
    )
    assert np.array_equal(window, np.pad(whole[:20, :30], [(10, 0), (20, 0), (0, 0)]))
    assert np.array_equal(around, np.pad(whole, [(5, 5), (10, 10), (0, 0)]))


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


def unfused(build, *, file: np.ndarray) -> list[np.ndarray]:
    """The outputs of `build` where every image is an output too, so that it is computed as a whole."""
    images = []

    def whole(image):
        images.append(image)
        return image

    def build_whole(data):
        images.clear()
        results = build(data, whole)
        return (*results, *images)

    values, _ = outputs(build_whole, file=file)
    return values[: len(values) - len(images)]


def check_fused(build, *, file: np.ndarray) -> None:
    """The graph's values don't depend on what is left out."""
    fused, _ = outputs(lambda data: build(data, lambda image: image), file=file)
    for value, expected in zip(fused, unfused(build, file=file), strict=True):
        assert value.dtype == expected.dtype
        assert value.tobytes() == expected.tobytes()


FILTERS = [
    types.INTERP_NN,
    types.INTERP_LINEAR,
    types.INTERP_CUBIC,
    types.INTERP_LANCZOS3,
    types.INTERP_GAUSSIAN,
]


def random_resize(random: np.random.Generator, name: str):
    """A resizing operator of random arguments, for HWC images; each call makes the same one."""
    options: dict = {"interp_type": FILTERS[random.integers(5)], "antialias": bool(random.integers(2))}
    if random.integers(2):
        options["dtype"] = types.FLOAT
    if random.integers(3) == 0:  # a filter that isn't known when regions are asked for
        options["interp_type"] = None
    size = [int(random.integers(12, 120)), int(random.integers(12, 120))]
    mirrored = [int(sign) for sign in random.choice([-1, 1], 2)]
    mode = str(random.choice(["default", "stretch", "not_smaller"]))
    region = {"roi_start": [0.1, -0.2], "roi_end": [0.8, 1.3], "roi_relative": True} if random.integers(2) else {}
    if random.integers(4) == 0:
        size[random.integers(2)] = 0
    window = [int(random.integers(5, 40)), int(random.integers(5, 40))]
    computed_mirror = bool(random.integers(2))

    def resize(image):
        arguments = dict(options)
        if arguments["interp_type"] is None:
            arguments["interp_type"] = fn.cast(fn.random.choice([int(t) for t in FILTERS], seed=3), dtype=types.INT32)
        signed = [s * m for s, m in zip(size, mirrored, strict=True)]
        if name == "resize":
            return fn.resize(image, size=signed, mode=mode, **region, **arguments)
        if name == "tensor_resize":
            return fn.tensor_resize(image, sizes=signed, axes=[0, 1], mode=mode, **region, **arguments)
        if name == "resize_crop_mirror":
            mirror = fn.random.coin_flip(seed=5) if computed_mirror else 1
            return fn.resize_crop_mirror(image, size=signed, crop=window, mirror=mirror, mode=mode, **arguments)
        return fn.random_resized_crop(image, size=[abs(s) or 9 for s in size], seed=7, **arguments)

    return resize


def random_window(random: np.random.Generator):
    """A slice of a random part of an image, as fractions, and one whose values are normalised."""
    start = random.uniform(0, 0.8, 2)
    end = start + random.uniform(0.02, 1, 2) * (1 - start)
    mirror = int(random.integers(2))

    def window(image):
        cut = fn.slice(image, rel_start=list(start), rel_end=list(end), axes=[0, 1])
        return fn.crop_mirror_normalize(cut, mirror=mirror, mean=[3.0, 5.0, 9.0], std=[2.0], dtype=types.FLOAT)

    return window


@pytest.mark.parametrize("name", ["resize", "tensor_resize", "resize_crop_mirror", "random_resized_crop"])
@pytest.mark.parametrize("file", ["jpeg 4:2:0", "jpeg orientation 6", "png"])
def test_random_windows_of_resized_images(name: str, file: str):
    random = np.random.default_rng(len(name) * 31 + len(file))
    for _ in range(25):
        resize, window = random_resize(random, name), random_window(random)

        def build(data, whole, resize=resize, window=window):
            return (window(whole(resize(whole(fn.decoders.image(data))))),)

        check_fused(build, file=FILES[file])


@pytest.mark.parametrize("computed", [False, True])
def test_random_windows_of_mirrored_images(computed: bool):
    random = np.random.default_rng(11)
    for seed in range(12):
        flips = [int(v) for v in random.integers(0, 2, 2)]
        window = random_window(random)

        def build(data, whole, seed=seed, flips=flips, window=window):
            horizontal, vertical = [fn.random.coin_flip(seed=seed + k) for k in range(2)] if computed else flips
            flipped = fn.flip(whole(fn.decoders.image(data)), horizontal=horizontal, vertical=vertical)
            return (window(whole(fn.resize(whole(flipped), size=[40, 30]))),)

        check_fused(build, file=FILES["jpeg 4:2:0"])


def test_windows_of_planes_sequences_and_single_axes():
    def build(data, whole):
        image = whole(fn.decoders.image(data))
        planes = whole(fn.resize(whole(fn.transpose(image, perm=[2, 0, 1])), size=[90, 33]))
        frames = whole(fn.resize(whole(fn.stack(image, image, axis_name="F")), size=[21, 100]))
        wide = whole(fn.resize(image, resize_x=100, mode="stretch"))
        tall = whole(fn.resize(image, resize_y=20, mode="stretch", interp_type=types.INTERP_NN))
        return (
            fn.slice(planes, start=[10, 5], shape=[31, 20], axes=[1, 2]),
            fn.slice(frames, start=[7, 40], shape=[9, 3], axes=[1, 2]),
            fn.slice(wide, start=[11, 70], shape=[5, 20], axes=[0, 1]),
            fn.slice(tall, start=[11, 30], shape=[5, 20], axes=[0, 1]),
        )

    check_fused(build, file=FILES["jpeg 4:4:4"])


def test_a_crop_behind_a_resize_decodes_its_part():
    def build(data):
        resized = fn.resize(fn.decoders.image(data), size=[94, 126])
        return fn.crop_mirror_normalize(resized, crop=(40, 50), crop_pos_x=0.0, crop_pos_y=1.0, mirror=1)

    _, statistics = outputs(build, file=FILES["jpeg 4:2:0"])
    written = {node["op"]: node["bytes"] for node in statistics["nodes"]}
    assert written["resize"] == 40 * 50 * 3
    assert written["decoders.image"] < 0.3 * HEIGHT * WIDTH * 3
