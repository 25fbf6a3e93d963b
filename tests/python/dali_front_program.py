"""Prints what sources, subscripts and arithmetic do; run by test_dali_front.py with DALI and with headrace."""

import numpy as np
import nvidia.dali as dali
from nvidia.dali import Pipeline, fn, math, types


def show(label, function):
    try:
        print(label, "gives", function())
    except BaseException as error:
        print(label, "raises", type(error).__name__)


def run_source(source, runs=8, depth=2, reset_after=(), **kwargs):
    """The first element of every sample of each run, or what was raised."""
    pipe = Pipeline(batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=depth)
    with pipe:
        pipe.set_outputs(fn.external_source(source, **kwargs))
    pipe.build()
    seen = []
    for k in range(runs):
        try:
            (out,) = pipe.run()
            seen.append([np.asarray(out[i]).ravel()[:1].tolist() for i in range(len(out))])
        except StopIteration:
            seen.append("stop")
        if k in reset_after:
            pipe.reset()
            seen.append("reset")
    return seen


def run_node(function):
    """Layout, shape, type and values of a function of a node that holds [[0, 1, 2], [3, 4, 5]], layout HW."""
    data = np.arange(6, dtype=np.int32).reshape(2, 3)
    pipe = Pipeline(batch_size=1, num_threads=1, device_id=None)
    with pipe:
        pipe.set_outputs(function(fn.external_source(lambda: [data], layout="HW")))
    pipe.build()
    (out,) = pipe.run()
    return out.layout(), out.shape(), str(out.dtype), np.asarray(out[0]).tolist()


def batch(i):
    return np.full((2, 1), i, np.int32)


def recording(calls, make, end):
    """A source that notes what it is called with and ends in iteration `end`."""

    def source(info):
        calls.append(info if isinstance(info, int) else (info.idx_in_epoch, info.idx_in_batch, info.epoch_idx))
        if (info if isinstance(info, int) else info.iteration) >= end:
            raise StopIteration
        return make(info)

    return source


def show_sources(depth):
    for name, make, kwargs in (
        ("batches", batch, {}),
        ("samples", lambda info: np.int32([info.idx_in_epoch]), {"batch": False}),
    ):
        calls = []
        source = recording(calls, make, 3)
        show(f"{name} {depth}", lambda: run_source(source, depth=depth, reset_after=(1, 4), **kwargs))  # noqa: B023
        print(name, depth, "called with", calls)
    for cycle in (None, False, "no", True, "quiet", "raise"):
        show(f"cycle {cycle} {depth}", lambda: run_source([batch(0), batch(1)], 8, depth, (3,), cycle=cycle))  # noqa: B023
    show(f"rest {depth}", lambda: run_source((np.int32([i]) for i in range(5)), 4, depth, batch=False))


NODES = {
    "x[0]": lambda x: x[0],
    "x[:, None]": lambda x: x[:, None],
    "x[-1, ::-1]": lambda x: x[-1, ::-1],
    "x[newaxis]": lambda x: x[dali.newaxis],
    "x[newaxis C]": lambda x: x[dali.newaxis("C")],
    "x[0, newaxis C]": lambda x: x[0, dali.newaxis("C")],
    "x[:, newaxis C, 1:]": lambda x: x[:, dali.newaxis("C"), 1:],
    "x[5:]": lambda x: x[5:],
    "x[2]": lambda x: x[2],
    "x[0, 0, 0]": lambda x: x[0, 0, 0],
    "x[node]": lambda x: x[fn.constant(idata=[1], shape=[])],
    "x[:, 0:node]": lambda x: x[:, 0 : fn.constant(idata=[2], shape=[])],
    "x + True": lambda x: x + True,
    "x / 2": lambda x: x / 2,
    "2 - x": lambda x: 2 - x,
    "x == 2": lambda x: x == 2,
    "-x": lambda x: -x,
    "~x": lambda x: ~x,
    "x + int64": lambda x: x + np.int64(1),
    "x + uint8": lambda x: x + np.uint8(1),
    "x * list": lambda x: x * [1, 2, 3],
    "x + Constant": lambda x: x + types.Constant(1.5),
    "x + Constant.uint8": lambda x: x + types.Constant(1).uint8(),
    "x // 0": lambda x: x // 0,
    "x % 2": lambda x: x % 2,
    "x ** 2": lambda x: x**2,
    "clamp": lambda x: math.clamp(x, 1, 3),
    "shape": lambda x: x.shape(),
    "shape int32": lambda x: x.shape(dtype=types.INT32),
    "layout": lambda x: x.property("layout"),
    "source_info": lambda x: x.source_info(),
    "u8 + i8": lambda x: fn.cast(x, dtype=types.UINT8) + fn.cast(x, dtype=types.INT8),
    "one_hot of a constant": lambda x: fn.one_hot(fn.constant(idata=[3]), num_classes=4),
    "numbers as inputs": lambda x: fn.full(3.5, shape=[2]),
    "x + float64": lambda x: x + np.float64(1),
    "x[...]": lambda x: x[...],
    "x['a']": lambda x: x["a"],
    "bool(x)": lambda x: bool(x),
    "unknown argument": lambda x: fn.cast(x, dtyp=types.FLOAT),
    "no input": lambda x: fn.copy(),
    "node for a constant": lambda x: fn.one_hot(x, num_classes=4, dtype=x),
}

if __name__ == "__main__":
    for depth in (1, 2, 3):
        show_sources(depth)
    for name, function in NODES.items():
        show(name, lambda: run_node(function))  # noqa: B023
