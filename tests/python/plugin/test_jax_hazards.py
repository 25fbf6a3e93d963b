"""What could go wrong with memory that JAX and the pipeline share: late readers, held and donated batches, threads."""

import gc
import threading
import time

import numpy as np
import pytest
from pipelines import constant_batches, from_source

jax = pytest.importorskip("jax")

from headrace.plugin.jax import DALIGenericIterator, data_iterator  # noqa: E402

SHAPE = (64, 256)


@pytest.fixture(scope="module")
def late_sum():
    """A jitted function that is busy for a while before it reads the batch: min and max of it."""

    def program(x, delay):
        a = jax.lax.fori_loop(0, 6, lambda _, m: m @ delay, delay)
        late = x + 0 * a[0, 0]
        return jax.numpy.stack([late.min(), late.max()])

    delay = jax.numpy.eye(256, dtype=np.float32)
    jitted = jax.jit(program)
    jitted(jax.numpy.zeros(SHAPE, np.float32), delay).block_until_ready()
    return lambda x: jitted(x, delay)


def computed_batches(count, depth=2):
    """Batch k is filled with k, in memory of the pipeline: the source's array is added to a constant."""
    from headrace import fn, pipeline_def

    @pipeline_def(batch_size=SHAPE[0], num_threads=2, prefetch_queue_depth=depth)
    def pipe():
        return fn.external_source(constant_batches(count, SHAPE)) + np.float32(0)

    return pipe()


def test_a_late_reader_sees_its_own_batch(late_sum):
    count = 200
    results = [late_sum(batch["x"]) for batch in DALIGenericIterator(computed_batches(count), ["x"])]
    absolute = np.arange(count, dtype=np.float32)[:, None].repeat(2, 1)
    np.testing.assert_array_equal(np.asarray(results), absolute)


def test_control_a_late_reader_would_see_a_recycled_slot(late_sum):
    """The same consumer over a loader that reuses two slots: the test above would notice."""
    raw = np.empty(2 * SHAPE[0] * SHAPE[1] * 4 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    slots = raw[start : start + raw.size - 64].view(np.float32).reshape(2, *SHAPE)
    device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    results = []
    for k in range(100):
        slot = slots[k % 2]
        slot[...] = k
        results.append(late_sum(jax.make_array_from_callback(SHAPE, device, lambda _, slot=slot: slot)))
    absolute = np.arange(100, dtype=np.float32)[:, None].repeat(2, 1)
    assert not np.array_equal(np.asarray(results), absolute)


def test_more_batches_are_held_than_there_are_slots():
    batches = list(DALIGenericIterator(computed_batches(50), ["x"]))
    for k, batch in enumerate(batches):
        assert (np.asarray(batch["x"]) == k).all()


def test_donated_batches():
    scale = jax.jit(lambda x: 2 * x, donate_argnums=0)
    results = [scale(batch["x"]) for batch in DALIGenericIterator(computed_batches(50), ["x"])]
    for k, result in enumerate(results):
        assert (np.asarray(result) == 2 * k).all()


def test_donated_and_held_shards():
    sharding = jax.sharding.NamedSharding(
        jax.sharding.Mesh(np.array(jax.devices()), ("x",)), jax.sharding.PartitionSpec("x")
    )

    @data_iterator(output_map=["x"], size=20 * SHAPE[0], sharding=sharding)
    def rows(shard_id, num_shards):
        from headrace import fn

        return fn.external_source(constant_batches(20, (SHAPE[0] // num_shards, SHAPE[1]))) + np.float32(shard_id)

    expected = np.repeat(np.arange(4, dtype=np.float32), SHAPE[0] // 4)
    step = jax.jit(lambda x: x + 1, donate_argnums=0, out_shardings=sharding)
    held = [step(batch["x"]) for batch in rows(batch_size=SHAPE[0], num_threads=1)]
    for k, result in enumerate(held):
        np.testing.assert_array_equal(np.asarray(result)[:, 0], expected + k + 1)


def test_memory_comes_back_when_jax_drops_it():
    pipe = computed_batches(40)
    iterator = DALIGenericIterator(pipe, ["x"])
    held = [next(iterator) for _ in range(10)]
    while_held = pipe.statistics()["pool"]["in_use"]
    del held
    gc.collect()
    jax.numpy.zeros(1).block_until_ready()
    assert pipe.statistics()["pool"]["in_use"] <= while_held - 8 * 4 * SHAPE[0] * SHAPE[1]


def test_the_pool_does_not_grow_in_a_long_run():
    pipe = computed_batches(300)
    iterator = DALIGenericIterator(pipe, ["x"])
    total = 0.0
    for k, batch in enumerate(iterator):
        total += float(batch["x"][0, 0])
        if k == 20:
            early = pipe.statistics()["pool"]["system_allocations"]
    assert total == sum(range(300))
    assert pipe.statistics()["pool"]["system_allocations"] <= early + 2


def test_arrays_are_read_and_dropped_on_other_threads():
    batches = list(enumerate(DALIGenericIterator(computed_batches(60), ["x"])))
    wrong = []
    lock = threading.Lock()

    def consume():
        while True:
            with lock:
                if not batches:
                    return
                k, batch = batches.pop()
            view = np.asarray(batch["x"])
            del batch
            time.sleep(0.001)
            if not (view == k).all():
                wrong.append(k)

    threads = [threading.Thread(target=consume) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert not batches


def test_batches_outlive_the_iterator():
    iterator = DALIGenericIterator(from_source(constant_batches(3, SHAPE), SHAPE[0]), ["x"])
    batches = list(iterator)
    iterator.close()
    del iterator
    gc.collect()
    for k, batch in enumerate(batches):
        assert (np.asarray(batch["x"]) == k).all()


def test_numpy_views_of_dropped_arrays_stay_right():
    views = [np.asarray(batch["x"]) for batch in DALIGenericIterator(computed_batches(30), ["x"])]
    gc.collect()
    for k, view in enumerate(views):
        assert (view == k).all()
