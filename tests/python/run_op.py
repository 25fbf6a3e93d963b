"""Runs one batch of arrays through a function of nodes, for tests of single operators.

[out] = run(lambda x: fn.transpose(x, perm=[1, 0]), [array_a, array_b], layouts=["HW"])
out.samples[1], out.layout
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import headrace
from headrace import fn


class Output(NamedTuple):
    samples: list[np.ndarray]
    layout: str


def _source(batch: list[np.ndarray], layout: str | None):
    return fn.external_source(source=lambda: batch, layout=layout)


def run(
    function: Callable, *inputs: Sequence[Any], layouts: Sequence[str | None] = (), **pipeline: Any
) -> list[Output]:
    """`inputs`: for each argument of `function` its samples, one per row of the batch; `layouts` likewise.

    `pipeline`: arguments of the Pipeline. Returns the outputs of the first iteration.
    """
    batches = [[np.asarray(sample) for sample in samples] for samples in inputs]
    layouts = [*layouts, *[None] * (len(batches) - len(layouts))]
    options = {"batch_size": len(batches[0]) if batches else 1, "num_threads": 2, "device_id": None, **pipeline}

    @headrace.pipeline_def(**options)
    def graph():
        nodes = [_source(batch, layout) for batch, layout in zip(batches, layouts, strict=True)]
        result = function(*nodes)
        return tuple(result) if isinstance(result, list | tuple) else result

    return [
        Output([np.array(output.as_cpu()[i]) for i in range(len(output))], output.layout()) for output in graph().run()
    ]
