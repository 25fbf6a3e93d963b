"""`group=K`: stacks of K batches for lax.scan, against the batches one by one, on every layout."""

import numpy as np
import pytest
from pipelines import constant_batches, from_source, labels

jax = pytest.importorskip("jax")

from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

from headrace import fn, types  # noqa: E402
from headrace.plugin.base_iterator import LastBatchPolicy  # noqa: E402
from headrace.plugin.jax import DALIGenericIterator, data_iterator, peekable_data_iterator  # noqa: E402
from headrace.plugin.jax.fn import jax_function  # noqa: E402


@pytest.fixture(params=["copies", "no copies"])
def forced(request, monkeypatch):
    """Batches without ``group`` are read ahead where the devices have memory of their own."""
    from headrace.plugin.jax import read_ahead

    monkeypatch.setattr(read_ahead, "has_own_memory", lambda devices: request.param == "copies")


def iterate(files, group, reader=None, **arguments):
    pipe = labels(files[:11], reader=reader, batch_size=2, num_threads=1, seed=3, enable_checkpointing=True)
    return DALIGenericIterator(pipe, ["x"], reader_name="reader", group=group, **arguments)


def epoch(iterator):
    return [np.asarray(group["x"])[..., 0].tolist() for group in iterator]


def grouped(batches, count):
    return [batches[k : k + count] for k in range(0, len(batches), count)]


@pytest.mark.parametrize("group", [1, 2, 4, 6, 50])
@pytest.mark.parametrize("policy", [LastBatchPolicy.FILL, LastBatchPolicy.DROP])
@pytest.mark.parametrize("auto_reset", [False, True])
def test_epochs(numbered_files, group, policy, auto_reset):
    """11 samples in batches of 2, without a reader that pads: FILL's epochs are 6, 5, 6 batches long, DROP's 5."""
    iterator = iterate(numbered_files, group, last_batch_policy=policy, auto_reset=auto_reset)
    first = 0
    for number in range(4):
        count = 5 if policy is LastBatchPolicy.DROP or number % 2 else 6
        if auto_reset:  # else the iterator is still at the end of the epoch before
            assert len(iterator) == -(-count // group)
        expected = [[(first + 2 * k) % 11, (first + 2 * k + 1) % 11] for k in range(count)]
        assert epoch(iterator) == grouped(expected, group)
        first += 12 if policy is LastBatchPolicy.DROP else 2 * count  # the dropped batch was read


@pytest.mark.usefixtures("forced")
def test_scan_gives_what_the_loop_gives(numbered_files):
    def step(total, batch):
        return total * 3 + batch["x"].sum(), None

    looped = jax.numpy.zeros((), np.int32)
    for batch in iterate(numbered_files, None):
        looped, _ = jax.jit(step)(looped, batch)
    scanned = jax.numpy.zeros((), np.int32)
    for group in iterate(numbered_files, 4):
        scanned, _ = jax.jit(lambda total, group: jax.lax.scan(step, total, group))(scanned, group)
    expected = 0
    for batch in grouped(list(range(11)) + [0], 2):
        expected = expected * 3 + sum(batch)
    assert int(looped) == int(scanned) == expected


def test_types_and_masks(numbered_files):
    kinds = [types.UINT8, types.BOOL, types.FLOAT16, types.BFLOAT16]

    @data_iterator(output_map=["a", "b", "c", "d"], reader_name="reader", exact_epochs=True, group=3)
    def rows():
        x = fn.readers.file(files=numbered_files[:10], name="reader")[1]
        return tuple(fn.cast(x, dtype=kind) for kind in kinds)

    groups = list(rows(batch_size=4, num_threads=1))
    assert len(groups) == 1
    assert groups[0]["mask"].tolist() == [[True] * 4, [True] * 4, [True, True, False, False]]
    numbers = np.arange(10)
    for name, dtype in zip("abcd", (np.uint8, np.bool_, np.float16, jax.numpy.bfloat16), strict=True):
        array = np.asarray(groups[0][name])
        assert (array.shape, array.dtype) == ((3, 4, 1), dtype)
        assert array.ravel()[:10].tolist() == numbers.astype(dtype).tolist()


def test_layouts(numbered_files):
    def shape(num_pipelines, **arguments):
        pipes = [labels(numbered_files, k, num_pipelines, batch_size=2, num_threads=1) for k in range(num_pipelines)]
        array = next(DALIGenericIterator(pipes, ["x"], reader_name="reader", group=3, **arguments))["x"]
        return array.shape, np.asarray(array).ravel().tolist(), sorted(device.id for device in array.devices())

    ids = list(range(6))
    assert shape(1) == ((3, 2, 1), ids, [0])
    assert shape(1, pmap_compatible=True) == ((1, 3, 2, 1), ids, [0])
    second = [10 + k for k in ids]
    assert shape(2, devices=jax.devices()[1:3]) == ((2, 3, 2, 1), ids + second, [1, 2])
    together = [number for k in (0, 2, 4) for number in (k, k + 1, 10 + k, 11 + k)]
    assert shape(2) == ((3, 2, 2, 1), together, [0])
    assert shape(2, devices=jax.devices()[:2], pmap_compatible=False) == ((3, 4, 1), together, [0, 1])


SPECS = {"rows": ("x",), "both axes": (("x", "y"),), "columns": (None, "y"), "both": ("y", "x"), "copies": ()}


@pytest.mark.parametrize("name", SPECS)
def test_meshes(name):
    mesh = Mesh(np.array(jax.devices(), dtype=object).reshape(2, 2), ("x", "y"))
    sharding = NamedSharding(mesh, PartitionSpec(*SPECS[name]))

    @data_iterator(output_map=["x"], sharding=sharding, group=3)
    def rows(shard_id, num_shards):
        share = 8 // num_shards

        def source(k):
            if k == 5:
                raise StopIteration
            return (100 * k + share * shard_id + np.arange(share))[:, None] + np.arange(4, dtype=np.int32) * 10

        return fn.cast(fn.external_source(source), dtype=types.INT32)

    whole = (100 * np.arange(5)[:, None, None] + np.arange(8)[:, None] + 10 * np.arange(4)).astype(np.int32)
    groups = [group["x"] for group in rows(batch_size=8, num_threads=1)]
    stacked = NamedSharding(mesh, PartitionSpec(None, *SPECS[name]))
    for group, expected in zip(groups, (whole[:3], whole[3:]), strict=True):
        assert group.sharding.is_equivalent_to(stacked, 3)
        reference = jax.device_put(expected, stacked)
        for shard, other in zip(group.addressable_shards, reference.addressable_shards, strict=True):
            assert (shard.device, shard.index) == (other.device, other.index)
            np.testing.assert_array_equal(np.asarray(shard.data), np.asarray(other.data))


@pytest.mark.parametrize("auto_reset", [False, True])
def test_the_end_of_a_source(auto_reset):
    iterator = DALIGenericIterator(from_source(constant_batches(5, (2, 3)), 2), ["x"], group=2, auto_reset=auto_reset)
    for _ in range(3):
        assert [np.asarray(group["x"])[:, 0, 0].tolist() for group in iterator] == [[0, 1], [2, 3], [4]]


def test_leaving_the_loop_at_the_last_group_of_a_source():
    iterator = DALIGenericIterator(from_source(constant_batches(3, (2, 3)), 2), ["x"], group=2, auto_reset=True)
    for _ in range(2):
        for group in iterator:
            if len(group["x"]) == 1:
                break
    assert len(list(iterator)) == 2


def test_an_error_comes_behind_the_batches_before_it(numbered_files, tmp_path):
    bad = tmp_path / "bad.bin"
    bad.write_bytes(b"ab")
    files = [*numbered_files[:4], str(bad), *numbered_files[5:9]]

    @data_iterator(output_map=["x"], reader_name="reader", group=3)
    def rows():
        return fn.reshape(fn.readers.file(files=files, name="reader")[0], shape=[1])

    iterator = rows(batch_size=1, num_threads=1)
    assert np.asarray(next(iterator)["x"]).ravel().tolist() == [0, 1, 2]
    assert np.asarray(next(iterator)["x"]).ravel().tolist() == [3]
    with pytest.raises(RuntimeError, match="reshape"):
        next(iterator)
    assert np.asarray(next(iterator)["x"]).ravel().tolist() == [5, 6, 7]
    assert np.asarray(next(iterator)["x"]).ravel().tolist() == [8]
    with pytest.raises(StopIteration):
        next(iterator)


def test_batches_that_differ_make_no_group():
    shapes = [(2, 3), (2, 3), (2, 4)]
    iterator = DALIGenericIterator(from_source(lambda k: np.full(shapes[k % 3], k, np.float32), 2), ["x"], group=3)
    assert next(iterator)["x"].shape == (2, 2, 3)
    with pytest.raises(RuntimeError, match=r"group: .* got float32 of shape \(2, 4\) behind float32 of shape \(2, 3\)"):
        next(iterator)


@pytest.mark.usefixtures("forced")
def test_checkpoints_count_batches(numbered_files):
    reader = {"random_shuffle": True}
    singles = iterate(numbered_files, None, reader)
    batches = [np.asarray(batch["x"])[..., 0].tolist() for _ in range(3) for batch in singles]
    for taken in range(4):
        iterator = iterate(numbered_files, 2, reader)
        count = sum(len(next(iterator)["x"]) for _ in range(taken))
        for group in (None, 1, 4):
            resumed = iterate(numbered_files, group, reader, checkpoints=iterator.checkpoints())
            rest = [group["x"] for group in resumed]
            flat = np.concatenate([np.asarray(x).reshape(-1, 2) for x in rest]).tolist()
            assert flat == (batches[count:6] or batches[6:11])


def test_a_checkpoint_in_an_interrupted_group_is_that_before_it():
    """Batches of a group that was not handed out are not behind the checkpoint."""
    interrupts = [7]

    def source(k):
        if interrupts and k == interrupts[0]:
            interrupts.clear()
            raise KeyboardInterrupt
        return np.full((2, 1), k, np.int32)

    def make(checkpoints=None):
        pipe = from_source(source, 2, enable_checkpointing=True)
        return DALIGenericIterator([pipe], ["x"], group=4, checkpoints=checkpoints)

    def numbers(group):
        return np.asarray(group["x"])[:, 0, 0].tolist()

    iterator = make()
    assert numbers(next(iterator)) == [0, 1, 2, 3]
    with pytest.raises(KeyboardInterrupt):
        next(iterator)
    resumed = make(iterator.checkpoints())
    for following in (iterator, resumed):
        assert [numbers(next(following)) for _ in range(2)] == [[4, 5, 6, 7], [8, 9, 10, 11]]


def test_groups_stay_as_they_are(numbered_files):
    held = [group["x"] for _ in range(5) for group in iterate(numbered_files, 4, auto_reset=True)]
    assert [np.asarray(x).ravel().tolist() for x in held] == [[*range(8)], [8, 9, 10, 0]] * 5


def test_with_functions_of_the_program():
    calls = []

    @jax_function
    def doubled(x):
        calls.append(1)
        return 2 * x

    @data_iterator(output_map=["x"], size=12, group=2)
    def rows():
        return doubled(fn.external_source(constant_batches(9, (2, 3))))

    groups = [np.asarray(group["x"])[:, 0, 0].tolist() for group in rows(batch_size=2, num_threads=1)]
    assert groups == [[0, 2], [4, 6], [8, 10]]


def test_wrong_groups(numbered_files):
    with pytest.raises(ValueError, match="group: expected at least one batch, got 0"):
        iterate(numbered_files, 0)
    for wrong in (True, 2.5, "4"):
        with pytest.raises(TypeError, match="group: expected a number of batches"):
            iterate(numbered_files, wrong)
    iterator = iterate(numbered_files, np.int64(2))
    assert next(iterator)["x"].shape == (2, 2, 1)
    from headrace.plugin.jax import DALIGenericPeekableIterator

    with pytest.raises(ValueError, match="group: a peekable iterator"):
        DALIGenericPeekableIterator(labels(numbered_files, batch_size=2), ["x"], reader_name="reader", group=2)
    with pytest.raises(TypeError, match="group"):
        peekable_data_iterator(lambda: None, output_map=["x"], group=2)
