"""tensor_resize: golden values, a plain loop, scales, rounding and alignment."""

import golden
import numpy as np
import pytest
from resampling import resample_axis, run

from headrace import fn, types

RNG = np.random.default_rng(10)


@golden.cases("tensor_resize")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize("name", ["NN", "LINEAR", "LANCZOS3"])
@pytest.mark.parametrize("axes", [[0], [1], [3], [2, 0], [0, 1, 2, 3], [-1, 1], [1, 2]])
def test_any_axes(name, axes):
    data = RNG.random((5, 6, 7, 4)).astype(np.float32)
    sizes = [3, 9, 2, 11][: len(axes)]
    ((got,),) = run(
        lambda x: fn.tensor_resize(x, sizes=sizes, axes=axes, interp_type=getattr(types, f"INTERP_{name}")),
        data,
        layout=None,
    )
    wanted = data
    for axis, n in zip(axes, sizes, strict=True):
        wanted = resample_axis(wanted, axis, n, 0, data.shape[axis], name)
    np.testing.assert_allclose(got, wanted, atol=2e-3)


# One axis of 7 elements 0 .. 6, without antialiasing; the numbers are DALI's.
LINES = [
    ({"scales": [2.0], "sizes": None}, [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4.25, 4.75, 5.25, 5.75, 6]),
    ({"scales": [0.3]}, [1.3333, 4.6667]),
    ({"scales": [0.3], "alignment": 0.0}, [1.1667, 4.5]),
    ({"scales": [0.3], "alignment": 1.0}, [1.5, 4.8333]),
    ({"scales": [0.3], "alignment": 0.25}, [1.25, 4.5833]),
    ({"scales": [0.3], "subpixel_scale": False}, [1.25, 4.75]),
    ({"scales": [0.3], "size_rounding": "ceil"}, [0, 3, 6]),
    ({"scales": [0.4], "size_rounding": "truncate"}, [1.75, 4.25]),
    ({"scales": [0.01], "size_rounding": "truncate"}, [3]),
    ({"scales": [-1.0]}, [6, 5, 4, 3, 2, 1, 0]),
    ({"scales": [0.0]}, [0, 1, 2, 3, 4, 5, 6]),
    ({"sizes": [2.9], "size_rounding": "truncate"}, [1.7931, 4.2069]),
    ({"sizes": [-2.1]}, [4.6667, 1.3333]),
    ({"sizes": [-2.5]}, [5.8, 3, 0.2]),
    (
        {"scales": [1.5], "roi_start": [1], "roi_end": [4], "alignment": 0.0},
        [0.6429, 0.9286, 1.2143, 1.5, 1.7857, 2.0714, 2.3571, 2.6429, 2.9286, 3.2143, 3.5],
    ),
    (
        {"scales": [1.5], "roi_start": [4], "roi_end": [1], "alignment": 0.0},
        [3.3571, 3.0714, 2.7857, 2.5, 2.2143, 1.9286, 1.6429, 1.3571, 1.0714, 0.7857, 0.5],
    ),
]


@pytest.mark.parametrize(("args", "wanted"), LINES)
def test_scales_and_alignment(args, wanted):
    args = {name: value for name, value in args.items() if value is not None}
    line = np.arange(7, dtype=np.float32)[None]
    ((got,),) = run(lambda x: fn.tensor_resize(x, axes=[1], antialias=False, **args), line, layout=None)
    np.testing.assert_allclose(got[0], wanted, atol=1e-4)


def test_axes_by_name_and_the_old_path():
    image = RNG.integers(0, 256, (6, 8, 3), np.uint8)
    outputs = run(
        lambda x: (
            fn.tensor_resize(x, sizes=[12, 4], axis_names="WH"),
            fn.experimental.tensor_resize(x, sizes=[4, 12], axes=[0, 1]),
            fn.resize(x, size=[4, 12]),
        ),
        image,
    )
    np.testing.assert_array_equal(outputs[0][0], outputs[2][0])
    np.testing.assert_array_equal(outputs[1][0], outputs[2][0])


def test_other_axes_are_left_alone():
    data = RNG.random((2, 4, 3)).astype(np.float32)
    ((got,),) = run(lambda x: fn.tensor_resize(x, sizes=[4, 6], axes=[0, 1], mode="not_smaller"), data, layout=None)
    assert got.shape == (4, 8, 3)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({}, "expected either sizes or scales"),
        ({"sizes": [2], "scales": [1.0]}, "expected either sizes or scales"),
        ({"sizes": [3, 2]}, "sizes: expected one number, or one for each of 3 axes, got 2"),
        ({"sizes": [3], "axes": [1], "axis_names": "W"}, "expected axes or axis_names, got both"),
        ({"sizes": [3], "axis_names": "Q"}, 'axis Q is not in the input.s layout "HWC"'),
        ({"sizes": [3], "axes": [3]}, "axes: expected -3 to 2, got 3"),
        ({"sizes": [3, 3], "axes": [1, -2]}, "axis 1 occurs twice"),
        ({"sizes": [3], "axes": [0, 1, 2, 0]}, "axes: expected at most 3 axes, got 4"),
        ({"scales": [2.0], "mode": "not_larger"}, "scales: expected sizes in the modes"),
        ({"sizes": [2], "size_rounding": "floor"}, 'size_rounding: expected "round"'),
        ({"sizes": [2], "alignment": [0, 1]}, "alignment: expected one number"),
    ],
)
def test_messages(args, message):
    with pytest.raises((RuntimeError, ValueError, IndexError), match=message):
        run(lambda x: fn.tensor_resize(x, **args), np.zeros((4, 5, 3), np.uint8))
