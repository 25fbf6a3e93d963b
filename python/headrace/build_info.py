"""What this build of headrace has in it."""

from __future__ import annotations

from typing import Any

from headrace import _core

__version__: str = _core.build_info()["version"]


def info() -> dict[str, Any]:
    """Version, compiler, SIMD instructions, codecs, number of operators, and whether CUDA is in use."""
    return dict(_core.build_info())
