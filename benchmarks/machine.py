"""What the benchmarks' runners share: rivals' environments, pinned processes, the machine's description, tables."""

import datetime
import os
import platform
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOAD = os.getloadavg()[0]
BEGIN_TABLE = "<!-- speed table: written by `make bench` -->"
END_TABLE = "<!-- end of speed table -->"

# headrace under DALI's names.
OWN_PYTHON = [sys.executable, "-m", "headrace.compat.dali"]
DALI_PACKAGES = ["nvidia-dali-cuda130", "numpy", "jax", "flax", "simplejpeg", "lmdb", "pillow"]
TORCHVISION_PACKAGES = ["torch", "torchvision", "numpy"]


def _python_with(name: str, packages: list[str]) -> str:
    """The Python of the virtual environment build/NAME, made on the first call."""
    folder = ROOT / "build" / name
    python, complete = folder / "bin" / "python", folder / "complete"
    if not complete.exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
        complete.write_text("\n".join(packages) + "\n")
    return str(python)


def dali_python() -> str:
    """A Python with DALI from PyPI, and simplejpeg, which decodes with libjpeg-turbo alone."""
    return _python_with("dali", DALI_PACKAGES)


def torchvision_python() -> str:
    """A Python with torchvision from PyPI."""
    return _python_with("torchvision", TORCHVISION_PACKAGES)


def run_pinned(command: list[str], cores: int) -> str:
    """Runs a measurement in a process pinned to so many cores. Returns the last line that it printed.

    RuntimeError with the end of its messages if it fails.
    """
    chosen = sorted(os.sched_getaffinity(0))[:cores]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT / "python")},
        preexec_fn=lambda: os.sched_setaffinity(0, chosen),
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return done.stdout.splitlines()[-1]


def _cpu_name() -> str:
    """The processor's name as the kernel gives it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def describe(rounds: int) -> str:
    """A line about the machine and the day, to stand above a table."""
    return (
        f"{_cpu_name()}, {len(os.sched_getaffinity(0))} cores, {platform.system()} {platform.machine()}, Python "
        f"{platform.python_version()}, {datetime.date.today()}, medians of {rounds} runs; load average before: "
        f"{LOAD:.1f}.\n\n"
    )


def replace_table(path: Path, text: str) -> None:
    """Puts the text between the two comments that mark the table in a Markdown file."""
    page = path.read_text()
    head, _, rest = page.partition(BEGIN_TABLE)
    _, _, tail = rest.partition(END_TABLE)
    path.write_text(f"{head}{BEGIN_TABLE}\n{text}{END_TABLE}{tail}")
