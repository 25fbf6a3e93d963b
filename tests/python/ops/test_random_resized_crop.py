"""random_resized_crop: bit-equal to random_crop_generator and resize."""

import numpy as np
import pytest
from resampling import run

from headrace import fn, pipeline_def, types

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("layout", ["HWC", "CHW", "FHWC", "FCHW", "CFHW"])
@pytest.mark.parametrize("name", ["NN", "LINEAR", "CUBIC"])
def test_equals_the_generator_and_resize(layout, name):
    extents = {"F": 2, "C": 3, "H": 60, "W": 45}
    data = [RNG.integers(0, 256, [extents[a] for a in layout], np.uint8) for _ in range(6)]
    random = {"random_area": [0.1, 0.7], "random_aspect_ratio": [0.5, 1.5], "num_attempts": 5, "seed": 1234}

    @pipeline_def(batch_size=6, num_threads=2, device_id=None)
    def pipe():
        x = fn.external_source([data], cycle=True, layout=layout)
        shape = fn.external_source([[np.array([60, 45, 3])] * 6], cycle=True)
        filter_ = getattr(types, f"INTERP_{name}")
        anchor, extent = fn.random_crop_generator(shape, **random)
        return (
            fn.random_resized_crop(x, size=[20, 31], interp_type=filter_, **random),
            fn.resize(x, size=[20, 31], roi_start=anchor, roi_end=anchor + extent, interp_type=filter_),
        )

    p = pipe()
    seen = set()
    for _ in range(3):
        one, two = p.run()
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(np.array(a), np.array(b))
            seen.add(np.array(a).tobytes())
    assert len(seen) > 12


def test_size_and_dtype():
    image = RNG.integers(0, 256, (50, 40, 3), np.uint8)
    ((got,),) = run(lambda x: fn.random_resized_crop(x, size=17, dtype=types.FLOAT), image)
    assert got.shape == (17, 17, 3)
    assert got.dtype == np.float32


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"size": [1, 2, 3]}, "size: expected one number or two"),
        ({"size": 0}, "size: expected numbers other than 0"),
        ({"size": 9, "random_area": [0.5, 0.1]}, "random_area: expected"),
        ({}, "size"),
    ],
)
def test_messages(args, message):
    with pytest.raises((RuntimeError, ValueError, TypeError), match=message):
        run(lambda x: fn.random_resized_crop(x, **args), np.zeros((4, 5, 3), np.uint8))
