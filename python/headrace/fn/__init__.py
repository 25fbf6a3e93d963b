"""Operators as functions: ``fn.crop(images, crop=(224, 224))``. They make nodes of a pipeline's graph.

Every function is made from its operator's schema when first used; ``help(fn.crop)`` shows it.
"""

from __future__ import annotations

import sys
from typing import Any

from headrace import external_source as _external_source
from headrace import operator_docs as _docs
from headrace import operator_modules as _modules
from headrace import python_function as _python_function
from headrace.operator_call import call as _call
from headrace.schemas import find_schema as _find_schema


def _make(name: str) -> Any:
    schema = _find_schema(name)

    def operator(*inputs: Any, device: str | None = None, name: str | None = None, **arguments: Any) -> Any:
        return _call(schema, inputs, arguments, device, name)

    module, _, stem = schema.name.rpartition(".")
    operator.__name__ = operator.__qualname__ = stem
    operator.__module__ = "headrace.fn" + ("." + module if module else "")
    operator.__doc__ = _docs.docstring(schema)
    operator.__signature__ = _docs.signature(schema)
    return operator


_HANDWRITTEN = {
    "external_source": _external_source.external_source,
    "python_function": _python_function.python_function,
    "dl_tensor_python_function": _python_function.dl_tensor_python_function,
}
_modules.install(sys.modules[__name__], "fn", "", _make, _HANDWRITTEN)
