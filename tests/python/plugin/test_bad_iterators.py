"""JAX iterators that are wrongly made, closed, exhausted, or fed with bad samples."""

import io

import jax
import numpy as np
import pytest
from PIL import Image

from headrace import fn, pipeline_def
from headrace.plugin.jax import DALIGenericIterator, data_iterator

BATCH = 4


@pipeline_def(batch_size=BATCH, num_threads=2, device_id=None)
def numbers(files, decode=False):
    data, labels = fn.readers.file(files=files, name="reader")
    return (fn.decoders.image(data) if decode else data), labels


def labels_of(iterator, count: int) -> list[int]:
    return [int(x) for _ in range(count) for x in np.asarray(next(iterator)["labels"]).ravel()]


@pytest.mark.parametrize(
    ("names", "error"), [(["data", "labels", "more"], IndexError), (["data", "data"], AssertionError)]
)
def test_an_output_map_of_the_wrong_length_is_refused(numbered_files, names, error):
    with pytest.raises(error, match="output_map"):
        DALIGenericIterator([numbers(numbered_files)], names, reader_name="reader")


def test_outputs_without_a_name_are_logged(numbered_files, caplog):
    iterator = DALIGenericIterator([numbers(numbered_files)], ["data"], reader_name="reader")
    assert "output_map: 1 names for 2 outputs" in caplog.text
    assert list(next(iterator)) == ["data"]


@pytest.mark.parametrize("batch_size", [1, 6, 7])
def test_a_batch_size_that_devices_do_not_divide_is_refused(numbered_files, batch_size):
    @data_iterator(output_map=["data", "labels"], reader_name="reader", devices=jax.devices())
    def iterator(num_shards, shard_id):
        reader = {"num_shards": num_shards, "shard_id": shard_id}
        return tuple(fn.readers.file(files=numbered_files, name="reader", **reader))

    with pytest.raises(ValueError, match=f"batch_size.*{batch_size}.*{len(jax.devices())}"):
        iterator(batch_size=batch_size)
    good = iterator(batch_size=2 * len(jax.devices()))
    assert len(labels_of(good, 1)) == 2 * len(jax.devices())


@pytest.mark.parametrize(
    ("devices", "error", "message"),
    [
        ([], ValueError, "devices: expected at least one"),
        ([0, 1], TypeError, r"devices: .*jax.devices\(\).*got 0"),
        (["cpu:0"], TypeError, r"devices: .*jax.devices\(\).*got 'cpu:0'"),
    ],
)
def test_devices_are_devices_of_jax(devices, error, message):
    with pytest.raises(error, match=message):

        @data_iterator(output_map=["data", "labels"], reader_name="reader", devices=devices)
        def iterator(num_shards, shard_id):
            raise AssertionError("never called")


def test_an_unknown_reader_is_named(numbered_files):
    with pytest.raises((RuntimeError, ValueError, KeyError), match="nowhere"):
        DALIGenericIterator([numbers(numbered_files)], ["data", "labels"], reader_name="nowhere")


def test_an_exhausted_iterator_stops_until_reset(numbered_files):
    iterator = DALIGenericIterator([numbers(numbered_files)], ["data", "labels"], reader_name="reader")
    for _ in range(3):
        assert labels_of(iterator, 5) == list(range(20))
        for _ in range(3):
            with pytest.raises(StopIteration):
                next(iterator)
        iterator.reset()


def test_an_iterator_of_a_closed_pipeline_says_so(numbered_files):
    pipe = numbers(numbered_files)
    iterator = DALIGenericIterator([pipe], ["data", "labels"], reader_name="reader")
    batch = next(iterator)
    pipe.close()
    with pytest.raises(RuntimeError, match="closed"):
        for _ in range(3):
            next(iterator)
    assert np.asarray(batch["labels"]).ravel().tolist() == [0, 1, 2, 3]


def test_a_pipeline_belongs_to_one_iterator(numbered_files):
    pipe = numbers(numbered_files)
    first = DALIGenericIterator([pipe], ["data", "labels"], reader_name="reader")
    with pytest.raises(RuntimeError):
        DALIGenericIterator([pipe, pipe], ["data", "labels"], reader_name="reader")
    assert labels_of(first, 1) == [0, 1, 2, 3]


@pytest.mark.parametrize("policy", ["raise", "skip", "zero"])
def test_a_bad_image_is_named_and_the_iterator_goes_on(tmp_path, policy):
    files = []
    for i in range(12):
        file = io.BytesIO()
        Image.fromarray(np.full((4, 4, 3), i, np.uint8)).save(file, "PNG")
        files.append(str(tmp_path / f"{i:02d}.png"))
        (tmp_path / f"{i:02d}.png").write_bytes(file.getvalue()[: 40 if i == 5 else None])
    iterator = DALIGenericIterator(
        [numbers(files, decode=True, on_error=policy)], ["images", "labels"], reader_name="reader", auto_reset=True
    )
    for _ in range(2):
        for step in range(3):
            if policy == "raise" and step == 1:
                with pytest.raises(RuntimeError, match=f"(?s)decoders.image.*{files[5]}"):
                    next(iterator)
                continue
            batch = next(iterator)
            images, labels = np.asarray(batch["images"]), np.asarray(batch["labels"]).ravel()
            good = [row for row in range(BATCH) if 4 * step + row != 5]
            assert labels[good].tolist() == [4 * step + row for row in good]
            assert images[good, 0, 0, 0].tolist() == labels[good].tolist()
            if step == 1:
                assert bool(batch["mask"].ravel()[1]) is False
                assert images[1, 0, 0, 0] == (labels[1] if policy == "skip" else 0)
        with pytest.raises(StopIteration):
            next(iterator)
