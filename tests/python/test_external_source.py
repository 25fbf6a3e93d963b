"""external_source: every kind of source, cycling, checks, feeding, sizes, memory."""

import gc
import itertools
import signal
import threading
import time
import weakref

import numpy as np
import pytest

from headrace import Pipeline, PipelineGroup, TensorListCPU, fn, ops, pipeline_def, types


def pipeline(*args, batch_size=2, depth=2, **kwargs):
    pipe = Pipeline(batch_size=batch_size, num_threads=1, prefetch_queue_depth=depth)
    with pipe:
        nodes = fn.external_source(*args, **kwargs)
        pipe.set_outputs(*(nodes if isinstance(nodes, list) else [nodes]))
    return pipe


def firsts(pipe, count):
    return [pipe.run()[0].as_array().ravel()[0].item() for _ in range(count)]


def batches(count):
    return [np.full((2, 1), i, np.int32) for i in range(count)]


class NoArgument:
    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return np.full((2, 1), self.calls - 1, np.int32)


def generator():
    yield from batches(3)


@pytest.mark.parametrize(
    "source",
    [
        lambda: lambda i: np.full((2, 1), i, np.int32),
        NoArgument,
        lambda: batches(9),
        lambda: iter(batches(9)),
        lambda: generator,
        lambda: generator(),
        lambda: [list(batch) for batch in batches(9)],
        lambda: [TensorListCPU(batch) for batch in batches(9)],
        lambda: [tuple(batch) for batch in batches(9)],
    ],
)
def test_sources_of_batches(source):
    assert firsts(pipeline(source()), 3) == [0, 1, 2]


def test_batch_info_and_sample_info():
    infos = []
    pipe = pipeline(lambda info: infos.append(info) or np.zeros((2, 1)), batch_info=True, depth=1)
    pipe.run(), pipe.run()
    assert infos == [types.BatchInfo(0, 0), types.BatchInfo(1, 0)]

    def sample(info):
        infos.append((info.idx_in_epoch, info.idx_in_batch, info.iteration, info.epoch_idx))
        if info.iteration == 2 and info.idx_in_batch == 1:
            raise StopIteration
        return np.int32([info.idx_in_epoch])

    infos.clear()
    pipe = pipeline(sample, batch=False, depth=1)
    assert np.array_equal(pipe.run()[0].as_array(), [[0], [1]])
    assert np.array_equal(pipe.run()[0].as_array(), [[2], [3]])
    with pytest.raises(StopIteration):  # the part of the batch that was read is dropped
        pipe.run()
    pipe.reset()
    assert np.array_equal(pipe.run()[0].as_array(), [[0], [1]])
    assert infos == [(0, 0, 0, 0), (1, 1, 0, 0), (2, 0, 1, 0), (3, 1, 1, 0), (4, 0, 2, 0), (5, 1, 2, 0),
                     (0, 0, 0, 1), (1, 1, 0, 1)]  # fmt: skip


def test_samples_of_an_iterable():
    pipe = pipeline((np.int32([i]) for i in itertools.count()), batch=False)
    assert np.array_equal(pipe.run()[0].as_array(), [[0], [1]])
    assert np.array_equal(pipe.run()[0].as_array(), [[2], [3]])


@pytest.mark.parametrize("source", [batches(2), lambda: (yield from batches(2))])
@pytest.mark.parametrize(
    ("cycle", "first", "after_reset"),
    [
        (None, [0, 1, "stop"], ["stop", "stop"]),
        (False, [0, 1, "stop"], ["stop", "stop"]),
        ("no", [0, 1, "stop"], ["stop", "stop"]),
        (True, [0, 1, 0, 1], [0, 1]),
        ("quiet", [0, 1, 0, 1], [0, 1]),
        ("raise", [0, 1, "stop", "stop"], [0, 1, "stop"]),
    ],
)
@pytest.mark.parametrize("depth", [1, 3])
def test_cycle(source, cycle, first, after_reset, depth):
    pipe = pipeline(source, cycle=cycle, depth=depth)

    def result():
        try:
            return pipe.run()[0].as_array()[0, 0]
        except StopIteration:
            return "stop"

    assert [result() for _ in first] == first
    pipe.reset()
    assert [result() for _ in after_reset] == after_reset


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "text"),
    [
        ((lambda a, b: 0,), {}, TypeError, "0 or 1 positional"),
        ((lambda a, b=1: 0,), {}, TypeError, "0 or 1 positional"),
        ((lambda: 0,), {"cycle": True}, ValueError, "cycle"),
        ((generator(),), {"cycle": True}, TypeError, "generator"),
        ((batches(1),), {"cycle": "maybe"}, ValueError, "cycle"),
        ((3,), {}, TypeError, "callable, iterable"),
        ((), {"num_outputs": 2}, ValueError, "num_outputs"),
        ((lambda i: 0,), {"parallel": True}, NotImplementedError, "parallel"),
        ((lambda i: 0,), {"sources": 1}, KeyError, "sources"),
        ((lambda i: 0,), {"layout": "HW", "ndim": 3}, ValueError, "ndim"),
    ],
)
def test_definition_refuses(args, kwargs, error, text):
    with pytest.raises(error, match=text):
        fn.external_source(*args, **kwargs)


@pytest.mark.parametrize(
    ("data", "kwargs", "error", "text"),
    [
        (np.zeros((3, 1)), {}, RuntimeError, "batch of 3"),
        ([1, 2], {}, RuntimeError, "got int"),
        ([[1], [2]], {}, RuntimeError, "got list"),
        (5, {}, RuntimeError, "got int"),
        (np.float32(5), {}, RuntimeError, "scalar"),
        ([np.zeros(1, np.int32), np.zeros(1, np.int64)], {}, RuntimeError, "type"),
        ([np.zeros(1), np.zeros((1, 1))], {}, RuntimeError, "axes"),
        (np.zeros((2, 1), ">f4"), {}, TypeError, "big-endian"),
        (np.zeros((2, 1), complex), {}, TypeError, "element type"),
        (np.array(["a", "b"]), {}, TypeError, "element type"),
        (np.zeros((2, 1)), {"dtype": types.FLOAT}, RuntimeError, "FLOAT64"),
        (np.zeros((2, 1)), {"ndim": 2}, RuntimeError, "axes"),
        (np.zeros((2, 1)), {"layout": "HW"}, ValueError, "layout"),
    ],
)
def test_data_refused_at_run(data, kwargs, error, text):
    with pytest.raises(error, match=text):
        pipeline(lambda: data, **kwargs).run()


@pytest.mark.parametrize(
    "second",
    [np.zeros((2, 1), np.int64), np.zeros((2, 1, 1), np.int32), TensorListCPU(np.zeros((2, 1), np.int32), "X")],
)
def test_kind_must_not_change_between_iterations(second):
    pipe = pipeline([np.zeros((2, 1), np.int32), second], depth=1)
    pipe.run()
    with pytest.raises(RuntimeError, match="must not change"):
        pipe.run()


def test_smaller_ragged_and_empty_batches():
    data = [[np.ones(3)], [], [np.ones(1), np.ones(2)]]
    pipe = pipeline(data)
    assert [pipe.run()[0].shape() for _ in data] == [[(3,)], [], [(1,), (2,)]]


def test_inputs_of_an_iteration_must_agree_in_size():
    pipe = Pipeline(3, 1)
    with pipe:
        pipe.set_outputs(
            fn.external_source(source=lambda: np.zeros((1, 1))), fn.external_source(source=lambda: np.zeros((2, 1)))
        )
    with pytest.raises(RuntimeError):
        pipe.run()


def test_non_contiguous_arrays_are_copied():
    base = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    for view in (base[:, ::-1, ::2], base.transpose(0, 2, 1), list(base[:, :, 1])):
        out = pipeline(lambda i, *, v=view: v).run()[0].as_array()
        assert np.array_equal(out, np.array(view))


def test_data_may_change_after_the_source_returned():
    buffer = np.zeros((2, 1), np.int32)

    def source(i):
        buffer[:] = i
        return buffer

    assert firsts(pipeline(source, depth=3), 5) == [0, 1, 2, 3, 4]


def test_no_copy_uses_the_memory_in_place_and_lets_it_go():
    class Array(np.ndarray):
        pass

    array = np.arange(32, dtype=np.float32).reshape(2, 16).view(Array)
    pipe = pipeline(iter([array]), no_copy=True, depth=1)
    (out,) = pipe.run()
    assert out.data_ptr() == array.ctypes.data
    gone = weakref.ref(array)
    del array, out
    pipe.close()
    del pipe
    gc.collect()
    # What died on a worker thread comes back with a later call of the engine.
    deadline = time.monotonic() + 10
    while gone() is not None and time.monotonic() < deadline:
        pipeline(lambda: np.zeros((1, 1))).run()
        gc.collect()
    assert gone() is None


def test_several_outputs():
    pipe = pipeline(
        lambda i: (np.full((2, 1), i), [np.zeros(i)] * 2), num_outputs=2, layout=["A"], dtype=[types.INT64, None]
    )
    pipe.run()
    a, b = pipe.run()
    assert a.layout() == "A" and b.layout() == "" and b.shape() == [(1,), (1,)]
    pipe = pipeline(lambda info: (np.int32(info.idx_in_batch), np.ones(2)), num_outputs=2, batch=False)
    a, b = pipe.run()
    assert np.array_equal(a.as_array(), [0, 1]) and b.shape() == [(2,), (2,)]
    assert isinstance(fn.external_source(lambda: 0, num_outputs=1), list)
    with pytest.raises(RuntimeError, match="2 outputs"):
        pipeline(lambda i: np.zeros((3, 1)), num_outputs=2).run()


def test_feed_input():
    pipe = Pipeline(2, 1)
    with pipe:
        node = fn.external_source(name="numbers", layout="W")
        pipe.set_outputs(node)
    assert pipe.input_feed_count("numbers") == 2
    pipe.feed_input(node, np.full((2, 1), 0))
    with pytest.raises(IndexError, match="numbers"):
        pipe.run()
    pipe.feed_input("numbers", np.full((2, 1), 1))
    assert firsts(pipe, 1) == [0]
    with pytest.raises(IndexError):
        pipe.run()
    pipe.feed_input("numbers", [np.full(1, 2)] * 2)
    (out,) = pipe.run()
    assert out.layout() == "W" and out.as_array()[0, 0] == 1


def test_feed_input_refuses():
    pipe = Pipeline(2, 1)
    with pipe:
        pipe.set_outputs(fn.external_source(lambda: np.zeros((2, 1)), name="own"), fn.external_source(name="fed"))
    with pytest.raises(KeyError, match="other"):
        pipe.feed_input("other", np.zeros((2, 1)))
    with pytest.raises(RuntimeError, match="source"):
        pipe.feed_input("own", np.zeros((2, 1)))
    with pytest.raises(RuntimeError, match="batch of 3"):
        pipe.feed_input("fed", np.zeros((3, 1)))
    with pytest.raises(TypeError):
        pipe.feed_input(3, np.zeros((2, 1)))


def test_run_with_named_inputs():
    pipe = pipeline(name="x", depth=1)
    for i in range(3):
        assert pipe.run(x=np.full((2, 1), i))[0].as_array()[0, 0] == i
    with pytest.raises(RuntimeError, match="prefetch_queue_depth"):
        pipeline(name="x").run(x=np.zeros((2, 1)))


def test_repeat_last():
    pipe = pipeline(name="x", repeat_last=True)
    pipe.feed_input("x", np.full((2, 1), 7))
    assert firsts(pipe, 3) == [7, 7, 7]
    pipe.feed_input("x", np.full((2, 1), 8))
    assert firsts(pipe, 3) == [7, 8, 8]


def test_blocking_waits_for_another_thread():
    pipe = pipeline(name="x", blocking=True, depth=1)
    pipe.build()

    def feed():
        time.sleep(0.1)
        pipe.feed_input("x", np.full((2, 1), 3))

    thread = threading.Thread(target=feed)
    thread.start()
    assert firsts(pipe, 1) == [3]
    thread.join()


def test_unused_source_is_not_called():
    pipe = Pipeline(2, 1)
    with pipe:
        fn.external_source(source=lambda: pytest.fail("called"))
        pipe.set_outputs(fn.external_source(source=lambda: np.zeros((2, 1))))
    pipe.run()


def test_class_form():
    pipe = Pipeline(2, 1)
    with pipe:
        pipe.set_outputs(ops.ExternalSource(lambda i: np.full((2, 1), i), layout="A")(name="in"))
    assert pipe.run()[0].layout() == "A"


def test_dlpack_objects():
    class Exporter:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **kwargs):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    assert firsts(pipeline(lambda i: Exporter(np.full((2, 1), i))), 2) == [0, 1]
    assert firsts(pipeline(lambda i: [Exporter(np.full((2, 2), i)[:, 1])] * 2), 2) == [0, 1]


def test_feeds_that_do_not_fit_together_are_lost_and_the_next_ones_are_used():
    pipe = Pipeline(4, 1, prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(fn.external_source(name="a"), fn.external_source(name="b"))

    def feed(value, rows):
        pipe.feed_input("a", np.full((4, 2), value, np.uint8))
        pipe.feed_input("b", np.full((rows, 2), value, np.uint8))

    feed(1, 3)
    feed(2, 4)
    with pytest.raises(RuntimeError, match=r"external_source.*expected a batch of 4 samples.*got 3"):
        pipe.run()
    assert [out.as_array().tolist() for out in pipe.run()] == [[[2, 2]] * 4] * 2


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_feeds_that_do_not_fit_together_cost_their_own_batch(depth):
    """Whatever else is under way, the run that they were for raises."""

    def source(rows):
        return lambda i: np.full((rows if i == 2 else 4, 1), i, np.uint8)

    @pipeline_def(batch_size=4, num_threads=1, device_id=None, prefetch_queue_depth=depth)
    def two_sources():
        a, b = fn.external_source(source(4)), fn.external_source(source(3))
        return a, b, fn.python_function(b, function=lambda row: row)

    pipe = two_sources()
    for i in range(6):
        if i == 2:
            with pytest.raises(RuntimeError, match=r"external_source.*expected a batch of 4 samples.*got 3"):
                pipe.run()
        else:
            assert [out.as_array().ravel().tolist() for out in pipe.run()] == [[i] * 4] * 3


class Counting:
    """An iterator of batches of its count, which raises at some of them."""

    def __init__(self, rows=4, bad=()):
        self._count = -1
        self._rows = rows
        self._bad = bad

    def __iter__(self):
        return self

    def __next__(self):
        self._count += 1
        if self._count in self._bad:
            raise ValueError(f"bad {self._count}")
        return np.full((self._rows, 1), self._count, np.int32)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("bad", [((2, 5), ()), ((), (2, 5)), ((2,), (5,)), ((2, 5), (5,))])
def test_sources_stay_in_step_when_one_raises(depth, bad):
    @pipeline_def(batch_size=4, num_threads=1, device_id=None, prefetch_queue_depth=depth)
    def three():
        return (*(fn.external_source(Counting(bad=b)) for b in bad), fn.external_source(lambda i: np.full((4, 1), i)))

    pipe = three()
    for i in range(8):
        if i in (2, 5):
            with pytest.raises(ValueError, match=f"bad {i}"):
                pipe.run()
        else:
            assert [out.as_array().ravel().tolist() for out in pipe.run()] == [[i] * 4] * 3


def test_pipelines_of_a_group_stay_in_step_when_a_source_raises():
    @pipeline_def(batch_size=4, num_threads=1, device_id=None)
    def one(bad):
        return fn.external_source(Counting(bad=bad))

    group = PipelineGroup([one(bad) for bad in ((), (2,), ())]).build()
    for i in range(5):
        if i == 2:
            with pytest.raises(ValueError, match="bad 2"):
                group.run()
        else:
            assert [out.as_array().ravel().tolist() for (out,) in group.run()] == [[i] * 4] * 3


def test_what_was_not_fed_costs_nothing():
    pipe = Pipeline(4, 1, prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(fn.external_source(Counting()), fn.external_source(name="fed"))
    for i in range(3):
        with pytest.raises(IndexError, match="fed"):
            pipe.run()
        pipe.feed_input("fed", np.full((4, 1), i, np.int32))
        assert [out.as_array().ravel().tolist() for out in pipe.run()] == [[i] * 4] * 2


def test_an_interrupted_iteration_goes_on_where_it_was():
    interrupts = [2]

    def source(i):
        if interrupts and i == interrupts[0]:
            interrupts.clear()
            raise KeyboardInterrupt
        return np.full((4, 1), i, np.int32)

    @pipeline_def(batch_size=4, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def two():
        return fn.external_source(Counting()), fn.external_source(source)

    pipe, seen = two(), []
    while len(seen) < 5:
        try:
            seen.append([int(out.as_array()[0, 0]) for out in pipe.run()])
        except KeyboardInterrupt:
            seen.append("interrupt")
    assert seen == [[0, 0], [1, 1], "interrupt", [2, 2], [3, 3]]


def test_a_checkpoint_behind_an_interrupt_goes_on_with_the_next_batch():
    """The signal comes while run() waits for a slow batch."""
    slow = {3}

    def work(row):
        if int(row[0]) in slow:
            slow.clear()
            time.sleep(0.6)
        return row

    @pipeline_def(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=2, enable_checkpointing=True)
    def pipeline():
        return fn.python_function(fn.external_source(lambda i: np.full((1, 1), i)), function=work)

    pipe, seen = pipeline(), []
    threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            seen.append(int(pipe.run()[0].as_array()[0, 0]))
    assert seen == [0, 1, 2]
    for expected in (3, 4, 5):
        assert int(pipe.run()[0].as_array()[0, 0]) == expected
    resumed = pipeline(checkpoint=pipe.checkpoint())
    assert int(resumed.run()[0].as_array()[0, 0]) == int(pipe.run()[0].as_array()[0, 0]) == 6


def test_samples_of_a_group_have_random_numbers_of_their_own():
    """Also where pipelines have batches of different sizes."""
    sizes = [4, 3, 4]

    @pipeline_def(batch_size=4, num_threads=1, device_id=None, seed=1)
    def noise(size):
        return fn.external_source(lambda: np.zeros((size, 1), np.float32)) + fn.random.uniform(range=[0, 1])

    group = PipelineGroup([noise(size) for size in sizes]).build()
    drawn = [float(row[0]) for _ in range(5) for (out,) in group.run() for row in out.as_array()]
    assert len(set(drawn)) == len(drawn) == 5 * sum(sizes)


def test_batches_made_of_another_pipelines_batch_outlive_that_pipeline(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "0.bin").write_bytes(bytes(range(10)))
    reading = Pipeline(1, 1)
    with reading:
        reading.set_outputs(fn.readers.file(file_root=str(tmp_path), file_filters=["*.bin"])[0])
    pipe = Pipeline(1, 1, prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(fn.cast(fn.external_source(name="a"), dtype=types.INT32))
    (batch,) = reading.run()
    assert batch[0].source_info() == "x/0.bin"
    pipe.feed_input("a", batch)
    (made,) = pipe.run()
    del batch, reading
    gc.collect()
    assert made.as_array().tolist() == [list(range(10))]
    assert made[0].source_info() == ""
