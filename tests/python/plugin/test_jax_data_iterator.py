"""data_iterator: every way to call it, what the function gets, pmap, peeking."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from headrace import fn, pipeline_def  # noqa: E402
from headrace.plugin.jax import (  # noqa: E402
    DALIGenericIterator,
    DALIGenericPeekableIterator,
    data_iterator,
    peekable_data_iterator,
)
from headrace.plugin.jax.iterator import default_num_threads_value  # noqa: E402

NAMED = {"output_map": ["label"], "reader_name": "reader"}


def read(files, shard_id=0, num_shards=1):
    return fn.readers.file(files=files, name="reader", shard_id=shard_id, num_shards=num_shards)[1]


def values(batch, name="label"):
    return np.asarray(batch[name]).ravel().tolist()


def test_as_decorator_and_as_function(numbered_files):
    @data_iterator(**NAMED)
    def decorated(files, count=5):
        """Reads."""
        return read(files[:count])

    made = data_iterator(lambda files: read(files), **NAMED)
    assert decorated.__name__ == "decorated"
    assert decorated.__doc__ == "Reads."
    assert values(next(decorated(numbered_files, batch_size=3))) == [0, 1, 2]
    assert len(decorated(files=numbered_files, count=4, batch_size=2)) == 2
    assert values(next(made(files=numbered_files, batch_size=2, num_threads=1, device_id=0))) == [0, 1]


def test_of_a_pipeline_def(numbered_files):
    @data_iterator(**NAMED)
    @pipeline_def(batch_size=4, num_threads=1)
    def pipe():
        return read(numbered_files)

    assert values(next(pipe())) == [0, 1, 2, 3]
    assert values(next(pipe(batch_size=2))) == [0, 1]


def test_shards_of_the_function(numbered_files):
    calls = []

    def function(shard_id, num_shards=-1):
        calls.append((shard_id, num_shards))
        return read(numbered_files, shard_id, max(1, num_shards))

    alone = data_iterator(function, **NAMED)
    assert len(alone(batch_size=4)) == 5
    assert calls == [(0, -1)]  # one shard: its own default stays
    calls.clear()
    alone(batch_size=4, shard_id=1, num_shards=2)
    assert calls == [(1, 2)]
    calls.clear()
    data_iterator(function, **NAMED, devices=jax.devices())(batch_size=4)
    assert calls == [(0, 4), (1, 4), (2, 4), (3, 4)]


def test_devices_give_what_pmap_takes(numbered_files):
    devices = [jax.devices()[i] for i in (2, 0, 3, 1)]

    @data_iterator(**NAMED, devices=devices)
    def rows(shard_id, num_shards):
        return read(numbered_files, shard_id, num_shards)

    iterator = rows(batch_size=8, num_threads=1)
    assert len(iterator) == 3
    batch = next(iterator)["label"]
    assert batch.shape == (4, 2, 1)
    assert np.asarray(batch).ravel().tolist() == [
        0,
        1,
        5,
        6,
        10,
        11,
        15,
        16,
    ]  # by the device's position, not its id
    shards = sorted(batch.addressable_shards, key=lambda shard: shard.index[0].start or 0)
    assert [shard.device for shard in shards] == devices
    doubled = jax.pmap(lambda x: 2 * x, devices=devices)(batch)
    assert np.asarray(doubled).ravel().tolist() == [0, 2, 10, 12, 20, 22, 30, 32]


def test_random_numbers_of_shards_have_one_seed():
    @data_iterator(output_map=["x"], size=8, devices=jax.devices()[:2])
    def noise(shard_id, num_shards):
        return fn.random.uniform(shape=[2])

    first, second = (np.asarray(next(noise(batch_size=4, seed=5))["x"]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert len(np.unique(first)) == first.size


def test_wrong_calls(numbered_files):
    def plain():
        return read(numbered_files)

    with pytest.raises(ValueError, match="output_map"):
        data_iterator(plain)
    with pytest.raises(ValueError, match="Only one of"):
        data_iterator(
            plain, **NAMED, devices=jax.devices(), sharding=jax.sharding.SingleDeviceSharding(jax.devices()[0])
        )
    with pytest.raises(TypeError, match="must take shard_id and num_shards"):
        data_iterator(plain, **NAMED, devices=jax.devices())(batch_size=4)
    with pytest.raises(ValueError, match="6 must be divisible by .* 4"):
        data_iterator(read, **NAMED, devices=jax.devices())(numbered_files, batch_size=6)
    with pytest.raises(ValueError, match="batch_size is missing"):
        data_iterator(plain, **NAMED)()
    with pytest.raises(TypeError, match="nonsense"):
        data_iterator(plain, **NAMED)(batch_size=2, nonsense=1)
    with pytest.raises(RuntimeError, match="missing.bin"):
        data_iterator(read, **NAMED)(["/nowhere/missing.bin"], batch_size=1).next()


def test_on_error_is_the_pipelines(tmp_path):
    names = [str(tmp_path / f"{k}.png") for k in range(2)]
    for name in names:
        Path(name).write_bytes(b"no image")

    @data_iterator(output_map=["image"], reader_name="reader", on_error="zero")
    def images():
        return fn.reshape(fn.readers.file(files=names, name="reader")[0], shape=[2, 4])

    assert next(images(batch_size=2))["mask"].tolist() == [True, True]
    assert images(batch_size=2, on_error="raise")._mask_name == ""


def test_signatures_begin_like_dalis():
    path = Path(__file__).parent / "dali_signatures.json"
    expected = json.loads(path.read_text())
    for function in (data_iterator, peekable_data_iterator):
        names = [
            name
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY
        ]
        assert names == expected["data_iterator"]
    names = list(inspect.signature(DALIGenericIterator).parameters)
    assert names[: len(expected["DALIGenericIterator"])] == expected["DALIGenericIterator"]


def test_threads():
    assert default_num_threads_value() >= 1


def peekable(numbered_files, **arguments):
    @peekable_data_iterator(**NAMED, **arguments)
    def rows():
        return read(numbered_files[:5])

    return rows(batch_size=2, num_threads=1)


def test_peek_gives_the_batch_that_next_gives(numbered_files):
    iterator = peekable(numbered_files)
    assert isinstance(iterator, DALIGenericPeekableIterator)
    peeked = iterator.peek()
    assert iterator.peek() is peeked
    assert next(iterator) is peeked
    assert values(iterator.peek_async().result(30)) == [2, 3]
    assert [values(batch) for batch in iterator] == [[2, 3], [4, 0]]
    with pytest.raises(StopIteration):
        iterator.peek()
    assert [values(batch) for batch in iterator] == [[1, 2], [3, 4]]


def test_peeking_does_not_change_epochs(numbered_files, caplog):
    iterator = peekable(numbered_files)
    epochs = []
    for _ in range(3):
        seen = []
        for batch in iterator:
            seen.append(values(batch))
            if len(seen) < len(iterator):
                iterator.peek()
        epochs.append(seen)
    assert epochs == [[[0, 1], [2, 3], [4, 0]], [[1, 2], [3, 4]], [[0, 1], [2, 3], [4, 0]]]
    assert not caplog.records


def test_element_spec(numbered_files):
    iterator = peekable(numbered_files)
    spec = iterator.element_spec["label"]
    assert (spec.shape, spec.dtype) == ((2, 1), np.int32)
    assert [values(batch) for batch in iterator] == [[0, 1], [2, 3], [4, 0]]


def test_shapes_must_stay():
    @peekable_data_iterator(output_map=["x"])
    def growing():
        return fn.external_source(lambda k: np.zeros((2, 1 + k // 2)))

    iterator = growing(batch_size=2)
    next(iterator)
    next(iterator)
    with pytest.raises(ValueError, match="changed between iterations"):
        next(iterator)


def test_is_nonpadding(numbered_files):
    iterator = peekable(numbered_files, exact_epochs=True)
    assert iterator.is_nonpadding is None
    masks = []
    for batch in iterator:
        np.testing.assert_array_equal(iterator.is_nonpadding, np.asarray(batch["mask"]))
        masks.append(iterator.is_nonpadding.tolist())
    assert masks == [[True, True], [True, True], [True, False]]


def test_checkpoints_after_peek(numbered_files):
    @peekable_data_iterator(**NAMED)
    def rows():
        return read(numbered_files[:5])

    iterator = rows(batch_size=2, enable_checkpointing=True)
    iterator.peek()
    with pytest.raises(RuntimeError, match="peeked"):
        iterator.checkpoints()
    next(iterator)
    resumed = rows(batch_size=2, checkpoints=iterator.checkpoints())
    assert [values(batch) for batch in resumed] == [[2, 3], [4, 0]]


@pytest.mark.parametrize("seed", [None, -1, 3])
def test_all_shards_have_one_seed(numbered_files, seed):
    """Whatever was given: shards of a shuffled data set would overlap else."""

    @data_iterator(**NAMED, devices=jax.devices()[:4], exact_epochs=True)
    def shuffled(shard_id, num_shards):
        return fn.readers.file(
            files=numbered_files[:8], name="reader", global_shuffle=True, shard_id=shard_id, num_shards=num_shards
        )[1]

    iterator = shuffled(batch_size=4, seed=seed)
    for _ in range(3):
        assert sorted(value for batch in iterator for value in values(batch)) == list(range(8))


@pytest.mark.parametrize("batch_size", [np.int64(4), np.uint8(4)])
def test_integers_of_any_type_are_batch_sizes(numbered_files, batch_size):
    iterator = data_iterator(read, **NAMED, devices=jax.devices()[:2])(numbered_files, batch_size=batch_size)
    assert next(iterator)["label"].shape[:2] == (2, 2)


def test_a_dict_of_shardings_may_have_one_for_the_mask(numbered_files):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), "b")
    cut = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("b"))
    whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    made = data_iterator(read, **NAMED, exact_epochs=True, sharding={"label": cut, "mask": cut})
    batch = next(made(numbered_files, batch_size=4))
    assert batch["mask"].sharding == cut and batch["mask"].shape == (4,)
    with pytest.raises(ValueError, match="unknown.*other"):
        data_iterator(read, **NAMED, exact_epochs=True, sharding={"label": cut, "other": whole})(
            numbered_files, batch_size=4
        )
