"""Pipelines as JSON: the format that Pipeline.serialize() writes and Pipeline.deserialize() reads."""

import json
from typing import Any

from headrace import _core
from headrace.output_checks import data_types_from

_FORMAT = "headrace-pipeline"
_VERSION = 1


def dump(graph: _core.Graph, parameters: dict[str, Any]) -> bytes:
    """A pipeline's graph and the arguments of its constructor."""
    content = {"format": _FORMAT, "version": _VERSION, "parameters": parameters, "graph": json.loads(graph.to_json())}
    return json.dumps(content).encode()


def load(text: bytes | str) -> tuple[_core.Graph, dict[str, Any]]:
    """What dump() was given. RuntimeError for anything else than its output."""
    try:
        data = json.loads(text)
        valid = data["format"] == _FORMAT and data["version"] == _VERSION
        valid = valid and isinstance(data["parameters"], dict) and "graph" in data
    except (TypeError, ValueError, KeyError, RecursionError):
        valid = False
    if not valid:
        raise RuntimeError("deserialize: expected the JSON that Pipeline.serialize() gave")
    parameters = data["parameters"]
    if "output_dtype" in parameters:  # JSON has their numbers
        parameters["output_dtype"] = data_types_from(parameters["output_dtype"])
    return _core.Graph.from_json(json.dumps(data["graph"])), parameters
