"""Pace: lets a program run at most two batches ahead of several CPU devices.

XLA's CPU back end runs all devices of a process on one pool of threads. A program that dispatches many steps with
collectives before the first is done can fill the pool with steps that wait for each other, and XLA ends the process
after 40 s. Seen with jax 0.10.2 and a loop over resident batches, without any loader: it dies within 100 steps; with at
most two steps in flight it runs. On other back ends, and on one device, nothing is paced.
"""

from __future__ import annotations

import collections
import gc
import time
import weakref
from collections.abc import Iterable

import jax
import numpy as np

_IN_FLIGHT = 2
_LONGEST_WAIT = 10.0  # seconds: a computation that takes longer is let alone
_POLL = 0.0005

_Refs = list[weakref.ref]


class Pace:
    """Remembers the batches that were given out last, and waits until JAX is done with the oldest."""

    def __init__(self) -> None:
        self._given: collections.deque[tuple[_Refs, _Refs]] = collections.deque()

    def wait(self) -> None:
        """Before a batch is given out: returns when JAX has read the last but one before it.

        JAX lets go of a batch's host memory when the last computation that reads it is done. That says nothing while
        the program itself keeps the arrays, so then nothing is waited for.
        """
        if len(self._given) < _IN_FLIGHT:
            return
        arrays, memory = self._given.popleft()
        if any(array() is not None for array in arrays):
            return
        deadline = time.monotonic() + _LONGEST_WAIT
        while any(block() is not None for block in memory) and time.monotonic() < deadline:
            gc.collect(0)  # JAX drops references to host memory when it is called, or when Python collects
            time.sleep(_POLL)

    def add(self, arrays: Iterable[jax.Array], memory: Iterable[np.ndarray]) -> None:
        """Notes a batch that is given out, and the host memory that its arrays use."""
        self._given.append(([weakref.ref(array) for array in arrays], [weakref.ref(block) for block in memory]))


def needs_pace(devices: Iterable[jax.Device]) -> bool:
    """True for several CPU devices of one process."""
    local = [device for device in devices if device.process_index == jax.process_index()]
    return len(local) > 1 and all(device.platform == "cpu" for device in local)
