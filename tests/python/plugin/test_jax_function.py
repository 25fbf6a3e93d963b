"""jax_function in one process with four CPU devices: against NumPy, and what holds over several devices."""

import threading
import time

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

from headrace import fn, pipeline_def, types  # noqa: E402
from headrace.plugin.jax import DALIGenericIterator, data_iterator, peekable_data_iterator  # noqa: E402
from headrace.plugin.jax.fn import jax_function  # noqa: E402

BATCH = 4


def images(k):
    return np.arange(BATCH * 6, dtype=np.float32).reshape(BATCH, 2, 3) + 100 * k


def pipeline(define, depth=2, source=images, **arguments):
    @pipeline_def(batch_size=BATCH, num_threads=2, prefetch_queue_depth=depth, **arguments)
    def pipe():
        return define(fn.external_source(source, layout="HW"))

    return pipe()


# name -> (function, number of outputs, oracle), all for (x, y)
FUNCTIONS = {
    "flip": (lambda x, y: x[:, :, ::-1], 1, lambda x, y: [x[:, :, ::-1]]),
    "jitted": (jax.jit(lambda x, y: 2 * x + y), 1, lambda x, y: [2 * x + y]),
    "vmapped": (jax.vmap(lambda x, y: x @ y.T), 1, lambda x, y: [np.einsum("bij,bkj->bik", x, y)]),
    "over the batch": (lambda x, y: x - x.mean(0), 1, lambda x, y: [x - x.mean(0)]),
    "other rank": (lambda x, y: x.sum((1, 2)), 1, lambda x, y: [x.sum((1, 2))]),
    "two outputs": (lambda x, y: (x + 1, y.astype(jnp.int32)), 2, lambda x, y: [x + 1, y.astype(np.int32)]),
    "a list of outputs": (lambda x, y: [x, y], 2, lambda x, y: [x, y]),
    "a tuple of one": (lambda x, y: (x,), 1, lambda x, y: [x]),
    "its input": (lambda x, y: y, 1, lambda x, y: [y]),
    "bool": (lambda x, y: x > 8, 1, lambda x, y: [x > 8]),
    "bfloat16": (lambda x, y: x.astype(jnp.bfloat16), 1, lambda x, y: [x]),
    "no samples' elements": (lambda x, y: x[:, :0], 1, lambda x, y: [x[:, :0]]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("sharding", [None, "one device", "four devices"])
def test_functions(name, sharding):
    function, count, oracle = FUNCTIONS[name]
    chosen = {
        None: None,
        "one device": SingleDeviceSharding(jax.devices()[2]),
        "four devices": NamedSharding(Mesh(jax.devices()[:4], "x"), P()),
    }[sharding]
    operator = jax_function(function, num_outputs=count, sharding=chosen)

    def define(x):
        outputs = operator(x, x * np.float32(2))
        return tuple(outputs) if count > 1 else outputs

    pipe = pipeline(define)
    for k in range(3):
        outputs = pipe.run()
        for got, expected in zip(outputs, oracle(images(k), 2 * images(k)), strict=True):
            array = got.as_array()
            assert array.shape == expected.shape
            rtol = 1e-2 if name == "bfloat16" else 1e-6
            np.testing.assert_allclose(np.asarray(array, np.float64), expected, rtol=rtol)


def test_numpy_results():
    """Of functions over one device, and never the same memory twice; over several devices they are refused."""
    buffer = np.zeros((BATCH, 2, 3), np.float32)

    def function(x):
        buffer[...] = 3 * x
        return buffer

    pipe = pipeline(lambda x: jax_function(function)(x))
    held = [pipe.run()[0] for _ in range(3)]
    for k, batch in enumerate(held):
        np.testing.assert_array_equal(batch.as_array(), 3 * images(k))
    sharding = NamedSharding(Mesh(jax.devices()[:2], "x"), P())
    with pytest.raises(RuntimeError, match="output 0 of the function: expected a jax.Array, got ndarray"):
        pipeline(lambda x: jax_function(function, sharding=sharding)(x)).run()


def test_as_decorator_with_and_without_arguments():
    @jax_function
    @jax.jit
    def doubled(x):
        """Doubles."""
        return 2 * x

    @jax_function(num_outputs=2, output_layouts=["AB", "CD"])
    def both(x):
        return x, x

    assert (doubled.__name__, doubled.__doc__) == ("doubled", "Doubles.")
    outputs = pipeline(lambda x: (doubled(x), *both(x))).run()
    np.testing.assert_array_equal(outputs[0].as_array(), 2 * images(0))
    assert [output.layout() for output in outputs] == ["HW", "AB", "CD"]


LAYOUTS = {
    "kept": (lambda x, y: (x, y), None, ["HW", "A"]),
    "by number": (lambda x, y: (y, x), None, ["", ""]),
    "ranks change": (lambda x, y: (x[:, 0], y[:, None]), None, ["", ""]),
    "one for all": (lambda x, y: (x, x), "CD", ["CD", "CD"]),
    "a list": (lambda x, y: (x, x), ["CD"], ["CD", ""]),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name):
    function, given, expected = LAYOUTS[name]
    operator = jax_function(function, num_outputs=2, output_layouts=given)

    def define(x):
        return tuple(operator(x, fn.external_source(lambda k: images(k)[:, 0], layout="A")))

    assert [output.layout() for output in pipeline(define).run()] == expected


def test_inputs_are_arrays_on_the_device_of_the_pipeline():
    seen = []

    def function(x):
        seen.append((x.shape, x.dtype, x.devices()))
        return x

    pipeline(lambda x: jax_function(function)(x), depth=1).run()
    pipeline(lambda x: jax_function(function)(x), depth=1, device_id=3).run()
    pipeline(lambda x: jax_function(function, sharding=SingleDeviceSharding(jax.devices()[1]))(x), depth=1).run()
    assert [shape for shape, _, _ in seen] == [(BATCH, 2, 3)] * 3
    assert [devices for _, _, devices in seen] == [{jax.devices()[i]} for i in (0, 3, 1)]


def test_no_copies_on_the_cpu():
    inputs, outputs = [], []

    def function(x):
        y = x + 1
        inputs.append(x.unsafe_buffer_pointer())
        outputs.append(y.unsafe_buffer_pointer())
        return y

    first = np.zeros((2048,), np.float32)

    @pipeline_def(batch_size=BATCH, num_threads=1, prefetch_queue_depth=1)
    def pipe():
        x = fn.external_source(lambda k: np.stack([first] * BATCH)) * np.float32(2)
        return x, jax_function(function)(x)

    x, y = pipe().run()
    assert (x[0].data_ptr(), y[0].data_ptr()) == (inputs[0], outputs[0])


def test_called_for_its_effect_and_when_nobody_uses_it():
    calls = {"effect": 0, "unused": 0, "removed": 0}

    def counting(name):
        def function(x=0):
            calls[name] += 1
            return x

        return function

    def define(x):
        assert jax_function(counting("effect"), num_outputs=0)(x) is None
        jax_function(counting("unused"))(x)
        jax_function(counting("removed"), preserve=False)(x)
        return x

    pipe = pipeline(define, depth=1)
    for _ in range(3):
        pipe.run()
    assert calls == {"effect": 3, "unused": 3, "removed": 0}


BAD = {
    "too many": (lambda x: (x, x), "returned 2 outputs, expected 1"),
    "none": (lambda x: None, "returned 0 outputs, expected 1"),
    "a number": (lambda x: 3, "expected a jax.Array, got int"),
    "a scalar": (lambda x: x.sum(), "expected a batch on axis 0"),
    "another batch size": (lambda x: x[:2], "has 2 rows, the"),
    "an exception": (lambda x: jnp.reshape(x, (7,)), "the function raised an exception"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("devices", [1, 4])
def test_errors(name, devices):
    function, message = BAD[name]
    sharding = NamedSharding(Mesh(jax.devices()[:devices], "x"), P())
    pipe = pipeline(lambda x: jax_function(function, sharding=sharding)(x))
    for _ in range(2):  # and the pipeline goes on
        with pytest.raises(RuntimeError, match=message) as caught:
            pipe.run()
        assert "jax_function" in str(caught.value) and "test_jax_function.py" in str(caught.value)


def test_ragged_batches_are_refused():
    def source(k):
        return [np.zeros((i + 1, 2), np.float32) for i in range(BATCH)]

    with pytest.raises(RuntimeError, match="input 0 of the function: its samples differ in shape"):
        pipeline(lambda x: jax_function(lambda x: x)(x), source=source).run()


def test_bad_arguments():
    with pytest.raises(TypeError, match="sharding: expected a jax.sharding.Sharding, got str"):
        jax_function(lambda x: x, sharding="x")
    with pytest.raises(TypeError, match="function: expected a callable, got int"):
        jax_function(3)
    with pytest.raises(ValueError, match="2 layouts for 1 outputs"):
        jax_function(lambda x: x, output_layouts=["HW", "HW"])


def test_no_serialization():
    with pytest.raises(RuntimeError, match="Could not serialize the operator: `headrace.plugin.jax.fn.jax_function`"):
        pipeline(lambda x: jax_function(lambda x: x)(x)).serialize()


@pytest.mark.parametrize("array", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_arrays_are_constants_of_the_graph(array):
    """As operands, inputs of operators, of functions on samples, on batches and over several devices, and arguments."""
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    constant = array(weights)
    joint = NamedSharding(Mesh(jax.devices()[:2], "x"), P())

    def product(x, w):
        return x * w

    def define(x):
        return (
            x * types.Constant(constant),
            fn.cat(x, constant, axis=0),
            fn.python_function(x, constant, function=product),
            jax_function(product)(x, constant),
            jax_function(product, sharding=joint)(x, constant),
            fn.reshape(x, shape=array(np.int32([3, 2]))),
        )

    pipe = pipeline(define)
    for k in range(2):
        x = images(k)
        expected = [x * weights, np.concatenate([x, np.stack([weights] * BATCH)], 1), *[x * weights] * 3]
        for got, wanted in zip(pipe.run(), [*expected, x.reshape(BATCH, 3, 2)], strict=True):
            np.testing.assert_array_equal(got.as_array(), wanted)


def test_in_a_branch():
    sizes = []

    @jax_function
    def negated(x):
        sizes.append(len(x))
        return -x

    @pipeline_def(batch_size=BATCH, num_threads=2, prefetch_queue_depth=1, enable_conditionals=True)
    def pipe():
        x = fn.external_source(images)
        if fn.external_source(lambda k: np.arange(BATCH) < k):
            x = negated(x)
        return x

    made = pipe()
    for k in range(4):
        np.testing.assert_array_equal(
            made.run()[0].as_array(), images(k) * np.where(np.arange(BATCH) < k, -1, 1)[:, None, None]
        )
    assert sizes == [1, 2, 3]


@pytest.mark.parametrize("in_a_branch", [False, True])
def test_without_sharding_in_a_group(in_a_branch):
    """Each pipeline of a group calls the function with its own rows, in a branch with those that are there."""
    sharding = NamedSharding(Mesh(jax.devices()[:4], "x"), P("x"))
    operator = jax_function(lambda x: x - x.min())

    @data_iterator(output_map=["x"], sharding=sharding)
    @pipeline_def(enable_conditionals=True)
    def read(shard_id, num_shards):
        x = fn.external_source(lambda k: rows(k, shard_id, num_shards))
        if not in_a_branch or x[0] % 2 == 1:
            x = operator(x)
        return x

    iterator = read(batch_size=8, num_threads=2)
    for k in range(3):
        shards = [rows(k, shard, 4) for shard in range(4)]
        chosen = [x % 2 == 1 if in_a_branch else x == x for x in shards]
        expected = [np.where(c, x - x[c].min(), x) for x, c in zip(shards, chosen, strict=True)]
        np.testing.assert_array_equal(np.asarray(next(iterator)["x"]), np.concatenate(expected))


def test_over_several_devices_in_a_branch_is_refused():
    operator = jax_function(lambda x: x, sharding=NamedSharding(Mesh(jax.devices()[:2], "x"), P()))

    @pipeline_def(batch_size=BATCH, num_threads=2, enable_conditionals=True)
    def pipe():
        x = fn.external_source(images)
        if fn.external_source(lambda k: np.arange(BATCH) < k):
            x = operator(x)
        return x

    with pytest.raises(RuntimeError, match="cannot be called in a branch"):
        pipe()


# -- over several devices ---------------------------------------------------------------------------------------------


def rows(k, shard_id, num_shards):
    share = 8 // num_shards
    return (100.0 * k + 10 * shard_id + np.arange(share, dtype=np.float32))[:, None]


def global_rows(k, num_shards):
    return np.concatenate([rows(k, shard, num_shards) for shard in range(num_shards)])


def iterate(function, sharding, own=None, make=data_iterator, **arguments):
    """The first batches of an iterator whose pipelines call the function; `own`: the sharding of the function."""
    operator = jax_function(function, sharding=own or (sharding if not isinstance(sharding, dict) else sharding["x"]))

    @make(output_map=["x", "y"], sharding=sharding)
    def read(shard_id, num_shards):
        x = fn.external_source(lambda k: rows(k, shard_id, num_shards))
        return x, operator(x)

    return read(batch_size=8, num_threads=2, **arguments)


DEVICES = jax.devices()[:4]
SHARDINGS = {
    "a row": (Mesh(DEVICES, "a"), P("a"), 4),
    "backwards": (Mesh(DEVICES[::-1], "a"), P("a"), 4),
    "shuffled": (Mesh([DEVICES[i] for i in (2, 0, 3, 1)], "a"), P("a"), 4),
    "a square": (Mesh(np.array(DEVICES).reshape(2, 2), ("a", "b")), P("a"), 2),
    "a square's other axis": (Mesh(np.array(DEVICES).reshape(2, 2), ("a", "b")), P("b"), 2),
    "both axes": (Mesh(np.array(DEVICES).reshape(2, 2), ("a", "b")), P(("b", "a")), 4),
    "replicated": (Mesh(DEVICES, "a"), P(), 1),
}


@pytest.mark.parametrize("name", SHARDINGS)
def test_global_arrays(name):
    mesh, spec, shards = SHARDINGS[name]
    seen = []

    def function(x):
        seen.append((x.shape, x.sharding))
        return x[::-1] + x.mean()

    iterator = iterate(function, NamedSharding(mesh, spec))
    for k in range(3):
        batch = next(iterator)
        whole = global_rows(k, shards)
        np.testing.assert_array_equal(np.asarray(batch["x"]), whole)
        np.testing.assert_allclose(np.asarray(batch["y"]), whole[::-1] + whole.mean(), rtol=1e-6)
    assert set(seen) == {((8, 1), NamedSharding(mesh, spec))}


RESULTS = {
    "replicated": P(),
    "cut like the input": P("a"),
    "cut along another axis": P(None, "a"),
    "cut along both": P("b", "a"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_may_be_cut_in_any_way(name):
    mesh = Mesh(np.array(DEVICES).reshape(2, 2), ("a", "b"))
    function = jax.jit(lambda x: jnp.tile(x, (1, 4)) + 1, out_shardings=NamedSharding(mesh, RESULTS[name]))
    iterator = iterate(function, NamedSharding(mesh, P("a")))
    for k in range(2):
        np.testing.assert_array_equal(np.asarray(next(iterator)["y"]), np.tile(global_rows(k, 2), (1, 4)) + 1)


def test_a_sharding_for_each_output():
    mesh = Mesh(np.array(DEVICES).reshape(2, 2), ("a", "b"))
    coarse, fine = NamedSharding(mesh, P("a")), NamedSharding(mesh, P(("a", "b")))
    for own in (coarse, fine):
        iterator = iterate(lambda x: x + x.sum(), {"x": coarse, "y": fine}, own)
        batch = next(iterator)
        np.testing.assert_array_equal(np.asarray(batch["y"]), global_rows(0, 4) + global_rows(0, 4).sum())
        assert (batch["x"].sharding, batch["y"].sharding) == (coarse, fine)


def test_a_sharding_that_does_not_fit_the_iterator():
    mesh = Mesh(DEVICES, "a")
    iterator = iterate(lambda x: x, NamedSharding(mesh, P()), NamedSharding(mesh, P("a")))
    with pytest.raises(RuntimeError, match="cuts the rows into 4 blocks, but the iterator's global batch has 1"):
        next(iterator)


def test_called_on_the_thread_that_asks_as_often_as_it_asks():
    calls = []
    mesh = Mesh(DEVICES, "a")

    def function(x):
        calls.append(threading.get_ident())
        return x

    iterator = iterate(function, NamedSharding(mesh, P("a")), prefetch_queue_depth=3)
    assert len(calls) == 3
    for k in range(1, 6):
        next(iterator)
        assert len(calls) == k + 2
    assert set(calls) == {threading.get_ident()}


def test_the_order_is_that_of_the_graph_whatever_is_ready_first():
    calls = []
    sharding = NamedSharding(Mesh(DEVICES[:2], "a"), P())

    def slow(x):
        time.sleep(0.02)
        return x

    def define(x):
        first = fn.python_function(x, function=slow)
        a = jax_function(lambda x: (calls.append("a"), x)[1], sharding=sharding)(first)
        b = jax_function(lambda x: (calls.append("b"), x)[1], sharding=sharding)(x)
        c = jax_function(lambda x: (calls.append("c"), x)[1], sharding=sharding)(a)
        return a, b, c

    pipe = pipeline(define)
    for _ in range(3):
        pipe.run()
    assert calls == list("abc") * 4


def test_two_threads_are_refused():
    entered, leave, errors = threading.Event(), threading.Event(), []

    def function(x):
        entered.set()
        leave.wait(10)
        return x

    pipe = pipeline(lambda x: jax_function(function, sharding=NamedSharding(Mesh(DEVICES[:2], "a"), P()))(x))

    def other():
        assert entered.wait(10)
        try:
            pipe.run()
        except RuntimeError as error:
            errors.append(str(error))
        leave.set()

    thread = threading.Thread(target=other)
    thread.start()
    np.testing.assert_array_equal(pipe.run()[0].as_array(), images(0))
    thread.join()
    assert len(errors) == 1 and "two threads ask for batches" in errors[0]
    np.testing.assert_array_equal(pipe.run()[0].as_array(), images(1))


def test_peeking():
    sharding = NamedSharding(Mesh(DEVICES, "a"), P("a"))
    iterator = iterate(lambda x: x + 1, sharding, make=peekable_data_iterator)
    np.testing.assert_array_equal(np.asarray(iterator.peek()["y"]), global_rows(0, 4) + 1)
    with pytest.raises(RuntimeError, match="peek_async: the pipelines call JAX functions over several devices"):
        iterator.peek_async()
    np.testing.assert_array_equal(np.asarray(next(iterator)["y"]), global_rows(0, 4) + 1)


def test_the_end_of_data_comes_behind_the_last_batch():
    sharding = NamedSharding(Mesh(DEVICES, "a"), P("a"))
    operator = jax_function(lambda x: x + 1, sharding=sharding)

    @data_iterator(output_map=["x"], sharding=sharding)
    def read(shard_id, num_shards):
        batches = [rows(k, shard_id, num_shards) for k in range(5)]
        return operator(fn.external_source(batches, cycle="raise"))

    iterator = read(batch_size=8, num_threads=1)
    for _ in range(2):
        got = [np.asarray(batch["x"]) for batch in iterator]
        np.testing.assert_array_equal(np.stack(got), np.stack([global_rows(k, 4) + 1 for k in range(5)]))
        iterator.reset()


def test_a_bad_sample_fails_one_batch():
    sharding = NamedSharding(Mesh(DEVICES, "a"), P("a"))
    operator = jax_function(lambda x: x + 1, sharding=sharding)

    def broken(x):
        if x[0] == 120:
            raise ValueError("bad sample")
        return x

    @data_iterator(output_map=["x"], sharding=sharding)
    def read(shard_id, num_shards):
        x = fn.external_source(lambda k: rows(k, shard_id, num_shards))
        return operator(fn.python_function(x, function=broken))

    iterator = read(batch_size=8, num_threads=1)
    for k in range(4):
        if k == 1:
            with pytest.raises(RuntimeError, match="bad sample"):
                next(iterator)
        else:
            np.testing.assert_array_equal(np.asarray(next(iterator)["x"]), global_rows(k, 4) + 1)


def test_inputs_are_prepared_ahead_when_no_function_could_tell(numbered_files):
    sharding = NamedSharding(Mesh(DEVICES, "a"), P("a"))
    operator = jax_function(lambda x: x, sharding=sharding)

    def started(with_function):
        @data_iterator(output_map=["x"], sharding=sharding, reader_name="reader")
        def read(shard_id, num_shards):
            data, _ = fn.readers.file(files=numbered_files, name="reader", shard_id=shard_id, num_shards=num_shards)
            x = fn.reshape(data, shape=[1])
            return operator(fn.python_function(x, function=lambda x: x) if with_function else x)

        iterator = read(batch_size=4, num_threads=1)
        next(iterator)
        executor = iterator._group.executor
        assert executor.dispatched == 2
        return executor.started

    assert (started(True), started(False)) == (2, 4)


def test_a_pipeline_alone_gets_its_batch_back():
    mesh = Mesh(DEVICES, "a")
    pipe = pipeline(lambda x: jax_function(lambda x: x * 2, sharding=NamedSharding(mesh, P()))(x))
    iterator = DALIGenericIterator(pipe, ["x"])
    np.testing.assert_array_equal(np.asarray(next(iterator)["x"]), 2 * images(0))


def test_too_few_pipelines():
    pipe = pipeline(lambda x: jax_function(lambda x: x, sharding=NamedSharding(Mesh(DEVICES, "a"), P("a")))(x))
    with pytest.raises(RuntimeError, match="needs a pipeline for each, but 1 run together"):
        pipe.run()
