"""Writes the seeds of the targets lmdb and caffe2_record: sound files of a few kilobytes.

The LMDB has pages of 512 bytes, which liblmdb itself writes on no machine, so that a seed with a branch page, leaves
and an overflow value stays small.
"""

import struct
from pathlib import Path

SEEDS = Path(__file__).parent / "seeds"
PAGE = 512


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number: int, value: int | float | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensors(*tensors: bytes) -> bytes:
    return b"".join(field(1, tensor) for tensor in tensors)


def numbers(kind: int, number: int, values: list) -> bytes:
    return field(2, kind) + b"".join(field(number, value) for value in values)


def record_seeds() -> dict[str, bytes]:
    image = field(1, 1) + field(2, 4) + field(6, b"\xff\xd8image\xff\xd9")
    raw = field(1, 2) + field(1, 3) + field(2, 3) + field(5, bytes(6))
    label, classes = numbers(2, 4, [7]), numbers(2, 4, [1, 3])
    weights, box = numbers(1, 3, [0.5, 0.25]), numbers(2, 4, [1, 2, 3, 4])
    packed = field(2, 2) + field(4, varint(1) + varint(3))
    return {
        "encoded": tensors(image, label),
        "raw": tensors(raw, label),
        "sparse": tensors(image, packed, numbers(10, 10, [1, -2]), box),
        "weighted": tensors(image, classes, weights, numbers(1, 3, [1.0]), box),
        "datum": field(1, 1) + field(2, 2) + field(3, 3) + field(4, bytes(6)) + field(5, 9) + field(7, 0),
    }


def page(number: int, flags: int, nodes: list[bytes]) -> bytes:
    body, offsets = b"", []
    for node in nodes:
        body = node + bytes(len(node) % 2) + body
        offsets.append(PAGE - len(body))
    header = struct.pack("<QHHHH", number, 0, flags, 16 + 2 * len(nodes), PAGE - len(body))
    index = struct.pack(f"<{len(nodes)}H", *offsets)
    return header + index + bytes(PAGE - len(header) - len(index) - len(body)) + body


def leaf(number: int, records: list[tuple[bytes, bytes]]) -> bytes:
    return page(number, 2, [struct.pack("<IHH", len(v), 0, len(k)) + k + v for k, v in records])


def lmdb(tree: list[bytes], depth: int, entries: int, root: int) -> bytes:
    metas = b""
    for number in range(2):
        free = struct.pack("<IHHQQQQQ", PAGE, 0, 0, 0, 0, 0, 0, 2**64 - 1)
        main = struct.pack("<IHHQQQQQ", 0, 0, depth, 0, 0, 0, entries, root)
        meta = struct.pack("<QHHIIIQQ", number, 0, 8, 0, 0xBEEFC0DE, 1, 0, 1 << 20) + free + main
        metas += (meta + struct.pack("<QQ", 1 + len(b"".join(tree)) // PAGE, number)).ljust(PAGE, b"\0")
    return metas + b"".join(tree)


def lmdb_seeds() -> dict[str, bytes]:
    record = record_seeds()["encoded"]
    small = [(b"%04d" % i, record) for i in range(6)]
    large = b"x" * 700
    overflow = struct.pack("<QHHI", 4, 0, 4, 2) + large.ljust(2 * PAGE - 16, b"\0")
    big_node = struct.pack("<IHH", len(large), 1, 4) + b"0009" + struct.pack("<Q", 4)
    branch = [struct.pack("<IHH", child, 0, len(key)) + key for child, key in [(2, b""), (3, b"0009")]]
    return {
        "empty": lmdb([], 0, 0, 2**64 - 1),
        "leaf": lmdb([leaf(2, small)], 1, 6, 2),
        "tree": lmdb([leaf(2, small), page(3, 2, [big_node]), overflow, page(6, 1, branch)], 2, 7, 6),
    }


if __name__ == "__main__":
    for target, seeds in {"lmdb": lmdb_seeds(), "caffe2_record": record_seeds()}.items():
        folder = SEEDS / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in seeds.items():
            (folder / name).write_bytes(content)
