"""What needs a GPU: run by `pytest -m gpu`, on a GPU machine by tools/gpu_run.

HEADRACE_REHEARSE=1 runs the same on CPU devices that are taken for devices with memory of their own.
"""

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from processes import free_port, run_together

jax = pytest.importorskip("jax")

from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

from headrace import fn, pipeline_def, types  # noqa: E402
from headrace.plugin.jax import DALIGenericIterator, data_iterator, read_ahead  # noqa: E402
from headrace.plugin.jax.fn import jax_function  # noqa: E402

pytestmark = pytest.mark.gpu

FOLDER = Path(__file__).parent
PACKAGE = Path(__file__).resolve().parents[3] / "python"
REHEARSAL = os.environ.get("HEADRACE_REHEARSE") == "1"
SHAPE = (64, 512)


@pytest.fixture(autouse=True)
def devices(monkeypatch):
    """The local GPUs."""
    if REHEARSAL:
        monkeypatch.setattr(read_ahead, "has_own_memory", lambda devices: True)
        return jax.devices()
    return jax.devices("gpu")


@pipeline_def(num_threads=4)
def constants(count, shape=SHAPE):
    """`count` batches an epoch; batch k is filled with k."""
    rows = shape[0] * count
    numbers = fn.readers.file(files=[__file__] * rows, labels=[k // shape[0] for k in range(rows)], name="reader")[1]
    return fn.cast(numbers, dtype=types.FLOAT) + np.zeros(shape[1], np.float32)


def constant_iterator(count, shape=SHAPE, depth=2):
    pipe = constants(count, shape, batch_size=shape[0], prefetch_queue_depth=depth)
    return DALIGenericIterator(pipe, ["x"], reader_name="reader", auto_reset=True)


def late_extremes():
    """A jitted function that is busy for some milliseconds before it reads a batch: its least and largest value."""

    def program(x, delay):
        busy = jax.lax.fori_loop(0, 4 if REHEARSAL else 10, lambda _, m: m @ delay, delay)
        late = x + 0 * busy[0, 0]
        return jax.numpy.stack([late.min(), late.max()])

    jitted = jax.jit(program)
    delay = jax.numpy.eye(256 if REHEARSAL else 2048)
    return lambda x: jitted(x, delay)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_late_reader_sees_its_own_batch(depth):
    """Never waited for, dropped at once, compared with the number of the batch itself."""
    count = 200 if REHEARSAL else 2000
    late = late_extremes()
    results = [late(batch["x"]) for batch in constant_iterator(count, depth=depth)]
    np.testing.assert_array_equal(np.asarray(results), np.arange(count, dtype=np.float32)[:, None].repeat(2, 1))


def test_control_a_buffer_that_is_written_too_early_would_be_noticed(monkeypatch):
    """As if the next group were packed into a buffer that isn't uploaded yet."""
    upload = read_ahead._Chunk.upload

    def late(chunk):
        for buffer in chunk.buffers:
            buffer[: chunk.packing.nbytes // 2] = 0
        upload(chunk)

    monkeypatch.setattr(read_ahead._Chunk, "upload", late)
    extremes = jax.jit(lambda x: jax.numpy.stack([x.min(), x.max()]))
    results = [extremes(batch["x"]) for batch in constant_iterator(200, (64, 4096))]
    expected = np.arange(200, dtype=np.float32)[:, None].repeat(2, 1)
    assert not np.array_equal(np.asarray(results), expected)


def test_held_and_donated_batches():
    double = jax.jit(lambda x: 2 * x, donate_argnums=0)
    held = [batch["x"] for batch in constant_iterator(200)]
    doubled = [double(batch["x"]) for batch in constant_iterator(200)]
    for k in range(200):
        assert (np.asarray(held[k]) == k).all()
        assert (np.asarray(doubled[k]) == 2 * k).all()


def test_large_batches(devices):
    """33 MB each: they go one by one."""
    late = late_extremes()
    shape = (64, 1 << 17)
    results = [late(batch["x"]) for batch in constant_iterator(12, shape)]
    np.testing.assert_array_equal(np.asarray(results), np.arange(12, dtype=np.float32)[:, None].repeat(2, 1))


DTYPES = [types.BOOL, types.UINT8, types.UINT16, types.UINT32, types.INT8, types.INT16, types.INT32]
DTYPES += [types.FLOAT16, types.BFLOAT16, types.FLOAT]


@pytest.mark.parametrize("shape", [[], [3, 5, 1], [2, 0], [1000]], ids=str)
def test_types_and_shapes(shape, devices):
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
            assert batch[name].devices() == {devices[0]}
            got = np.asarray(batch[name])
            assert (got.dtype, got.shape) == (other[name].dtype, other[name].shape)
            assert got.tobytes() == np.ascontiguousarray(other[name]).tobytes()


def test_each_pipelines_batch_lands_on_its_device(devices):
    for device_id, device in enumerate(devices):
        pipe = constants(20, batch_size=SHAPE[0], device_id=device_id)
        for k, batch in enumerate(DALIGenericIterator(pipe, ["x"], reader_name="reader")):
            assert batch["x"].devices() == {device}
            assert (np.asarray(batch["x"]) == k).all()


@pytest.mark.parametrize("layout", ["pmap", "rows", "copies"])
def test_all_devices(devices, layout):
    rows = 4 * len(devices)
    cut = PartitionSpec("x") if layout == "rows" else PartitionSpec()
    sharding = NamedSharding(Mesh(np.array(devices, dtype=object), "x"), cut)
    how = {"devices": devices} if layout == "pmap" else {"sharding": sharding}

    @data_iterator(output_map=["x"], size=40 * rows, **how)
    def numbers(shard_id, num_shards):
        share = rows // num_shards
        values = [1000 * (shard_id * share + r) + k for k in range(40) for r in range(share)]
        return fn.readers.file(files=[__file__] * len(values), labels=values)[1]

    for k, batch in enumerate(numbers(batch_size=rows, num_threads=1)):
        assert batch["x"].devices() == set(devices)
        assert np.asarray(batch["x"]).ravel().tolist() == [1000 * r + k for r in range(rows)]
        if layout != "pmap":
            assert batch["x"].sharding.is_equivalent_to(sharding, 2)


def test_groups_for_scan(devices):
    @data_iterator(output_map=["x"], group=8, reader_name="reader")
    def batches():
        numbers = fn.readers.file(files=[__file__] * 120, labels=list(range(120)), name="reader")[1]
        return fn.cast(numbers, dtype=types.FLOAT)

    @jax.jit
    def sums(total, stack):
        return jax.lax.scan(lambda total, batch: (total + batch["x"].sum(), batch["x"].sum()), total, stack)

    total, each = jax.numpy.zeros(()), []
    for stack in batches(batch_size=4, num_threads=1):
        assert stack["x"].devices() == {devices[0]}
        total, some = sums(total, stack)
        each += np.asarray(some).tolist()
    assert each == [16 * k + 6 for k in range(30)]
    assert float(total) == sum(range(120))


def test_the_step_is_compiled_once():
    step = jax.jit(lambda total, x: total + x.sum())
    total = jax.device_put(jax.numpy.zeros(()), jax.devices()[0])
    for batch in constant_iterator(60):
        total = step(total, batch["x"])
    assert step._cache_size() == 1


def test_the_pool_does_not_grow_in_a_long_run():
    pipe = constants(900, batch_size=SHAPE[0])
    allocations = []
    for k, batch in enumerate(DALIGenericIterator(pipe, ["x"], reader_name="reader")):
        batch["x"].block_until_ready()
        if k in (300, 899):
            allocations.append(pipe.statistics()["pool"]["system_allocations"])
    assert allocations[1] <= allocations[0] + 4


def test_host_memory_comes_back():
    pipe = constants(200, batch_size=SHAPE[0])
    iterator = DALIGenericIterator(pipe, ["x"], reader_name="reader")
    held = [next(iterator) for _ in range(150)]
    jax.block_until_ready(held)
    gc.collect()
    assert pipe.statistics()["pool"]["in_use"] < (2 * 32 + 8) * 4 * SHAPE[0] * SHAPE[1] * 1.3


def test_jax_functions_run_on_the_device(devices):
    seen = []

    @jax_function
    def doubled(x):
        seen.append(x.devices())
        return 2 * x

    @pipeline_def(batch_size=4, num_threads=2, device_id=0)
    def pipe():
        numbers = fn.readers.file(files=[__file__] * 40, labels=list(range(40)), name="reader")[1]
        return doubled(numbers.gpu())

    for k, batch in enumerate(DALIGenericIterator(pipe(), ["x"], reader_name="reader")):
        assert batch["x"].devices() == {devices[0]}
        assert np.asarray(batch["x"]).ravel().tolist() == [2 * (4 * k + r) for r in range(4)]
    assert seen
    assert all(where == {devices[0]} for where in seen)


def test_jax_functions_over_all_devices(devices):
    sharding = NamedSharding(Mesh(np.array(devices, dtype=object), "x"), PartitionSpec("x"))
    rows = 2 * len(devices)

    @jax_function(sharding=sharding)
    @jax.jit
    def less_mean(x):
        return x - x.mean()

    @data_iterator(output_map=["x"], size=10 * rows, sharding=sharding)
    def batches(shard_id, num_shards):
        share = rows // num_shards
        values = [100 * (shard_id * share + r) + k for k in range(10) for r in range(share)]
        numbers = fn.readers.file(files=[__file__] * len(values), labels=values)[1]
        return less_mean(fn.cast(numbers, dtype=types.FLOAT))

    for batch in batches(batch_size=rows, num_threads=1):
        expected = 100.0 * np.arange(rows) - 50 * (rows - 1)
        np.testing.assert_allclose(np.asarray(batch["x"]).ravel(), expected, rtol=1e-6)


def test_global_mixup_in_one_process(tmp_path, devices):
    """The second program in one process over its GPUs; the oracle is that of the CPU's tests."""
    from test_global_mixup import BATCH, FILES, cropped, mixed

    whole = np.stack([cropped(path) for path in FILES]).astype(np.float32)
    run_together([[FOLDER / "mixup_program.py", 0, 1, 1, free_port(), tmp_path, "mean,shuffle"]], seconds=200)
    count = 1 if REHEARSAL else len(devices)
    for variant in ("mean", "shuffle"):
        result = dict(np.load(tmp_path / f"{variant}.0.npz"))
        assert len(result) == 3 * 2 * count
        for name, data in result.items():
            _, key, _, first, stop = name.split(" ")
            assert int(stop) - int(first) == BATCH // count
            if key == "images":
                assert np.abs(data - mixed(whole, variant, count)[int(first) : int(stop)]).max() <= 1


ENDS = {
    "between batches": "held = [next(iterator) for _ in range(40)]",
    "while a step is running": "step = jax.jit(lambda x: jax.lax.fori_loop(0, 20000, lambda _, y: y * 1.0001, x)); "
    "held = [step(next(iterator)['x']) for _ in range(40)]",
    "in a cycle": "held = next(iterator); held['iterator'] = iterator; iterator.me = iterator",
}


@pytest.mark.parametrize("name", ENDS)
def test_a_program_ends_quietly(name):
    program = f"""
import sys
sys.path.insert(0, {str(FOLDER)!r})
import jax
import test_gpu
iterator = test_gpu.constant_iterator(1000)
{ENDS[name]}
print("READY")
"""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment)
    assert (done.returncode, done.stdout) == (0, "READY\n"), done.stderr
    assert "terminate" not in done.stderr
    assert "Traceback" not in done.stderr


# -- PyTorch --------------------------------------------------------------------------------------------------------


@pytest.fixture
def torch():
    module = pytest.importorskip("torch")
    if REHEARSAL:
        pytest.skip("there is no rehearsal for CUDA tensors")
    assert module.cuda.is_available()
    return module


def test_torch_tensors_on_cuda(torch):
    from headrace.plugin.pytorch import DALIGenericIterator as TorchIterator

    @pipeline_def(batch_size=4, num_threads=2, device_id=0)
    def pipe():
        numbers = fn.readers.file(files=[__file__] * 400, labels=list(range(400)), name="reader")[1]
        return numbers, fn.cast(numbers.gpu(), dtype=types.FLOAT) + np.zeros(4096, np.float32)

    delay = torch.eye(2048, device="cuda")
    sums = []
    for batch in TorchIterator(pipe(), ["host", "device"], reader_name="reader"):
        assert batch[0]["host"].device.type == "cpu"
        assert batch[0]["device"].device == torch.device("cuda", 0)
        for _ in range(5):
            delay = delay @ delay
        sums.append((batch[0]["device"] + 0 * delay[0, 0]).amax(1))  # late, and never waited for
    assert torch.stack(sums).flatten().tolist() == list(range(400))


def test_feed_ndarray_to_cuda(torch):
    from headrace.plugin.pytorch import feed_ndarray

    pipe = constants(3, batch_size=SHAPE[0])
    for k in range(3):
        target = torch.full(SHAPE, -1.0, device="cuda")
        feed_ndarray(pipe.run()[0], target)
        assert (target == k).all()
