"""A small Caffe2 LMDB that looks like MNIST: ten blurred patterns with noise, as JPEG files in protobuf records."""

import io

import lmdb
import numpy as np
import PIL.Image


def _varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number, data):
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _number(number, value):
    return _varint(number << 3) + _varint(value)


def caffe2_record(jpeg, label):
    """TensorProtos of Caffe2: a string tensor with the file, an int32 tensor with the label (caffe2.proto)."""
    image = _number(1, 1) + _number(2, 4) + _field(6, jpeg)
    label = _number(1, 1) + _number(2, 2) + _field(4, _varint(label))
    return _field(1, image) + _field(1, label)


def write_digits(path, count, seed):
    """`count` records of 28x28 gray images."""
    # As dark as MNIST, where one pixel in five is bright: SGD with the program's rate diverges on brighter images.
    patterns = (np.random.default_rng(0).random((10, 7, 7)) < 0.2).repeat(4, 1).repeat(4, 2) * 200
    rng = np.random.default_rng(seed)
    with lmdb.open(str(path), map_size=64 << 20) as environment, environment.begin(write=True) as transaction:
        for i in range(count):
            label = int(rng.integers(10))
            pixels = np.clip(patterns[label] + rng.normal(0, 40, (28, 28)), 0, 255).astype(np.uint8)
            file = io.BytesIO()
            PIL.Image.fromarray(pixels).save(file, "JPEG")
            transaction.put(f"{i:08d}".encode(), caffe2_record(file.getvalue(), label))
