"""crop_mirror_normalize: golden values, and a NumPy formula for random arguments."""

import golden
import numpy as np
import pytest

from headrace import fn, pipeline_def, types

RNG = np.random.default_rng(6)


@golden.cases("crop_mirror_normalize")
def test_golden(case):
    golden.check(case)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.int32, np.float16, np.float32])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("mirror", [0, 1])
def test_values(dtype, channels, mirror):
    image = (RNG.random((9, 70, channels)) * 250).astype(dtype)
    mean, std = RNG.random(channels) * 100, RNG.random(channels) + 0.5

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipe():
        x = fn.external_source([[image]], cycle=True, layout="HWC")
        args = {"mean": mean.tolist(), "std": std.tolist(), "mirror": mirror, "scale": 2.0, "shift": -1.0}
        return tuple(
            fn.crop_mirror_normalize(x, output_layout=layout, dtype=out, **args)
            for layout in ("HWC", "CHW")
            for out in (types.FLOAT, types.FLOAT16, types.UINT8)
        )

    x = image.astype(np.float32)[:, ::-1] if mirror else image.astype(np.float32)
    wanted = (x - mean.astype(np.float32)) * (np.float32(2) / std.astype(np.float32)) - np.float32(1)
    for i, out in enumerate(pipe().run()):
        got = np.array(out[0])
        got = got if i < 3 else got.transpose(1, 2, 0)
        match i % 3:
            case 0:
                np.testing.assert_array_equal(got, wanted)
            case 1:
                np.testing.assert_array_equal(got, wanted.astype(np.float16))
            case 2:
                np.testing.assert_array_equal(got, np.clip(np.trunc(wanted + np.copysign(0.5, wanted)), 0, 255))


def test_mirror_per_sample():
    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    flags = [np.int32(i % 3 == 0) for i in range(8)]

    @pipeline_def(batch_size=8, num_threads=2, device_id=None)
    def pipe():
        x = fn.external_source([[image] * 8], cycle=True, layout="HWC")
        mirror = fn.external_source([[np.array(f) for f in flags]], cycle=True)
        return fn.crop_mirror_normalize(x, mirror=mirror, output_layout="HWC")

    (out,) = pipe().run()
    for sample, flag in zip(out, flags, strict=True):
        np.testing.assert_array_equal(np.array(sample), image[:, ::-1] if flag else image)
