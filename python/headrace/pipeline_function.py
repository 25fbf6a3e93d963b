"""pipeline_def: a function that defines a graph becomes a factory of pipelines."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, overload

from headrace.conditionals.functions import convert_pipeline_function
from headrace.pipeline import Pipeline

_CONSTRUCTOR_ARGUMENTS = frozenset(inspect.signature(Pipeline.__init__).parameters) - {"self"}


def _check_function(function: Callable[..., Any]) -> set[str]:
    """The names of the function's parameters."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind == inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        raise TypeError(
            "Using variadic keyword argument `**kwargs` in graph-defining function is not allowed; name the arguments."
        )
    names = {parameter.name for parameter in parameters}
    for name in sorted(names & _CONSTRUCTOR_ARGUMENTS):
        warnings.warn(
            f"The argument {name} shadows a Pipeline constructor argument of the same name.",
            stacklevel=4,
        )
    return names


def _make_pipeline(
    function: Callable[..., Any],
    names: set[str],
    conditionals: bool,
    decorator_arguments: dict[str, Any],
    args: tuple[Any, ...],
    given: dict[str, Any],
) -> Pipeline:
    for_function = {name: value for name, value in given.items() if name in names}
    for_pipeline = {name: value for name, value in given.items() if name not in names}
    unknown = sorted(set(for_pipeline) - _CONSTRUCTOR_ARGUMENTS)
    if unknown:
        raise TypeError(
            f"{function.__name__}() got an unexpected keyword argument '{unknown[0]}': it is neither a parameter of "
            "the function nor of Pipeline"
        )
    pipeline = Pipeline(**{**decorator_arguments, **for_pipeline})
    if conditionals:
        function = convert_pipeline_function(function)
    with pipeline:
        outputs = function(*args, **for_function)
        if isinstance(outputs, tuple):
            pipeline.set_outputs(*outputs)
        else:
            pipeline.set_outputs(outputs)
    return pipeline


@overload
def pipeline_def(fn: Callable[..., Any], /) -> Callable[..., Pipeline]: ...


@overload
def pipeline_def(
    fn: None = None, *, enable_conditionals: bool = False, **pipeline_kwargs: Any
) -> Callable[[Callable[..., Any]], Callable[..., Pipeline]]: ...


def pipeline_def(
    fn: Callable[..., Any] | None = None, *, enable_conditionals: bool = False, **pipeline_kwargs: Any
) -> Any:
    """Makes a factory of pipelines from a function that defines a graph.

    The function makes nodes and returns the outputs: a node, a constant, or a tuple of them. The factory takes the
    function's arguments and, by keyword, those of :class:`Pipeline`, which override the ones given here::

        @pipeline_def(batch_size=32, num_threads=4)
        def images(path):
            jpegs, labels = fn.readers.file(file_root=path)
            return fn.decoders.image(jpegs), labels


        pipe = images("/data", seed=12)

    With ``enable_conditionals`` the function's `if` statements, `and`, `or` and `not` work on nodes of scalars: each
    sample goes through the branch that its condition names. So do those of functions that it calls, except ones marked
    with :func:`headrace.pipeline.do_not_convert`.

    Raises TypeError for a function with ``**kwargs``, for unknown keywords, and for outputs in a list or dict.
    """
    unknown = sorted(set(pipeline_kwargs) - _CONSTRUCTOR_ARGUMENTS)
    if unknown:
        raise TypeError(f"pipeline_def() got an unexpected keyword argument '{unknown[0]}'; Pipeline has no such one")

    def decorate(function: Callable[..., Any]) -> Callable[..., Pipeline]:
        names = _check_function(function)

        @functools.wraps(function)
        def factory(*args: Any, **kwargs: Any) -> Pipeline:
            return _make_pipeline(function, names, enable_conditionals, pipeline_kwargs, args, kwargs)

        factory._is_pipeline_def = True  # type: ignore[attr-defined]
        factory._pipeline_kwargs = pipeline_kwargs  # type: ignore[attr-defined]
        return factory

    return decorate if fn is None else decorate(fn)
