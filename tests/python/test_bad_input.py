"""Bad data and wrong calls: each gives an error that names what and where, in time and memory; good batches stay right.

The oracle is how the input was damaged. A time limit and a memory limit of the process stand around every test.
"""

import contextlib
import io
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from caffe2_lmdb import image_tensor, label_tensor, record, write_lmdb
from PIL import Image

from headrace import Pipeline, fn, pipeline_def, types

RECORDS = 8
GIGABYTE = 1 << 30


@pytest.fixture(autouse=True)
def _limits():
    """Nothing here may take a minute, or a gigabyte more than what the process has."""

    def too_long(*_):
        raise TimeoutError("a test of bad input hangs")

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, too_long)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + GIGABYTE, hard))
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def encoded(value: int, kind: str = "PNG", size: tuple[int, int] = (6, 5)) -> bytes:
    """A gray image of one value; both codecs give it back exactly."""
    file = io.BytesIO()
    Image.fromarray(np.full(size, value, np.uint8)).save(file, kind, quality=100)
    return file.getvalue()


def records_with(bad: dict[int, bytes] | None = None) -> list[bytes]:
    """Record i holds an image of the value i and the label i, but for the bad ones."""
    return [(bad or {}).get(i, record(encoded(i), i)) for i in range(RECORDS)]


def lmdb_pipeline(path: str, batch_size: int = 2, decode: bool = True, **options) -> Pipeline:
    """Outputs: the image (or its file), the label, where it came from."""
    reader = options.pop("reader", {})

    @pipeline_def(batch_size=batch_size, num_threads=2, device_id=None, seed=1)
    def pipeline():
        file, label = fn.readers.caffe2(path=path, name="reader", **reader)
        image = fn.decoders.image(file, output_type=types.GRAY) if decode else file
        return image, label, fn.get_property(file, key="source_info")

    return pipeline(**options)


def run_once(make, **pipeline):
    """One batch of the nodes that `make` returns."""
    settings = {"batch_size": 2, "num_threads": 1, "device_id": None, **pipeline}

    @pipeline_def(**settings)
    def graph():
        return make()

    return graph().run()


def check_good(image, label, number: int) -> None:
    np.testing.assert_array_equal(np.asarray(image), np.full((6, 5, 1), number, np.uint8))
    assert np.asarray(label).tolist() == [number]


# Databases.


@pytest.mark.parametrize("reader", ["caffe", "caffe2"])
def test_a_path_that_is_no_database_is_named(tmp_path, reader):
    (tmp_path / "empty_folder").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "data.mdb").write_text("not a database " * 1000)
    (tmp_path / "empty_file").mkdir()
    (tmp_path / "empty_file" / "data.mdb").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "data.mdb").mkdir()
    (tmp_path / "zeros").mkdir()
    (tmp_path / "zeros" / "data.mdb").write_bytes(bytes(64 << 10))
    for name in ["missing", "empty_folder", "text", "empty_file", "folder", "zeros", "missing/ü\n{}%s"]:
        path = str(tmp_path / name)
        with pytest.raises(RuntimeError, match=f"(?s)headrace.fn.readers.{reader}`.*{re.escape(path)}"):
            run_once(lambda path=path: tuple(getattr(fn.readers, reader)(path=path)))


def outcome(path: str, decode: bool = False) -> tuple[list[tuple[bytes, int]], str]:
    """The records that came out, and the message of the error that ended it, if any."""
    rows = []
    try:
        pipe = lmdb_pipeline(path, batch_size=1, decode=decode)
        for _ in range(RECORDS):
            image, label, _ = pipe.run()
            rows.append((image.at(0).tobytes(), int(label.at(0)[0])))
    except RuntimeError as error:
        assert path in str(error)
        assert "headrace.fn.readers.caffe2" in str(error)
        return rows, str(error)
    return rows, ""


def test_a_database_cut_anywhere_gives_right_records_or_an_error(tmp_path):
    # Images of several pages, so that cuts fall into records, too.
    images = [encoded(i, size=(40, 40)) + bytes(6000) for i in range(RECORDS)]
    whole = write_lmdb(tmp_path / "whole", [record(image, i) for i, image in enumerate(images)])
    data = Path(whole, "data.mdb").read_bytes()
    used = 4096 * 30  # liblmdb makes the file larger than what it holds
    errors = 0
    for sixteenth in range(16):
        for end in (len(data) * sixteenth // 16, min(used, len(data)) * sixteenth // 16 + 1):
            folder = tmp_path / f"cut{end}"
            folder.mkdir(exist_ok=True)
            (folder / "data.mdb").write_bytes(data[:end])
            rows, error = outcome(str(folder))
            assert rows == [(images[i], i) for i in range(len(rows))]
            assert error or len(rows) == RECORDS
            errors += bool(error)
    assert errors > 16
    assert outcome(whole) == ([(image, i) for i, image in enumerate(images)], "")


def test_flipped_bits_in_pages_give_records_or_an_error(tmp_path):
    whole = write_lmdb(tmp_path / "whole", records_with())
    data = bytearray(Path(whole, "data.mdb").read_bytes())
    random = np.random.default_rng(5)
    pages = len(data) // 4096
    # The heads of all pages, with their flags, bounds and pointers, then any places.
    places = [page * 4096 + byte for page in range(min(pages, 8)) for byte in range(0, 48, 3)]
    places += random.integers(0, min(len(data), 8 * 4096), 100).tolist()
    folder = tmp_path / "flipped"
    folder.mkdir()
    errors = 0
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(random.integers(8))
        (folder / "data.mdb").write_bytes(damaged)
        rows, error = outcome(str(folder))
        assert error or len(rows) == RECORDS
        errors += bool(error)
    assert errors > 10
    check = lmdb_pipeline(whole)
    image, label, _ = check.run()
    check_good(image[0], label[0], 0)


BAD_RECORDS = {
    "empty": b"",
    "no_protobuf": b"this is no protobuf at all",
    "endless_varint": b"\xff" * 40,
    "length_beyond_the_end": record(encoded(3), 3)[:-3],
    "no_image": label_tensor(3),
    "no_label": image_tensor(encoded(3)),
}


@pytest.mark.parametrize("name", BAD_RECORDS)
def test_a_bad_record_is_named_and_the_next_batch_is_right(tmp_path, name):
    path = write_lmdb(tmp_path / "db", records_with({3: BAD_RECORDS[name]}))
    check_policies(path, 3, "headrace.fn.readers.caffe2")


def check_policies(path: str, bad: int, operator: str) -> None:
    """raise, skip and zero with one bad record in batches of two."""
    pipe = lmdb_pipeline(path)
    for step in range(RECORDS // 2 * 2):
        rows = [2 * step % RECORDS, 2 * step % RECORDS + 1]
        if bad in rows:
            with pytest.raises(RuntimeError) as error:
                pipe.run()
            text = str(error.value)
            assert operator in text
            assert f"Sample {rows.index(bad)} of the batch" in text
            assert f"{path} at key {bad:08d}" in text
            assert "test_bad_input.py" in text  # the user's line
            continue
        image, label, _ = pipe.run()
        for row, number in enumerate(rows):
            check_good(image[row], label[row], number)
    for policy in ("skip", "zero"):
        pipe = lmdb_pipeline(path, on_error=policy)
        for step in range(RECORDS // 2):
            image, label, source = pipe.run()
            for row, number in enumerate([2 * step, 2 * step + 1]):
                if number != bad:
                    check_good(image[row], label[row], number)
                elif policy == "zero":
                    assert not np.asarray(image[row]).any()
                else:
                    key = int(np.asarray(source[row]).tobytes()[-8:])
                    assert key != bad
                    check_good(image[row], label[row], key)
        pipe.close()


def test_if_all_records_are_bad_skip_gives_up(tmp_path):
    path = write_lmdb(tmp_path / "db", [b"nonsense"] * RECORDS)
    with pytest.raises(RuntimeError, match="headrace.fn.readers.caffe2"):
        lmdb_pipeline(path, on_error="skip").run()


# Images.


def png_claiming(width: int, height: int) -> bytes:
    """A PNG whose header alone is changed."""
    png = bytearray(encoded(3))
    png[16:24] = struct.pack(">II", width, height)
    png[29:33] = struct.pack(">I", zlib.crc32(png[12:29]))
    return bytes(png)


def jpeg_claiming(width: int, height: int) -> bytes:
    jpeg = bytearray(encoded(3, "JPEG"))
    frame = jpeg.index(b"\xff\xc0")
    jpeg[frame + 5 : frame + 9] = struct.pack(">HH", height, width)
    return bytes(jpeg)


NOISE = np.random.default_rng(1).bytes(500)
BAD_IMAGES = {
    "empty": b"",
    "random": NOISE,
    "text": b"<html>404 not found</html>",
    "png_cut": encoded(3)[: len(encoded(3)) // 2],
    "png_signature": encoded(3)[:8],
    "png_random_behind_the_header": encoded(3)[:33] + NOISE,
    "png_claims_65500": png_claiming(65500, 65500),
    "png_claims_2_31": png_claiming(2**31 - 1, 2**31 - 1),
    "png_claims_0": png_claiming(0, 0),
    "jpeg_header_cut": encoded(3, "JPEG")[:100],
    "jpeg_cut_before_pixels": encoded(3, "JPEG")[: encoded(3, "JPEG").index(b"\xff\xda") + 4],
    "jpeg_start": encoded(3, "JPEG")[:2],
    "jpeg_random_behind_the_start": b"\xff\xd8\xff" + NOISE,
    "jpeg_claims_65500": jpeg_claiming(65500, 65500),
    "jpeg_claims_0": jpeg_claiming(0, 0),
}


@pytest.mark.parametrize("name", BAD_IMAGES)
def test_a_bad_image_is_named_and_the_next_batch_is_right(tmp_path, name):
    path = write_lmdb(tmp_path / "db", records_with({3: record(BAD_IMAGES[name], 3)}))
    check_policies(path, 3, "headrace.fn.")  # an empty file may be refused by the reader already


@pytest.mark.parametrize("name", ["png_claims_65500", "jpeg_claims_65500"])
@pytest.mark.parametrize("operator", ["image_crop", "image_random_crop", "image_slice"])
def test_windows_of_images_that_claim_too_much(name, operator):
    window = {"image_crop": {"crop": [4, 4]}, "image_slice": {"start": [0], "end": [4], "axes": [0]}}.get(operator, {})
    data = [np.frombuffer(BAD_IMAGES[name], np.uint8)] * 2
    with pytest.raises(RuntimeError, match="(?s)65500.*Sample 0"):
        run_once(lambda: getattr(fn.decoders, operator)(fn.external_source(lambda: data), **window))


def test_a_file_that_vanishes_is_named(tmp_path):
    for i in range(4):
        (tmp_path / f"{i}.png").write_bytes(encoded(i))

    @pipeline_def(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def pipeline():
        file, label = fn.readers.file(file_root=str(tmp_path), files=[f"{i}.png" for i in range(4)])
        return fn.decoders.image(file, output_type=types.GRAY), label

    pipe = pipeline()
    pipe.build()
    (tmp_path / "1.png").unlink()
    (tmp_path / "2.png").unlink()
    (tmp_path / "2.png").mkdir()
    for i in range(8):
        if i % 4 in (1, 2):
            with pytest.raises(RuntimeError, match=f"readers.file(?s:.*){i % 4}.png"):
                pipe.run()
        else:
            image, label = pipe.run()
            check_good(image[0], label[0], i % 4)
    shutil.rmtree(tmp_path / "2.png")


# Labels, as DALI has them: a class that is not there gives a row of off_value.


@pytest.mark.parametrize("label", [-1, 10, 2**31 - 1, -(2**31)])
def test_a_label_out_of_range_lights_no_class(label):
    (out,) = run_once(
        lambda: fn.one_hot(fn.external_source(lambda: np.array([[label], [3]], np.int32)), num_classes=10)
    )
    np.testing.assert_array_equal(out.as_array(), [np.zeros(10), np.eye(10)[3]])


@pytest.mark.parametrize("label", [-1, 10, 2**31 - 1, -(2**31)])
def test_a_label_out_of_range_is_an_error_where_that_was_asked_for(label):
    pipe = Pipeline(2, 1, None)
    labels = fn.external_source(iter([np.array([[3], [label]], np.int32), np.array([[0], [9]], np.int32)]))
    pipe.set_outputs(fn.one_hot(labels, num_classes=10, check_range=True))
    with pytest.raises(RuntimeError, match=rf"one_hot(?s:.*)class of 0 .. 9, got {label}\b(?s:.*)Sample 1"):
        pipe.run()
    np.testing.assert_array_equal(pipe.run()[0].as_array(), np.eye(10)[[0, 9]])


# Arguments.


def image_source():
    return fn.external_source(lambda: np.zeros((2, 4, 5, 3), np.uint8), layout="HWC")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: fn.cast(image_source(), dtype=types.FLOAT, nonsense=1), KeyError, "nonsense.*Cast"),
        (lambda: fn.cast(image_source()), RuntimeError, "fn.cast.*dtype"),
        (lambda: fn.cast(image_source(), dtype="nonsense"), TypeError, "nonsense.*dtype.*fn.cast"),
        (lambda: fn.cast(image_source(), dtype=types.STRING), ValueError, "STRING.*dtype.*fn.cast"),
        (lambda: fn.cast(image_source(), dtype=99), ValueError, "99.*dtype.*fn.cast"),
        (lambda: fn.cast(image_source(), dtype=2**70), ValueError, "dtype.*fn.cast"),
        (lambda: fn.cast(image_source(), image_source(), dtype=types.FLOAT), ValueError, "fn.cast.*inputs.*2"),
        (lambda: fn.cast("text", dtype=types.FLOAT), TypeError, "fn.cast.*input `0`.*str"),
        (lambda: fn.crop(image_source(), crop="text"), ValueError, "text.*crop.*fn.crop"),
        (lambda: fn.crop(image_source(), crop=[[1, 2], [3]]), TypeError, "crop.*fn.crop"),
        (lambda: fn.crop(image_source(), crop=[9, 9]), RuntimeError, "fn.crop.*Sample 0"),
        (lambda: fn.crop(image_source(), crop=2**40), RuntimeError, "crop.*2.31"),
        (lambda: fn.crop(image_source(), crop=[2, 2], rounding=b"\xff"), ValueError, "rounding.*fn.crop"),
        (lambda: fn.reshape(image_source(), shape=[7]), RuntimeError, r"reshape. shape.*\(7,\).*Sample 0"),
        (lambda: fn.reshape(image_source(), shape=[-1, -1]), RuntimeError, "reshape. shape"),
        # The product is the image's volume modulo 2^64.
        (lambda: fn.reshape(image_source(), shape=[5, 3, 4, 2**62 + 1]), RuntimeError, "reshape.*large"),
        (lambda: fn.reshape(image_source(), rel_shape=[float("nan")]), RuntimeError, "rel_shape.*nan"),
        (lambda: fn.transpose(image_source(), perm=[0, 0, 1]), RuntimeError, "transpose. perm"),
        (lambda: fn.slice(image_source(), start=[2**62], shape=[2**62], axes=[0]), RuntimeError, "slice. start"),
        (lambda: fn.slice(image_source(), rel_start=[float("nan")], axes=[0]), RuntimeError, "slice. start"),
        (lambda: fn.zeros(shape=[-1]), RuntimeError, "zeros. shape"),
        (lambda: fn.zeros(shape=[1] * 17), ValueError, "fn.zeros.*16 axes"),
        (lambda: fn.zeros(shape=[2**50]), MemoryError, "fn.zeros"),
        (lambda: fn.random.uniform(shape=[2**62]), RuntimeError, "random.uniform.*large"),
        (lambda: fn.random.normal(shape=[2**32, 2**32]), RuntimeError, "random.normal.*large"),
        (lambda: fn.random.choice(3, shape=[2**61]), RuntimeError, "random.choice.*large"),
        (lambda: fn.readers.file(files=["a"], num_shards=2**40)[0], ValueError, "num_shards.*32 bits"),
        (lambda: fn.readers.file(files=["a"], labels=[2**40])[0], (OverflowError, RuntimeError), "labels"),
        (lambda: fn.readers.file(files=["a\0b"])[0], RuntimeError, "readers.file"),
        (lambda: fn.readers.file(files=["nowhere"])[0], RuntimeError, "nowhere: No such file"),
        (
            lambda: tuple(fn.readers.caffe2(path="x", additional_inputs=10**10)),
            (RuntimeError, ValueError),
            "additional_inputs",
        ),
        (lambda: fn.copy(image_source(), name="x", device="xpu"), ValueError, "xpu"),
        (lambda: types.Constant(2**40), OverflowError, "1099511627776.*int32"),
        (lambda: types.Constant([2**40]), OverflowError, "1099511627776.*int32"),
        (lambda: types.Constant(300, types.UINT8), OverflowError, "300.*uint8"),
        (lambda: types.Constant([-1], types.UINT8), OverflowError, "-1.*uint8"),
        (lambda: types.Constant([float("nan")], types.INT32), ValueError, "NaN"),
        (lambda: types.Constant(np.zeros(3, complex)), TypeError, "complex128"),
        (lambda: types.Constant(np.zeros(3, ">i4")), TypeError, ">i4"),
        (lambda: image_source() + 2**70, OverflowError, "1180591620717411303424"),
        (lambda: fn.expand_dims(image_source(), axes=[0], new_axis_names="é"), ValueError, "layout.*é"),
    ],
)
def test_wrong_arguments_name_operator_and_argument(make, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        run_once(make)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"batch_size": 0}, ValueError, "batch_size"),
        ({"batch_size": "2"}, TypeError, "batch_size"),
        ({"batch_size": 2**31}, ValueError, "batch_size"),
        ({"num_threads": 2**40}, ValueError, "num_threads"),
        ({"prefetch_queue_depth": 2**40}, ValueError, "prefetch_queue_depth"),
        ({"device_id": "gpu"}, TypeError, "device_id"),
        ({"seed": "x"}, TypeError, "seed"),
        ({"seed": 1.5}, TypeError, "seed"),
        ({"memory_limit": "1G"}, TypeError, "memory_limit"),
        ({"memory_limit": -1}, ValueError, "memory_limit"),
        ({"on_error": "ignore"}, ValueError, "on_error"),
        ({"nonsense": 1}, TypeError, "nonsense"),
        ({"enable_checkpointing": True, "checkpoint": b"\xff"}, RuntimeError, "checkpoint"),
        ({"enable_checkpointing": True, "checkpoint": 5}, RuntimeError, "checkpoint"),
        (
            {"enable_checkpointing": True, "checkpoint": '{"format":"headrace-checkpoint","version":1}'},
            RuntimeError,
            "sources",
        ),
    ],
)
def test_wrong_settings_are_named(settings, error, message):
    with pytest.raises(error, match=message):
        run_once(lambda: fn.zeros(shape=[1]), **settings)


def test_threads_that_the_system_cannot_start_are_an_error():
    program = """
import resource
from headrace import Pipeline, fn
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
for num_threads in (1, 100_000, 2):
    pipe = Pipeline(2, num_threads, None)
    pipe.set_outputs(fn.ones(shape=[1]))
    try:
        print(pipe.run()[0].as_array().tolist())
    except RuntimeError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    first, error, last = done.stdout.splitlines()
    assert first == last == "[[1], [1]]"
    assert "num_threads: the system cannot start 100000 threads" in error


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "5",
        '["format"]',
        "[" * 100_000,
        '{"format":"headrace-pipeline","version":1}',
        '{"format":"headrace-pipeline","version":1,"parameters":5,"graph":{}}',
        '{"format":"headrace-pipeline","version":1,"parameters":{"batch_size":2},"graph":5}',
    ],
)
def test_damaged_serialised_pipelines(text):
    with pytest.raises(RuntimeError, match=r"deserialize|serialized pipeline"):
        Pipeline.deserialize(text)


# Pipelines that are closed or have no more data.


def counting_pipeline(batches: int = 3) -> Pipeline:
    @pipeline_def(batch_size=2, num_threads=1, device_id=None, enable_checkpointing=True)
    def pipeline():
        return fn.external_source([np.full((2, 1), i) for i in range(batches)], cycle="raise", name="numbers")

    return pipeline()


def test_an_exhausted_pipeline_stops_until_reset():
    pipe = counting_pipeline()
    for _ in range(3):
        assert [int(pipe.run()[0].at(0)[0]) for _ in range(3)] == [0, 1, 2]
        for _ in range(3):
            with pytest.raises(StopIteration):
                pipe.run()
        pipe.reset()


@pytest.mark.parametrize("built", [True, False])
def test_a_closed_pipeline_says_so(built):
    pipe = counting_pipeline()
    if built:
        held = pipe.run()[0]
    pipe.close()
    pipe.close()
    if not built:
        return  # nothing was open: it may begin
    for call in (pipe.run, pipe.schedule_run, pipe.checkpoint, pipe.epoch_size, pipe.statistics):
        with pytest.raises(RuntimeError, match=r"closed|Mixing"):
            call()
    assert held.as_array().tolist() == [[0], [0]]
    with contextlib.suppress(RuntimeError):
        pipe.reset()
    assert "closed" in repr(pipe)
