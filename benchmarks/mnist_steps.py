"""Steps per second of the MNIST example's training loop, fed by headrace and over batches that are there already.

usage: python benchmarks/mnist_steps.py LMDB [--steps 384] [--rounds 11]

Every round runs every loop once, one after the other, so that ratios are of neighbours. Prints one JSON object: for
each loop the median of its steps per second, and of its ratio to the loop over resident batches that are dropped after
use. The number of steps must be a multiple of 32.
"""

import argparse
import collections
import json
import statistics
import sys
import time
from pathlib import Path

import jax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "mnist_flax"))

import model

from headrace import fn, types
from headrace.plugin.jax import data_iterator, read_ahead

BATCH = 50
GROUP = 32
BASE = "resident, dropped"


def training_batches(path, group=None):
    """An iterator over images (50, 784) and labels (50, 10), or stacks of them."""

    @data_iterator(output_map=["images", "labels"], reader_name="reader", group=group)
    def batches():
        jpegs, labels = fn.readers.caffe2(path=path, random_shuffle=True, name="reader")
        images = fn.decoders.image(jpegs, device="mixed", output_type=types.GRAY)
        images = fn.crop_mirror_normalize(images, dtype=types.FLOAT, std=[255.0], output_layout="CHW")
        return fn.reshape(images, shape=[-1]), fn.one_hot(labels.gpu(), num_classes=10)

    return batches(batch_size=BATCH)


def endless(iterator):
    """Epoch after epoch; stacks that are not full, at the ends of epochs, are left out."""
    while True:
        for batch in iterator:
            if batch["images"].ndim < 3 or len(batch["images"]) == GROUP:
                yield batch


def batches_one_by_one(path):
    """As on a device whose batches are not grouped: JAX uploads each array when it is handed out."""
    grouped = read_ahead.has_own_memory
    read_ahead.has_own_memory = lambda devices: False
    try:
        return training_batches(path)
    finally:
        read_ahead.has_own_memory = grouped


@jax.jit
def scan_steps(state, stack):
    return jax.lax.scan(lambda state, batch: (model.train_step(state, batch), None), state, stack)[0]


def timed(step, state, batches, calls):
    """The state after so many calls, and the seconds that they took."""
    begin = time.perf_counter()
    for _ in range(calls):
        state = step(state, next(batches))
    jax.block_until_ready(state)
    return state, time.perf_counter() - begin


def popped(batches):
    """Gives the batches and lets go of them."""
    queue = collections.deque(batches)
    batches.clear()
    while queue:
        yield queue.popleft()


class Loops:
    """The loops that are compared, each as a function from a number of steps to (step, batches, calls)."""

    def __init__(self, path, steps):
        self._fed = endless(training_batches(path))
        self._single = endless(batches_one_by_one(path))
        self._stacked = endless(training_batches(path, GROUP))
        self._spare = endless(training_batches(path))
        self._kept = [next(self._spare) for _ in range(steps)]
        self._stacks = [next(self._stacked) for _ in range(steps // GROUP)]
        self.kinds = {
            "resident, kept": self.resident,
            BASE: self.dropped,
            "headrace": lambda steps: (model.train_step, self._fed, steps),
            "headrace, one upload for each array": lambda steps: (model.train_step, self._single, steps),
            "resident, scan over 32": lambda steps: (scan_steps, iter(self._stacks), steps // GROUP),
            "headrace, scan over group=32": lambda steps: (scan_steps, self._stacked, steps // GROUP),
        }

    def resident(self, steps):
        return model.train_step, iter(self._kept[:steps]), steps

    def dropped(self, steps):
        batches = [jax.tree.map(lambda x: x.copy(), batch) for batch in self._kept[:steps]]
        jax.block_until_ready(batches)
        return model.train_step, popped(batches), steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lmdb", type=Path)
    parser.add_argument("--steps", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    if options.steps % GROUP:
        parser.error(f"--steps: expected a multiple of {GROUP}, got {options.steps}")
    loops = Loops(str(options.lmdb), options.steps)
    state = jax.device_put(model.init_model(), jax.devices()[0])
    speeds = {name: [] for name in loops.kinds}
    for number in range(options.rounds + 1):
        for name, kind in loops.kinds.items():
            step, batches, calls = kind(options.steps)
            state, seconds = timed(step, state, batches, calls)
            if number > 0:  # the first round compiles
                speeds[name].append(options.steps / seconds)
    ratios = {
        name: statistics.median(a / b for a, b in zip(values, speeds[BASE], strict=True))
        for name, values in speeds.items()
    }
    table = {
        name: {"steps/s": round(statistics.median(values), 1), f"of {BASE}": round(ratios[name], 3)}
        for name, values in speeds.items()
    }
    print(json.dumps({"device": jax.devices()[0].device_kind, "jax": jax.__version__, "loops": table}))


if __name__ == "__main__":
    main()
