"""crop, slice and flip: golden values, NumPy as oracle, messages."""

import golden
import numpy as np
import pytest

from headrace import fn, pipeline_def, types

RNG = np.random.default_rng(5)


@golden.cases("crop", "slice", "flip")
def test_golden(case):
    golden.check(case)


def run(graph, sample, layout="HWC"):
    """The only output of `graph(node)` for one sample."""

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipe():
        return graph(fn.external_source([[sample]], cycle=True, layout=layout))

    (out,) = pipe().run()
    return np.array(out[0])


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("shape", [(5, 7, 3), (16, 65, 1), (3, 40, 4), (1, 1, 2), (0, 4, 3)])
def test_flip(dtype, shape):
    image = (RNG.random(shape) * 100).astype(dtype)
    np.testing.assert_array_equal(run(lambda x: fn.flip(x), image), image[:, ::-1])
    np.testing.assert_array_equal(run(lambda x: fn.flip(x, vertical=1), image), image[::-1, ::-1])
    np.testing.assert_array_equal(run(lambda x: fn.flip(x, vertical=2, horizontal=0), image), image[::-1])


def test_flip_volumes_and_planes():
    volume = RNG.integers(0, 255, (2, 3, 4, 5, 6), np.uint8)
    flip = lambda x: fn.flip(x, horizontal=1, vertical=1, depthwise=1)  # noqa: E731
    np.testing.assert_array_equal(run(flip, volume, "FCDHW"), volume[:, :, ::-1, ::-1, ::-1])
    np.testing.assert_array_equal(run(flip, volume, "FDHWC"), volume[:, ::-1, ::-1, ::-1])


PAD_MODES = {"clamp": "edge", "reflect": "symmetric", "reflect_101": "reflect", "wrap": "wrap"}


@pytest.mark.parametrize("policy", PAD_MODES)
def test_borders_are_those_of_numpy(policy):
    image = RNG.integers(0, 255, (5, 7, 3), np.uint8)
    start, end = [-9, -16], [14, 23]
    out = run(lambda x: fn.slice(x, start=start, end=end, axis_names="HW", out_of_bounds_policy=policy), image)
    padded = np.pad(image, [(9, 9), (16, 16), (0, 0)], PAD_MODES[policy])
    np.testing.assert_array_equal(out, padded)


@pytest.mark.parametrize("layout", ["HWC", "CHW"])
@pytest.mark.parametrize("dtype", [None, types.FLOAT, types.UINT8])
def test_random_windows(layout, dtype):
    image = (RNG.random((6, 5, 4)) * 300 - 20).astype(np.float32)
    h = layout.index("H")
    wide = np.pad(image, [(10, 10) if a in "HW" else (0, 0) for a in layout])
    for _ in range(30):
        start = RNG.integers(-8, 8, 2)
        shape = RNG.integers(0, 8, 2)
        box = [slice(None)] * 3
        box[h], box[h + 1] = (slice(10 + s, 10 + s + n) for s, n in zip(start, shape, strict=True))
        wanted = wide[tuple(box)]
        if dtype == types.UINT8:
            wanted = np.clip(np.floor(wanted + 0.5), 0, 255).astype(np.uint8)
        args = {"start": start.tolist(), "shape": shape.tolist(), "axis_names": "HW", "out_of_bounds_policy": "pad"}
        out = run(lambda x, args=args: fn.slice(x, dtype=dtype, **args), image, layout)
        np.testing.assert_array_equal(out, wanted)


def test_fill_values_are_rounded_and_clamped():
    image = np.zeros((1, 1, 3), np.uint8)
    out = run(
        lambda x: fn.crop(x, crop=[1, 2], crop_pos_x=0, out_of_bounds_policy="pad", fill_values=[300, -5, 2.5]), image
    )
    assert out[0].tolist() == [[0, 0, 0], [255, 0, 3]] or out[0].tolist() == [[255, 0, 3], [0, 0, 0]]


def test_positions_beyond_what_a_float_counts():
    data = np.arange((1 << 24) + 8, dtype=np.uint32).astype(np.uint8)
    for anchor, extent in ((1 << 24, 1), (1 << 24, 3), ((1 << 24) + 1, 0), ((1 << 24) + 1, 5), (3, (1 << 24) + 5)):
        window = [np.array([number], np.int64) for number in (anchor, extent)]
        out = run(lambda x, window=window: fn.slice(x, *window, axes=[0]), data, layout=None)
        np.testing.assert_array_equal(out, data[anchor : anchor + extent])


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (lambda x: fn.crop(x, crop=[9, 3]), "window .* of axis H reaches beyond the input"),
        (lambda x: fn.slice(x, start=[2], end=[1], axes=[0]), "end at or behind the start"),
        (lambda x: fn.slice(x, start=[0], shape=[1], axes=[3]), "expected -3 to 2, got 3"),
        (lambda x: fn.slice(x, start=[0, 0], shape=[1], axes=[1, 1]), "axis 1 occurs twice"),
        (lambda x: fn.slice(x, start=[0], shape=[1], axis_names="D"), 'axis D is not in the input.s layout "HWC"'),
        (lambda x: fn.slice(x), "expected start, end or shape"),
        (lambda x: fn.crop(x, out_of_bounds_policy="pad", fill_values=[1, 2]), "fill_values: expected 1 value"),
    ],
)
def test_messages(graph, message):
    with pytest.raises((RuntimeError, ValueError, IndexError), match=message):
        run(graph, np.zeros((4, 5, 3), np.uint8))
