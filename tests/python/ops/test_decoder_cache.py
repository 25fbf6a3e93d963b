"""The cache of decoded images: the pixels are Pillow's in every epoch; hits, limits, changed files."""

import io
import logging
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from headrace import fn, pipeline_def, types
from headrace.plugin.numpy import DALIGenericIterator

MB = 1 << 20


def encode(seed, height, width, kind="JPEG"):
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 255, (height // 16 + 2, width // 16 + 2, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC).save(file, kind)
    return np.frombuffer(file.getvalue(), np.uint8)


def decoded(file, mode="RGB"):
    """Pillow's pixels, the oracle: JPEG by libjpeg-turbo, as ours."""
    image = Image.open(io.BytesIO(file.tobytes()))
    image.draft(mode, image.size)
    return np.asarray(image.convert(mode)).reshape(image.height, image.width, -1)


def write_files(folder, files):
    paths = [str(folder / f"{i}.img") for i in range(len(files))]
    for path, file in zip(paths, files, strict=True):
        with open(path, "wb") as stream:
            stream.write(file.tobytes())
    return paths


def make(paths, graph, batch_size=4, num_threads=2, reader=None, **options):
    """A pipeline that reads the files, with their numbers as labels; graph(files) makes the other outputs."""

    @pipeline_def(batch_size=batch_size, num_threads=num_threads, device_id=None, seed=3, **options)
    def pipe():
        files, labels = fn.readers.file(
            files=paths, labels=list(range(len(paths))), name="reader", **{"pad_last_batch": True, **(reader or {})}
        )
        return graph(files), labels

    return pipe()


def one_epoch(pipe, count, batch_size=4):
    """[(number of the file, sample)] of an epoch of `count` files, repeats of the last batch included."""
    rows = []
    for _ in range(-(-count // batch_size)):
        images, labels = pipe.run()
        rows += [(int(np.array(labels[i])[0]), np.array(images.as_cpu()[i])) for i in range(len(images))]
    return rows


def counters(pipe):
    (found,) = [node["counters"] for node in pipe.statistics()["nodes"] if "counters" in node]
    return found


def cached(**arguments):
    return lambda files: fn.decoders.image(files, **{"cache_size": 8, **arguments})


@pytest.fixture
def photos(tmp_path):
    files = [encode(i, 40 + 9 * i, 50 + 7 * i, "PNG" if i % 3 == 2 else "JPEG") for i in range(9)]
    return files, write_files(tmp_path, files)


@pytest.mark.parametrize("device", ["cpu", "mixed"])
def test_later_epochs_take_every_image_from_the_cache(photos, device):
    files, paths = photos
    # One worker: two might decode the same file at once, at the end of one epoch and the beginning of the next.
    pipe = make(paths, cached(device=device), 3, num_threads=1, reader={"random_shuffle": True})
    for _ in range(3):
        rows = one_epoch(pipe, len(files), 3)
        assert sorted(number for number, _ in rows) == list(range(len(files)))
        for number, image in rows:
            np.testing.assert_array_equal(image, decoded(files[number]))
    counts = counters(pipe)
    size = sum(decoded(file).size for file in files)
    assert counts["cache_misses"] == counts["cache_images"] == len(files)
    assert counts["cache_hits"] >= 2 * len(files)  # some were read ahead
    assert (counts["cache_bytes"], counts["cache_limit"]) == (size, 8 * MB)
    assert pipe.statistics()["memory"]["caches"] >= size


GRAPHS = {
    "whole": (lambda image: image, lambda image: image),
    "crop": (
        lambda image: fn.crop(image, crop=(20, 30), crop_pos_x=0.0, crop_pos_y=1.0),
        lambda image: image[-20:, :30],
    ),
    "slice": (
        lambda image: fn.slice(image, start=[3, 5], shape=[30, 20], axes=[0, 1]),
        lambda image: image[3:33, 5:25],
    ),
    "flip": (
        lambda image: fn.crop_mirror_normalize(image, dtype=types.FLOAT, mirror=1, output_layout="HWC"),
        lambda image: image[:, ::-1].astype(np.float32),
    ),
}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.tuples(st.integers(40, 700), st.integers(40, 700)), min_size=1, max_size=8),
    size=st.sampled_from([0, 1, 2, 100]),
    kind=st.sampled_from(["", "threshold", "largest"]),
    threshold=st.sampled_from([0, 100_000, 10 * MB]),
    mode=st.sampled_from(["RGB", "L"]),
    name=st.sampled_from(sorted(GRAPHS)),
    threads=st.integers(1, 3),
    shuffle=st.booleans(),
    repeat=st.booleans(),
)
def test_pixels_never_depend_on_the_cache(tmp_path, sizes, size, kind, threshold, mode, name, threads, shuffle, repeat):
    kinds = ("JPEG", "PNG") if mode == "RGB" else ("JPEG",)  # Pillow has its own rounding of gray for PNG
    files = [encode(i, h, w, kinds[i % len(kinds)]) for i, (h, w) in enumerate(sizes)]
    if repeat:
        files.append(files[0])
    paths = write_files(tmp_path, files)
    graph = cached(
        cache_size=size,
        cache_type=kind,
        cache_threshold=threshold,
        output_type=types.RGB if mode == "RGB" else types.GRAY,
    )
    pipe = make(paths, lambda x: GRAPHS[name][0](graph(x)), num_threads=threads, reader={"random_shuffle": shuffle})
    wanted = [GRAPHS[name][1](decoded(file, mode)) for file in files]
    for _ in range(4):
        for number, image in one_epoch(pipe, len(files)):
            np.testing.assert_array_equal(image, wanted[number])
    if size:
        assert counters(pipe)["cache_bytes"] <= size * MB


def test_cached_images_serve_every_kind_of_user(photos):
    """Shapes that depend on pixels, views, functions of the program, branches, and what leaves the pipeline."""
    files, paths = photos

    @pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=3, enable_conditionals=True)
    def pipe():
        data, labels = fn.readers.file(files=paths, labels=list(range(len(paths))), random_shuffle=True)
        image = fn.decoders.image(data, cache_size=8)
        darkest_row = fn.reductions.min(fn.reductions.max(image, axes=[1, 2]))
        height = fn.cast(fn.cast(darkest_row, dtype=types.INT32) // 8 + 1, dtype=types.FLOAT)
        top = fn.crop(image, crop_h=height, crop_w=30, crop_pos_y=0, crop_pos_x=0)
        inverted = fn.python_function(image, function=lambda x: 255 - x)
        turned = image
        if fn.squeeze(labels, axes=0) > 4:
            turned = fn.flip(image)
        return image, top, fn.reshape(image, shape=[-1]), inverted, turned, labels

    p = pipe()
    for _ in range(9):
        *outputs, labels = [[np.array(sample) for sample in out] for out in p.run()]
        for image, top, flat, inverted, turned, number in zip(*outputs, labels, strict=True):
            wanted = decoded(files[int(number[0])])
            np.testing.assert_array_equal(image, wanted)
            np.testing.assert_array_equal(top, wanted[: wanted.max(axis=(1, 2)).min() // 8 + 1, :30])
            np.testing.assert_array_equal(flat, wanted.ravel())
            np.testing.assert_array_equal(inverted, 255 - wanted)
            np.testing.assert_array_equal(turned, wanted[:, ::-1] if number > 4 else wanted)
    assert counters(p)["cache_hits"] >= 2 * len(files)


def test_a_file_that_changes_in_place_is_decoded_anew(tmp_path):
    variants = [Image.fromarray(np.full((30, 40, 3), value, np.uint8)) for value in (10, 200)]
    files = []
    for image in variants:
        stream = io.BytesIO()
        image.save(stream, "BMP")
        files.append(np.frombuffer(stream.getvalue(), np.uint8))
    assert files[0].size == files[1].size
    (path,) = write_files(tmp_path, files[:1])
    times = os.stat(path)
    pipe = make([path], cached(), batch_size=1, prefetch_queue_depth=1)
    for which in (0, 0, 1, 1, 0):
        with open(path, "r+b") as stream:
            stream.write(files[which].tobytes())
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # neither size nor time tells
        ((_, image),) = one_epoch(pipe, 1, 1)
        np.testing.assert_array_equal(image, decoded(files[which]))
    assert counters(pipe)["cache_hits"] == 3


def test_decoders_with_other_arguments_have_caches_of_their_own(photos):
    files, paths = photos

    def graph(data):
        gray = fn.decoders.image(data, output_type=types.GRAY, cache_size=8)
        scaled = fn.decoders.image(data, dtype=types.FLOAT, cache_size=8)
        small = fn.decoders.image(data, output_type=types.BGR, cache_size=8)
        return fn.cat(fn.cast(gray, dtype=types.FLOAT), scaled, fn.cast(small, dtype=types.FLOAT), axis=2)

    pipe = make(paths, graph)
    for _ in range(3):
        for number, image in one_epoch(pipe, len(files)):
            rgb = decoded(files[number])
            if number % 3 != 2:
                np.testing.assert_array_equal(image[..., :1], decoded(files[number], "L"))
            np.testing.assert_allclose(image[..., 1:4], rgb / np.float32(255), rtol=1e-6)
            np.testing.assert_array_equal(image[..., 4:], rgb[..., ::-1])


def test_the_orientation_belongs_to_the_key(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    stream = io.BytesIO()
    Image.fromarray(decoded(encode(1, 30, 50))).save(stream, "JPEG", exif=exif)
    file = np.frombuffer(stream.getvalue(), np.uint8)

    def graph(data):
        turned = fn.decoders.image(data, cache_size=1)
        stored = fn.decoders.image(data, cache_size=1, adjust_orientation=False)
        return fn.stack(turned, fn.transpose(stored, perm=[1, 0, 2]))

    pipe = make(write_files(tmp_path, [file]), graph, batch_size=1)
    for _ in range(3):
        ((_, pair),) = one_epoch(pipe, 1, 1)
        np.testing.assert_array_equal(pair[0], np.rot90(decoded(file), -1))
        np.testing.assert_array_equal(pair[1], decoded(file).transpose(1, 0, 2))


def test_damaged_files_are_errors_in_every_epoch_and_not_kept(photos):
    files, paths = photos
    with open(paths[1], "r+b") as stream:
        stream.truncate(files[1].size // 2)
    pipe = make(paths, cached(), batch_size=1, prefetch_queue_depth=1, on_error="raise")
    for _ in range(3):
        for number, file in enumerate(files):
            if number == 1:
                with pytest.raises(RuntimeError, match="decoders.image"):
                    pipe.run()
            else:
                np.testing.assert_array_equal(np.array(pipe.run()[0][0]), decoded(file))
    assert counters(pipe)["cache_images"] == len(files) - 1


@pytest.mark.parametrize("size", [0, 8])
def test_a_region_above_the_damage_decodes_with_and_without_a_cache(tmp_path, size):
    file = encode(3, 400, 400)
    paths = write_files(tmp_path, [file[: file.size * 3 // 4]])
    top = {"start": [0, 0], "shape": [40, 400], "axes": [0, 1]}
    pipe = make(paths, lambda x: fn.slice(cached(cache_size=size)(x), **top), batch_size=1)
    for _ in range(3):
        ((_, image),) = one_epoch(pipe, 1, 1)
        np.testing.assert_array_equal(image, decoded(file)[:40])
    if size:
        assert counters(pipe)["cache_images"] == 0


def test_files_that_a_program_feeds_are_kept_too():
    files = [encode(i, 40, 50) for i in range(4)]

    @pipeline_def(batch_size=4, num_threads=2, device_id=None)
    def pipe(kind):
        return fn.decoders.image(fn.external_source([files], cycle=True), cache_size=1, cache_type=kind)

    for kind in ("threshold", "largest"):
        p = pipe(kind)
        for _ in range(6):
            (images,) = p.run()
            for image, file in zip(images, files, strict=True):
                np.testing.assert_array_equal(np.array(image), decoded(file))
        assert counters(p)["cache_images"] == 4
        assert counters(p)["cache_hits"] > 4


def test_the_pipelines_of_a_group_share_a_cache(tmp_path):
    files = [encode(i, 40, 50) for i in range(9)]
    paths = write_files(tmp_path, files)
    pipes = [make(paths, cached(), 1, num_threads=1, reader={"num_shards": 3, "shard_id": shard}) for shard in range(3)]
    iterator = DALIGenericIterator(pipes, ["image", "label"], reader_name="reader")
    for _ in range(3):
        for batch in iterator:
            for image, label in zip(batch["image"], batch["label"], strict=True):
                np.testing.assert_array_equal(image, decoded(files[int(label[0])]))
        iterator.reset()
    nodes = [node["counters"] for node in pipes[0].statistics()["nodes"] if "counters" in node]
    assert len(nodes) == 3
    assert {node["cache_limit"] for node in nodes} == {24 * MB}
    # Shards move on by one each epoch: without sharing each pipeline would decode all files itself.
    assert sum(node["cache_misses"] for node in nodes) == len(files)


def test_memory_limit_comes_before_the_cache(tmp_path, caplog):
    files = [encode(i, 500, 500) for i in range(24)]
    paths = write_files(tmp_path, files)
    pipe = make(paths, cached(cache_size=1000), memory_limit=24 * MB)
    with caplog.at_level(logging.WARNING, "headrace"):
        for _ in range(3):
            for number, image in one_epoch(pipe, len(files)):
                np.testing.assert_array_equal(image, decoded(files[number]))
    assert 0 < counters(pipe)["cache_images"] < len(files)
    (message,) = [record.getMessage() for record in caplog.records]
    assert "raise memory_limit or lower cache_size" in message


def test_debug_tells_when_the_cache_is_full(tmp_path, caplog):
    files = [encode(i, 500, 500) for i in range(4)]
    pipe = make(write_files(tmp_path, files), cached(cache_size=1, cache_debug=True))
    with caplog.at_level(logging.INFO, "headrace"):
        for _ in range(3):
            one_epoch(pipe, len(files))
    assert ["full with 1 images" in record.getMessage() for record in caplog.records] == [True]


def test_a_checkpoint_does_not_know_of_the_cache(photos):
    _, paths = photos
    first = make(paths, cached(cache_size=0), enable_checkpointing=True)
    one_epoch(first, 5)
    state = first.checkpoint()
    second = make(paths, cached(cache_type="largest", cache_threshold=9), enable_checkpointing=True, checkpoint=state)
    assert [n for n, _ in one_epoch(second, 9)] == [n for n, _ in one_epoch(first, 9)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cache_size": -1}, "cache_size: expected megabytes, 0 or more, got -1"),
        ({"cache_threshold": -5}, "cache_threshold: expected bytes, 0 or more, got -5"),
        ({"cache_type": "lru"}, 'cache_type: expected "threshold" or "largest", got "lru"'),
    ],
)
def test_messages(photos, arguments, message):
    with pytest.raises(RuntimeError, match=message):
        make(photos[1], cached(**arguments)).build()
