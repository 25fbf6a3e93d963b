"""memory_limit: the pipeline reads ahead as far as it allows, and no further."""

from headrace import Pipeline, fn


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
