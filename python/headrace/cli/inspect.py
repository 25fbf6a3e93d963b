"""`headrace inspect`: what is in an LMDB of Caffe2 records."""

import argparse
import io
from collections import Counter
from pathlib import Path

import headrace._core as _core


def contact_sheet(images: list[bytes], path: Path, columns: int = 8, cell: int = 96) -> None:
    """Saves the images as one picture, `columns` to a row, each scaled into a square of `cell` pixels."""
    from PIL import Image

    rows = -(-len(images) // columns)
    sheet = Image.new("RGB", (columns * cell, rows * cell), "white")
    for number, encoded in enumerate(images):
        image = Image.open(io.BytesIO(encoded)).convert("RGB")
        scale = (cell - 4) / max(image.size)
        image = image.resize([max(1, round(extent * scale)) for extent in image.size])
        sheet.paste(image, (number % columns * cell + 2, number // columns * cell + 2))
    sheet.save(path)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    inside = sorted(data.parent for data in Path(options.lmdb).glob("*/data.mdb"))
    if inside and not (Path(options.lmdb) / "data.mdb").exists():
        names = " and ".join(str(folder) for folder in inside)
        raise FileNotFoundError(f"{options.lmdb} is no database, but has some in it: {names}")
    table = _core.LmdbTable(options.lmdb)
    labels: Counter[float] = Counter()
    sizes, broken = 0, 0
    first: list[bytes] = []
    for number in range(len(table)):
        record = table.value(number)
        sizes += len(record)
        try:
            image, label = _core.parse_caffe2_record(record)
        except RuntimeError as error:
            broken += 1
            if broken <= 3:
                print(f"key {table.key(number).decode(errors='replace')}: {error}")
            continue
        labels[label] += 1
        if len(first) < options.images:
            first.append(image)
        if number < options.records:
            print(f"key {table.key(number).decode(errors='replace')}: image of {len(image)} bytes, label {label}")
    print(f"{len(table)} records, {sizes:,} bytes, {broken} broken")
    print("labels: " + ", ".join(f"{label}: {count}" for label, count in sorted(labels.items())[:32]))
    if options.sheet and first:
        contact_sheet(first, Path(options.sheet))
        print(f"{options.sheet}: the first {len(first)} images")
    return 0


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser("inspect", help="count and show the records of a Caffe2 LMDB")
    parser.add_argument("lmdb", help="the database: its folder or data.mdb")
    parser.add_argument("--records", type=int, default=5, help="print so many records (default: %(default)s)")
    parser.add_argument("--sheet", metavar="PNG", help="save a contact sheet of the first images")
    parser.add_argument("--images", type=int, default=64, help="images on the sheet (default: %(default)s)")
    parser.set_defaults(run=run)
