"""`python -m headrace.compat.dali script.py args...`: runs a DALI program on headrace."""

import os
import runpy
import sys

from headrace.compat import dali


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print("usage: python -m headrace.compat.dali [-m module | script.py] [arguments...]", file=sys.stderr)
        sys.exit(2 if len(sys.argv) < 2 else 0)
    dali.install(shadow=True)
    if sys.argv[1] == "-m":
        del sys.argv[:2]
        sys.path[0] = os.getcwd()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        return
    del sys.argv[0]
    script = sys.argv[0]
    if not os.path.exists(script):
        sys.exit(f"python -m headrace.compat.dali: there is no file {script}")
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    # A spawned process runs the script again to find what it defines, not this module.
    main_module = sys.modules["__main__"]
    main_module.__spec__ = None
    main_module.__file__ = os.path.abspath(script)
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
