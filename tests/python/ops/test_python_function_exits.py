"""Programs with functions in their graph end quickly and quietly, whatever these are doing."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[3] / "python"

PROLOGUE = """
import os, signal, sys, threading, time
import numpy as np
from headrace import fn, pipeline_def
sys.setswitchinterval(0.001)
entered = threading.Event()

def make(function, **arguments):
    @pipeline_def(batch_size=2, num_threads=2, **arguments)
    def pipe():
        return fn.python_function(function=function)
    return pipe()

def row(): return np.zeros(1000)

def ready():
    print("READY", time.time(), flush=True)
"""

ENDS = {
    "before the first batch": "p = make(row); p.build(); ready()",
    "with batches held": "p = make(row); sys.held = [p.run() for _ in range(5)]; ready()",
    "after an exception in the function": """
        p = make(lambda: 1 / 0)
        try: p.run()
        except RuntimeError: ready()
        """,
    "inside a function that sleeps": """
        def slow(): entered.set(); time.sleep(30)
        p = make(slow); p.schedule_run(); entered.wait(); ready()
        """,
    "inside a function that is busy": """
        def busy():
            entered.set()
            while True: pass
        p = make(busy); p.schedule_run(); entered.wait(); ready()
        """,
    "inside a function that waits for a lock": """
        lock = threading.Lock(); lock.acquire()
        def waits(): entered.set(); lock.acquire()
        p = make(waits); p.schedule_run(); entered.wait(); ready()
        """,
    "inside a function that is just ending": """
        def slow(): entered.set(); time.sleep(0.9); return row()
        p = make(slow); p.schedule_run(); entered.wait(); ready()
        """,
    "interrupted while a function works": """
        def slow(): entered.set(); os.kill(os.getpid(), signal.SIGINT); time.sleep(30)
        p = make(slow)
        try: p.run()
        except KeyboardInterrupt: ready()
        """,
    "by an exception that nobody catches": "p = make(row); p.run(); ready(); raise SystemExit(0)",
    "in a cycle of function and pipeline": """
        class F:
            def __call__(self): return row()
        f = F(); f.p = make(f); f.p.run(); ready()
        """,
}


@pytest.mark.parametrize("name", ENDS)
def test_exit(name):
    program = PROLOGUE + textwrap.dedent(ENDS[name])
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        capture_output=True,
        text=True,
        timeout=30,
        env=environment,
        check=False,
    )
    ended = time.time()
    assert done.returncode == 0, done.stderr
    word, began = done.stdout.split()
    assert word == "READY"
    assert ended - float(began) < 2
    quiet = [line for line in done.stderr.splitlines() if "still running" not in line]
    assert quiet == []
