"""`headrace convert`: MNIST's IDX files or a folder of class folders into a Caffe2 LMDB."""

import argparse
import gzip
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import headrace._core as _core
from headrace.cli.progress import Progress

_IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".pnm", ".ppm", ".pgm", ".tif", ".tiff", ".webp", ".jp2"}
_MNIST_FILES = {
    "training": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "testing": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}

Record = tuple[bytes, int]


def read_idx(path: Path) -> np.ndarray:
    """The array of an IDX file (gzip), uint8 in the shape that its header gives.

    Format: http://yann.lecun.com/exdb/mnist. Raises ValueError for anything else, with the path.
    """
    try:
        data = gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{path}: no complete gzip file: {error}") from None
    if len(data) < 4 or data[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path}: no IDX file of unsigned bytes")
    ndim = data[3]
    shape = np.frombuffer(data, ">u4", ndim, 4).astype(int)
    values = np.frombuffer(data, np.uint8, offset=4 + 4 * ndim)
    if values.size != shape.prod():
        raise ValueError(f"{path}: {values.size} bytes for an array of shape {tuple(shape)}: the file is cut")
    return values.reshape(shape)


def mnist_records(folder: Path, part: str, image_format: str, limit: int | None) -> tuple[int, Iterator[Record]]:
    """Number of records, and (encoded image, label) of each, of the part "training" or "testing"."""
    from PIL import Image

    image_file, label_file = (folder / name for name in _MNIST_FILES[part])
    images, labels = read_idx(image_file)[:limit], read_idx(label_file)[:limit]
    if len(images) != len(labels):
        raise ValueError(f"{folder}: {len(images)} images but {len(labels)} labels")

    def records() -> Iterator[Record]:
        options = {"quality": 95} if image_format == "jpeg" else {}
        for image, label in zip(images, labels, strict=True):
            stream = io.BytesIO()
            Image.fromarray(image).save(stream, image_format, **options)
            yield stream.getvalue(), int(label)

    return len(images), records()


def class_folders(folder: Path) -> list[Path]:
    """The folders of the classes, in the order of their labels; ValueError if there is none."""
    classes = sorted(entry for entry in folder.iterdir() if entry.is_dir())
    if not classes:
        raise ValueError(f"{folder}: expected a folder for each class in it")
    return classes


def folder_records(folder: Path, limit: int | None) -> tuple[int, Iterator[Record]]:
    """The same for a folder of class folders: files as they are; labels are the class folders' places in the order."""
    classes = class_folders(folder)
    files = [
        (file, label)
        for label, class_folder in enumerate(classes)
        for file in sorted(class_folder.rglob("*"))
        if file.suffix.lower() in _IMAGE_SUFFIXES
    ][:limit]
    if not files:
        raise ValueError(f"{folder}: no image files in the class folders")
    return len(files), ((file.read_bytes(), label) for file, label in files)


def write_caffe2_lmdb(target: Path, total: int, records: Iterator[Record]) -> None:
    """Writes the records as a Caffe2 LMDB under keys 00000000, 00000001, ...; `target` appears whole or not at all."""
    if target.exists():
        raise FileExistsError(f"{target} exists already; remove it or choose another name")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        writer = _core.LmdbWriter(temporary)
        with Progress(total, "records", target.name) as progress:
            for number, (image, label) in enumerate(records):
                writer.append(b"%08d" % number, _core.caffe2_record(image, label))
                progress.advance()
        writer.commit()
        del writer
        os.chmod(temporary, 0o755)
        os.rename(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    source = Path(options.source)
    if options.kind == "mnist":
        for part in _MNIST_FILES:
            total, records = mnist_records(source, part, options.image_format, options.limit)
            write_caffe2_lmdb(Path(options.output) / part, total, records)
            print(f"{Path(options.output) / part}: {total} records")
        return 0
    for label, class_folder in enumerate(class_folders(source)):
        print(f"label {label}: {class_folder.name}")
    total, records = folder_records(source, options.limit)
    write_caffe2_lmdb(Path(options.output), total, records)
    print(f"{options.output}: {total} records")
    return 0


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser("convert", help="write a data set as a Caffe2 LMDB")
    parser.add_argument("kind", choices=("mnist", "folder"), help="mnist: four IDX .gz files; folder: class folders")
    parser.add_argument("source", help="the folder to read")
    parser.add_argument("output", help="the folder to write (mnist: with training and testing in it)")
    parser.add_argument(
        "--to", choices=("caffe2-lmdb",), default="caffe2-lmdb", help="the format (default: %(default)s)"
    )
    parser.add_argument("--limit", type=int, help="at most so many records of each part")
    parser.add_argument(
        "--image-format", choices=("jpeg", "png"), default="jpeg", help="how MNIST's images are encoded"
    )
    parser.set_defaults(run=run)
