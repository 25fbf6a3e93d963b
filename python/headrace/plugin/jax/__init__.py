"""Iterators over pipelines that give dicts of jax.Arrays."""

from typing import Any

from headrace.plugin.jax.clu import DALIGenericPeekableIterator, peekable_data_iterator
from headrace.plugin.jax.iterator import DALIGenericIterator, data_iterator

__all__ = ["DALIGenericIterator", "DALIGenericPeekableIterator", "data_iterator", "peekable_data_iterator"]


def __getattr__(name: str) -> Any:
    if name == "fn":
        import importlib

        return importlib.import_module("headrace.plugin.jax.fn")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
