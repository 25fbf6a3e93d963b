"""jax_function: JAX functions as operators of a pipeline's graph."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jax.sharding import Sharding

from headrace import operator_call
from headrace.callbacks import Callback, layout_list
from headrace.plugin.jax.joint_function import JointCallback
from headrace.plugin.jax.local_function import LocalCallback
from headrace.schemas import find_schema

__all__ = ["jax_function"]


def jax_function(
    function: Callable[..., Any] | None = None,
    num_outputs: int = 1,
    output_layouts: str | Sequence[str] | None = None,
    sharding: Sharding | None = None,
    device: str | None = None,
    preserve: bool = True,
) -> Callable[..., Any]:
    """Makes an operator of a JAX function, as a decorator or a function::

        @jax_function
        @jax.jit
        def flipped(images):
            return images[:, :, ::-1]


        @pipeline_def(batch_size=32, num_threads=4)
        def pipe():
            ...
            return flipped(images)

    Args:
        function: gets one jax.Array for each input, the batch on axis 0, and returns an array, or a tuple of
            ``num_outputs`` arrays, with as many rows. The samples of a batch must have one shape.
        num_outputs: 0: the function is called for its effect.
        output_layouts: of the samples, one for all outputs or a list. Without it an output with as many axes as the
            input of the same number keeps that one's layout.
        sharding: the function gets global arrays over all processes, cut like this. Over several devices it may use
            collectives; it is then called on the thread that asks for batches, in an order that depends on nothing but
            the number of batches asked for, so that all processes agree; they must ask for equally many. Without it
            the function gets the batch of one pipeline on one device and runs on a thread of its own.
        device: ``"cpu"`` or ``"gpu"``: of the node.
        preserve: call the function even if nobody uses its outputs.

    An exception comes out of the pipeline as a RuntimeError with the function's traceback. A pipeline with such a
    function cannot be serialized.
    """
    if sharding is not None and not isinstance(sharding, Sharding):
        raise TypeError(f"[jax_function] sharding: expected a jax.sharding.Sharding, got {type(sharding).__name__}")
    layouts = layout_list(output_layouts, num_outputs, "jax_function")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(function):
            raise TypeError(f"[jax_function] function: expected a callable, got {type(function).__name__}")

        @functools.wraps(function)
        def operator(*inputs: Any) -> Any:
            return _add_node(function, inputs, layouts, sharding, device, preserve)

        return operator

    return decorate if function is None else decorate(function)


def _add_node(
    function: Callable[..., Any],
    inputs: tuple[Any, ...],
    layouts: list[str | None],
    sharding: Sharding | None,
    device: str | None,
    preserve: bool,
) -> Any:
    pipeline = operator_call.current_pipeline()
    callback: Callback
    if sharding is not None and len(sharding.device_set) > 1:
        if operator_call.current_branch() is not None:
            raise RuntimeError(
                "[jax_function] a function over several devices cannot be called in a branch of an `if`: whether it "
                "runs would depend on the data, and the processes would wait for each other; call it outside, and "
                "choose among its results"
            )
        op = "_joint_jax_function"
        callback = JointCallback(function, layouts, sharding, pipeline)
    else:
        op = "_jax_function"
        callback = LocalCallback(function, layouts, sharding, getattr(pipeline, "device_id", None))
    arguments = {"num_outputs": len(layouts), "preserve": preserve}
    display_name = f"{operator_call.display_prefix}.plugin.jax.fn.jax_function"
    return operator_call.call(find_schema(op), inputs, arguments, device, display_name=display_name, callback=callback)
