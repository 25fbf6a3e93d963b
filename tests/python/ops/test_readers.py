"""readers.file, readers.caffe2 and readers.caffe in pipelines."""

import lmdb
import numpy as np
import pytest

from headrace import fn, pipeline_def


def read_all(reader, count, batch_size=4):
    """(bytes, label, source) of `count` records."""

    @pipeline_def(batch_size=batch_size, num_threads=2, device_id=None)
    def pipe():
        data, label = reader()
        return data, label, fn.get_property(data, key="source_info")

    p, rows = pipe(), []
    while len(rows) < count:
        for data, label, source in zip(*p.run(), strict=True):
            rows.append((np.array(data).tobytes(), np.array(label).tolist(), np.array(source).tobytes().decode()))
    return rows[:count]


def test_files_of_folders(tmp_path):
    wanted = []
    for label, folder in enumerate(["A", "b c", "ü"]):
        (tmp_path / folder).mkdir()
        for name in ["1.jpg", "10.JPG", "2.png"]:
            (tmp_path / folder / name).write_text(folder + name)
            wanted.append(((folder + name).encode(), [label], f"{folder}/{name}"))
        (tmp_path / folder / "x.txt").write_text("no image")
    assert read_all(lambda: fn.readers.file(file_root=str(tmp_path)), 9) == wanted


def test_shuffle_after_epoch_gives_each_file_once(tmp_path):
    names = [f"{i}.bin" for i in range(10)]
    for name in names:
        (tmp_path / name).write_text(name)
    rows = read_all(lambda: fn.readers.file(files=names, file_root=str(tmp_path), shuffle_after_epoch=True), 20, 5)
    first, second = [r[1][0] for r in rows[:10]], [r[1][0] for r in rows[10:]]
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
    assert first != list(range(10))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(RuntimeError, match=r"nowhere\.jpg"):
        read_all(lambda: fn.readers.file(files=["nowhere.jpg"], file_root=str(tmp_path)), 1, 1)


def test_a_data_set_without_files_says_what_was_expected(tmp_path):
    (tmp_path / "1.jpg").write_text("not in a folder of its class")
    empty_list = tmp_path / "list.txt"
    empty_list.write_text("")
    for arguments, text in [
        ({"file_root": str(tmp_path)}, "file_root: expected a folder for each class"),
        ({"file_list": str(empty_list)}, r"file_list: .*list\.txt lists no files"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            read_all(lambda arguments=arguments: fn.readers.file(**arguments), 1, 1)


def field(number, payload):
    """A protobuf field: an int is a varint, bytes are length-delimited."""

    def varint(n):
        out = b""
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])

    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def caffe2_record(image, label):
    tensors = [field(1, 1) + field(2, 4) + field(6, image), field(1, 1) + field(2, 2) + field(4, label)]
    return b"".join(field(1, t) for t in tensors)


def write(path, records):
    env = lmdb.open(str(path), map_size=1 << 24)
    with env.begin(write=True) as txn:
        for i, record in enumerate(records):
            txn.put(f"{i:04}".encode(), record)
    env.close()


def test_caffe2_databases_one_after_the_other(tmp_path):
    images = [bytes([i]) * (i * 500 + 1) for i in range(12)]
    write(tmp_path / "a", [caffe2_record(image, i) for i, image in enumerate(images[:7])])
    write(tmp_path / "b", [caffe2_record(image, i + 7) for i, image in enumerate(images[7:])])
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    rows = read_all(lambda: fn.readers.caffe2(path=paths), 24)
    for i, (data, label, source) in enumerate(rows):
        k = i % 12
        assert data == images[k]
        assert label == [k]
        assert source == f"{paths[k >= 7]} at key {k % 7 if k < 7 else k - 7:04}"


def test_caffe(tmp_path):
    write(tmp_path / "a", [field(4, b"abc") + field(5, 9) + field(7, 1)])
    assert read_all(lambda: fn.readers.caffe(path=str(tmp_path / "a")), 1, 1)[0][:2] == (b"abc", [9])


def test_a_damaged_record_is_named(tmp_path):
    write(tmp_path / "a", [caffe2_record(b"abc", 1)[:-3]])
    with pytest.raises(RuntimeError, match="at key 0000"):
        read_all(lambda: fn.readers.caffe2(path=str(tmp_path / "a")), 1, 1)
