"""Global arrays on meshes: every kind of partition against jax.device_put of the whole batch."""

import itertools

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding  # noqa: E402

from headrace import fn  # noqa: E402
from headrace.plugin.jax import DALIGenericIterator, data_iterator  # noqa: E402
from headrace.plugin.jax.row_shards import row_shards  # noqa: E402

BATCH = 12
WIDTH = 4


def mesh(*extents, order=None):
    devices = np.array(jax.devices(), dtype=object)
    if order is not None:
        devices = devices[list(order)]
    return Mesh(devices[: int(np.prod(extents))].reshape(extents), ("x", "y")[: len(extents)])


def batch_rows(k):
    """(BATCH, WIDTH): batch k of the whole; row r, column c of it holds 1000k + 10r + c."""
    return (1000 * k + 10 * np.arange(BATCH)[:, None] + np.arange(WIDTH)).astype(np.float32)


def sharded_source(shard_id, num_shards):
    rows = BATCH // num_shards

    def source(k):
        return np.ascontiguousarray(batch_rows(k)[shard_id * rows : (shard_id + 1) * rows])

    return source


def make_iterator(sharding, calls=None, output_map=("x",), **arguments):
    @data_iterator(output_map=list(output_map), size=3 * BATCH, sharding=sharding, **arguments)
    def rows(shard_id, num_shards):
        if calls is not None:
            calls.append((shard_id, num_shards))
        x = fn.external_source(sharded_source(shard_id, num_shards))
        return tuple([x] * len(output_map))

    return rows(batch_size=BATCH, num_threads=1)


SPECS = [(), ("x",), ("y",), (("x", "y"),), (("y", "x"),), (None, "x"), ("x", "y"), ("y", "x"), (None, ("x", "y"))]
ORDERS = [(0, 1, 2, 3), (3, 1, 0, 2)]


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_equals_device_put_on_a_2x2_mesh(spec, order):
    sharding = NamedSharding(mesh(2, 2, order=order), PartitionSpec(*spec))
    calls = []
    iterator = make_iterator(sharding, calls)
    num_shards = len({index[0].start for index in sharding.devices_indices_map((BATCH, WIDTH)).values()})
    assert calls == [(k, num_shards) for k in range(num_shards)]  # devices with the same rows share a pipeline
    for k, batch in enumerate(iterator):
        expected = jax.device_put(batch_rows(k), sharding)
        assert batch["x"].sharding == sharding
        assert batch["x"].shape == (BATCH, WIDTH)
        for ours, theirs in zip(batch["x"].addressable_shards, expected.addressable_shards, strict=True):
            assert (ours.device, ours.index) == (theirs.device, theirs.index)
            np.testing.assert_array_equal(np.asarray(ours.data), np.asarray(theirs.data))
        assert float(jax.jit(lambda x: (2 * x).sum())(batch["x"])) == 2 * batch_rows(k).sum()


def test_one_sharding_for_each_output():
    on = mesh(2, 2)
    for specs in itertools.combinations(SPECS, 2):
        sharding = {name: NamedSharding(on, PartitionSpec(*spec)) for name, spec in zip("ab", specs, strict=True)}
        batch = next(make_iterator(sharding, output_map="ab"))
        for name, one in sharding.items():
            assert batch[name].sharding == one
            np.testing.assert_array_equal(np.asarray(batch[name]), batch_rows(0))


def test_shards_that_divide_each_other_not():
    six = row_shards_of_fake_mesh()
    assert six == 6


def row_shards_of_fake_mesh():
    """Rows cut in 2 and in 3 by one mesh need 6 shards; there are only 4 devices, so the shardings are stand-ins."""

    class Cut:
        device_set = frozenset(range(6))
        addressable_devices = device_set

        def __init__(self, blocks):
            self.blocks = blocks

        def devices_indices_map(self, shape):
            size = shape[0] // self.blocks
            return {d: (slice(d % self.blocks * size, (d % self.blocks + 1) * size),) for d in self.device_set}

    return row_shards([Cut(2), Cut(3)]).num_shards


def test_a_process_makes_only_the_shards_that_its_devices_hold():
    class Cut:
        device_set = frozenset(range(4))
        addressable_devices = frozenset([2, 3])

        def devices_indices_map(self, shape):
            size = shape[0] // 4
            return {d: (slice(d * size, (d + 1) * size),) for d in self.device_set}

    shards = row_shards([Cut()])
    assert (shards.num_shards, shards.local) == (4, (2, 3))


def test_a_subset_of_the_devices():
    sharding = NamedSharding(Mesh(np.array([jax.devices()[3], jax.devices()[1]]), ("x",)), PartitionSpec("x"))
    batch = next(make_iterator(sharding))["x"]
    assert {device.id for device in batch.devices()} == {1, 3}
    np.testing.assert_array_equal(np.asarray(batch), batch_rows(0))
    first = next(shard for shard in batch.addressable_shards if shard.device.id == 3)
    np.testing.assert_array_equal(np.asarray(first.data), batch_rows(0)[:6])


def test_one_device():
    sharding = SingleDeviceSharding(jax.devices()[2])
    batch = next(make_iterator(sharding))["x"]
    assert batch.devices() == {jax.devices()[2]}
    np.testing.assert_array_equal(np.asarray(batch), batch_rows(0))


def test_the_sharding_of_a_jitted_function():
    made = jax.jit(lambda: jax.numpy.zeros((BATCH, WIDTH)), out_shardings=NamedSharding(mesh(4), PartitionSpec("x")))()
    batch = next(make_iterator(made.sharding))["x"]
    np.testing.assert_array_equal(np.asarray(batch), batch_rows(0))


def test_shards_are_not_copied():
    sharding = NamedSharding(mesh(2, 2), PartitionSpec("x"))
    iterator = make_iterator(sharding)
    pointers = []
    original = iterator._next_outputs

    def watched():
        outputs, rows = original()
        pointers.append([plan[0].data_ptr() for plan in outputs])
        return outputs, rows

    iterator._next_outputs = watched
    for batch in iterator:
        for shard in batch["x"].addressable_shards:
            row = (shard.index[0].start or 0) // (BATCH // 2)
            assert shard.data.unsafe_buffer_pointer() == pointers[-1][row]


@pytest.mark.parametrize("spec", [("x",), (("x", "y"),), (None, "y")], ids=str)
def test_the_mask_is_cut_like_the_rows(spec, numbered_files):
    sharding = NamedSharding(mesh(2, 2), PartitionSpec(*spec))

    @data_iterator(output_map=["x"], reader_name="reader", sharding=sharding, exact_epochs=True)
    def rows(shard_id, num_shards):
        x = fn.readers.file(files=numbered_files[:10], name="reader", shard_id=shard_id, num_shards=num_shards)[0]
        return fn.reshape(x, shape=[1]) if spec[0] else fn.cat(x, x)

    seen = []
    for batch in rows(batch_size=8, num_threads=1):
        assert batch["mask"].shape == (8,)
        assert batch["mask"].sharding.is_equivalent_to(NamedSharding(mesh(2, 2), PartitionSpec(spec[0])), 1)
        seen += np.asarray(batch["x"])[np.asarray(batch["mask"]), 0].tolist()
    assert sorted(seen) == list(range(10))


def test_wrong_shardings(numbered_files):
    rows = NamedSharding(mesh(4), PartitionSpec("x"))
    with pytest.raises(ValueError, match="13 must be divisible by .* 4"):

        @data_iterator(output_map=["x"], size=12, sharding=rows)
        def pipe(shard_id, num_shards):
            return fn.external_source(sharded_source(shard_id, num_shards))

        pipe(batch_size=13)
    with pytest.raises(ValueError, match=r"missing \['b'\].*unknown \['c'\]"):
        make_iterator({"a": rows, "c": rows}, output_map="ab")
    with pytest.raises(AssertionError, match="Sharding"):
        make_iterator({"x": "rows"})
    from pipelines import labels

    with pytest.raises(ValueError, match="4 of 4 shards.*got 1"):
        DALIGenericIterator(labels(numbered_files, batch_size=2), ["x"], reader_name="reader", sharding=rows)
