"""Operators by name, read from the engine on first use, and again when a library added some."""

from __future__ import annotations

import functools

from headrace import _core


@functools.cache
def all_schemas() -> dict[str, _core.Schema]:
    """Every operator's schema, by its path below ``fn``."""
    return {schema.name: schema for schema in _core.schemas()}


def forget() -> None:
    """Reads the operators anew on the next use: there are more now."""
    all_schemas.cache_clear()


def find_schema(name: str) -> _core.Schema:
    """The schema of an operator; NotImplementedError if this build has none of that name."""
    try:
        return all_schemas()[name]
    except KeyError:
        raise NotImplementedError(f"headrace has no operator {name}") from None


@functools.cache
def arg_specs(name: str) -> dict[str, _core.ArgSpec]:
    """An operator's arguments by name."""
    return {spec.name: spec for spec in all_schemas()[name].args}


# Words of operator names that a class name writes in its own way.
_WORDS = {"coco": "COCO", "mxnet": "MXNet", "mfcc": "MFCC", "rms": "RMS", "bbox": "BBox", "tfrecord": "TFRecord",
          "bb": "Bb", "dl": "DL", "roi": "ROI"}  # fmt: skip


def class_name(name: str) -> str:
    """The name of an operator's class: ``readers.caffe2`` -> ``Caffe2``, ``one_hot`` -> ``OneHot``."""
    stem = name.rpartition(".")[2]
    hidden = "_" if stem.startswith("_") else ""
    words = stem.strip("_").split("_")
    return hidden + "".join(_WORDS.get(word, word[:1].upper() + word[1:]) for word in words)


def schema_name(name: str) -> str:
    """The operator's name in messages, as DALI writes it: ``readers.file`` -> ``readers__File``."""
    module, dot, _ = name.rpartition(".")
    return (module + dot).replace(".", "__") + class_name(name)


def submodules() -> set[str]:
    """Dotted names of the modules below ``fn`` and ``ops``: ``readers``, ``io``, ``io.file``."""
    names: set[str] = set()
    for name in all_schemas():
        module = name.rpartition(".")[0]
        while module:
            names.add(module)
            module = module.rpartition(".")[0]
    return names
