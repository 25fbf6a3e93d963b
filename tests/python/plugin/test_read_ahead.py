"""Hand-over in groups, for devices with memory of their own: CPU devices stand for them here, GPUs in test_gpu.py."""

import gc
import os
import sys
import threading
import time

import numpy as np
import pytest
from pipelines import labels
from shard_stream import case_name, epoch_cases
from test_iterator_epochs import iterator_arguments, pipelines_of

jax = pytest.importorskip("jax")

from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

from headrace import fn, pipeline_def, types  # noqa: E402
from headrace.plugin.base_iterator import LastBatchPolicy  # noqa: E402
from headrace.plugin.jax import (  # noqa: E402
    DALIGenericIterator,
    data_iterator,
    packing,
    peekable_data_iterator,
    placement,
    read_ahead,
)

SHAPE = (16, 64)


@pytest.fixture(autouse=True)
def forced(monkeypatch):
    """CPU devices count as devices with memory of their own."""
    monkeypatch.setattr(read_ahead, "has_own_memory", lambda devices: True)


@pytest.fixture
def uploads(monkeypatch):
    """The sizes of the groups that were uploaded, in batches."""
    sizes = []
    take_apart = read_ahead._Chunk.take_apart

    def watched(chunk, names):
        sizes.append(len(chunk.rows))
        return take_apart(chunk, names)

    monkeypatch.setattr(read_ahead._Chunk, "take_apart", watched)
    return sizes


@pipeline_def(batch_size=SHAPE[0], num_threads=2)
def constants(file, count):
    """`count` batches; batch k is filled with k. `file` is any file."""
    rows = SHAPE[0] * count
    numbers = fn.readers.file(files=[file] * rows, labels=[k // SHAPE[0] for k in range(rows)], name="reader")[1]
    return fn.cast(numbers, dtype=types.FLOAT) + np.zeros(SHAPE[1], np.float32)


def constant_iterator(files, count, **arguments):
    pipe = constants(files[0], count, **arguments)
    return DALIGenericIterator(pipe, ["x"], reader_name="reader")


# -- the same batches as without ------------------------------------------------------------------------------------

CASES = [case for case in epoch_cases() if case["policy"] != "PARTIAL" and "epochs" in case]


@pytest.mark.parametrize("case", CASES[::5], ids=case_name)
def test_epochs_equal_dalis(case, numbered_files):
    pipes = pipelines_of(case, numbered_files)
    devices = jax.devices()[: len(pipes)]
    iterator = DALIGenericIterator(pipes, ["label"], devices=devices, **iterator_arguments(case))
    for expected in case["epochs"]:
        assert (len(iterator), iterator.size) == (expected["len"], expected["size"])
        batches = [np.asarray(b["label"]).reshape(len(pipes), case["batch"]).tolist() for b in iterator]
        assert batches == expected["batches"]


DTYPES = [types.BOOL, types.UINT8, types.UINT16, types.UINT32, types.INT8, types.INT16, types.INT32]
DTYPES += [types.FLOAT16, types.BFLOAT16, types.FLOAT]
SHAPES = {"a scalar": [], "odd": [3, 5, 1], "empty": [2, 0], "a long row": [1000]}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_types_and_shapes(shape, uploads):
    """All types in one buffer. The bytes must be those of a pipeline that hands to NumPy."""
    from headrace.plugin.numpy import DALIGenericIterator as NumpyIterator

    @pipeline_def(batch_size=3, num_threads=1, seed=5)
    def pipe():
        x = fn.random.uniform(range=[-3.0, 3.0], shape=shape)
        return tuple(fn.cast(x, dtype=dtype) for dtype in DTYPES)

    names = [dtype.name for dtype in DTYPES]
    expected = NumpyIterator(pipe(), names)
    iterator = DALIGenericIterator(pipe(), names)
    for _ in range(8):
        batch, other = next(iterator), next(expected)
        for name in names:
            got = np.asarray(batch[name])
            assert got.dtype == other[name].dtype
            assert got.shape == other[name].shape
            assert got.tobytes() == np.ascontiguousarray(other[name]).tobytes()
    assert sum(uploads) >= 7


def test_64_bits(uploads):
    """JAX narrows them by value, so they are left alone, unless it is told to keep them."""

    @pipeline_def(batch_size=2, num_threads=1)
    def pipe():
        return fn.constant(idata=[-7], dtype=types.INT64, shape=[1]) + fn.constant(idata=[0], dtype=types.INT64)

    iterator = DALIGenericIterator(pipe(), ["x"])
    assert [next(iterator)["x"].ravel().tolist() for _ in range(6)] == [[-7, -7]] * 6
    assert not uploads
    jax.config.update("jax_enable_x64", True)
    try:
        iterator = DALIGenericIterator(pipe(), ["x"])
        arrays = [next(iterator)["x"] for _ in range(6)]
        assert {array.dtype for array in arrays} == {np.dtype(np.int64)}
        assert [array.ravel().tolist() for array in arrays] == [[-7, -7]] * 6
        assert uploads
    finally:
        jax.config.update("jax_enable_x64", False)


@pipeline_def
def growing(files, ragged_from=None):
    """Batch k is (2, n) with n = 2, 2, 3, 3, 3, 2, ...; its rows differ in length from `ragged_from` on."""
    lengths = [n for n in (2, 2, 3, 3, 3, 2, 2, 2, 2, 5) for _ in range(2)]
    if ragged_from is not None:
        lengths[2 * ragged_from + 1] += 1
    n = fn.readers.file(files=[files[0]] * len(lengths), labels=lengths, name="reader")[1]
    return fn.random.uniform(shape=n)


def test_shapes_that_change():
    iterator = DALIGenericIterator(growing([__file__], batch_size=2, num_threads=1), ["x"], reader_name="reader")
    assert [batch["x"].shape[1] for batch in iterator] == [2, 2, 3, 3, 3, 2, 2, 2, 2, 5]
    assert [batch["x"].shape[1] for batch in iterator] == [2, 2, 3, 3, 3, 2, 2, 2, 2, 5]


def test_a_ragged_batch_is_an_error_where_it_belongs():
    iterator = DALIGenericIterator(
        growing([__file__], ragged_from=4, batch_size=2, num_threads=1), ["x"], reader_name="reader"
    )
    assert [next(iterator)["x"].shape[1] for _ in range(4)] == [2, 2, 3, 3]
    with pytest.raises(RuntimeError, match="output 'x'"):
        next(iterator)
    assert [batch["x"].shape[1] for batch in iterator] == [2, 2, 2, 2, 5]


@pytest.fixture
def damaged(numbered_files, tmp_path):
    """20 files of one byte; numbers 7 and 12 have two, which reshape refuses."""
    names = list(numbered_files)
    for number in (7, 12):
        names[number] = str(tmp_path / f"{number}.bin")
        with open(names[number], "wb") as file:
            file.write(b"ab")
    return names


@pipeline_def
def one_byte(files):
    return fn.reshape(fn.readers.file(files=files, name="reader")[0], shape=[1])


def test_errors_come_where_they_belong(damaged):
    iterator = DALIGenericIterator(one_byte(damaged, batch_size=1, num_threads=2), ["x"], reader_name="reader")
    for _ in range(2):
        seen = []
        while len(seen) < 20:
            try:
                seen.append(int(next(iterator)["x"][0, 0]))
            except RuntimeError as error:
                assert "reshape" in str(error)
                seen.append(None)
        assert seen == [None if k in (7, 12) else k for k in range(20)]
        with pytest.raises(StopIteration):
            next(iterator)
        iterator.reset()


@pytest.mark.parametrize("policy", ["skip", "zero"])
def test_masks_of_bad_rows(damaged, policy):
    pipe = one_byte(damaged, batch_size=2, num_threads=2, on_error=policy)
    batches = list(DALIGenericIterator(pipe, ["x"], reader_name="reader"))
    mask = np.concatenate([np.asarray(batch["mask"]) for batch in batches])
    x = np.concatenate([np.asarray(batch["x"])[:, 0] for batch in batches])
    assert np.flatnonzero(~mask).tolist() == [7, 12]
    assert x[mask].tolist() == [k for k in range(20) if k not in (7, 12)]


def test_declared_outputs_are_checked(numbered_files):
    pipe = labels(numbered_files, batch_size=2, num_threads=1, output_dtype=types.FLOAT)
    iterator = DALIGenericIterator(pipe, ["x"], reader_name="reader")
    for _ in range(10):
        with pytest.raises(RuntimeError, match="Expected: DALIDataType.FLOAT"):
            next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)


def test_exact_epochs_and_peeking(numbered_files):
    @peekable_data_iterator(output_map=["x"], reader_name="reader", exact_epochs=True)
    def rows():
        return fn.readers.file(files=numbered_files[:11], name="reader", random_shuffle=True)[1]

    iterator = rows(batch_size=3, num_threads=1)
    for _ in range(4):
        seen = []
        for batch in iterator:
            assert iterator.is_nonpadding.tolist() == batch["mask"].tolist()
            seen += np.asarray(batch["x"])[np.asarray(batch["mask"]), 0].tolist()
        assert sorted(seen) == list(range(11))


# -- state ----------------------------------------------------------------------------------------------------------

KINDS = {
    "fill": ({}, {}),
    "drop": ({}, {"last_batch_policy": LastBatchPolicy.DROP}),
    "exact, shuffled": ({"random_shuffle": True}, {"exact_epochs": True}),
    "shuffled anew": ({"shuffle_after_epoch": True}, {"auto_reset": True}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ahead", [(True, True), (True, False), (False, True)], ids=str)
def test_resume_at_every_step(numbered_files, kind, ahead, monkeypatch):
    """Checkpoints count batches handed out; an iterator that reads ahead and one that doesn't take each other's."""
    reader, arguments = KINDS[kind]

    def make(is_ahead, checkpoints=None):
        monkeypatch.setattr(read_ahead, "has_own_memory", lambda devices: is_ahead)
        pipes = [
            labels(numbered_files[:11], k, 2, reader, batch_size=3, num_threads=1, seed=4, enable_checkpointing=True)
            for k in range(2)
        ]
        devices = jax.devices()[:2]
        return DALIGenericIterator(
            pipes, ["x"], reader_name="reader", devices=devices, checkpoints=checkpoints, **arguments
        )

    def steps(iterator, count):
        taken = []
        while len(taken) < count:
            try:
                taken.append(np.asarray(next(iterator)["x"]).ravel().tolist())
            except StopIteration:
                taken.append(None)
                iterator.reset()
        return taken

    whole = steps(make(False), 13)
    for step in range(13):
        first = make(ahead[0])
        assert steps(first, step) == whole[:step]
        state = first.checkpoints()
        assert steps(first, 2) == (whole + steps(make(False), 15)[13:])[step : step + 2]  # it goes on itself
        assert steps(make(ahead[1], state), 13 - step) == whole[step:]


def test_the_groups_grow_and_uploads_are_few(numbered_files, uploads):
    for k, batch in enumerate(constant_iterator(numbered_files, 100)):
        assert (np.asarray(batch["x"]) == k).all()
    assert uploads == [2, 4, 8, 16, 32, 32, 32][: len(uploads)]
    assert sum(uploads) >= 99


def test_the_step_is_compiled_once(numbered_files):
    step = jax.jit(lambda total, x: total + x.sum())
    total = jax.numpy.zeros(())
    for batch in constant_iterator(numbered_files, 60):
        total = step(jax.device_put(total, jax.devices()[0]), batch["x"])
    assert float(total) == sum(range(60)) * SHAPE[0] * SHAPE[1]
    assert step._cache_size() == 1


def test_large_batches_go_alone(numbered_files, uploads, monkeypatch):
    monkeypatch.setattr(read_ahead, "_MOST_BYTES", 2 * SHAPE[0] * SHAPE[1] * 4 - 1)
    assert [int(batch["x"][0, 0]) for batch in constant_iterator(numbered_files, 20)] == list(range(20))
    assert not uploads


def test_memory_limit_bounds_the_groups(numbered_files, uploads):
    one = SHAPE[0] * SHAPE[1] * 4
    iterator = constant_iterator(numbered_files, 80, memory_limit=80 * one)
    assert [int(batch["x"][0, 0]) for batch in iterator] == list(range(80))
    assert max(uploads) == 8


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["take_apart", "upload"])
def test_a_transfer_that_fails_loses_no_batch(numbered_files, monkeypatch, error, where):
    """A device that is out of memory for a moment, or Ctrl-C: the next call tries again."""
    files = (numbered_files * 6)[:48]
    calls = {"count": 0}
    target, name = (read_ahead._Chunk, "take_apart") if where == "take_apart" else (jax, "device_put")
    whole = getattr(target, name)

    def failing(*arguments, **options):
        calls["count"] += 1
        if calls["count"] in (3, 5):
            raise error("no room")
        return whole(*arguments, **options)

    def epochs(count):
        pipe = labels(files, batch_size=2, num_threads=1, enable_checkpointing=True)
        iterator = DALIGenericIterator([pipe], ["label"], reader_name="reader")
        taken, failures = [], 0
        while len(taken) < count * 24:
            try:
                for batch in iterator:
                    taken.append(np.asarray(batch["label"]).ravel().tolist())
            except error:
                failures += 1
                iterator.checkpoints()
        return taken, failures

    expected, _ = epochs(2)
    if where == "upload" and error is KeyboardInterrupt:
        return  # that thread gets no signals
    monkeypatch.setattr(target, name, failing)
    taken, failures = epochs(2)
    assert taken == expected
    assert failures == 2


def test_without_room_for_a_group_batches_go_alone(numbered_files, uploads, monkeypatch):
    def no_room(group, chunk):
        return []

    monkeypatch.setattr(read_ahead, "_make_buffers", no_room)
    assert [int(batch["x"][0, 0]) for batch in constant_iterator(numbered_files, 20)] == list(range(20))
    assert not uploads


def test_sources_and_functions_of_the_program_are_not_called_earlier(monkeypatch):
    def calls_after(count, ahead):
        calls = []

        @pipeline_def(batch_size=2, num_threads=1)
        def sourced():
            return fn.external_source(lambda k: calls.append(k) or np.zeros((2, 3), np.float32))

        @pipeline_def(batch_size=2, num_threads=1)
        def with_function():
            x = fn.random.uniform(shape=[3])
            return fn.python_function(x, function=lambda x: calls.append(0) or x)

        monkeypatch.setattr(read_ahead, "has_own_memory", lambda devices: ahead)
        totals = []
        for pipe in (sourced(), with_function()):
            iterator = DALIGenericIterator(pipe, ["x"])
            calls.clear()
            for _ in range(count):
                next(iterator)
            iterator.close()
            totals.append(len(calls))
        return totals

    sourced, called = calls_after(9, True)
    assert sourced == calls_after(9, False)[0]
    assert called <= 2 * (9 + 3)  # one call for each sample of the batches taken and prefetched


# -- devices --------------------------------------------------------------------------------------------------------


def mesh(*shape, order=(0, 1, 2, 3)):
    devices = np.array([jax.devices()[k] for k in order], dtype=object)
    return Mesh(devices[: int(np.prod(shape))].reshape(shape), ("x", "y")[: len(shape)])


def read_rows(sharding, names=("x",)):
    """Global batches of 8 rows of 4 numbers: row r of batch k has 100 r + k in all its columns."""

    @data_iterator(output_map=list(names), sharding=sharding, size=8 * 40)
    def rows(shard_id, num_shards):
        share = 8 // num_shards
        numbers = [100 * (shard_id * share + r) + k for k in range(40) for r in range(share)]
        number = fn.readers.file(files=[__file__] * len(numbers), labels=numbers)[1]
        output = number + np.zeros(4, np.int32)
        return (output, fn.cast(output, dtype=types.UINT16))[: len(names)]

    return rows(batch_size=8, num_threads=1)


MESHES = {
    "rows": (lambda: NamedSharding(mesh(4), PartitionSpec("x")), True),
    "backwards": (lambda: NamedSharding(mesh(4, order=(3, 1, 2, 0)), PartitionSpec("x")), True),
    "two devices": (lambda: NamedSharding(mesh(2, order=(3, 1, 0, 2)), PartitionSpec("x")), True),
    "copies of rows": (lambda: NamedSharding(mesh(2, 2), PartitionSpec("x")), True),
    "copies": (lambda: NamedSharding(mesh(4), PartitionSpec()), True),
    "columns": (lambda: NamedSharding(mesh(2, 2), PartitionSpec("x", "y")), False),
    "one device": (lambda: jax.sharding.SingleDeviceSharding(jax.devices()[2]), True),
}


@pytest.mark.parametrize("name", MESHES)
def test_meshes(name, uploads):
    sharding, packs = MESHES[name][0](), MESHES[name][1]
    seen = 0
    for k, batch in enumerate(read_rows(sharding, ("x", "y"))):
        expected = (100 * np.arange(8) + k)[:, None].repeat(4, 1)
        for array, dtype in zip(batch.values(), (np.int32, np.uint16), strict=True):
            assert array.sharding.is_equivalent_to(sharding, 2)
            assert (array.shape, array.dtype) == ((8, 4), dtype)
            reference = jax.device_put(expected.astype(dtype), sharding)
            for shard, other in zip(array.addressable_shards, reference.addressable_shards, strict=True):
                assert (shard.device, shard.index) == (other.device, other.index)
                np.testing.assert_array_equal(np.asarray(shard.data), np.asarray(other.data))
        seen += 1
    assert seen == 40
    assert bool(uploads) == packs


def test_outputs_that_lie_differently_go_alone(uploads):
    shardings = {
        "x": NamedSharding(mesh(2, 2), PartitionSpec("x")),
        "y": NamedSharding(mesh(2, 2), PartitionSpec(("x", "y"))),
    }
    for k, batch in enumerate(read_rows(shardings, ("x", "y"))):
        for name, array in batch.items():
            assert array.sharding == shardings[name]
            assert np.asarray(array)[:, 1].tolist() == (100 * np.arange(8) + k).tolist()
    assert not uploads


@pytest.mark.parametrize("device_id", [None, 0, 3])
def test_the_pipelines_device(numbered_files, device_id):
    pipe = labels(numbered_files, batch_size=1, num_threads=1, device_id=device_id)
    iterator = DALIGenericIterator(pipe, ["x"], reader_name="reader", pmap_compatible=device_id == 3)
    for k, batch in enumerate(iterator):
        assert batch["x"].devices() == {jax.devices()[device_id or 0]}
        assert batch["x"].shape == ((1, 1, 1) if device_id == 3 else (1, 1))
        assert int(batch["x"].ravel()[0]) == k


def test_pmap_takes_them(numbered_files):
    devices = [jax.devices()[k] for k in (2, 0, 3, 1)]
    pipes = [labels(numbered_files, k, 4, batch_size=1, num_threads=1) for k in range(4)]
    iterator = DALIGenericIterator(pipes, ["x"], reader_name="reader", devices=devices)
    double = jax.pmap(lambda x: 2 * x, devices=devices)
    for k, batch in enumerate(iterator):
        assert batch["x"].sharding == placement.pmap_sharding(devices, 3)
        assert np.asarray(double(batch["x"])).ravel().tolist() == [2 * k, 10 + 2 * k, 20 + 2 * k, 30 + 2 * k]
        assert np.asarray(batch["x"]).ravel().tolist() == [k, 5 + k, 10 + k, 15 + k]


# -- memory: who holds what, and until when -------------------------------------------------------------------------


@pytest.fixture
def late_split(monkeypatch):
    """The computation that takes a group apart is busy for a while before it reads the buffer."""
    original = packing._splitter

    def splitter(form, leading_axis):
        split = original(form, leading_axis)

        def late(words):
            delay = jax.numpy.eye(300) * words[0].astype(jax.numpy.float32) * 0
            busy = jax.lax.fori_loop(0, 20, lambda _, m: m @ (m + 1), delay)
            return split(words + busy[0, 0].astype(words.dtype))

        return jax.jit(late)

    monkeypatch.setattr(packing, "_splitter", splitter)


def late_values(files, count=60):
    return [np.asarray(batch["x"]) for batch in list(constant_iterator(files, count))]


def test_a_buffer_is_not_used_again_before_it_was_read(numbered_files, late_split):
    assert [set(values.ravel().tolist()) for values in late_values(numbered_files)] == [{float(k)} for k in range(60)]


def test_control_a_recycled_buffer_would_be_noticed(numbered_files, late_split, monkeypatch):
    """The same with one buffer for all groups: the test above would notice."""
    shared = np.empty((1 << 20) + 64, np.uint8)
    start = -shared.ctypes.data % 64

    def recycled(group, chunk):
        chunk.buffers.append(shared[start : start + chunk.packing.nbytes])
        return [chunk.packing.views(buffer) for buffer in chunk.buffers]

    monkeypatch.setattr(read_ahead, "_make_buffers", recycled)
    assert [set(values.ravel().tolist()) for values in late_values(numbered_files)] != [{float(k)} for k in range(60)]


def test_held_and_donated_batches(numbered_files):
    held = list(constant_iterator(numbered_files, 80))
    double = jax.jit(lambda x: 2 * x, donate_argnums=0)
    doubled = [double(batch["x"]) for batch in constant_iterator(numbered_files, 80)]
    for k in range(80):
        assert (np.asarray(held[k]["x"]) == k).all()
        assert (np.asarray(doubled[k]) == 2 * k).all()


def test_held_batches_hold_none_of_the_pipelines_memory(numbered_files):
    pipe = constants(numbered_files[0], 200)
    iterator = DALIGenericIterator(pipe, ["x"], reader_name="reader")
    held = [next(iterator) for _ in range(150)]
    jax.block_until_ready(held)
    gc.collect()
    one = SHAPE[0] * SHAPE[1] * 4
    assert pipe.statistics()["pool"]["in_use"] < (2 * 32 + 8) * one * 1.3  # two groups and what is prefetched
    assert (np.asarray(held[149]["x"]) == 149).all()


def test_the_pool_does_not_grow_in_a_long_run(numbered_files):
    pipe = constants(numbered_files[0], 900)
    allocations = []
    for k, batch in enumerate(DALIGenericIterator(pipe, ["x"], reader_name="reader")):
        batch["x"].block_until_ready()
        if k in (300, 899):
            allocations.append(pipe.statistics()["pool"]["system_allocations"])
    assert allocations[1] <= allocations[0] + 4


# -- the thread -----------------------------------------------------------------------------------------------------


def reading_threads():
    return [thread for thread in threading.enumerate() if thread.name == "headrace-ahead"]


def wait_for_no_threads():
    deadline = time.monotonic() + 20
    while reading_threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not reading_threads()


def test_the_thread_ends_with_the_iterator(numbered_files):
    iterator = constant_iterator(numbered_files, 100)
    for _ in range(5):
        batch = next(iterator)
    assert len(reading_threads()) == 1
    iterator.close()
    assert wait_for_no_threads()
    for _ in range(40):
        with pytest.raises(RuntimeError, match="closed"):
            next(iterator)
    assert (np.asarray(batch["x"]) == 4).all()


def test_an_iterator_that_is_dropped_goes_away(numbered_files):
    pipe = constants(numbered_files[0], 100)
    iterator = DALIGenericIterator(pipe, ["x"], reader_name="reader")
    for _ in range(5):
        next(iterator)
    del iterator, pipe
    gc.collect()
    assert wait_for_no_threads()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="fork with threads")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_a_forked_child_is_told(numbered_files):
    iterator = constant_iterator(numbered_files, 100)
    for _ in range(20):
        next(iterator)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            next(iterator)
        except RuntimeError as error:
            code = 0 if "forked" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (np.asarray(next(iterator)["x"]) == 20).all()
