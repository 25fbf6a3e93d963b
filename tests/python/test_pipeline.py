"""Pipeline: constructor, definition, running, ends, errors, state. Statements of reference behaviour as table rows."""

import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import headrace
from headrace import Pipeline, PipelineGroup, fn, math, pipeline_def, types


def counting(batch_size=2, stop=None, **kwargs):
    """A pipeline whose batch k holds k everywhere; ends after `stop` batches."""
    calls = []

    def source(i):
        calls.append(i)
        if stop is not None and i >= stop:
            raise StopIteration
        return np.full((batch_size, 2), i, np.int32)

    pipe = Pipeline(batch_size=batch_size, num_threads=1, **kwargs)
    with pipe:
        pipe.set_outputs(fn.external_source(source=source))
    return pipe, calls


@pytest.mark.parametrize(
    ("kwargs", "error", "text"),
    [
        ({}, ValueError, "batch_size"),
        ({"batch_size": 0}, ValueError, "batch_size"),
        ({"batch_size": 2.5}, TypeError, "batch_size"),
        ({"batch_size": 1, "num_threads": 0}, ValueError, "num_threads"),
        ({"batch_size": 1, "num_threads": 1.5}, TypeError, "num_threads"),
        ({"batch_size": 1, "prefetch_queue_depth": 0}, ValueError, "prefetch_queue_depth"),
        ({"batch_size": 1, "prefetch_queue_depth": "two"}, TypeError, "prefetch_queue_depth"),
        ({"batch_size": 1, "prefetch_queue_depth": {"cpu": 1}}, ValueError, "cpu_size"),
        ({"batch_size": 1, "on_error": "ignore"}, ValueError, "on_error"),
        ({"batch_size": 1, "bach_size": 1}, TypeError, "bach_size"),
        ({"batch_size": 1, "output_dtype": "float"}, TypeError, "output_dtype"),
        ({"batch_size": 1, "output_ndim": -1}, ValueError, "output_ndim"),
    ],
)
def test_constructor_refuses(kwargs, error, text):
    with pytest.raises(error, match=text):
        Pipeline(**kwargs)


def test_properties_have_the_given_values():
    pipe = Pipeline(4, 2, None, 7, prefetch_queue_depth={"cpu_size": 3, "gpu_size": 2}, exec_dynamic=False)
    got = (pipe.batch_size, pipe.max_batch_size, pipe.num_threads, pipe.device_id, pipe.seed, pipe.exec_separated)
    assert got == (4, 4, 2, None, 7, True)
    assert (pipe.cpu_queue_size, pipe.gpu_queue_size, pipe.exec_dynamic) == (3, 2, False)
    assert Pipeline(1, exec_pipelined=False).prefetch_queue_depth == 1
    assert "batch_size=4" in repr(pipe)
    assert Pipeline(1).num_threads >= 1
    assert Pipeline(1).seed != Pipeline(1).seed


def test_device_id_without_cuda_runs_on_the_cpu_and_says_so_once(caplog, monkeypatch):
    monkeypatch.setattr("headrace.pipeline_settings._said_no_cuda", False)
    for _ in range(2):
        pipe = Pipeline(2, 1, 0)
        with pipe:
            pipe.set_outputs(fn.constant(idata=[5], device="cpu").gpu())
        assert np.array_equal(pipe.run()[0].as_array(), [[5], [5]])
    assert sum("no CUDA" in record.message for record in caplog.records) == 1


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_sources_are_called_run_count_plus_depth_minus_one_times(depth):
    pipe, calls = counting(prefetch_queue_depth=depth)
    for k in range(1, 6):
        (out,) = pipe.run()
        assert np.array_equal(out.as_array(), np.full((2, 2), k - 1))
        assert calls == list(range(k + depth - 1))


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("length", [0, 1, 3])
def test_end_of_data_is_sticky_until_reset(depth, length):
    pipe, calls = counting(stop=length, prefetch_queue_depth=depth)
    for epoch in range(3):
        assert [pipe.run()[0].as_array()[0, 0] for _ in range(length)] == list(range(length))
        for _ in range(3):
            with pytest.raises(StopIteration):
                pipe.run()
        assert len(calls) == (epoch + 1) * (length + 1)
        pipe.reset()


def test_reset_before_the_end_does_nothing():
    pipe, _ = counting()
    pipe.run()
    pipe.reset()
    assert pipe.run()[0].as_array()[0, 0] == 1


def test_source_exception_passes_through_in_order_and_the_pipeline_goes_on():
    def source(i):
        if i == 2:
            raise ZeroDivisionError("third")
        return np.full((1, 1), i, np.int32)

    pipe = Pipeline(1, 1)
    with pipe:
        pipe.set_outputs(fn.external_source(source=source))
    assert [pipe.run()[0].as_array()[0, 0] for _ in range(2)] == [0, 1]
    with pytest.raises(ZeroDivisionError, match="third"):
        pipe.run()


def test_operator_error_names_operator_and_user_line_and_the_next_batch_is_right():
    @pipeline_def(batch_size=2, num_threads=1)
    def divide():
        x = fn.external_source(source=lambda i: np.full((2, 1), 0 if i == 1 else i + 1, np.int32))
        return 12 // x  # the culprit

    pipe = divide()
    assert pipe.run()[0].as_array()[0, 0] == 12
    with pytest.raises(ValueError) as raised:
        pipe.run()
    text = str(raised.value)
    assert "headrace.math.floordiv" in text
    assert "return 12 // x  # the culprit" in text
    assert "headrace/data_node.py" not in text
    assert pipe.run()[0].as_array()[0, 0] == 4


def test_scheduled_interface_gives_the_same_batches():
    pipe, calls = counting(stop=3)
    seen = []
    for _ in range(3):
        pipe.schedule_run()
        seen.append(pipe.share_outputs()[0].as_array()[0, 0])
        pipe.release_outputs()
    pipe.schedule_run()
    with pytest.raises(StopIteration):
        pipe.outputs()
    assert seen == [0, 1, 2]
    with pytest.raises(RuntimeError, match="Mixing pipeline API"):
        pipe.run()


def test_held_outputs_do_not_change():
    pipe, _ = counting()
    held = [pipe.run()[0] for _ in range(20)]
    assert [batch.as_array()[0, 0] for batch in held] == list(range(20))


def test_subclass_with_define_graph_and_iter_setup():
    class Counting(Pipeline):
        def __init__(self):
            super().__init__(batch_size=2, num_threads=1)
            from headrace import ops

            self.input = ops.ExternalSource()
            self.cast = ops.Cast(dtype=types.FLOAT)
            self.count = 0

        def define_graph(self):
            self.node = self.input(name="numbers")
            return self.cast(self.node)

        def iter_setup(self):
            if self.count == 3:
                raise StopIteration
            self.feed_input(self.node, np.full((2, 1), self.count, np.int32))
            self.count += 1

    pipe = Counting()
    assert [float(pipe.run()[0].as_array()[0, 0]) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(StopIteration):
        pipe.run()


def test_no_outputs_is_an_error():
    with pytest.raises(NotImplementedError, match="no outputs"):
        Pipeline(1).build()


@pytest.mark.parametrize(
    ("value", "error"), [(None, NotImplementedError), ("text", TypeError), ({"a": 1}, TypeError), (b"x", TypeError)]
)
def test_set_outputs_refuses(value, error):
    with pytest.raises(error):
        Pipeline(1).set_outputs(value)


def test_constants_are_outputs():
    pipe = Pipeline(2, 1)
    pipe.set_outputs(1, [1.5, 2.5], np.uint8([[7]]))
    one, two, three = pipe.run()
    assert np.array_equal(one.as_array(), np.int32([1, 1])) and one.dtype == types.INT32
    assert np.array_equal(two.as_array(), np.float32([[1.5, 2.5]] * 2)) and two.dtype == types.FLOAT
    assert three.dtype == types.UINT8 and three.shape() == [(1, 1)] * 2


def test_two_operators_of_one_name():
    pipe = Pipeline(1, 1)
    with pipe:
        pipe.set_outputs(fn.constant(idata=[1], name="a"), fn.constant(idata=[2], name="a"))
    with pytest.raises(RuntimeError, match='"a"'):
        pipe.build()


def test_nodes_made_outside_of_a_pipeline():
    node = fn.constant(idata=[3]) + 1
    pipe = Pipeline(1, 1)
    pipe.set_outputs(node)
    assert pipe.run()[0].as_array()[0, 0] == 4


def test_unused_nodes_change_no_random_number():
    def values(unused):
        pipe = Pipeline(4, 1, seed=11)
        with pipe:
            if unused:
                fn.constant(idata=[1])
                fn.random.normal()
                fn.random.uniform(range=[0.0, 1.0])
            pipe.set_outputs(fn.random.uniform(range=[0.0, 1.0]))
        return pipe.run()[0].as_array()

    assert np.array_equal(values(False), values(True))
    assert len(set(values(False).ravel())) == 4


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ({"output_dtype": types.FLOAT}, "element type"),
        ({"output_ndim": 3}, "number of axes"),
        ({"output_layout": "HW"}, "layout"),
        ({"output_dtype": [types.INT32, types.INT32]}, "2 entries"),
    ],
)
def test_declared_outputs_are_checked(declared, text):
    pipe, _ = counting(**declared)
    with pytest.raises(RuntimeError, match=text):
        pipe.run()


def test_declared_outputs_that_hold():
    pipe, _ = counting(output_dtype=types.INT32, output_ndim=[1], output_layout=[None])
    pipe.run()
    assert (pipe.output_dtype(), pipe.output_ndim(), pipe.output_layout()) == ([types.INT32], [1], [None])


def test_empty_tells_whether_work_is_under_way():
    pipe, _ = counting()
    assert pipe.empty()
    pipe.run()
    assert not pipe.empty()


def test_close_keeps_batches_and_refuses_further_runs():
    pipe, _ = counting()
    (held,) = pipe.run()
    pipe.close()
    pipe.close()
    assert np.array_equal(held.as_array(), np.zeros((2, 2)))
    with pytest.raises(RuntimeError, match="closed"):
        pipe.run()


def test_current_pipeline_is_a_stack():
    outer, inner = Pipeline(1), Pipeline(1)
    assert Pipeline.current() is None
    with outer:
        with inner:
            assert Pipeline.current() is inner
        assert Pipeline.current() is outer
    Pipeline.push_current(inner)
    assert Pipeline.current() is inner
    Pipeline.pop_current()
    assert Pipeline.current() is None


def test_reader_questions_without_a_reader():
    pipe, _ = counting()
    assert pipe.epoch_size() == {} and pipe.reader_meta() == {}
    with pytest.raises(RuntimeError, match="nobody"):
        pipe.epoch_size("nobody")


def test_graph_drawing(tmp_path):
    pipe, _ = counting()
    text = pipe.graph()
    assert text.startswith("digraph") and "external_source" in text
    pipe.save_graph_to_dot_file(str(tmp_path / "g.dot"), show_tensors=True, use_colors=True)
    assert (tmp_path / "g.dot").read_text() == text
    svg = text.svg()
    assert svg is None or "<svg" in svg


def test_statistics_and_trace(tmp_path):
    pipe, _ = counting()
    with pipe:
        pass
    with pytest.raises(RuntimeError, match=r"call start_trace\(\) before"):
        pipe.trace(str(tmp_path / "t.json"))
    assert not (tmp_path / "t.json").exists()
    pipe.start_trace()
    for _ in range(4):
        pipe.run()
    assert pipe.statistics()["iterations"]["delivered"] == 4
    assert pipe.executor_statistics() == {}
    pipe.trace(str(tmp_path / "t.json"))
    assert (tmp_path / "t.json").stat().st_size > 2


def test_statistics_count_the_bytes_of_all_outputs_that_were_computed():
    @pipeline_def(batch_size=4, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def pipeline():
        x = fn.random.uniform(shape=[100])
        batch = fn.python_function(x, function=lambda row: (row, row[:50]), num_outputs=2)
        only_its_shape = fn.cast(x, dtype=types.INT64)
        return *batch, only_its_shape.shape()

    pipe = pipeline()
    for _ in range(5):
        pipe.run()
    counted = {node["op"]: (node["samples"], node["bytes"]) for node in pipe.statistics()["nodes"]}
    assert counted["random.uniform"] == (20, 20 * 400)
    assert counted["python_function"] == (20, 20 * 600)
    assert counted["cast"] == (0, 0)


def sleeping(seconds: float) -> Pipeline:
    """A pipeline whose worker takes that long for a batch; sleeping leaves the processor to others."""

    @pipeline_def(batch_size=1, num_threads=1, device_id=None, exec_async=False, exec_pipelined=False)
    def pipeline():
        zeros = fn.zeros(shape=[1])
        if seconds:
            fn.python_function(zeros, function=lambda _: time.sleep(seconds), num_outputs=0)
        return zeros + 1

    return pipeline()


def test_statistics_name_what_bounds_the_throughput():
    slow = sleeping(0.02)
    slow.build()
    assert slow.statistics()["bottleneck"] == "nothing has run yet"
    for _ in range(6):
        slow.run()
    assert "python_function" in slow.statistics()["bottleneck"]
    quick = sleeping(0)
    for _ in range(6):
        quick.run()
        time.sleep(0.02)
    assert "the consumer bounds the throughput" in quick.statistics()["bottleneck"]


def test_keyboard_interrupt_ends_a_wait():
    pipe = Pipeline(1, 1)
    with pipe:
        pipe.set_outputs(fn.external_source(name="fed", blocking=True))
    pipe.build()
    timer = threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        pipe.run()
    timer.join()


def test_group_runs_pipelines_in_step():
    pipes = []
    for rank in range(3):
        pipe = Pipeline(2, 1)
        with pipe:
            source = fn.external_source(source=lambda i, *, rank=rank: np.full((2, 1), 10 * rank + i, np.int32))
            pipe.set_outputs(source, math.max(source, 5))
        pipes.append(pipe)
    group = PipelineGroup(pipes).build()
    for i in range(3):
        outputs = group.run()
        assert [plan[0].as_array()[0, 0] for plan in outputs] == [i, 10 + i, 20 + i]
        assert [plan[1].as_array()[0, 0] for plan in outputs] == [max(5, i), 10 + i, 20 + i]
    with pytest.raises(RuntimeError, match="group"):
        pipes[0].run()
    with pytest.raises(RuntimeError, match="already"):
        PipelineGroup([pipes[0]])


def test_group_must_agree():
    with pytest.raises(ValueError, match="batch_size"):
        PipelineGroup([Pipeline(1), Pipeline(2)])


FORK = """
import os
import numpy as np
from headrace import Pipeline, fn

pipe = Pipeline(1, 1)
with pipe:
    pipe.set_outputs(fn.external_source(source=lambda i: np.full((1, 1), i)))
pipe.run()
child = os.fork()
if child == 0:
    try:
        pipe.run()
    except RuntimeError as error:
        os._exit(7 if "fork" in str(error) else 8)
    os._exit(9)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert pipe.run()[0].as_array()[0, 0] == 1
"""


def test_forked_child_gets_an_error():
    environment = {"PYTHONPATH": str(pathlib.Path(headrace.__file__).parents[1])}
    assert subprocess.run([sys.executable, "-c", FORK], env=environment, timeout=60).returncode == 0


def test_threads_end_with_the_last_reference():
    def threads():
        return len(list(pathlib.Path("/proc/self/task").iterdir()))

    before = threads()
    pipe, _ = counting()
    pipe.run()
    assert threads() > before
    del pipe
    assert threads() == before
    pipes = [counting()[0] for _ in range(2)]
    group = PipelineGroup(pipes).build()
    group.run()
    del group
    assert threads() == before


LEAVE = """
import sys, threading, time
import numpy as np
from headrace import Pipeline, fn

def source(i):
    if sys.argv[1] == "callback" and i == 2:
        sys.exit(0)
    return np.full((1, 1), 1 - (i == 1 and sys.argv[1] == "error"), np.int32)

pipe = Pipeline(1, 2)
with pipe:
    fed = sys.argv[1] == "waiting"
    node = fn.external_source(name="x", blocking=True) if fed else fn.external_source(source=source)
    pipe.set_outputs(1 // node)
pipe.build()
if sys.argv[1] == "waiting":
    threading.Thread(target=pipe.run, daemon=True).start()
    time.sleep(0.2)
elif sys.argv[1] != "built":
    held = [pipe.run()]
    if sys.argv[1] in ("error", "callback"):
        try:
            pipe.run()
        except ValueError:
            pass
"""


@pytest.mark.parametrize("moment", ["built", "held", "error", "callback", "waiting"])
def test_the_interpreter_ends_cleanly(moment):
    environment = {"PYTHONPATH": str(pathlib.Path(headrace.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", LEAVE, moment], env=environment, timeout=60, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_memory_limit_is_an_error_that_says_who_holds_memory():
    pipe = Pipeline(4, 1, memory_limit=1 << 20)
    with pipe:
        pipe.set_outputs(fn.zeros(shape=[200, 200], dtype=types.UINT8))
    held = []
    with pytest.raises(MemoryError, match="hold"):
        for _ in range(20):
            held.append(pipe.run())
    assert 1 <= len(held) <= 6
    held.clear()
    pipe.run()


def test_on_error_zero_flags_the_row_and_leaves_the_others_alone():
    def divide(on_error):
        pipe = Pipeline(3, 1, on_error=on_error)
        with pipe:
            divisor = fn.external_source(source=lambda: np.int32([[1], [0], [4]]))
            pipe.set_outputs(8 // divisor)
        return pipe

    (out,) = divide("zero").run()
    assert out.as_array().tolist() == [[8], [0], [2]]
    assert out._row_status() == b"\0\2\0"
    with pytest.raises(ValueError):
        divide("raise").run()
    with pytest.raises((ValueError, RuntimeError), match="skip"):
        divide("skip").build()
