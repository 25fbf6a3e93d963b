"""`make bench`: headrace beside DALI, the same script on the same cores, alternating; writes benchmarks/README.md.

DALI comes from PyPI into a virtual environment of its own (build/dali). Every figure is the median of ROUNDS runs, each
a process of its own; the ratio is the median of the ratios of neighbouring runs, so that it holds on a noisy machine.

MNIST_DIR: MNIST's files, default examples/mnist_flax/data. PHOTOS_DIR: a folder with the folders imagenet_sample and
dali_extra_1280, each with a folder of JPEG files for each class; rows without their photos are left out.
"""

import argparse
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
DALI_PACKAGES = ["nvidia-dali-cuda130", "numpy", "jax", "flax"]
ROUNDS = 5

# (title, row of measure.py, part of the data, threads, unit, larger is better)
TABLE = [
    ("MNIST, JPEG, batch 50, one thread", "mnist", "jpeg", 1, "samples/s", True),
    ("MNIST, PNG, batch 50, one thread", "mnist", "png", 1, "samples/s", True),
    ("MNIST, JPEG, batch 50, two threads", "mnist", "jpeg", 2, "samples/s", True),
    ("cost of a batch, trivial pipeline", "trivial_batch", "jpeg", 1, "us", False),
    ("cost of a further sample, trivial pipeline", "trivial_sample", "jpeg", 1, "us", False),
    ("next() of the JAX iterator, batch ready", "jax_next", "jpeg", 1, "us", False),
    ("import to first batch", "first_batch", "jpeg", 1, "s", False),
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


def figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main() -> None:
    """Measures all rows and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rows", nargs="*", help="only rows of these names")
    parser.add_argument("--output", type=Path, default=HERE / "results.json")
    options = parser.parse_args()
    source = Path(os.environ.get("MNIST_DIR") or ROOT / "examples" / "mnist_flax" / "data")
    folders = databases(source) | photos()
    rivals = {"headrace": [sys.executable, "-m", "headrace.compat.dali"], "DALI": [dali_python()]}
    results = []
    for title, row, data, threads, unit, larger in TABLE:
        if (options.rows and row not in options.rows) or data not in folders:
            continue
        runs: dict[str, list[float]] = {name: [] for name in rivals}
        for _ in range(options.rounds):
            for name, command in rivals.items():
                runs[name].append(measure(command, row, folders[data], threads, options.seconds))
        ratios = [a / b if larger else b / a for a, b in zip(runs["headrace"], runs["DALI"], strict=True)]
        entry = {"title": title, "unit": unit, "ratio": statistics.median(ratios)} | {
            name: statistics.median(values) for name, values in runs.items()
        }
        results.append(entry)
        print(
            f"{title:<45} {figure(entry['headrace']):>10} {figure(entry['DALI']):>10} {unit:<10} {entry['ratio']:.2f} x"
        )
    machine = f"{cpu_name()}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}"
    options.output.write_text(
        json.dumps({"machine": machine, "rounds": options.rounds, "rows": results}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
