"""Makes `import nvidia.dali...` resolve to headrace, for programs that are written for DALI.

    python -m headrace.compat.dali script.py args...      a whole program, with the processes that it spawns

    from headrace.compat import dali                      or from inside
    dali.install()

A finder for `nvidia.dali` and what is below it is put in front of Python's own. It leaves the rest of the namespace
package `nvidia` alone, and refuses to hide a DALI that is installed unless it is told to.
"""

import importlib.util
import os
import sys

from headrace import operator_call
from headrace.compat.dali._finder import AliasFinder, EmptyNamespaceFinder

ENVIRONMENT_VARIABLE = "HEADRACE_COMPAT_DALI"
_STARTUP_FOLDER = os.path.join(os.path.dirname(__file__), "startup")


def is_installed() -> bool:
    """True if `import nvidia.dali` gives headrace."""
    return any(isinstance(finder, AliasFinder) for finder in sys.meta_path)


def install(*, shadow: bool = False, children: bool = True) -> None:
    """Makes `nvidia.dali` resolve to headrace in this process.

    Args:
        shadow: Hide a DALI that is installed. Without it that is an ImportError.
        children: Python processes that this one starts get the alias too, through the environment.

    Raises:
        ImportError: DALI is installed and `shadow` is False, or `nvidia.dali` was imported already.
    """
    if is_installed():
        return
    if "nvidia.dali" in sys.modules:
        raise ImportError("headrace.compat.dali: nvidia.dali is imported already; call install() before that")
    if not shadow and _real_dali_exists():
        raise ImportError("headrace.compat.dali: DALI is installed here; install(shadow=True) hides it")
    sys.meta_path.insert(0, AliasFinder())
    sys.meta_path.append(EmptyNamespaceFinder())
    operator_call.display_prefix = "nvidia.dali"
    if children:
        os.environ[ENVIRONMENT_VARIABLE] = "1"
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if _STARTUP_FOLDER not in paths:
            os.environ["PYTHONPATH"] = os.pathsep.join([_STARTUP_FOLDER, *filter(None, paths)])


def _real_dali_exists() -> bool:
    try:
        return importlib.util.find_spec("nvidia.dali") is not None
    except ModuleNotFoundError:  # there is no `nvidia` at all
        return False
