"""Where headers and build files for operators of one's own are, and how to compile with them.

    python -m headrace.sysconfig --cmake-dir      for find_package(headrace HINTS ...)
    g++ $(python -m headrace.sysconfig --compile-flags) -fPIC -shared my.cc -o libmy.so \
        $(python -m headrace.sysconfig --link-flags)
"""

from __future__ import annotations

import os
import sys

__all__ = [
    "get_cmake_dir",
    "get_compile_flags",
    "get_include_dir",
    "get_include_flags",
    "get_lib_dir",
    "get_link_flags",
]

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def get_include_dir() -> str:
    """The folder to include ``<headrace/op.h>`` from."""
    return os.path.join(_PACKAGE, "include")


def get_include_flags() -> list[str]:
    """Flags that make the compiler find the headers."""
    return [f"-I{get_include_dir()}"]


def get_compile_flags() -> list[str]:
    """Flags to compile an operator with: headers, language level, optimisation, arithmetic that is equal everywhere."""
    return [*get_include_flags(), "-std=c++20", "-O2", "-ffp-contract=off"]


def get_lib_dir() -> str:
    """The folder of the engine's own library, which nothing is linked against."""
    return _PACKAGE


def get_link_flags() -> list[str]:
    """Flags to link an operator with. The engine's functions are found when the library is loaded."""
    return ["-lfmt"]


def get_cmake_dir() -> str:
    """The folder of ``headraceConfig.cmake``, for CMake's ``find_package(headrace)``."""
    return os.path.join(_PACKAGE, "cmake")


_COMMANDS = {
    "--cmake-dir": get_cmake_dir,
    "--include-dir": get_include_dir,
    "--lib-dir": get_lib_dir,
    "--include-flags": get_include_flags,
    "--compile-flags": get_compile_flags,
    "--link-flags": get_link_flags,
}


def main(arguments: list[str]) -> int:
    """Prints what the one argument asks for."""
    if len(arguments) != 1 or arguments[0] not in _COMMANDS:
        print(f"usage: python -m headrace.sysconfig {' | '.join(_COMMANDS)}", file=sys.stderr)
        return 2
    answer = _COMMANDS[arguments[0]]()
    print(answer if isinstance(answer, str) else " ".join(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
