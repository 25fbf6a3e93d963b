"""`make bench`: headrace beside DALI, the same script on the same cores, alternating; writes the READMEs' tables.

DALI comes from PyPI into a virtual environment of its own (build/dali), and with it simplejpeg, whose bare decoding of
the same files with libjpeg-turbo is the bound of what a pipeline on that decoder can reach. Every figure is the median
of ROUNDS runs, each a process of its own; the ratio is the median of the ratios of neighbouring runs, so that it holds
on a noisy machine.

MNIST_DIR: MNIST's files, default examples/mnist_flax/data. PHOTOS_DIR: a folder with the folders imagenet_sample and
dali_extra_1280, each with a folder of JPEG files for each class; rows without their photos are left out.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DALI_VENV = ROOT / "build" / "dali"
DALI_PACKAGES = ["nvidia-dali-cuda130", "numpy", "jax", "flax", "simplejpeg", "lmdb"]
ROUNDS = 5
LOAD = os.getloadavg()[0]
BEGIN_TABLE = "<!-- speed table: written by benchmarks/run.py -->"
END_TABLE = "<!-- end of speed table -->"
README_ROWS = {
    "MNIST, JPEG, batch 50, one thread",
    "MNIST, PNG, batch 50, one thread",
    "photos, training, one thread",
    "photos, evaluation, one thread",
    "process start to first batch",
}

# What the decoder alone does, by row.
BOUNDS = {
    "mnist": "bare_mnist",
    "photos_train": "bare_photos",
    "photos_eval": "bare_photos",
    "photos_decode": "bare_photos",
}

# (title, row of measure.py, part of the data, threads, unit, larger is better)
TABLE = [
    ("MNIST, JPEG, batch 50, one thread", "mnist", "jpeg", 1, "samples/s", True),
    ("MNIST, PNG, batch 50, one thread", "mnist", "png", 1, "samples/s", True),
    ("MNIST, JPEG, batch 50, two threads", "mnist", "jpeg", 2, "samples/s", True),
    ("cost of a batch, trivial pipeline", "trivial_batch", "jpeg", 1, "us", False),
    ("cost of a further sample, trivial pipeline", "trivial_sample", "jpeg", 1, "us", False),
    ("next() of the JAX iterator, batch ready", "jax_next", "jpeg", 1, "us", False),
    ("process start to first batch", "first_batch", "jpeg", 1, "s", False),
    ("peak memory, 200 batches", "peak_memory", "jpeg", 1, "MB", False),
    ("photos, training, one thread", "photos_train", "imagenet_sample", 1, "images/s", True),
    ("photos, training, two threads", "photos_train", "imagenet_sample", 2, "images/s", True),
    ("photos, evaluation, one thread", "photos_eval", "imagenet_sample", 1, "images/s", True),
    ("photos, decoding, one thread", "photos_decode", "imagenet_sample", 1, "images/s", True),
    ("photos of 1 Mpx, training, one thread", "photos_train", "dali_extra_1280", 1, "images/s", True),
    ("photos of 1 Mpx, evaluation, one thread", "photos_eval", "dali_extra_1280", 1, "images/s", True),
    ("photos of 1 Mpx, decoding, one thread", "photos_decode", "dali_extra_1280", 1, "images/s", True),
    ("photos, training, peak memory of 2,000", "photos_memory", "imagenet_sample", 1, "MB", False),
]


def dali_python() -> str:
    """The Python of DALI's virtual environment, made on the first call."""
    python = DALI_VENV / "bin" / "python"
    if not python.exists():
        venv.create(DALI_VENV, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *DALI_PACKAGES], check=True)
    return str(python)


def databases(source: Path) -> dict[str, Path]:
    """MNIST's training images as LMDBs of JPEGs and of PNGs."""
    from headrace.cli.convert import mnist_records, write_caffe2_lmdb

    folders = {}
    for image_format in ("jpeg", "png"):
        folder = ROOT / "build" / "bench" / f"{source.name}_{image_format}"
        if not folder.exists():
            total, records = mnist_records(source, "training", image_format, None)
            write_caffe2_lmdb(folder, total, records)
        folders[image_format] = folder
    return folders


def photos() -> dict[str, Path]:
    """The folders of photos that there are."""
    root = os.environ.get("PHOTOS_DIR")
    if not root:
        return {}
    folders = {name: Path(root) / name for name in ("imagenet_sample", "dali_extra_1280")}
    return {name: folder for name, folder in folders.items() if folder.is_dir()}


def measure(command: list[str], row: str, folder: Path, threads: int, seconds: float) -> float:
    """Runs measure.py in a process pinned to `threads` cores."""
    cores = sorted(os.sched_getaffinity(0))[:threads]
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(
        [*command, str(HERE / "measure.py"), row, str(folder), str(threads), str(seconds)],
        capture_output=True,
        text=True,
        env=environment,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    if done.returncode != 0:
        raise RuntimeError(f"{row} with {command}: {done.stderr[-2000:]}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def cpu_name() -> str:
    """The processor's name as the kernel gives it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def figure(value: float | None) -> str:
    """A number with the digits that mean something; a dash for none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def measure_row(row: str, folder: Path, threads: int, larger: bool, options: argparse.Namespace) -> dict:
    """headrace, DALI and the bound in turn, `options.rounds` times: medians, and the median of the ratios."""
    commands = {"headrace": ([sys.executable, "-m", "headrace.compat.dali"], row), "DALI": ([dali_python()], row)}
    if row in BOUNDS and threads == 1 and not folder.name.endswith("png"):
        commands["bound"] = ([dali_python()], BOUNDS[row])
    runs: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(options.rounds):
        for name, (command, what) in commands.items():
            runs[name].append(measure(command, what, folder, threads, options.seconds))
    ratios = [a / b if larger else b / a for a, b in zip(runs["headrace"], runs["DALI"], strict=True)]
    medians = {name: statistics.median(values) for name, values in runs.items()}
    return {"bound": None, **medians, "ratio": statistics.median(ratios)}


def table(results: list[dict]) -> str:
    """The results as Markdown."""
    lines = ["| | headrace | DALI 2.4 | bare libjpeg-turbo | unit | headrace : DALI |", "|---|---|---|---|---|---|"]
    for entry in results:
        figures = " | ".join(figure(entry[name]) for name in ("headrace", "DALI", "bound"))
        lines.append(f"| {entry['title']} | {figures} | {entry['unit']} | {entry['ratio']:.2f} x |")
    return "\n".join(lines) + "\n"


def replace_table(path: Path, text: str) -> None:
    """Puts the text between the two comments that mark the table in a Markdown file."""
    page = path.read_text()
    head, _, rest = page.partition(BEGIN_TABLE)
    _, _, tail = rest.partition(END_TABLE)
    path.write_text(f"{head}{BEGIN_TABLE}\n{text}{END_TABLE}{tail}")


def main() -> None:
    """Measures all rows and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rows", nargs="*", help="only rows of these names; the tables are left alone")
    options = parser.parse_args()
    source = Path(os.environ.get("MNIST_DIR") or ROOT / "examples" / "mnist_flax" / "data")
    folders = databases(source) | photos()
    results = []
    for title, row, data, threads, unit, larger in TABLE:
        if (options.rows and row not in options.rows) or data not in folders:
            continue
        entry = {"title": title, "unit": unit, **measure_row(row, folders[data], threads, larger, options)}
        results.append(entry)
        figures = " ".join(f"{figure(entry[name]):>10}" for name in ("headrace", "DALI", "bound"))
        print(f"{title:<45} {figures} {unit:<10} {entry['ratio']:.2f} x", flush=True)
    if options.rows:
        return
    machine = (
        f"{cpu_name()}, {len(os.sched_getaffinity(0))} cores, {platform.system()} {platform.machine()}, Python "
        f"{platform.python_version()}, {datetime.date.today()}, medians of {options.rounds} runs; load average before: "
        f"{LOAD:.1f}.\n\n"
    )
    replace_table(HERE / "README.md", machine + table(results))
    replace_table(ROOT / "README.md", table([entry for entry in results if entry["title"] in README_ROWS]))


if __name__ == "__main__":
    main()
