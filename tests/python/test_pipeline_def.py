"""pipeline_def in every form, and what its functions may return."""

import numpy as np
import pytest

from headrace import Pipeline, fn, pipeline_def, types


@pipeline_def
def bare(value):
    return fn.constant(idata=[value])


@pipeline_def()
def called(value=4):
    return fn.constant(idata=[value])


@pipeline_def(batch_size=3, num_threads=1, seed=5)
def configured(value, *, scale=1):
    """Doc of configured."""
    return fn.constant(idata=[value]) * scale, 7


def first(pipe):
    return pipe.run()[0].as_array().ravel()[0]


@pytest.mark.parametrize(
    ("pipe", "batch_size", "value"),
    [
        (lambda: bare(1, batch_size=2), 2, 1),
        (lambda: bare(value=2, batch_size=1, num_threads=1), 1, 2),
        (lambda: called(batch_size=1), 1, 4),
        (lambda: configured(5), 3, 5),
        (lambda: configured(5, scale=2), 3, 10),
        (lambda: configured(5, scale=2, batch_size=6), 6, 10),
        (lambda: pipeline_def(lambda: fn.constant(idata=[8]))(batch_size=1), 1, 8),
        (lambda: pipeline_def(batch_size=1)(lambda: fn.constant(idata=[8]))(), 1, 8),
    ],
)
def test_forms(pipe, batch_size, value):
    made = pipe()
    assert isinstance(made, Pipeline) and made.batch_size == batch_size
    assert first(made) == value


def test_the_factory_looks_like_the_function():
    assert configured.__name__ == "configured" and configured.__doc__ == "Doc of configured."


def test_tuple_with_constants():
    node, seven = configured(1).run()
    assert seven.as_array().tolist() == [7, 7, 7] and node.dtype == types.INT32


@pytest.mark.parametrize(
    ("outputs", "error"),
    [
        (lambda: [fn.constant(idata=[1])], TypeError),
        (lambda: {"a": fn.constant(idata=[1])}, TypeError),
        (lambda: "text", TypeError),
        (lambda: None, NotImplementedError),
        (lambda: (fn.constant(idata=[1]), None), NotImplementedError),
        (lambda: (fn.constant(idata=[1]), [fn.constant(idata=[1])]), TypeError),
    ],
)
def test_outputs_refused(outputs, error):
    with pytest.raises(error):
        pipeline_def(batch_size=1)(outputs)()


def test_kwargs_in_the_function():
    with pytest.raises(TypeError, match="kwargs"):

        @pipeline_def
        def variadic(**kwargs):
            return 1


def test_unknown_keywords_are_named():
    with pytest.raises(TypeError, match="bach_size"):
        pipeline_def(bach_size=1)
    with pytest.raises(TypeError, match="valu"):
        configured(valu=1)


def test_a_parameter_that_shadows_a_pipeline_argument_goes_to_the_function():
    with pytest.warns(UserWarning, match="seed"):

        @pipeline_def(batch_size=1, seed=3)
        def shadowing(seed):
            return np.int32([seed])

    pipe = shadowing(seed=9)
    assert pipe.seed == 3 and first(pipe) == 9


def test_an_exception_in_the_function_leaves_no_current_pipeline():
    @pipeline_def(batch_size=1)
    def failing():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert Pipeline.current() is None
