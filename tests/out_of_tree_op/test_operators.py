"""The operators of headrace_operators.cc, used like all others. Run by tests/python/test_out_of_tree_op.py, which
builds the library and names it in HEADRACE_OUT_OF_TREE_LIBRARY: loading it changes the process for good."""

import importlib
import inspect
import io
import os
import pathlib
import threading

import numpy as np
import pytest
import run_op
from PIL import Image

import headrace
from headrace import fn, ops, plugin_manager, types

LIBRARY = os.environ["HEADRACE_OUT_OF_TREE_LIBRARY"]


@headrace.pipeline_def(batch_size=2, num_threads=1, device_id=None)
def plain():
    return fn.external_source(source=lambda: np.zeros((2, 3), np.float32))


# Made before the library is loaded, and running while it is.
BEFORE = plain()
BEFORE.build()
BEFORE.schedule_run()
assert not hasattr(fn, "out_of_tree")
NAMES = headrace.load_plugin(LIBRARY)


def run(function, *inputs, **options) -> list[np.ndarray]:
    """The samples of the one output of a graph on batches of arrays."""
    [output] = run_op.run(function, *inputs, **options)
    return output.samples


def test_names_and_loading_again(tmp_path):
    assert "out_of_tree.scale_add" in NAMES and "out_of_tree.images.invert" in NAMES and len(NAMES) == 8
    assert headrace.load_plugin(LIBRARY) == []
    plugin_manager.load_library(LIBRARY, global_symbols=True)
    link = tmp_path / "link.so"
    link.symlink_to(LIBRARY)
    assert headrace.load_plugin(link) == []
    copy = tmp_path / "copy.so"
    copy.write_bytes(pathlib.Path(LIBRARY).read_bytes())
    with pytest.raises(RuntimeError, match=r"copy.so: operator out_of_tree\.\S+ exists already: give it another name"):
        headrace.load_plugin(copy)


def test_pipelines_made_before_go_on():
    for _ in range(3):
        (output,) = BEFORE.share_outputs()
        assert output.as_array().shape == (2, 3)
        BEFORE.release_outputs()
        BEFORE.schedule_run()


def test_signature_docstring_and_modules():
    signature = inspect.signature(fn.out_of_tree.scale_add)
    assert signature.parameters["scale"].default == 1.0 and "data" in signature.parameters
    assert "Computes `in * scale + offset`." in fn.out_of_tree.scale_add.__doc__
    assert "out_of_tree" in dir(fn) and "invert" in dir(fn.out_of_tree.images)
    assert importlib.import_module("headrace.fn.out_of_tree.images").invert is fn.out_of_tree.images.invert
    from headrace.ops.out_of_tree import ScaleAdd

    assert ScaleAdd is ops.out_of_tree.ScaleAdd and ScaleAdd.__name__ == "ScaleAdd"
    with pytest.raises(AttributeError, match="out_of_tree.nothing"):
        _ = fn.out_of_tree.nothing


def test_elementwise_with_constants_and_values_per_sample():
    data = [np.array([[1, 200], [3, 100]], np.uint8), np.array([[7]], np.uint8)]
    [first, second] = run(lambda x: fn.out_of_tree.scale_add(x, scale=1.5, offset=0.25), data)
    assert first.dtype == np.uint8 and first.tolist() == [[2, 255], [5, 150]] and second.tolist() == [[11]]
    scales = [np.array(2, np.int32), np.array(-1, np.int32)]  # of another type than the argument
    out = run(
        lambda x, s: fn.out_of_tree.scale_add(x, scale=s, offset=fn.cast(s, dtype=types.FLOAT), dtype=types.FLOAT),
        data, scales,
    )  # fmt: skip
    for got, sample, scale in zip(out, data, scales, strict=True):
        np.testing.assert_array_equal(got, sample.astype(np.float32) * scale + scale)
    with pytest.raises(RuntimeError, match=r"\[out_of_tree.scale_add\] scale: expected one value per sample"):
        run(lambda x, s: fn.out_of_tree.scale_add(x, scale=s), data, [np.zeros(2, np.float32)] * 2)
    with pytest.raises(KeyError, match="scales"):
        run(lambda x: fn.out_of_tree.scale_add(x, scales=3), data)


def test_class():
    scale = ops.out_of_tree.ScaleAdd(scale=3.0)
    [out] = run(lambda x: scale(x, offset=1.0), [np.array([1, 2], np.int32)])
    assert out.tolist() == [4, 7]


def test_batch_operator_with_samples_of_different_shapes():
    data = [np.array([1, 2, 3], np.float32), np.array([[10]], np.float32)]
    with pytest.raises(RuntimeError):
        run(fn.out_of_tree.subtract_batch_mean, data)  # other numbers of axes in one batch
    data = [np.array([1, 2, 3], np.float32), np.array([10], np.float32)]
    got = run(fn.out_of_tree.subtract_batch_mean, data)
    for sample, expected in zip(got, data, strict=True):
        np.testing.assert_array_equal(sample, expected - np.float32(4))


def test_conditionals_give_a_batch_operator_its_own_samples():
    def graph(x, flag):
        if flag:
            x = fn.out_of_tree.subtract_batch_mean(x)
        return x

    data = [np.full(2, value, np.float32) for value in (1, 5, 3)]
    got = run(graph, data, [np.array(f) for f in (True, False, True)], enable_conditionals=True)
    assert [sample[0] for sample in got] == [-1, 5, 1]


@pytest.mark.parametrize("size", [(40, 56), (33, 17)])
def test_regions_through_an_operator_of_the_library(size):
    height, width = size
    pixels = np.random.default_rng(1).integers(0, 256, (height, width, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    encoded = np.frombuffer(file.getvalue(), np.uint8)
    top, left = 5, 3  # (height - 20) * y and (width - 10) * x

    def graph(x):
        inverted = fn.out_of_tree.images.invert(fn.decoders.image(x))
        return fn.slice(inverted, start=[top, left], shape=[20, 10], axes=[0, 1])

    [out] = run(graph, [encoded])
    np.testing.assert_array_equal(out, 255 - pixels[top : top + 20, left : left + 10])
    # An operator that knows nothing of regions gets all of its input.

    def unaware(x):
        inverted = fn.out_of_tree.scale_add(fn.decoders.image(x), scale=-1.0, offset=255.0)
        return fn.slice(inverted, start=[top, left], shape=[20, 10], axes=[0, 1])

    [out] = run(unaware, [encoded])
    np.testing.assert_array_equal(out, 255 - pixels[top : top + 20, left : left + 10])


def test_reader_shards_names_and_checkpoint():
    @headrace.pipeline_def(batch_size=2, num_threads=2, device_id=None)
    def graph(shard_id):
        square = fn.out_of_tree.squares(size=10, shard_id=shard_id, num_shards=2, name="squares", stick_to_shard=True)
        return square, fn.get_property(square, key="source_info")

    pipeline = graph(1, enable_checkpointing=True)
    assert pipeline.epoch_size("squares") == 10
    square, name = pipeline.run()
    assert square.as_array().tolist() == [25, 36]
    assert bytes(np.array(name[1])).decode() == "square of 6"
    resumed = graph(1, enable_checkpointing=True, checkpoint=pipeline.checkpoint())
    assert resumed.run()[0].as_array().tolist() == [49, 64]


def test_random_numbers_are_those_of_the_sample():
    def draws(batch_size):
        @headrace.pipeline_def(batch_size=batch_size, num_threads=2, device_id=None, seed=5)
        def graph():
            return fn.out_of_tree.squares(size=12), fn.out_of_tree.draw()

        pipeline = graph()
        return np.concatenate([pipeline.run()[1].as_array() for _ in range(12 // batch_size)])

    reference = draws(12)
    assert len(set(reference.tolist())) == 12 and reference.min() >= 0 and reference.max() < 1
    for batch_size in (1, 4):
        np.testing.assert_array_equal(draws(batch_size), reference)


FAILURES = {
    "value": (ValueError, r"\[out_of_tree.failing\] kind: value is not allowed"),
    "std": (RuntimeError, "out of range"),
    "own": (RuntimeError, "an exception class of the library"),
    "memory": (MemoryError, "no memory left"),
    "foreign": (RuntimeError, r"an exception of type \(anonymous namespace\)::Foreign was thrown"),
}


@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize("where", ["constructor", "infer", "run", "batch"])
def test_what_an_operator_throws_becomes_an_exception(kind, where):
    error, message = FAILURES[kind]

    def graph(x):
        if where == "batch":
            return fn.out_of_tree.failing_batch(x, kind=kind)
        return fn.out_of_tree.failing(x, kind=kind, where=where)

    with pytest.raises(error, match=message) as caught:
        run(graph, [np.zeros(3, np.float32)])
    operator = "failing_batch" if where == "batch" else "failing"
    assert f"headrace.fn.out_of_tree.{operator}`" in str(caught.value)
    assert "test_operators.py" in str(caught.value)


@pytest.mark.parametrize("kind", FAILURES)
def test_a_hint_that_fails_costs_nothing(kind):
    samples = [np.full(3, i, np.float32) for i in range(200)]  # hints are given in long batches
    got = run(lambda x: fn.out_of_tree.failing(x, kind=kind, where="prefetch"), samples)
    np.testing.assert_array_equal(got, samples)


CARELESS = {
    "constant": r"\[out_of_tree.careless\] unheard_of: .* Schema does not declare it",
    "value": r"\[out_of_tree.careless\] unheard_of: .* Schema does not declare it",
    "integer": r"\[out_of_tree.careless\] factor: .*Schema declares numbers with fractions.* integers",
    "integers": r"\[out_of_tree.careless\] factors: .*Schema declares numbers with fractions.* integers",
    "input": "asks for input 1, but it has 1",
    "negative input": "asks for input -1, but it has 1",
    "argument": "asks for tensor argument 0, but it has 0",
    "output": "asks for output 1, but it has 1",
    "nothing": r"\[out_of_tree.careless\]: infer\(\) has described no element type",
    "run": "asks for input 2, but it has 1",
}


@pytest.mark.parametrize("how", CARELESS)
def test_an_operator_that_departs_from_its_schema_is_named(how):
    with pytest.raises(RuntimeError, match=CARELESS[how]) as caught:
        run(lambda x: fn.out_of_tree.careless(x, how=how), [np.zeros(3, np.float32)])
    assert "headrace.fn.out_of_tree.careless`" in str(caught.value)
    assert "test_operators.py" in str(caught.value)
    assert "bug" not in str(caught.value)


def test_a_failed_sample_can_be_zeroed():
    scales = [np.ones(1, np.float32), np.ones(2, np.float32)]  # the second has no one value
    got = run(lambda x, s: fn.out_of_tree.scale_add(x, scale=s), [np.ones(3, np.float32)] * 2, scales, on_error="zero")
    assert [sample.tolist() for sample in got] == [[1, 1, 1], [0, 0, 0]]


def test_serialized_graphs():
    @headrace.pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def graph():
        return fn.out_of_tree.scale_add(fn.constant(idata=[1, 2]), scale=2.0)

    again = headrace.Pipeline.deserialize(graph().serialize())
    assert again.run()[0].as_array().tolist() == [[2, 4]]


def test_loading_beside_pipelines_that_are_being_made():
    """Operators are looked up on threads without the GIL while others are added."""
    bad = os.environ["HEADRACE_BAD_LIBRARY"]
    done = threading.Event()

    def build():
        while not done.is_set():
            pipeline = plain()
            pipeline.build()
            pipeline.close()

    thread = threading.Thread(target=build)
    thread.start()
    try:
        for _ in range(50):
            with pytest.raises(RuntimeError, match="no licence"):
                headrace.load_plugin(bad)
    finally:
        done.set()
        thread.join()
