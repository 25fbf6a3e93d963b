"""fn.external_source and ops.ExternalSource: nodes whose batches come from Python."""

from __future__ import annotations

from typing import Any

from headrace import operator_call
from headrace.data_node import DataNode
from headrace.schemas import find_schema
from headrace.sources import CallableSource, FeedQueue, IterableSource, OutputCheck, make_source, per_output

_MOST_OUTPUTS = 1000


class NodeSource:
    """The Python side of one external_source node.

    Attributes:
        name: of the node.
        source: what is called for data; None if the program feeds it in.
        queue: batches fed in.
        checks: one per output.
        copy: the data must be copied, since the program may change it.
        blocking: wait for data instead of raising.
    """

    def __init__(
        self,
        name: str,
        source: CallableSource | IterableSource | None,
        checks: list[OutputCheck],
        *,
        batch: bool = True,
        separate_outputs: bool = False,
        copy: bool = True,
        blocking: bool = False,
        repeat_last: bool = False,
    ) -> None:
        self.name = name
        self.source = source
        self.checks = checks
        self.batch = batch
        self.separate_outputs = separate_outputs
        self.copy = copy
        self.blocking = blocking
        self.queue = FeedQueue(repeat_last)

    def split(self, data: Any) -> list[Any]:
        """What the source returned, as the data of each output."""
        if not self.separate_outputs:
            return [data]
        count = len(self.checks)
        if self.batch:
            return self._outputs(data, count)
        rows = [self._outputs(row, count) for row in data]
        return [[row[i] for row in rows] for i in range(count)]

    def _outputs(self, data: Any, count: int) -> list[Any]:
        if not isinstance(data, list | tuple) or len(data) != count:
            got = len(data) if isinstance(data, list | tuple) else type(data).__name__
            raise RuntimeError(
                f"ExternalSource '{self.name}': expected a tuple or list of {count} outputs from the source, got {got}"
            )
        return list(data)


def external_source(
    source: Any = None,
    num_outputs: int | None = None,
    *,
    cycle: bool | str | None = None,
    name: str | None = None,
    device: str = "cpu",
    layout: Any = None,
    dtype: Any = None,
    ndim: Any = None,
    cuda_stream: Any = None,
    use_copy_kernel: bool | None = None,
    blocking: bool | None = None,
    batch: bool | None = True,
    repeat_last: bool = False,
    parallel: bool | None = None,
    no_copy: bool | None = None,
    prefetch_queue_depth: int | None = None,
    bytes_per_sample_hint: Any = None,
    batch_info: bool | None = None,
    **kwargs: Any,
) -> Any:
    """A node that gives data made by Python code.

    Args:
        source: a callable with no argument or one, an iterable, or a generator function. Called on the thread that
            runs the pipeline, ``prefetch_queue_depth`` batches ahead. None: the program calls
            ``Pipeline.feed_input()``.
        num_outputs: the source returns a tuple of that many; the result is then a list of nodes.
        cycle: what an iterable does at its end: None, False or ``"no"``: StopIteration; True or ``"quiet"``: begins
            again; ``"raise"``: StopIteration, and begins again after ``reset()``.
        name: of the node, for feed_input() and run().
        device: ``"cpu"`` or ``"gpu"``.
        layout: of the samples, one string or one for each output.
        dtype: element type that the data must have, one or one for each output.
        ndim: number of axes that samples must have, one or one for each output.
        blocking: wait until data was fed in, from another thread, instead of raising.
        batch: the source gives whole batches: an array with a batch axis, a list of arrays, or a TensorList. False:
            it is called for each sample, with a ``types.SampleInfo`` if it takes an argument.
        repeat_last: without new data, use the batch fed in last again.
        parallel: run the source in worker processes: not available yet.
        no_copy: use the arrays' memory in place; it must not change until the batch was used.
        batch_info: a batch source gets a ``types.BatchInfo`` instead of the iteration's number.
        cuda_stream, use_copy_kernel, prefetch_queue_depth, bytes_per_sample_hint: accepted without effect.

    The end of data (StopIteration) comes out of ``run()`` after the batches before it, until ``Pipeline.reset()``.
    """
    if parallel:
        raise NotImplementedError("external_source: parallel=True is not available yet")
    if source is None and num_outputs is not None:
        raise ValueError(
            "The parameter ``num_outputs`` is only valid when using ``source`` to provide data. To feed multiple "
            "external sources in ``feed_input``, use multiple `external_source` nodes."
        )
    if num_outputs is not None:
        if isinstance(num_outputs, bool) or not hasattr(num_outputs, "__index__"):
            raise TypeError(f"external_source: num_outputs: expected an integer, got {num_outputs!r}")
        if not 1 <= num_outputs <= _MOST_OUTPUTS:
            raise ValueError(f"external_source: num_outputs: expected 1 to {_MOST_OUTPUTS}, got {num_outputs}")
    if batch is None:
        batch = True
    caller = make_source(source, batch, cycle, bool(batch_info)) if source is not None else None
    count = num_outputs or 1
    layouts, dtypes, ndims = (
        per_output(value, count, what) for value, what in ((layout, "layout"), (dtype, "dtype"), (ndim, "ndim"))
    )
    arguments = {
        "num_outputs": count,
        "blocking": blocking,
        "repeat_last": repeat_last,
        "no_copy": no_copy,
        "dtype": dtypes[0] if count == 1 else None,
        "ndim": ndims[0] if count == 1 else None,
        "layout": layouts[0] if count == 1 else None,
        **kwargs,
    }
    result = operator_call.call(find_schema("external_source"), (), arguments, device, name)
    first = result if isinstance(result, DataNode) else result[0]
    instance = first.source
    instance.source = NodeSource(
        instance.name,
        caller,
        [OutputCheck(instance.name, *declared) for declared in zip(layouts, dtypes, ndims, strict=True)],
        batch=batch,
        separate_outputs=num_outputs is not None,
        copy=not no_copy,
        blocking=bool(blocking),
        repeat_last=repeat_last,
    )
    return [result] if num_outputs == 1 else result


class ExternalSource:
    """Class form of :func:`external_source`: arguments here or in the call."""

    def __init__(self, source: Any = None, num_outputs: int | None = None, **arguments: Any) -> None:
        self._arguments = {"source": source, "num_outputs": num_outputs, **arguments}

    def __call__(self, **arguments: Any) -> Any:
        return external_source(**{**self._arguments, **arguments})
