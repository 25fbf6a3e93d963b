"""The command line: conversion there and back, inspection, clear ends on bad input."""

import gzip
import io
import subprocess
import sys
from pathlib import Path

import lmdb
import numpy as np
import pytest
from PIL import Image

from headrace import _core, cli

DIGITS = Path(__file__).parents[2] / "examples" / "mnist_flax" / "data"


def write_idx(path: Path, array: np.ndarray) -> None:
    header = bytes([0, 0, 8, array.ndim]) + b"".join(int(extent).to_bytes(4, "big") for extent in array.shape)
    path.write_bytes(gzip.compress(header + array.tobytes()))


def read_idx(path: Path) -> np.ndarray:
    data = gzip.decompress(path.read_bytes())
    shape = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(data[3])]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def records_of(folder: Path) -> list[tuple[bytes, bytes]]:
    """What liblmdb reads."""
    with lmdb.open(str(folder), readonly=True, lock=False) as database, database.begin() as transaction:
        return list(transaction.cursor())


@pytest.mark.parametrize("image_format", ["jpeg", "png"])
def test_convert_mnist(tmp_path: Path, capsys, image_format: str):
    output = tmp_path / "out"
    arguments = ["convert", "mnist", str(DIGITS), str(output), "--limit", "70", "--image-format", image_format]
    assert cli.main(arguments) == 0
    assert "70 records" in capsys.readouterr().out
    for part, prefix in (("training", "train"), ("testing", "t10k")):
        images = read_idx(DIGITS / f"{prefix}-images-idx3-ubyte.gz")
        labels = read_idx(DIGITS / f"{prefix}-labels-idx1-ubyte.gz")
        records = records_of(output / part)
        assert [key for key, _ in records] == [b"%08d" % i for i in range(70)]
        for i, (_, value) in enumerate(records):
            encoded, label = _core.parse_caffe2_record(value)
            assert label == labels[i]
            decoded = np.asarray(Image.open(io.BytesIO(encoded))).astype(int)
            assert np.abs(decoded - images[i]).max() <= (0 if image_format == "png" else 40)


def test_convert_folder_and_inspect(tmp_path: Path, capsys):
    source = tmp_path / "pictures"
    for label, name in enumerate(["cat", "dog"]):
        (source / name).mkdir(parents=True)
        for k in range(3):
            Image.fromarray(np.full((8 + k, 9, 3), 50 * label + k, np.uint8)).save(source / name / f"{k}.png")
        (source / name / "notes.txt").write_text("no picture")
    target = tmp_path / "lmdb"
    assert cli.main(["convert", "folder", str(source), str(target)]) == 0
    out = capsys.readouterr().out
    assert "label 0: cat\nlabel 1: dog\n" in out
    assert len(records_of(target)) == 6
    sheet = tmp_path / "sheet.png"
    assert cli.main(["inspect", str(target), "--sheet", str(sheet)]) == 0
    out = capsys.readouterr().out
    assert "6 records" in out and "0: 3, 1: 3" in out and "0 broken" in out
    assert Image.open(sheet).size[0] == 8 * 96


def test_convert_leaves_nothing_behind_when_it_fails(tmp_path: Path, capsys):
    source = tmp_path / "idx"
    source.mkdir()
    for prefix in ("train", "t10k"):
        write_idx(source / f"{prefix}-images-idx3-ubyte.gz", np.zeros((3, 28, 28), np.uint8))
        write_idx(source / f"{prefix}-labels-idx1-ubyte.gz", np.zeros(2, np.uint8))
    assert cli.main(["convert", "mnist", str(source), str(tmp_path / "out")]) == 1
    assert "3 images but 2 labels" in capsys.readouterr().err
    assert not list(tmp_path.glob("out/*"))


def test_convert_does_not_overwrite(tmp_path: Path, capsys):
    target = tmp_path / "out" / "training"
    target.mkdir(parents=True)
    assert cli.main(["convert", "mnist", str(DIGITS), str(tmp_path / "out"), "--limit", "2"]) == 1
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[: len(data) // 2], "no complete gzip file"),
        (lambda data: b"hello", "no complete gzip file"),
        (lambda data: gzip.compress(b"hello"), "no IDX file"),
        (lambda data: gzip.compress(gzip.decompress(data)[:-5]), "the file is cut"),
    ],
)
def test_damaged_idx_files_are_named(tmp_path: Path, capsys, damage, message: str):
    for name in ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"):
        write_idx(tmp_path / name, np.zeros((3, 28, 28) if "images" in name else 3, np.uint8))
    victim = tmp_path / "train-images-idx3-ubyte.gz"
    victim.write_bytes(damage(victim.read_bytes()))
    assert cli.main(["convert", "mnist", str(tmp_path), str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert message in error and str(victim) in error


def test_inspect_counts_broken_records(tmp_path: Path, capsys):
    writer = _core.LmdbWriter(str(tmp_path / "db"))
    writer.append(b"0", _core.caffe2_record(b"image", 4))
    writer.append(b"1", b"\xff\xff\xff")
    writer.commit()
    assert cli.main(["inspect", str(tmp_path / "db")]) == 0
    assert "2 records" in (out := capsys.readouterr().out) and "1 broken" in out and "key 1:" in out


@pytest.mark.parametrize("command", ["inspect", "bench"])
def test_missing_databases_are_one_line(tmp_path: Path, capsys, command: str):
    assert cli.main([command, str(tmp_path / "nothing")]) == 1
    assert str(tmp_path / "nothing") in capsys.readouterr().err


def test_record_numbers_are_checked(tmp_path: Path):
    writer = _core.LmdbWriter(str(tmp_path / "db"))
    writer.append(b"0", _core.caffe2_record(b"image", 4))
    writer.commit()
    table = _core.LmdbTable(str(tmp_path / "db"))
    assert len(table) == 1 and table.key(0) == b"0"
    for number in (1, 10**6):
        for read in (table.key, table.value):
            with pytest.raises(IndexError):
                read(number)


def test_inspecting_a_folder_of_databases_names_them(tmp_path: Path, capsys):
    for part in ("training", "testing"):
        writer = _core.LmdbWriter(str(tmp_path / part))
        writer.append(b"0", _core.caffe2_record(b"image", 4))
        writer.commit()
    assert cli.main(["inspect", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert "no database" in error and f"{tmp_path / 'testing'} and {tmp_path / 'training'}" in error


def test_it_runs_without_an_installed_entry_point():
    run = subprocess.run([sys.executable, "-m", "headrace", "--help"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and "inspect" in run.stdout


def test_doctor_tells_what_is_there(capsys):
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in ("headrace", "cuda", "jax", "torch"):
        assert word in out


@pytest.mark.parametrize("command", ["convert", "inspect"])
def test_a_missing_package_is_named_with_the_way_to_get_it(tmp_path: Path, capsys, monkeypatch, command: str):
    images = tmp_path / "images" / "a"
    images.mkdir(parents=True)
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(images / "1.png")
    database = str(tmp_path / "database")
    assert cli.main(["convert", "folder", str(tmp_path / "images"), database]) == 0
    monkeypatch.setitem(sys.modules, "PIL", None)
    arguments = {
        "convert": ["convert", "mnist", str(DIGITS), str(tmp_path / "mnist")],
        "inspect": ["inspect", database, "--sheet", str(tmp_path / "sheet.png")],
    }
    assert cli.main(arguments[command]) == 1
    assert "pip install pillow" in capsys.readouterr().err
