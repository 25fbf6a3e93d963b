"""The modules ``fn`` and ``ops``: their members are made from the schemas when first used."""

from __future__ import annotations

import difflib
import sys
import types as python_types
from collections.abc import Callable
from typing import Any

from headrace.dali_names import DALI_MODULES, DALI_OPERATORS
from headrace.schemas import all_schemas, class_name, submodules


def _missing(face: str, path: str, known: set[str] | frozenset[str]) -> AttributeError:
    if path in known:
        return AttributeError(f"headrace has no {face}.{path} (DALI has)")
    near = difflib.get_close_matches(path, _paths(face), n=1)
    advice = f"; did you mean {face}.{near[0]}?" if near and not path.startswith("_") else ""
    return AttributeError(f"module 'headrace.{face}' has no attribute '{path}'{advice}")


def _paths(face: str) -> dict[str, str]:
    """Member path -> operator name: the same for fn, class names for ops."""
    if face == "fn":
        return {name: name for name in all_schemas()}
    paths = {}
    for name in all_schemas():
        module, dot, _ = name.rpartition(".")
        paths[module + dot + class_name(name)] = name
    return paths


def _known_to_dali(face: str) -> set[str]:
    if face == "fn":
        return set(DALI_OPERATORS) | set(DALI_MODULES)
    paths = {name.rpartition(".")[0] + name.rpartition(".")[1] + class_name(name) for name in DALI_OPERATORS}
    return paths | set(DALI_MODULES)


def _children(path: str) -> list[str]:
    """Modules directly below a path: those that DALI has, so that importing them asks no schema."""
    prefix = path + "." if path else ""
    below = {name[len(prefix) :] for name in DALI_MODULES if name.startswith(prefix)}
    return sorted({name.partition(".")[0] for name in below})


# Every module below fn and ops: (face, path) -> the module, and how its members are made.
_installed: dict[tuple[str, str], tuple[python_types.ModuleType, Callable[[str], Any], dict[str, Any]]] = {}


def reserved_names() -> list[str]:
    """Paths below ``fn`` that are no operators but have a meaning: modules, and what the modules themselves import."""
    names = []
    for (face, path), (module, _, _) in _installed.items():
        if face == "fn":
            names += [f"{path}.{name}".lstrip(".") for name in vars(module) if not name.startswith("_")]
    return sorted(set(names) - set(all_schemas()))


def add_new_modules() -> None:
    """Makes the modules of operators that a library has added."""
    for path in sorted(submodules()):
        parent, _, stem = path.rpartition(".")
        for face in ("fn", "ops"):
            if (face, path) not in _installed:
                module, make, handwritten = _installed[face, parent]
                setattr(module, stem, _submodule(module, face, path, make, handwritten))


def install(
    module: python_types.ModuleType, face: str, path: str, make: Callable[[str], Any], handwritten: dict[str, Any]
) -> None:
    """Gives a module (``fn`` or below) attributes that are made on first access.

    Args:
        module: the module to fill.
        face: "fn" or "ops".
        path: dotted path of the module below the face; "" for the face itself.
        make: makes the member for an operator's name.
        handwritten: members by path that take the place of the made ones.
    """
    prefix = path + "." if path else ""

    def get(name: str) -> Any:
        full = prefix + name
        if full in handwritten:
            value: Any = handwritten[full]
        elif full in _paths(face):
            value = make(_paths(face)[full])
        elif name.startswith("__"):
            raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")
        else:
            raise _missing(face, full, _known_to_dali(face))
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        below = {p[len(prefix) :] for p in [*_paths(face), *handwritten, *submodules()] if p.startswith(prefix)}
        return sorted(name for name in below if "." not in name and name and not name.startswith("_"))

    _installed[face, path] = (module, make, handwritten)
    for child in _children(path):
        setattr(module, child, _submodule(module, face, prefix + child, make, handwritten))
    module.__getattr__ = get  # type: ignore[method-assign]
    module.__dir__ = names  # type: ignore[method-assign]
    module.__all__ = LazyNames(names)  # type: ignore[attr-defined]


class LazyNames(list):
    """``__all__`` of a module whose members are known when the engine is asked."""

    def __init__(self, names: Callable[[], list[str]]) -> None:
        super().__init__()
        self._names = names

    def __iter__(self) -> Any:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __getitem__(self, index: Any) -> Any:
        return self._names()[index]

    def __contains__(self, name: object) -> bool:
        return name in self._names()


def _submodule(
    parent: python_types.ModuleType, face: str, path: str, make: Callable[[str], Any], handwritten: dict[str, Any]
) -> python_types.ModuleType:
    module = python_types.ModuleType(f"headrace.{face}.{path}", f"Operators below ``{face}.{path}``.")
    module.__package__ = parent.__name__
    module.__path__ = []
    install(module, face, path, make, handwritten)
    sys.modules[module.__name__] = module
    return module
