"""Microseconds per sample of operators of whatever `nvidia.dali` resolves to, as JSON. benchmarks/ops/run.py calls it.

python measure.py SECONDS [NAME ...]

Each operator gets batches of BATCH images of 500 x 375 RGB, or the JPEG files of them, from an external source; what a
pipeline takes that only asks for the shapes is subtracted. Views, which compute nothing, are left out.
"""

import io
import json
import sys
import time

import numpy as np
import nvidia.dali.fn as fn
from nvidia.dali import pipeline_def, types

BATCH = 16
HEIGHT, WIDTH = 375, 500
WINDOW = (224, 224)


def _photo(seed):
    """An image with edges, gradients and noise."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    planes = [128 + 90 * np.sin(x / (20 + 9 * c) + y / 31 + seed) for c in range(3)]
    image = np.stack(planes, 2) + random.normal(0, 6, (HEIGHT, WIDTH, 3)) + 30 * ((x // 64 + y // 64) % 2)[..., None]
    return np.clip(image, 0, 255).astype(np.uint8)


def _jpeg(image):
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "JPEG", quality=90)
    return np.frombuffer(stream.getvalue(), np.uint8)


PHOTOS = [_photo(seed) for seed in range(4)]


def _sources():
    """What operators get, by name: one value for each sample."""
    images = [PHOTOS[i % 4] for i in range(BATCH)]
    floats = [np.float32(image) for image in PHOTOS]
    jpegs = [_jpeg(image) for image in PHOTOS]
    return {
        "image": (images, "HWC"),
        "float": ([floats[i % 4] for i in range(BATCH)], "HWC"),
        "frames": ([np.stack([image] * 2) for image in images], "FHWC"),
        "jpeg": ([jpegs[i % 4] for i in range(BATCH)], None),
        "class": ([np.int32([i]) for i in range(BATCH)], None),
    }


NORMALISE = {"mean": [123.7, 116.3, 103.5], "std": [58.4, 57.1, 57.4]}
IMAGE_SHAPE = [HEIGHT, WIDTH, 3]
CASES = {
    "arithmetic: image + 1": ("image", lambda x: x + 1),
    "arithmetic: image * 1.5": ("image", lambda x: x * 1.5),
    "arithmetic: float + float": ("float", lambda x: x + x),
    "arithmetic: image > 128": ("image", lambda x: x > 128),
    "cast to float": ("image", lambda x: fn.cast(x, dtype=types.FLOAT)),
    "cast to uint8": ("float", lambda x: fn.cast(x, dtype=types.UINT8)),
    "cat, channels": ("image", lambda x: fn.cat(x, x, axis=2)),
    "cat, rows": ("image", lambda x: fn.cat(x, x, axis=0)),
    "copy": ("image", fn.copy),
    "crop": ("image", lambda x: fn.crop(x, crop=WINDOW)),
    "crop_mirror_normalize": (
        "image",
        lambda x: fn.crop_mirror_normalize(x, crop=WINDOW, mirror=1, dtype=types.FLOAT, **NORMALISE),
    ),
    "crop_mirror_normalize to float16": (
        "image",
        lambda x: fn.crop_mirror_normalize(x, crop=WINDOW, dtype=types.FLOAT16, output_layout="HWC", **NORMALISE),
    ),
    "decoders.image": ("jpeg", fn.decoders.image),
    "decoders.image_crop": ("jpeg", lambda x: fn.decoders.image_crop(x, crop=WINDOW)),
    "decoders.image_random_crop": ("jpeg", fn.decoders.image_random_crop),
    "decoders.image_slice": (
        "jpeg",
        lambda x: fn.decoders.image_slice(x, rel_start=[0.2, 0.2], rel_end=[0.8, 0.8], axis_names="HW"),
    ),
    "element_extract": ("frames", lambda x: fn.element_extract(x, element_map=[0, 1])),
    "flip, horizontal": ("image", lambda x: fn.flip(x, horizontal=1)),
    "flip, vertical": ("image", lambda x: fn.flip(x, horizontal=0, vertical=1)),
    "full": ("class", lambda x: fn.full(7.0, shape=IMAGE_SHAPE)),
    "full_like": ("image", lambda x: fn.full_like(x, 7)),
    "noise.gaussian": ("image", lambda x: fn.noise.gaussian(x, stddev=10.0)),
    "noise.salt_and_pepper": ("image", fn.noise.salt_and_pepper),
    "noise.shot": ("image", lambda x: fn.noise.shot(x, factor=5.0)),
    "normalize": ("image", lambda x: fn.normalize(x, axes=[0, 1])),
    "normalize, given mean": ("image", lambda x: fn.normalize(x, mean=120.0, stddev=60.0)),
    "one_hot": ("class", lambda x: fn.one_hot(x, num_classes=1000)),
    "pad": ("image", lambda x: fn.pad(x, axes=[0, 1], shape=[512, 512])),
    "peek_image_shape": ("jpeg", fn.peek_image_shape),
    "permute_batch": ("image", lambda x: fn.permute_batch(x, indices=list(range(BATCH))[::-1])),
    "random.beta": ("class", lambda x: fn.random.beta(shape=[10000])),
    "random.choice": ("class", lambda x: fn.random.choice(10, shape=[10000])),
    "random.coin_flip": ("class", lambda x: fn.random.coin_flip(shape=[10000])),
    "random.normal": ("class", lambda x: fn.random.normal(shape=[10000])),
    "random.uniform": ("class", lambda x: fn.random.uniform(shape=[10000])),
    "random_crop_generator": ("class", lambda x: fn.random_crop_generator(np.int64(IMAGE_SHAPE))),
    "random_resized_crop": ("image", lambda x: fn.random_resized_crop(x, size=WINDOW)),
    "reductions.max": ("image", lambda x: fn.reductions.max(x, axes=[0, 1])),
    "reductions.mean": ("image", lambda x: fn.reductions.mean(x, axes=[0, 1])),
    "reductions.mean_square": ("image", lambda x: fn.reductions.mean_square(x, axes=[0, 1])),
    "reductions.min": ("image", fn.reductions.min),
    "reductions.rms": ("image", lambda x: fn.reductions.rms(x, axes=[2])),
    "reductions.std_dev": ("image", lambda x: fn.reductions.std_dev(x, 120.0, axes=[0, 1])),
    "reductions.sum": ("image", fn.reductions.sum),
    "reductions.variance": ("image", lambda x: fn.reductions.variance(x, 120.0)),
    "resize": ("image", lambda x: fn.resize(x, size=WINDOW)),
    "resize, cubic, larger": ("image", lambda x: fn.resize(x, size=[600, 800], interp_type=types.INTERP_CUBIC)),
    "resize, nearest": ("image", lambda x: fn.resize(x, size=WINDOW, interp_type=types.INTERP_NN)),
    "resize_crop_mirror": ("image", lambda x: fn.resize_crop_mirror(x, resize_shorter=256, crop=WINDOW, mirror=1)),
    "slice": ("image", lambda x: fn.slice(x, rel_start=[0.2, 0.2], rel_end=[0.8, 0.8], axis_names="HW")),
    "stack": ("image", lambda x: fn.stack(x, x)),
    "subscript": ("image", lambda x: x[10:200, 20:220]),
    "tensor_resize": ("image", lambda x: fn.tensor_resize(x, sizes=WINDOW, axes=[0, 1])),
    "transpose to CHW": ("image", lambda x: fn.transpose(x, perm=[2, 0, 1])),
    "transpose, width first": ("image", lambda x: fn.transpose(x, perm=[1, 0, 2])),
    "zeros_like": ("image", fn.zeros_like),
}


def _pipeline(source, layout, operator):
    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, seed=1)
    def pipeline():
        outputs = operator(fn.external_source(lambda: source, layout=layout, no_copy=True))
        return tuple(outputs) if isinstance(outputs, list) else outputs

    pipe = pipeline()
    pipe.build()
    return pipe


def _seconds_per_run(pipe, seconds):
    for _ in range(4):
        pipe.run()
    groups, begin = [], time.perf_counter()
    while len(groups) < 5 or time.perf_counter() - begin < seconds:
        before = time.perf_counter()
        for _ in range(4):
            pipe.run()
        groups.append((time.perf_counter() - before) / 4)
    return min(groups)


def microseconds(name, seconds, sources, bare):
    """Of one sample: the least of several runs, less that of the shapes alone (kept in `bare`)."""
    key, operator = CASES[name]
    source, layout = sources[key]
    if key not in bare:
        bare[key] = _seconds_per_run(_pipeline(source, layout, lambda x: x.shape()), seconds)
    spent = _seconds_per_run(_pipeline(source, layout, operator), seconds)
    return 1e6 * max(0.0, spent - bare[key]) / BATCH


def main():
    """Prints {name: microseconds per sample}."""
    seconds, names = float(sys.argv[1]), sys.argv[2:] or list(CASES)
    sources, bare = _sources(), {}
    print(json.dumps({name: microseconds(name, seconds, sources, bare) for name in names}))


if __name__ == "__main__":
    main()
