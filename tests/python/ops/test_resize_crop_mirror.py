"""resize_crop_mirror: golden values; equal to resize, crop and flip one after the other."""

import golden
import numpy as np
import pytest
from resampling import resample_axis, run

from headrace import fn, types

RNG = np.random.default_rng(9)


@golden.cases("resize_crop_mirror")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize("layout", ["HWC", "CHW", "FHWC", "DHWC", "FCDHW"])
@pytest.mark.parametrize("name", ["NN", "LINEAR", "CUBIC"])
@pytest.mark.parametrize("mirror", [0, 1])
def test_equals_the_three_operators(layout, name, mirror):
    extents = {"F": 2, "C": 3, "D": 8, "H": 17, "W": 26}
    data = RNG.integers(0, 256, [extents[a] for a in layout], np.uint8)
    size = {"resize_shorter": 13.0, "interp_type": getattr(types, f"INTERP_{name}")}
    window = {"crop": [7, 5, 11][-layout.count("D") - 2 :], "crop_pos_x": 0.2, "crop_pos_y": 0.9, "crop_pos_z": 0.4}
    (fused,), (steps,) = run(
        lambda x: (
            fn.resize_crop_mirror(x, mirror=mirror, **size, **window),
            fn.flip(fn.crop(fn.resize(x, **size), **window), horizontal=mirror),
        ),
        data,
        layout=layout,
    )
    assert fused.shape == steps.shape
    # The window's pixels lie at slightly different places in binary: a tie may round the other way.
    assert np.abs(fused.astype(int) - steps).max() <= (0 if name == "NN" else 1)
    assert (fused != steps).mean() < 0.01


@pytest.mark.parametrize("name", ["NN", "LINEAR"])
def test_window_beyond_the_image_repeats_its_border(name):
    image = RNG.random((6, 8, 3)).astype(np.float32)
    ((got,),) = run(
        lambda x: fn.resize_crop_mirror(
            x, size=[3, 4], crop=[3, 10], crop_pos_x=0.5, interp_type=getattr(types, f"INTERP_{name}")
        ),
        image,
    )
    wanted = resample_axis(resample_axis(image, 0, 3, 0, 6, name), 1, 10, -6, 14, name)
    np.testing.assert_allclose(got, wanted, atol=1e-5)


def test_the_old_name_has_no_antialiasing():
    image = RNG.integers(0, 256, (40, 40, 3), np.uint8)
    (old,), (new,) = run(
        lambda x: (
            fn.fast_resize_crop_mirror(x, size=[10, 12], crop=[8, 8]),
            fn.resize_crop_mirror(x, size=[10, 12], crop=[8, 8], antialias=False),
        ),
        image,
    )
    np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"crop": [2, 2]}, "size: expected the size in exactly one way"),
        ({"size": 4, "crop_w": 3}, "crop_h: expected together with crop_w"),
        ({"size": 4, "crop": 3.0}, "crop: expected 2 values"),
        ({"size": 4, "crop": [2, 2], "crop_pos_x": 1.5}, "crop_pos_x: expected a number from 0 to 1"),
    ],
)
def test_messages(args, message):
    with pytest.raises(RuntimeError, match=message):
        run(lambda x: fn.resize_crop_mirror(x, **args), np.zeros((6, 8, 3), np.uint8))
