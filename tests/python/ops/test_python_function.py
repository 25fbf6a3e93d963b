"""python_function and dl_tensor_python_function: against plain NumPy, and what they promise about order and memory."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest

from headrace import fn, ops, pipeline_def, types

BATCH = 3


def images(k):
    return [np.arange(6, dtype=np.float32).reshape(2, 3) + 100 * k + 10 * row for row in range(BATCH)]


def pipeline(define, depth=2, **arguments):
    @pipeline_def(batch_size=BATCH, num_threads=2, prefetch_queue_depth=depth, **arguments)
    def pipe():
        return define(fn.external_source(images, layout="HW"))

    return pipe()


def outputs_of(define, runs=2, **arguments):
    """The outputs of the last of some runs, as lists of arrays."""
    pipe = pipeline(define, **arguments)
    for _ in range(runs):
        outputs = pipe.run()
    return [[np.array(sample) for sample in output] for output in outputs]


def in_place(x):
    x += 1
    return x


# name -> (function, how many outputs, oracle for the samples of one batch)
PER_SAMPLE = {
    "new array": (lambda x: x * 2, 1, lambda rows: [[x * 2 for x in rows]]),
    "its argument": (lambda x: x, 1, lambda rows: [rows]),
    "its argument, changed": (in_place, 1, lambda rows: [[x + 1 for x in rows]]),
    "a strided view": (lambda x: x[::-1, ::2], 1, lambda rows: [[x[::-1, ::2] for x in rows]]),
    "a transposed view": (lambda x: x.T, 1, lambda rows: [[x.T for x in rows]]),
    "in Fortran's order": (lambda x: np.asfortranarray(x + 1), 1, lambda rows: [[x + 1 for x in rows]]),
    "a scalar": (lambda x: x.sum(), 1, lambda rows: [[x.sum() for x in rows]]),
    "a one-element tuple": (lambda x: (x + 1,), 1, lambda rows: [[x + 1 for x in rows]]),
    "two outputs": (lambda x: (x, x.astype(np.int64).T), 2, lambda rows: [rows, [x.astype(np.int64).T for x in rows]]),
    "other shapes": (lambda x: np.ones(int(x[0, 0]) % 7), 1, lambda rows: [[np.ones(int(x[0, 0]) % 7) for x in rows]]),
    "bool": (lambda x: x > 3, 1, lambda rows: [[x > 3 for x in rows]]),
    "float16": (lambda x: x.astype(np.float16), 1, lambda rows: [[x.astype(np.float16) for x in rows]]),
    "a reshaped array": (lambda x: np.ones(6).reshape(3, 2), 1, lambda rows: [[np.ones((3, 2))] * BATCH]),
    "read-only": (lambda x: np.broadcast_to(x[:, :1], (2, 3)), 1, lambda rows: [[x[:, :1].repeat(3, 1) for x in rows]]),
}


@pytest.mark.parametrize("name", PER_SAMPLE)
@pytest.mark.parametrize("writable", [False, True])
def test_samples(name, writable):
    function, count, oracle = PER_SAMPLE[name]

    def define(x):
        result = fn.python_function(x + np.float32(0) if writable else x, function=function, num_outputs=count)
        return tuple(result) if count > 1 else result

    for got, expected in zip(outputs_of(define), oracle(images(1)), strict=True):
        for a, b in zip(got, expected, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


PER_BATCH = {
    "lists": (lambda rows: [x * 2 for x in rows], 1, lambda rows: [[x * 2 for x in rows]]),
    "one array": (lambda rows: np.stack(rows) + 1, 1, lambda rows: [[x + 1 for x in rows]]),
    "rows that depend on others": (lambda rows: rows[::-1], 1, lambda rows: [rows[::-1]]),
    "two outputs": (lambda rows: (rows, [x.T for x in rows]), 2, lambda rows: [rows, [x.T for x in rows]]),
    "views": (lambda rows: [x[:, ::-1] for x in rows], 1, lambda rows: [[x[:, ::-1] for x in rows]]),
}


@pytest.mark.parametrize("name", PER_BATCH)
def test_batches(name):
    function, count, oracle = PER_BATCH[name]

    def define(x):
        result = fn.python_function(x, function=function, num_outputs=count, batch_processing=True)
        return tuple(result) if count > 1 else result

    for got, expected in zip(outputs_of(define), oracle(images(1)), strict=True):
        np.testing.assert_array_equal(np.stack(got), np.stack(expected))


@pytest.mark.parametrize("by_batch", [False, True])
@pytest.mark.parametrize("inputs", [0, 1, 3])
def test_inputs(inputs, by_batch):
    def function(*args):
        assert len(args) == inputs
        total = sum((np.stack(a) if by_batch else a) for a in args) + np.zeros((BATCH, 2, 3) if by_batch else (2, 3))
        return list(total) if by_batch else total

    def define(x):
        return fn.python_function(*[x] * inputs, function=function, batch_processing=by_batch)

    (got,) = outputs_of(define)
    np.testing.assert_array_equal(np.stack(got), inputs * np.stack(images(1)).astype(np.float64))


def test_memory_that_the_function_keeps_is_copied():
    buffer = np.zeros((2, 3), np.float32)
    kept = []

    def reuses(x):
        buffer[...] = x
        return buffer

    def keeps(x):
        array = x + 1
        kept.append(array)
        return array

    def keeps_view(x):
        array = x + 1
        kept.append(array)
        return array[:]

    def keeps_tuple(x):
        result = (x + 1,)
        kept.append(result)
        return result

    for function, plus in ((reuses, 0), (keeps, 1), (keeps_view, 1), (keeps_tuple, 1)):
        pipe = pipeline(lambda x, f=function: fn.python_function(x, function=f))
        held = [pipe.run()[0] for _ in range(4)]
        for array in kept:
            (array[0] if isinstance(array, tuple) else array)[...] = -1
        for k, batch in enumerate(held):
            np.testing.assert_array_equal(batch.as_array(), np.stack(images(k)) + plus, err_msg=function.__name__)


def test_writes_to_an_argument_reach_nobody_else():
    def define(x):
        made = x * np.float32(1)
        changed = fn.python_function(made, function=in_place)
        again = fn.python_function(made, function=in_place)
        view = fn.reshape(made, shape=[3, 2])
        return made, changed, again, fn.python_function(view, function=in_place), x

    made, changed, again, view, x = outputs_of(define)
    for got, plus in ((made, 0), (changed, 1), (again, 1), (x, 0)):
        np.testing.assert_array_equal(np.stack(got), np.stack(images(1)) + plus)
    np.testing.assert_array_equal(np.stack(view), np.stack(images(1)).reshape(BATCH, 3, 2) + 1)


def test_no_copy_of_what_is_new():
    addresses = []

    def function(x):
        made = x + 1
        addresses.append(made.ctypes.data)
        return made

    pipe = pipeline(lambda x: fn.python_function(x, function=function), depth=1)
    (batch,) = pipe.run()
    assert [batch[i].data_ptr() for i in range(BATCH)] == addresses


def test_order_and_number_of_calls():
    calls, threads, busy = [], set(), threading.Lock()

    def function(x):
        assert busy.acquire(blocking=False), "two calls at a time"
        calls.append(int(x[0, 0]) // 10)
        threads.add(threading.get_ident())
        time.sleep(0.001)
        busy.release()
        return x

    depth, runs = 3, 5
    pipe = pipeline(lambda x: fn.python_function(x, function=function), depth=depth)
    for _ in range(runs):
        pipe.run()
    wanted = [10 * k + row for k in range(runs + depth - 1) for row in range(BATCH)]
    deadline = time.monotonic() + 10
    while len(calls) < len(wanted) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert calls == wanted
    assert len(threads) == 1 and threading.get_ident() not in threads


@pytest.mark.parametrize("op", [fn.python_function, fn.dl_tensor_python_function])
def test_called_for_its_effect(op):
    calls = []

    def define(x):
        assert op(x, function=lambda x: calls.append(1), num_outputs=0, batch_processing=False) is None
        op(x, function=lambda x: calls.append(2) or x, batch_processing=False)  # nobody uses its output
        return x

    outputs_of(define, runs=2, depth=1)
    assert calls.count(1) == 2 * BATCH
    assert calls.count(2) == 2 * BATCH


def divides(x):
    return x / (0 if x[0, 0] == 110 else 1) if x[0, 0] != 110 else [][1]


def broken_deep_inside(x):
    return divides(x)


# name -> (function, arguments, part of the message)
BAD = {
    "raises": (broken_deep_inside, {}, "IndexError: list index out of range"),
    "returns None": (lambda x: None, {}, "returned 0 outputs, expected 1"),
    "returns too many": (lambda x: (x, x), {}, "returned 2 outputs, expected 1"),
    "returns a number": (lambda x: 3, {}, "expected an array"),
    "returns a list": (lambda x: [1, 2], {}, "expected an array"),
    "returns complex numbers": (lambda x: x + 1j, {}, "element type"),
    "mixes types": (lambda x: x.astype(np.int32) if x[0, 0] % 20 else x, {}, "a batch holds one type"),
    "mixes ranks": (lambda x: x[0] if x[0, 0] % 20 else x, {}, "axes"),
    "returns a short batch": (lambda rows: rows[:1], {"batch_processing": True}, "expected a list of 3 arrays, got 1"),
    "returns no batch": (lambda rows: 5, {"batch_processing": True}, "expected a list of 3 arrays, got int"),
    "raises StopIteration": (lambda x: next(iter([])), {}, "StopIteration"),
    "exits": (lambda x: exit(3), {}, "SystemExit: 3"),
}


@pytest.mark.parametrize("name", BAD)
def test_errors(name):
    function, arguments, message = BAD[name]
    pipe = pipeline(lambda x: fn.python_function(x, function=function, **arguments))
    with pytest.raises((RuntimeError, TypeError), match=message) as caught:
        for _ in range(2):
            pipe.run()
    assert "python_function" in str(caught.value) and "test_python_function.py" in str(caught.value)


def test_an_exception_shows_the_users_frames_and_the_pipeline_goes_on():
    pipe = pipeline(lambda x: fn.python_function(x, function=broken_deep_inside))
    pipe.run()
    with pytest.raises(RuntimeError) as caught:
        pipe.run()
    text = str(caught.value)
    for part in ("sample 1 of the batch", "in broken_deep_inside", "in divides", "[][1]", "IndexError"):
        assert part in text
    assert "callbacks.py" not in text
    np.testing.assert_array_equal(pipe.run()[0].as_array(), np.stack(images(2)))


def test_messages_that_are_no_utf8_come_through():
    """Names of files that are no UTF-8 have lone surrogates in Python."""

    def fail(_):
        raise ValueError("name \udcff: not found")

    with pytest.raises(RuntimeError, match=r"name \\udcff: not found"):
        pipeline(lambda x: fn.python_function(x, function=fail)).run()


BAD_ARGUMENTS = {
    "function": (TypeError, {"function": 3}),
    "layouts": (ValueError, {"function": in_place, "output_layouts": ["HW", "HW"]}),
    "num_outputs": ((ValueError, RuntimeError), {"function": in_place, "num_outputs": -1}),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments(name):
    kind, arguments = BAD_ARGUMENTS[name]
    with pytest.raises(kind):
        pipeline(lambda x: (fn.python_function(x, **arguments), x)[1]).build()


@pytest.mark.parametrize(
    "layouts, expected", [(None, ["", ""]), ("AB", ["AB", "AB"]), (["AB"], ["AB", ""]), (["AB", "CD"], ["AB", "CD"])]
)
def test_layouts(layouts, expected):
    pipe = pipeline(
        lambda x: tuple(fn.python_function(x, function=lambda x: (x, x + 1), num_outputs=2, output_layouts=layouts))
    )
    assert [output.layout() for output in pipe.run()] == expected


def test_layout_of_the_wrong_length():
    pipe = pipeline(lambda x: fn.python_function(x, function=lambda x: x[0], output_layouts="AB"))
    with pytest.raises(ValueError, match='layout "AB" has 2 letters'):
        pipe.run()


def test_gpu_nodes_get_numpy_arrays_too():
    kinds = []

    def function(x):
        kinds.append(type(x))
        return x + 1

    def define(x):
        result = fn.python_function(x.gpu(), function=function, device="gpu")
        assert result.device == "gpu"
        return result

    (got,) = outputs_of(define, depth=1)
    assert set(kinds) == {np.ndarray}
    np.testing.assert_array_equal(np.stack(got), np.stack(images(1)) + 1)


@pytest.mark.parametrize("by_batch", [False, True])
def test_capsules(by_batch):
    torch = pytest.importorskip("torch")
    from torch.utils import dlpack

    def one(capsule):
        assert type(capsule).__name__ == "PyCapsule"
        return dlpack.to_dlpack(dlpack.from_dlpack(capsule) * 2)

    def function(arg):
        return [one(capsule) for capsule in arg] if by_batch else one(arg)

    (got,) = outputs_of(
        lambda x: fn.dl_tensor_python_function(
            x, function=function, batch_processing=by_batch, synchronize_stream=False, output_layouts="HW"
        )
    )
    np.testing.assert_array_equal(np.stack(got), 2 * np.stack(images(1)))
    tensor = torch.zeros((2, 3))

    def reuses(capsule):
        tensor.copy_(dlpack.from_dlpack(capsule))
        return tensor

    (got,) = outputs_of(lambda x: fn.dl_tensor_python_function(x, function=reuses, batch_processing=False))
    np.testing.assert_array_equal(np.stack(got), np.stack(images(1)))


def test_a_capsule_function_that_returns_no_tensor():
    pipe = pipeline(lambda x: fn.dl_tensor_python_function(x, function=lambda x: 3, batch_processing=False))
    with pytest.raises(RuntimeError, match="expected an array"):
        pipe.run()


def test_classes():
    double = ops.PythonFunction(lambda x: x * 2, output_layouts="HW")
    capsules = ops.DLTensorPythonFunction(lambda rows: rows, device="cpu")
    first, second = outputs_of(lambda x: (double(x), capsules(x)))
    np.testing.assert_array_equal(np.stack(first), 2 * np.stack(images(1)))
    np.testing.assert_array_equal(np.stack(second), np.stack(images(1)))


def test_functions_that_feed_each_other_and_sample_operators():
    def define(x):
        a = fn.python_function(x, function=lambda x: x + 1)
        b = fn.cast(a * np.float32(2), dtype=types.INT32)
        c = fn.python_function(b, a, function=lambda b, a: (b + 1, a[0]), num_outputs=2)
        return c[0] * 10, c[1]

    first, second = outputs_of(define, runs=3)
    for row, (x, got, vector) in enumerate(zip(images(2), first, second, strict=True)):
        np.testing.assert_array_equal(got, (2 * (x + 1) + 1) * 10, err_msg=str(row))
        np.testing.assert_array_equal(vector, x[0] + 1)


def test_in_a_branch():
    sizes = []

    def function(rows):
        sizes.append(len(rows))
        return [row + 1 for row in rows]

    @pipeline_def(batch_size=BATCH, num_threads=2, prefetch_queue_depth=1, enable_conditionals=True)
    def pipe():
        x = fn.external_source(images)
        number = fn.external_source(lambda k: np.full(BATCH, k) + np.arange(BATCH))
        if number % 5 >= 3:
            y = fn.python_function(x, function=function, batch_processing=True)
            fn.python_function(function=lambda: sizes.append("effect"), num_outputs=0)
        else:
            y = x
        return y

    made = pipe()
    for k in range(4):
        (got,) = made.run()
        chosen = (np.arange(BATCH) + k) % 5 >= 3
        np.testing.assert_array_equal(got.as_array(), np.stack(images(k)) + chosen[:, None, None])
    assert [size for size in sizes if size != "effect"] == [1, 2, 2]  # not called for no samples
    assert sizes.count("effect") == 5


def test_equal_functions_are_two_nodes():
    calls = []

    def function(x):
        calls.append(1)
        return x

    outputs_of(
        lambda x: (fn.python_function(x, function=function), fn.python_function(x, function=function)), runs=1, depth=1
    )
    assert len(calls) == 2 * BATCH


def test_serialization_is_refused():
    with pytest.raises(RuntimeError, match="Could not serialize the operator: `headrace.fn.python_function`"):
        pipeline(lambda x: fn.python_function(x, function=in_place)).serialize()


def test_checkpoints_do_not_depend_on_the_functions_number():
    def make(checkpoint=None):
        @pipeline_def(batch_size=2, num_threads=1, enable_checkpointing=True, checkpoint=checkpoint, seed=5)
        def pipe():
            return fn.python_function(fn.random.uniform(range=[0.0, 1.0]), function=lambda x: x + 1)

        return pipe()

    pipe = make()
    pipe.run()
    saved = pipe.checkpoint()
    np.testing.assert_array_equal(pipe.run()[0].as_array(), make(saved).run()[0].as_array())


@pytest.mark.parametrize("cyclic", [False, True])
def test_everything_goes_with_the_pipeline(cyclic):
    class Function:
        pipe = None

        def __call__(self, x):
            return x + 1

    function = Function()
    pipe = pipeline(lambda x, function=function: fn.python_function(x, function=function))
    if cyclic:
        function.pipe = pipe
    batch = pipe.run()[0]
    gone = weakref.ref(function)
    del pipe, function
    deadline = time.monotonic() + 10
    while gone() is not None and time.monotonic() < deadline:  # a call that is under way holds it
        gc.collect()
        time.sleep(0.01)
    assert gone() is None
    np.testing.assert_array_equal(batch.as_array(), np.stack(images(0)) + 1)


def test_results_are_dropped_when_the_batch_is():
    alive = weakref.WeakSet()

    class Tracked:
        """An array by the buffer protocol, which weak references can follow."""

        def __init__(self, x):
            self.__array_interface__ = x.__array_interface__
            self._x = x

    def function(x):
        tracked = Tracked(x + 1)
        alive.add(tracked)
        return np.asarray(tracked)

    pipe = pipeline(lambda x: fn.python_function(x, function=function))
    for _ in range(20):
        pipe.run()
    pipe._group.close()
    del pipe
    gc.collect()
    pipeline(lambda x: x).run()  # what died on the engine's threads is dropped by the next call
    gc.collect()
    assert len(alive) == 0


def test_the_program_runs_while_a_function_waits():
    entered, leave = threading.Event(), threading.Event()

    def function(x):
        entered.set()
        leave.wait(10)
        return x

    pipe = pipeline(lambda x: (fn.python_function(x, function=function), x))
    pipe.schedule_run()
    assert entered.wait(5)
    total = sum(range(1000))  # with the GIL
    leave.set()
    assert total == 499500
    np.testing.assert_array_equal(pipe.share_outputs()[0].as_array(), np.stack(images(0)))
