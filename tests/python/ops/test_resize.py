"""resize: golden values, Pillow and a plain loop as oracles, the rules of sizes, messages."""

import golden
import numpy as np
import pytest
from PIL import Image
from resampling import RADIUS, resample_axis, run

from headrace import fn, pipeline_def, types

RNG = np.random.default_rng(8)
FILTERS = ["NN", "LINEAR", "TRIANGULAR", "CUBIC", "LANCZOS3", "GAUSSIAN"]
LAYOUTS = ["HWC", "FHWC", "CHW", "FCHW", "CFHW", "DHWC", "FDHWC", "CDHW", "FCDHW", "CFDHW"]


def interp(name):
    return getattr(types, f"INTERP_{name}")


@golden.cases("resize")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 7])
def test_equals_a_plain_loop(name, antialias, channels):
    image = RNG.integers(0, 256, (13, 18, channels), np.uint8)
    for height, width in [(5, 7), (29, 40), (6, 31), (13, 18), (1, 1)]:
        args = {"size": [height, width], "interp_type": interp(name), "antialias": antialias}
        wanted = resample_axis(image, 0, height, 0, 13, name, antialias)
        wanted = resample_axis(wanted, 1, width, 0, 18, name, antialias)
        (floats,), (integers,) = run(
            lambda x, args=args: (fn.resize(x, dtype=types.FLOAT, **args), fn.resize(x, **args)), image
        )
        np.testing.assert_allclose(floats, wanted, atol=0.3)  # the curves are interpolated between points
        np.testing.assert_array_equal(integers, np.clip(np.floor(floats + np.float32(0.5)), 0, 255).astype(np.uint8))


@pytest.mark.parametrize(("name", "pillow"), [("LINEAR", "BILINEAR"), ("CUBIC", "BICUBIC"), ("LANCZOS3", "LANCZOS")])
@pytest.mark.parametrize("size", [(40, 31), (64, 90), (25, 120), (100, 20), (160, 200)])
def test_equals_pillow_inside(name, pillow, size):
    """Near the borders Pillow leaves out what lies beyond, where DALI repeats the border."""
    image = RNG.integers(0, 256, (90, 100, 3), np.uint8)
    ((got,),) = run(lambda x: fn.resize(x, size=list(size), interp_type=interp(name)), image)
    # As floats: of bytes, Pillow rounds and clips between its two passes too.
    planes = [Image.fromarray(image[:, :, c].astype(np.float32)) for c in range(3)]
    wanted = np.dstack([np.array(plane.resize(size[::-1], Image.Resampling[pillow])) for plane in planes])
    margin = [int(np.ceil(RADIUS[name] * max(1, n / e))) + 1 for n, e in zip(size, image.shape[:2], strict=True)]
    inside = np.s_[margin[0] : -margin[0], margin[1] : -margin[1]]
    assert np.abs(got[inside] - np.clip(wanted[inside], 0, 255)).max() <= 0.9


def test_nearest_equals_pillow():
    image = RNG.integers(0, 256, (90, 101, 3), np.uint8)
    for size in [(41, 31), (64, 97), (26, 120), (100, 20), (161, 203)]:
        ((got,),) = run(lambda x, size=size: fn.resize(x, size=list(size), interp_type=types.INTERP_NN), image)
        np.testing.assert_array_equal(got, Image.fromarray(image).resize(size[::-1], Image.Resampling.NEAREST))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["NN", "LINEAR", "CUBIC"])
def test_layouts(layout, name):
    extents = {"F": 2, "C": 3, "D": 5, "H": 6, "W": 9}
    wanted_extents = {"D": 8, "H": 4, "W": 13} if name != "CUBIC" else {"D": 3, "H": 11, "W": 5}
    data = RNG.random([extents[a] for a in layout]).astype(np.float32)
    spatial = [a for a in layout if a in "DHW"]
    ((got,),) = run(
        lambda x: fn.resize(x, size=[wanted_extents[a] for a in spatial], interp_type=interp(name)), data, layout=layout
    )
    wanted = data
    for a in spatial:
        wanted = resample_axis(wanted, layout.index(a), wanted_extents[a], 0, extents[a], name)
    np.testing.assert_allclose(got, wanted, atol=2e-3)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.float32])
def test_types(dtype):
    image = (RNG.random((20, 33, 3)) * 250 - (120 if dtype in (np.int16, np.float32) else 0)).astype(dtype)
    (same,), (floats,) = run(
        lambda x: (fn.resize(x, size=[9, 47]), fn.resize(x, size=[9, 47], dtype=types.FLOAT)), image
    )
    assert same.dtype == dtype
    assert floats.dtype == np.float32
    wanted = resample_axis(resample_axis(image, 0, 9, 0, 20, "LINEAR"), 1, 47, 0, 33, "LINEAR")
    np.testing.assert_allclose(floats, wanted, atol=1e-3)
    if dtype != np.float32:
        half_away = np.trunc(floats + np.copysign(np.float32(0.5), floats))
        np.testing.assert_array_equal(same, half_away.astype(dtype))


SIZES = [  # of an image of 12 x 20 (height x width)
    ({"resize_x": 10}, (6, 10)),
    ({"resize_y": 6}, (6, 10)),
    ({"resize_x": 5, "resize_y": 3}, (3, 5)),
    ({"resize_z": 5}, (12, 20)),
    ({"size": 4}, (4, 4)),
    ({"size": [6, 0]}, (6, 10)),
    ({"size": [0, 0]}, (12, 20)),
    ({"size": [0, 0], "max_size": 5}, (12, 20)),
    ({"size": [2.5, 3.4]}, (3, 3)),
    ({"size": [0.2, 0.3]}, (1, 1)),
    ({"size": [-6, 10]}, (6, 10)),
    ({"size": [6, 0], "mode": "stretch"}, (6, 20)),
    ({"size": [6, 7], "mode": "not_larger"}, (4, 7)),
    ({"size": [6, 7], "mode": "not_smaller"}, (6, 10)),
    ({"size": [60, 70], "max_size": 30}, (30, 30)),
    ({"size": [60, 70], "mode": "not_smaller", "max_size": [30, 100]}, (30, 50)),
    ({"size": [30, 0], "max_size": 20}, (20, 20)),
    ({"size": [6, 10], "max_size": [0, 4]}, (6, 4)),
    ({"resize_shorter": 7, "max_size": 10}, (6, 10)),
    ({"resize_shorter": 2.5}, (3, 4)),
    ({"resize_shorter": -5}, (5, 8)),
    ({"resize_longer": 10}, (6, 10)),
    ({"size": [6, 0], "roi_start": [0, 0], "roi_end": [6, 10]}, (6, 10)),
    ({"size": [6, 0], "mode": "stretch", "roi_start": [0, 0], "roi_end": [6, 10]}, (6, 10)),
]


@pytest.mark.parametrize(("args", "shape"), SIZES)
def test_sizes(args, shape):
    ((got,),) = run(lambda x: fn.resize(x, **args), np.zeros((12, 20, 1), np.uint8))
    assert got.shape == (*shape, 1)


@pytest.mark.parametrize("name", ["NN", "LINEAR", "LANCZOS3"])
@pytest.mark.parametrize("roi", [((1, 2), (9, 17)), ((-3, -4.5), (15, 11.25)), ((9, 17), (1, 2)), ((20, 30), (25, 40))])
def test_regions(name, roi):
    image = RNG.random((12, 20, 3)).astype(np.float32)
    (start, end), size = roi, (7, 22)
    ((got, relative),) = (
        [
            out[0]
            for out in run(
                lambda x: (
                    fn.resize(x, size=size, roi_start=start, roi_end=end, interp_type=interp(name)),
                    fn.resize(
                        x,
                        size=size,
                        roi_start=[start[0] / 12, start[1] / 20],
                        roi_end=[end[0] / 12, end[1] / 20],
                        roi_relative=True,
                        interp_type=interp(name),
                    ),
                ),
                image,
            )
        ],
    )
    wanted = resample_axis(image, 0, 7, start[0], end[0], name)
    np.testing.assert_allclose(got, resample_axis(wanted, 1, 22, start[1], end[1], name), atol=2e-3)
    if name != "NN":
        np.testing.assert_allclose(relative, got, atol=1e-5)


def test_negative_sizes_mirror():
    image = RNG.random((12, 20, 3)).astype(np.float32)
    (plain,), (height,), (both,), (back,) = run(
        lambda x: (
            fn.resize(x, size=[5, 31]),
            fn.resize(x, size=[-5, 31]),
            fn.resize(x, size=[-5, -31]),
            fn.resize(x, size=[-5, -31], roi_start=[12, 20], roi_end=[0, 0]),
        ),
        image,
    )
    np.testing.assert_allclose(height, plain[::-1], atol=1e-5)
    np.testing.assert_allclose(both, plain[::-1, ::-1], atol=1e-5)
    np.testing.assert_allclose(back, plain, atol=1e-5)


@pytest.mark.parametrize("end", [1e5, 1e8, 2e9])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("interp", [types.INTERP_LINEAR, types.INTERP_LANCZOS3, types.INTERP_CUBIC])
def test_a_region_far_beyond_the_image_is_made_of_its_border(end, antialias, interp):
    image = np.ones((8, 8, 3), np.uint8) * 200
    [[out]] = run(
        lambda x: fn.resize(x, size=[2, 3], roi_start=[0, 0], roi_end=[end, end], antialias=antialias,
                            interp_type=interp), image,
    )  # fmt: skip
    assert out.tolist() == [[[200] * 3] * 3] * 2


def test_a_region_does_not_mirror_an_axis_without_a_size():
    """In DALI neither; with one scale for all axes it does."""
    image = RNG.random((12, 20, 3)).astype(np.float32)
    plain, stretched, mirrored = (
        out[0]
        for out in run(
            lambda x: tuple(
                fn.resize(x, size=[6, 0], roi_start=[0, 20], roi_end=[12, 0], mode=mode)
                for mode in ("default", "stretch", "not_larger")
            ),
            image,
        )
    )
    height = resample_axis(image, 0, 6, 0, 12, "LINEAR")
    np.testing.assert_allclose(plain, resample_axis(height, 1, 10, 0, 20, "LINEAR"), atol=1e-5)
    np.testing.assert_allclose(stretched, height, atol=1e-5)
    np.testing.assert_allclose(mirrored, resample_axis(height, 1, 10, 20, 0, "LINEAR"), atol=1e-5)


def test_subpixel_scale():
    image = RNG.random((12, 20, 1)).astype(np.float32)
    (exact,), (rounded,) = run(
        lambda x: (fn.resize(x, size=[4.4, 9]), fn.resize(x, size=[4.4, 9], subpixel_scale=False)), image
    )
    region = 4 * 12 / 4.4
    wide = resample_axis(image, 1, 9, 0, 20, "LINEAR")
    low = (12 - region) / 2
    np.testing.assert_allclose(exact, resample_axis(wide, 0, 4, low, low + region, "LINEAR"), atol=1e-5)
    np.testing.assert_allclose(rounded, resample_axis(wide, 0, 4, 0, 12, "LINEAR"), atol=1e-5)


def test_filters_of_shrinking_and_growing_axes():
    image = RNG.random((12, 20, 1)).astype(np.float32)
    cubic, nearest = types.INTERP_CUBIC, types.INTERP_NN
    (mixed,), (wins,) = run(
        lambda x: (
            fn.resize(x, size=[5, 33], min_filter=nearest, mag_filter=cubic),
            fn.resize(x, size=[5, 33], interp_type=cubic, min_filter=nearest),
        ),
        image,
    )
    wanted = resample_axis(resample_axis(image, 0, 5, 0, 12, "NN"), 1, 33, 0, 20, "CUBIC")
    np.testing.assert_allclose(mixed, wanted, atol=2e-3)
    np.testing.assert_array_equal(mixed, wins)


def test_arguments_per_sample():
    images = [RNG.integers(0, 256, (9 + i, 14, 3), np.uint8) for i in range(3)]
    sizes = [np.array([4 + i, 20 - i], np.int64) for i in range(3)]
    filters = [np.array(getattr(types, f"INTERP_{n}").value, np.int32) for n in ("NN", "LINEAR", "CUBIC")]

    @pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def pipe():
        x, size, filter_ = (fn.external_source([v], cycle=True) for v in (images, sizes, filters))
        return fn.resize(x, size=size, interp_type=filter_)

    (out,) = pipe().run()
    for sample, image, size, name in zip(out, images, sizes, ("NN", "LINEAR", "CUBIC"), strict=True):
        wanted = resample_axis(image, 0, size[0], 0, image.shape[0], name)
        wanted = np.clip(resample_axis(wanted, 1, size[1], 0, 14, name), 0, 255)
        assert np.abs(np.array(sample) - wanted).max() < 0.8


def test_save_attrs():
    images = [np.zeros((2, 3, 5 + i, 7), np.uint8) for i in range(2)]
    out, extents = run(lambda x: fn.resize(x, size=[4, 4], save_attrs=True), *images, layout="FCHW")
    assert [image.shape for image in out] == [(2, 3, 4, 4)] * 2
    assert [e.tolist() for e in extents] == [[5, 7], [6, 7]]
    assert extents[0].dtype == np.int32


@pytest.mark.parametrize("shape", [(0, 4, 3), (4, 0, 3), (4, 4, 0)])
def test_no_elements(shape):
    ((got,),) = run(lambda x: fn.resize(x, size=[2, 3]), np.zeros(shape, np.uint8))
    assert got.shape == tuple(0 if e == 0 else n for e, n in zip(shape, (2, 3, shape[2]), strict=True))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({}, "size: expected the size in exactly one way, got 0"),
        ({"size": [3, 4], "resize_x": 2}, "exactly one way, got 2"),
        ({"resize_shorter": 3, "resize_longer": 4}, "exactly one way, got 2"),
        ({"resize_shorter": 3, "mode": "stretch"}, "mode: expected none with resize_shorter"),
        ({"size": [1, 2, 3]}, "size: expected one number, or one for each of 2 axes, got 3"),
        ({"size": [float("nan"), 2]}, "size: expected a number of at most"),
        ({"size": 3e9}, "size: expected a number of at most"),
        ({"size": [3, 4], "max_size": [1, 2, 3]}, "max_size: expected one number"),
        ({"size": [3, 4], "roi_start": [0, 0]}, "roi_start: expected together with roi_end"),
        ({"size": [3, 4], "roi_start": [0, 0], "roi_end": [float("inf"), 1]}, "roi_end: expected a number"),
        ({"size": [3, 4], "mode": "none"}, 'mode: expected "default"'),
        ({"size": [3, 4], "dtype": types.INT16}, "dtype: expected FLOAT or the input's type uint8, got int16"),
        ({"size": [3, 4], "interp_type": 17}, "interp_type: expected one of types.INTERP_"),
    ],
)
def test_messages(args, message):
    with pytest.raises((RuntimeError, ValueError, TypeError), match=message):
        run(lambda x: fn.resize(x, **args), np.zeros((4, 5, 3), np.uint8))


def test_refuses_other_types():
    with pytest.raises(RuntimeError, match="input: expected uint8, uint16, int16 or float, got int8"):
        run(lambda x: fn.resize(x, size=3), np.zeros((4, 5, 3), np.int8))
