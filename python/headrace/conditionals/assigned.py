"""Which variables and entries (`d["x"]`, `obj.attr`) a block of statements assigns."""

from __future__ import annotations

import ast
from collections.abc import Iterable

# What has local variables of its own.
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def own_nodes(root: ast.AST | Iterable[ast.AST]) -> Iterable[ast.AST]:
    """Every node below `root` (and in it, if it is a list) that isn't in the body of another function or class."""
    waiting = list(ast.iter_child_nodes(root)) if isinstance(root, ast.AST) else list(root)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, SCOPES):
            waiting.extend(ast.iter_child_nodes(node))


def _comprehension_targets(statements: list[ast.stmt]) -> set[int]:
    """ids of the names that loops of comprehensions bind, which are not the function's."""
    found: set[int] = set()
    for node in own_nodes(statements):
        if isinstance(node, ast.comprehension):
            found.update(id(name) for name in ast.walk(node.target))
    return found


def assigned_names(statements: list[ast.stmt]) -> list[str]:
    """The variables that the statements bind or delete, sorted."""
    in_comprehensions = _comprehension_targets(statements)
    names = set()
    for node in own_nodes(statements):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in in_comprehensions:
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
    return sorted(names)


def _is_path(node: ast.AST, fixed: set[str]) -> bool:
    """A variable, attribute or entry whose place doesn't change while the block runs."""
    if isinstance(node, ast.Name):
        return node.id not in fixed
    if isinstance(node, ast.Attribute):
        return _is_path(node.value, fixed)
    if isinstance(node, ast.Subscript):
        return _is_path(node.value, fixed) and _is_key(node.slice, fixed)
    return False


def _is_key(node: ast.AST, assigned: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id not in assigned
    if isinstance(node, ast.UnaryOp):
        return _is_key(node.operand, assigned)
    if isinstance(node, ast.Tuple):
        return all(_is_key(element, assigned) for element in node.elts)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Attribute) and _is_path(node, assigned))


def assigned_entries(statements: list[ast.stmt]) -> list[ast.Attribute | ast.Subscript]:
    """The attributes and entries that the statements bind or delete, by their text; one node for each.

    Only those of containers that the statements don't bind themselves, with keys that stay the same.
    """
    names = set(assigned_names(statements))
    found: dict[str, ast.Attribute | ast.Subscript] = {}
    for node in own_nodes(statements):
        if (
            isinstance(node, ast.Attribute | ast.Subscript)
            and not isinstance(node.ctx, ast.Load)
            and _is_path(node, names)
        ):
            found[ast.unparse(node)] = node
    outermost = {
        text: node for text, node in found.items() if not any(ast.unparse(part) in found for part in _containers(node))
    }
    return [outermost[text] for text in sorted(outermost)]


def _containers(node: ast.Attribute | ast.Subscript) -> Iterable[ast.AST]:
    inner: ast.AST = node.value
    while isinstance(inner, ast.Attribute | ast.Subscript):
        yield inner
        inner = inner.value
