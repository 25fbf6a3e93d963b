"""memory_limit: the pipeline reads ahead as far as it allows, and no further."""

import time

import numpy as np
import pytest

from headrace import Pipeline, PipelineGroup, fn, pipeline_def


def test_reading_ahead_never_exceeds_memory_limit():
    size = 4 * 4 * (256 << 10)  # bytes of one iteration
    pipe = Pipeline(4, 2, memory_limit=size + size // 2, prefetch_queue_depth=4)
    with pipe:
        pipe.set_outputs(fn.random.uniform(shape=[256 << 10]))
    for _ in range(6):
        pipe.run()


def test_reading_ahead_uses_what_memory_limit_allows():
    pipe = Pipeline(4, 1, memory_limit=1 << 20, prefetch_queue_depth=3)
    with pipe:
        pipe.set_outputs(fn.random.uniform(shape=[16]))
    pipe.run()
    pipe.run()
    assert pipe.statistics()["iterations"] == {"started": 4, "delivered": 2, "waiting": 2}


MB = 1 << 20


@pytest.mark.parametrize("kind", ["computed", "fed", "fed and reduced"])
@pytest.mark.parametrize("pipelines", [1, 4])
def test_what_a_whole_group_needs_is_known(kind, pipelines):
    """4 MB an iteration over all pipelines; the consumer is slow, so reading ahead goes to the limit."""
    rows = [np.zeros(MB // 4 // pipelines, np.float32)] * 4

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, prefetch_queue_depth=8, memory_limit=22 * MB)
    def pipeline():
        if kind == "computed":
            return fn.random.uniform(shape=[len(rows[0])])
        fed = fn.external_source(lambda: rows)
        return fed + 1 if kind == "fed" else fn.reductions.sum(fed)

    group = PipelineGroup([pipeline() for _ in range(pipelines)]).build()
    for _ in range(20):
        group.run()
        time.sleep(0.02)
    if kind != "fed":  # which is both
        assert group.executor.started - group.executor.delivered > 1  # it does read ahead
