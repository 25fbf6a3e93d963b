"""Signatures and docstrings of operator functions and classes, made from the schemas."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from headrace import _core, types
from headrace.argument_values import TYPE_NAMES

if TYPE_CHECKING:
    import inspect

_ENUMS: dict[str, Any] = {
    "DALIDataType": types.DALIDataType,
    "DALIImageType": types.DALIImageType,
    "DALIInterpType": types.DALIInterpType,
}


def default_of(spec: _core.ArgSpec) -> Any:
    """The default as Python shows it: enumerations by name."""
    enum = _ENUMS.get(spec.type)
    return enum(spec.default) if enum is not None and spec.default is not None else spec.default


def ordered_args(schema: _core.Schema) -> list[_core.ArgSpec]:
    """Required arguments, then the others by name; those every operator has come last."""
    last = ("bytes_per_sample_hint", "preserve", "seed")
    return sorted(schema.args, key=lambda spec: (not spec.required, spec.name in last, spec.name))


def signature(schema: _core.Schema) -> inspect.Signature:
    """The function's signature: inputs by position, everything else by keyword."""
    import inspect

    kind = inspect.Parameter
    parameters = []
    variadic = schema.max_inputs > len(schema.inputs)
    for i, (name, _, _, _) in enumerate(schema.inputs):
        if variadic and i == len(schema.inputs) - 1:
            parameters.append(kind(name, kind.VAR_POSITIONAL))
            continue
        default = kind.empty if i < schema.min_inputs else None
        parameters.append(kind(name, kind.POSITIONAL_ONLY, default=default))
    parameters.append(kind("device", kind.KEYWORD_ONLY, default=None))
    parameters.append(kind("name", kind.KEYWORD_ONLY, default=None))
    for spec in ordered_args(schema):
        default = kind.empty if spec.required else default_of(spec)
        parameters.append(kind(spec.name, kind.KEYWORD_ONLY, default=default))
    return inspect.Signature(parameters)


def _argument_text(spec: _core.ArgSpec) -> str:
    traits = [TYPE_NAMES[spec.type]]
    if spec.per_sample:
        traits.append("or a DataNode with a value for each sample")
    default = default_of(spec)
    if spec.required:
        traits.append("required")
    elif default is not None:
        traits.append(f"default {default!r}" if isinstance(default, str) else f"default {default}")
    return f"{spec.name} ({', '.join(traits)}): {spec.doc}"


def _input_text(entry: tuple[str, str, list[str], bool]) -> str:
    name, doc, layouts, optional = entry
    traits = [*(["layouts " + ", ".join(layouts)] if layouts else []), *(["optional"] if optional else [])]
    return f"{name}{' (' + '; '.join(traits) + ')' if traits else ''}: {doc}"


def _section(title: str, entries: list[str]) -> str:
    wrapped = [
        textwrap.fill(entry, 116, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False)
        for entry in entries
    ]
    return f"\n\n{title}:\n" + "\n".join(wrapped) if entries else ""


def docstring(schema: _core.Schema) -> str:
    """What the operator does, its inputs, arguments and devices."""
    text = textwrap.fill(schema.doc or schema.name, 116)
    if schema.deprecation:
        text += f"\n\nDeprecated. {schema.deprecation}"
    text += f"\n\nDevices: {', '.join(schema.devices)}."
    text += _section("Inputs", [_input_text(entry) for entry in schema.inputs])
    return text + _section("Arguments", [_argument_text(spec) for spec in ordered_args(schema)])
