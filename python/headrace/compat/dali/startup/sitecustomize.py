"""Runs when a Python process starts whose parent used headrace in DALI's place: installs the alias there too.

Python looks for one module of this name; another one further down the path gets its turn afterwards.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _run_the_next_sitecustomize() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    paths = [path for path in sys.path if os.path.abspath(path) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", paths)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_run_the_next_sitecustomize()
if os.environ.get("HEADRACE_COMPAT_DALI") == "1":
    from headrace.compat import dali

    dali.install(shadow=True)
