"""Loading operators that were built outside of headrace (docs/custom_operators.md)."""

from __future__ import annotations

import os
import pathlib

from headrace import _core, operator_modules, schemas

__all__ = ["load_directory", "load_library", "load_plugin"]


def load_plugin(path: str | os.PathLike[str], *, global_symbols: bool = False) -> list[str]:
    """Loads a library with operators; they are then in ``fn`` and ``ops`` like all others.

    Pipelines that exist are not touched. Loading a library again does nothing. It stays loaded till the program ends.

    Args:
        path: the library, as a path: it is not searched for.
        global_symbols: Libraries that are loaded later see the symbols of this one.

    Returns:
        The names of the operators that it added, below ``fn``.

    Raises:
        RuntimeError: It is no library of operators, was built against other headers, or fails to register its
            operators; none of them is there then.
        ValueError: It has an operator whose name is malformed.
    """
    names = _core.load_plugin(os.path.abspath(os.fspath(path)), global_symbols, operator_modules.reserved_names())
    if names:
        schemas.forget()
        operator_modules.add_new_modules()
    return names


def load_library(library_path: str | os.PathLike[str], global_symbols: bool = False) -> None:
    """:func:`load_plugin` by the name and arguments that DALI gives it."""
    load_plugin(library_path, global_symbols=global_symbols)


def load_directory(plugin_dir_path: str | os.PathLike[str], global_symbols: bool = False) -> None:
    """Loads every ``libdali_*.so`` and ``libheadrace_*.so`` in a folder and below it, in the order of paths.

    Raises:
        NotADirectoryError: There is no such folder.
        RuntimeError, ValueError: as :func:`load_plugin`; what comes before the failing library stays loaded.
    """
    folder = pathlib.Path(plugin_dir_path)
    if not folder.is_dir():
        raise NotADirectoryError(f"plugin_manager.load_directory: {folder} is no folder")
    found = {*folder.rglob("libdali_*.so"), *folder.rglob("libheadrace_*.so")}
    for library in sorted(found):
        load_plugin(library, global_symbols=global_symbols)
