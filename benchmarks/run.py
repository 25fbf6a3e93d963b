"""`make bench`: headrace beside its rivals, on the same cores, alternating; writes the READMEs' tables.

DALI and torchvision come from PyPI into virtual environments of their own (build/dali, build/torchvision). "Bare" is
simplejpeg, whose decoding of the same files with libjpeg-turbo is the bound of what a pipeline on that decoder can
reach. Every figure is the median of ROUNDS runs, each a process of its own; the ratio is the median of the ratios of
neighbouring runs, so that it holds on a noisy machine.

MNIST_DIR: MNIST's files, default examples/mnist_flax/data. PHOTOS_DIR: a folder with the folders imagenet_sample and
dali_extra_1280, each with a folder of JPEG files for each class; rows without their photos are left out.
"""

import argparse
import json
import os
import statistics
from pathlib import Path

import machine

HERE = Path(__file__).resolve().parent
ROUNDS = 5
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
COLUMNS = ("headrace", "DALI", "torchvision", "bare")

# (title, row of measure.py, part of the data, threads, unit, larger is better)
TABLE = [
    ("MNIST, JPEG, batch 50, one thread", "mnist", "jpeg", 1, "samples/s", True),
    ("MNIST, PNG, batch 50, one thread", "mnist", "png", 1, "samples/s", True),
    ("MNIST, JPEG, from the second epoch, decoded cache on", "mnist_cached", "jpeg", 1, "samples/s", True),
    ("MNIST, PNG, from the second epoch, decoded cache on", "mnist_cached", "png", 1, "samples/s", True),
    ("MNIST, JPEG, batch 50, two threads", "mnist", "jpeg", 2, "samples/s", True),
    ("cost of a batch, trivial pipeline", "trivial_batch", "jpeg", 1, "us", False),
    ("cost of a further sample, trivial pipeline", "trivial_sample", "jpeg", 1, "us", False),
    ("next() of the JAX iterator, batch ready", "jax_next", "jpeg", 1, "us", False),
    ("process start to first batch", "first_batch", "jpeg", 1, "s", False),
    ("peak memory, 200 batches", "peak_memory", "jpeg", 1, "MB", False),
    *(
        (f"{photos}, {work}, {count} thread{'s' if threads > 1 else ''}", row, data, threads, "images/s", True)
        for photos, data in (("photos", "imagenet_sample"), ("photos of 1 Mpx", "dali_extra_1280"))
        for work, row in (("training", "photos_train"), ("evaluation", "photos_eval"), ("decoding", "photos_decode"))
        for count, threads in (("one", 1), ("two", 2))
    ),
    ("photos, training, peak memory of 2,000", "photos_memory", "imagenet_sample", 1, "MB", False),
]


def databases(source: Path) -> dict[str, Path]:
    """MNIST's training images as LMDBs of JPEGs and of PNGs."""
    from headrace.cli.convert import mnist_records, write_caffe2_lmdb

    folders = {}
    for image_format in ("jpeg", "png"):
        folder = machine.ROOT / "build" / "bench" / f"{source.name}_{image_format}"
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


def figure(value: float | None) -> str:
    """A number with the digits that mean something; a dash for none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def commands_of(row: str, folder: Path, threads: int, seconds: float) -> dict[str, list[str]]:
    """What measures a row, by column; columns that have no such row are left out."""
    ending = [str(folder), str(threads), str(seconds)]
    script = str(HERE / "measure.py")
    commands = {
        "headrace": [*machine.OWN_PYTHON, script, row, *ending],
        "DALI": [machine.dali_python(), script, row, *ending],
    }
    if row.startswith("photos"):
        torchvision = str(HERE / "measure_torchvision.py")
        commands["torchvision"] = [machine.torchvision_python(), torchvision, row, *ending]
    if row in BOUNDS and not folder.name.endswith("png") and (threads == 1 or row != "mnist"):
        commands["bare"] = [machine.dali_python(), script, BOUNDS[row], *ending]
    return commands


def measure_row(row: str, folder: Path, threads: int, larger: bool, options: argparse.Namespace) -> dict:
    """All columns in turn, `options.rounds` times: medians, and the median of the ratios to DALI."""
    commands = commands_of(row, folder, threads, options.seconds)
    runs: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(options.rounds):
        for name, command in commands.items():
            runs[name].append(float(json.loads(machine.run_pinned(command, threads))))
    ratios = [a / b if larger else b / a for a, b in zip(runs["headrace"], runs["DALI"], strict=True)]
    medians = {name: statistics.median(values) for name, values in runs.items()}
    return {**dict.fromkeys(COLUMNS), **medians, "ratio": statistics.median(ratios)}


def table(results: list[dict]) -> str:
    """The results as Markdown."""
    lines = [
        "| | headrace | DALI 2.4 | torchvision | bare libjpeg-turbo | unit | headrace : DALI |",
        "|---|---|---|---|---|---|---|",
    ]
    for entry in results:
        figures = " | ".join(figure(entry[name]) for name in COLUMNS)
        lines.append(f"| {entry['title']} | {figures} | {entry['unit']} | {entry['ratio']:.2f} x |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measures all rows and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rows", nargs="*", help="only rows of these names; the tables are left alone")
    options = parser.parse_args()
    source = Path(os.environ.get("MNIST_DIR") or machine.ROOT / "examples" / "mnist_flax" / "data")
    folders = databases(source) | photos()
    results = []
    for title, row, data, threads, unit, larger in TABLE:
        if (options.rows and row not in options.rows) or data not in folders:
            continue
        entry = {"title": title, "unit": unit, **measure_row(row, folders[data], threads, larger, options)}
        results.append(entry)
        figures = " ".join(f"{figure(entry[name]):>10}" for name in COLUMNS)
        print(f"{title:<45} {figures} {unit:<10} {entry['ratio']:.2f} x", flush=True)
    if options.rows:
        return
    machine.replace_table(HERE / "README.md", machine.describe(options.rounds) + table(results))
    machine.replace_table(machine.ROOT / "README.md", table([e for e in results if e["title"] in README_ROWS]))


if __name__ == "__main__":
    main()
