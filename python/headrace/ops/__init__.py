"""Operators as classes: ``ops.Crop(crop=(224, 224))(images)``. Arguments may be given to either call.

Every class is made from its operator's schema when first used.
"""

from __future__ import annotations

import sys
from typing import Any

from headrace import _core
from headrace import external_source as _external_source
from headrace import operator_docs as _docs
from headrace import operator_modules as _modules
from headrace import python_function as _python_function
from headrace.operator_call import call as _call
from headrace.operator_call import check_names as _check_names
from headrace.schemas import class_name as _class_name
from headrace.schemas import find_schema as _find_schema


class Operator:
    """Base of the operator classes: keeps the arguments of the constructor for the calls.

    Attributes:
        device: "cpu", "gpu" or "mixed".
    """

    schema: _core.Schema

    def __init__(self, *, device: str | None = None, name: str | None = None, **arguments: Any) -> None:
        self.device = device
        self._name = name
        self._arguments = arguments
        self._calls = 0
        _check_names(self.schema, arguments)

    def __call__(self, *inputs: Any, name: str | None = None, **arguments: Any) -> Any:
        name = name if name is not None else self._name
        if name is not None and self._calls > 0:
            name = f"{name}_{self._calls}"
        self._calls += 1
        return _call(self.schema, inputs, {**self._arguments, **arguments}, self.device, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self._arguments.items())})"


def _make(name: str) -> type[Operator]:
    schema = _find_schema(name)
    module = schema.name.rpartition(".")[0]
    members = {
        "schema": schema,
        "__doc__": _docs.docstring(schema),
        "__module__": "headrace.ops" + ("." + module if module else ""),
    }
    return type(_class_name(name), (Operator,), members)


_HANDWRITTEN = {
    "ExternalSource": _external_source.ExternalSource,
    "PythonFunction": _python_function.PythonFunction,
    "DLTensorPythonFunction": _python_function.DLTensorPythonFunction,
}
_modules.install(sys.modules[__name__], "ops", "", _make, _HANDWRITTEN)
