"""Programs that misuse pipelines: exceptions in callbacks, strange graphs, closing and interrupting at any time."""

import gc
import json
import os
import re
import signal
import threading
import time

import numpy as np
import pytest

import headrace
from headrace import Pipeline, fn, pipeline_def, types
from headrace.data_node import DataNode


def pipeline_of(source, batch_size: int = 2, **arguments) -> Pipeline:
    settings = {key: arguments.pop(key) for key in ("prefetch_queue_depth",) if key in arguments}

    @pipeline_def(batch_size=batch_size, num_threads=2, device_id=None, **settings)
    def pipeline():
        return fn.external_source(source, **arguments)

    return pipeline()


def counting(fail_at: int, fail):
    """Batches filled with their number; the call `fail_at` calls `fail`."""
    calls = iter(range(1000))

    def source():
        number = next(calls)
        return fail() if number == fail_at else np.full((2, 1), number)

    return source


def raises(error):
    def fail():
        raise error

    return fail


def outcomes(pipe: Pipeline, runs: int) -> list:
    """First value of each batch, or the class of what run() raised."""
    out = []
    for _ in range(runs):
        try:
            out.append(int(pipe.run()[0].at(0)[0]))
        except BaseException as error:
            out.append(type(error))
    return out


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize(
    ("fail", "error"),
    [
        (raises(KeyError("x")), KeyError),
        (raises(MemoryError()), MemoryError),
        (raises(RecursionError()), RecursionError),
        (lambda: 5, RuntimeError),
        (lambda: np.zeros((3, 1), int), RuntimeError),
        (lambda: np.zeros((2, 1), np.float32), RuntimeError),
        (lambda: np.zeros((2, 1, 1), int), RuntimeError),
        (lambda: [np.zeros(1, int), np.zeros(1)], RuntimeError),
    ],
)
def test_a_failing_source_costs_its_batch_only(fail, error, depth):
    pipe = pipeline_of(counting(2, fail), prefetch_queue_depth=depth)
    assert outcomes(pipe, 6) == [0, 1, error, 3, 4, 5]


def test_an_interrupt_in_a_source_comes_at_once_and_loses_no_other_batch():
    pipe = pipeline_of(counting(2, raises(KeyboardInterrupt())))
    assert outcomes(pipe, 6) == [0, KeyboardInterrupt, 1, 3, 4, 5]


class FailingIterable:
    def __init__(self, place: str) -> None:
        self.place = place

    def __iter__(self):
        if self.place == "iter":
            raise KeyError("in __iter__")
        return self

    def __next__(self):
        raise KeyError("in __next__")


@pytest.mark.parametrize("place", ["iter", "next"])
def test_a_failing_iterable(place):
    with pytest.raises(KeyError, match=f"in __{place}__"):
        pipeline_of(FailingIterable(place)).run()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_outputs": -1}, ValueError, "num_outputs"),
        ({"num_outputs": 0}, ValueError, "num_outputs"),
        ({"num_outputs": 10**9}, ValueError, "num_outputs"),
        ({"num_outputs": "2"}, TypeError, "num_outputs"),
        ({"num_outputs": 2.0}, TypeError, "num_outputs"),
        ({"layout": 5}, TypeError, "layout"),
        ({"ndim": -1}, ValueError, "ndim"),
        ({"ndim": "one"}, ValueError, "ndim"),
        ({"dtype": "nonsense"}, TypeError, "dtype"),
        ({"cycle": "sometimes"}, ValueError, "cycle"),
        ({"device": "tpu"}, ValueError, "tpu"),
        ({"nonsense": 1}, KeyError, "nonsense"),
    ],
)
def test_wrong_arguments_of_external_source(arguments, error, message):
    with pytest.raises(error, match=message):
        pipeline_of(lambda: np.zeros((2, 1)), **arguments).run()


@pytest.mark.parametrize("name", ["a'b\"c", "line\nbreak", "{}%s", "ünï", "x" * 5000, "\\", "</script>"])
def test_any_name_works(name):
    pipe = pipeline_of(None, name=name)
    for _ in range(2):
        pipe.feed_input(name, np.ones((2, 1)))
    assert pipe.run()[0].as_array().tolist() == [[1], [1]]
    again = Pipeline.deserialize(pipeline_of(None, name=name).serialize())
    again.feed_input(name, np.ones((2, 1)))
    with pytest.raises(KeyError):
        again.feed_input(name + "x", np.ones((2, 1)))
    assert pipe.graph()


def test_feeding_inside_resetting_and_closing_inside_a_source():
    def run(act):
        holder = {}

        def source():
            act(holder["pipe"])
            return np.zeros((2, 1))

        holder["pipe"] = pipeline_of(source, name="x")
        return holder["pipe"].run()

    with pytest.raises(RuntimeError, match="closed"):
        run(lambda pipe: pipe.close())
    with pytest.raises(RuntimeError, match="source"):
        run(lambda pipe: pipe.feed_input("x", np.zeros((2, 1))))
    with pytest.raises(RecursionError):
        run(lambda pipe: pipe.run())
    assert len(run(lambda pipe: pipe.reset())[0]) == 2


def test_a_pipeline_built_and_run_inside_a_source():
    def source():
        return pipeline_of(lambda: np.full((2, 1), 7)).run()[0]

    assert outcomes(pipeline_of(source), 2) == [7, 7]


# Graphs that fn alone doesn't make.


def test_cycles_and_nodes_of_nobody():
    pipe = Pipeline(2, 1, None)
    with pipe:
        first = fn.zeros(shape=[1]) + 1
        second = first + 1
        first.source.inputs[0] = second
        pipe.set_outputs(second)
    with pytest.raises(RuntimeError, match="cycle"):
        pipe.build()
    pipe = Pipeline(2, 1, None)
    pipe.set_outputs(DataNode("nobody"))
    with pytest.raises(TypeError, match="no operator"):
        pipe.build()
    pipe = Pipeline(2, 1, None)
    with pipe:
        node = fn.zeros(shape=[1])
        node.index = 7
        pipe.set_outputs(node)
    with pytest.raises(RuntimeError, match="output 7"):
        pipe.build()


@pytest.mark.parametrize("edge", [[0, 7], [0, -1], [-1, 0], [5, 0], [1, 0], [2, 0]])
def test_serialised_graphs_with_wrong_edges(edge):
    pipe = Pipeline(2, 1, None)
    with pipe:
        pipe.set_outputs((fn.zeros(shape=[1]) + 1) * 2)
    data = json.loads(pipe.serialize())
    assert len(data["graph"]["nodes"]) == 3
    inputs = json.loads(json.dumps(data))
    inputs["graph"]["nodes"][1]["inputs"][0] = edge
    outputs = json.loads(json.dumps(data))
    outputs["graph"]["outputs"][0] = edge
    with pytest.raises(RuntimeError, match="which does not exist or comes later"):
        Pipeline.deserialize(json.dumps(inputs))
    if edge not in ([1, 0], [2, 0]):
        with pytest.raises(RuntimeError, match="which does not exist"):
            Pipeline.deserialize(json.dumps(outputs))


def test_a_chain_of_thousands_of_nodes():
    pipe = Pipeline(2, 1, None)
    with pipe:
        node = fn.external_source(lambda: np.zeros((2, 1), np.int32))
        for _ in range(2000):
            node = node + 1
        pipe.set_outputs(node)
    assert pipe.run()[0].as_array().tolist() == [[2000], [2000]]


def test_an_exception_while_the_graph_is_defined_leaves_no_current_pipeline():
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline():
        raise KeyError("in the definition")

    for _ in range(2):
        with pytest.raises(KeyError, match="in the definition"):
            pipeline()
        assert Pipeline.current() is None


# Threads, signals, garbage.


def test_pipelines_in_threads_and_one_pipeline_from_threads():
    errors, seen = [], []

    def own(number):
        try:
            for _ in range(3):
                pipe = pipeline_of(lambda: np.full((2, 1), number))
                assert outcomes(pipe, 5) == [number] * 5
        except BaseException as error:
            errors.append(error)

    shared = pipeline_of(counting(-1, None))
    shared.build()

    def take():
        try:
            seen.extend(outcomes(shared, 50))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=own, args=(i,)) for i in range(4)] + [
        threading.Thread(target=take) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert errors == []
    assert sorted(seen) == list(range(200))


def test_closing_while_another_thread_runs():
    pipe = pipeline_of(lambda: np.zeros((2, 100_000)))
    pipe.build()
    raised = []

    def run():
        try:
            while True:
                pipe.run()
        except RuntimeError as error:
            raised.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.1)
    pipe.close()
    thread.join(30)
    assert not thread.is_alive()
    assert "closed" in raised[0]


def test_dropped_pipelines_end_while_iterations_are_under_way():
    for _ in range(20):
        pipe = pipeline_of(lambda: np.zeros((2, 50_000)))
        pipe.itself = pipe
        (batch,) = pipe.run()
        array = batch.as_array()
        del pipe, batch
        gc.collect()
        assert not array.any()


@pytest.mark.parametrize("what", ["source", "feed", "operator"])
def test_ctrl_c_gets_through(what):
    def slow():
        time.sleep(20)
        return np.zeros((2, 1))

    if what == "operator":

        @pipeline_def(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
        def noise():
            return fn.random.normal(shape=[30_000_000])

        pipe = noise()
    else:
        pipe = pipeline_of(slow if what == "source" else None, name="x", blocking=what == "feed")
    pipe.build()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            for _ in range(100):
                pipe.run()
    finally:
        timer.cancel()
    assert time.monotonic() - begin < 10
    pipe.close()


def indexed(x, _condition):
    return x[7]


def branched(x, condition):
    if condition:  # noqa: SIM108
        y = x
    else:
        y = fn.constant(fdata=[1.5])
    return y


def both(x, condition):
    return condition and x


@pytest.mark.parametrize(
    ("function", "name"), [(indexed, "headrace.DataNode[...]"), (branched, "if"), (both, "and, or")]
)
def test_messages_name_what_the_program_wrote(function, name):
    @pipeline_def(batch_size=8, num_threads=1, device_id=None, enable_conditionals=True)
    def pipe():
        return function(fn.constant(idata=[1, 2, 3]), fn.random.coin_flip(dtype=types.BOOL, seed=1))

    with pytest.raises(RuntimeError, match=re.escape(f"Error in CPU operator `{name}`")):
        pipe().run()


def test_the_package_lists_its_public_names():
    assert sorted(dir(headrace)) == sorted(headrace.__all__)
