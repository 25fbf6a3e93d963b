"""Programs end quickly and quietly, whatever state their iterators are in."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytest.importorskip("jax")

PACKAGE = Path(__file__).resolve().parents[3] / "python"

PROLOGUE = """
import sys, threading, time
import numpy as np
import jax
from headrace import fn, pipeline_def
from headrace.plugin.jax import DALIGenericIterator

def make(source, **arguments):
    @pipeline_def(batch_size=4, num_threads=2, **arguments)
    def pipe():
        return fn.external_source(source) + np.float32(1)
    return DALIGenericIterator(pipe(), ["x"])

def constant(k):
    return np.full((4, 1000), k, np.float32)

def reading_ahead(delay=0):
    from headrace.plugin.jax import read_ahead
    read_ahead.has_own_memory = lambda devices: True
    read_ahead._MOST_BATCHES = 8  # quick to compile
    @pipeline_def(batch_size=4, num_threads=2)
    def pipe():
        return fn.random.uniform(shape=[4, 250_000 if delay else 1000])
    return DALIGenericIterator(pipe(), ["x"])

def ready():
    jax.numpy.zeros(1).block_until_ready()
    print("READY", flush=True)
"""

ENDS = {
    "before the first batch": "it = make(constant); ready()",
    "between batches": "it = make(constant); next(it); ready()",
    "with batches held": "it = make(constant); held = [next(it) for _ in range(10)]; ready()",
    "held by a global of another module": "it = make(constant); sys.held = [next(it) for _ in range(10)]; ready()",
    "with numpy views held": "it = make(constant); sys.held = [np.asarray(next(it)['x']) for _ in range(5)]; ready()",
    "after the end": "it = make(iter([constant(1)] * 3)); list(it); ready()",
    "after a source's exception": """
        def broken(k):
            if k == 2: raise KeyError("gone")
            return constant(k)
        it = make(broken)
        try:
            for b in it: pass
        except KeyError:
            ready()
        """,
    "with an exception that nobody catches": "it = make(constant); next(it); ready(); raise SystemExit(0)",
    "in a daemon thread that iterates": """
        def loop():
            try:
                for batch in make(constant): pass
            except RuntimeError as closed:
                assert "closed" in str(closed)
        threading.Thread(target=loop, daemon=True).start()
        time.sleep(0.3); ready()
        """,
    "in a cycle": "it = make(constant); it.me = it; held = next(it); held['it'] = it; ready()",
    "while a jitted function still reads": """
        it = make(constant)
        f = jax.jit(lambda x: jax.lax.fori_loop(0, 2000, lambda i, y: y * 1.0001, x).sum())
        f(next(it)["x"]).block_until_ready()
        results = [f(b["x"]) for _, b in zip(range(5), it)]
        ready()
        """,
    "reading ahead": "it = reading_ahead(); held = [next(it) for _ in range(20)]; ready()",
    "reading ahead what takes long": "it = reading_ahead(1); held = [next(it) for _ in range(9)]; ready()",
    "reading ahead, closed": "it = reading_ahead(); held = [next(it) for _ in range(20)]; it.close(); ready()",
    "reading ahead in a cycle": "it = reading_ahead(); held = next(it); held['it'] = it; it.me = it; ready()",
    "reading ahead in a daemon thread": """
        def loop():
            try:
                for batch in reading_ahead(): pass
            except RuntimeError as closed:
                assert "closed" in str(closed)
        threading.Thread(target=loop, daemon=True).start()
        time.sleep(0.5); ready()
        """,
    "interrupted while it waits": """
        import os, signal
        def slow(k):
            if k > 1: os.kill(os.getpid(), signal.SIGINT)
            return constant(k)
        it = make(slow)
        try:
            for b in it: pass
        except KeyboardInterrupt:
            ready()
        """,
}


def run(code):
    """Starts a program; returns its exit code, its output behind READY, and the seconds from there to its end."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    with subprocess.Popen(
        [sys.executable, "-c", PROLOGUE + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    ) as process:
        try:
            before = [process.stdout.readline()]
            while before[-1] and before[-1] != "READY\n":
                before.append(process.stdout.readline())
            start = time.monotonic()
            rest, _ = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert before[-1] == "READY\n", "".join(before)
        return process.returncode, rest, time.monotonic() - start


@pytest.mark.parametrize("name", ENDS)
def test_ends_within_two_seconds(name):
    code, rest, seconds = run(ENDS[name])
    assert (code, rest) == (0, "")
    assert seconds < 2
