"""Writes Caffe2 LMDBs for tests, with the encoding written out here: an oracle that shares no code with headrace."""

from pathlib import Path

import lmdb


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number: int, payload: int | bytes) -> bytes:
    """A protobuf field: an int is a varint, bytes are length-delimited."""
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def image_tensor(image: bytes) -> bytes:
    """A TensorProto of type STRING, as a field of TensorProtos."""
    return field(1, field(1, 1) + field(2, 4) + field(6, image))


def label_tensor(label: int) -> bytes:
    """A TensorProto of type INT32, as a field of TensorProtos."""
    return field(1, field(1, 1) + field(2, 2) + field(4, label))


def record(image: bytes, label: int) -> bytes:
    return image_tensor(image) + label_tensor(label)


def write_lmdb(folder: Path, records: list[bytes]) -> str:
    """Record i under the key of eight digits i; returns the folder's path."""
    env = lmdb.open(str(folder), map_size=1 << 24)
    with env.begin(write=True) as txn:
        for i, value in enumerate(records):
            txn.put(f"{i:08d}".encode(), value)
    env.close()
    return str(folder)
