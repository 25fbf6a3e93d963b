"""Lowers `return`, `break` and `continue` that stand in an `if`, so that both branches can run to their ends.

An exit becomes an assignment. What follows an `if` of which one branch always exits goes into the other branch. Where
only a part of the samples exits, flags tell who is still there, and `if not flag:` guards what follows.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from headrace.conditionals.assigned import SCOPES, own_nodes

PREFIX = "_headrace_"
RUNTIME = PREFIX + "runtime"
RETURNED = PREFIX + "returned"
VALUE = PREFIX + "value"

_Loop = (ast.For, ast.While, ast.AsyncFor)


class Guard(ast.If):
    """`if not flag:` around what the samples that have left must not run."""

    _fields = ast.If._fields
    flag: str


class PlainIf(ast.If):
    """An `if` that stays one: its condition is never a node."""

    _fields = ast.If._fields


def runtime(name: str) -> ast.expr:
    """The runtime's attribute of that name."""
    return ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _located(new: ast.stmt, old: ast.AST) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(new, old))


def _contains(statement: ast.AST, kinds: type | tuple[type, ...], into_loops: bool) -> bool:
    if isinstance(statement, SCOPES + (PlainIf,)):
        return False
    if isinstance(statement, kinds):
        return True
    if isinstance(statement, _Loop) and not into_loops:
        return any(_contains(child, kinds, False) for child in statement.orelse)
    return any(_contains(child, kinds, into_loops) for child in ast.iter_child_nodes(statement))


def _always_exits(block: list[ast.stmt]) -> bool:
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.Return | ast.Raise | ast.Break | ast.Continue):
        return True
    if isinstance(last, ast.If):
        return _always_exits(last.body) and _always_exits(last.orelse)
    return isinstance(last, ast.With) and _always_exits(last.body)


class _Lowering:
    """Replaces the exits of one kind in a block.

    Attributes:
        guarded: some statement is guarded, so the flag is needed.
    """

    def __init__(
        self, kinds: type | tuple[type, ...], into_loops: bool, flag: str, replace: Callable[[ast.stmt], list[ast.stmt]]
    ) -> None:
        self._kinds = kinds
        self._into_loops = into_loops
        self._flag = flag
        self._replace = replace
        self.guarded = False

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for i, statement in enumerate(statements):
            rest = statements[i + 1 :]
            if isinstance(statement, self._kinds):
                return result + self._replace(statement)
            if not _contains(statement, self._kinds, self._into_loops):
                result.append(statement)
                continue
            if isinstance(statement, ast.If):
                rest = self._if(statement, rest)
            else:
                rest = [] if _always_exits([statement]) else rest
                self._compound(statement)
            result.append(statement)
            if rest:
                result.append(self.guard(self.block(rest), rest[0]))
            return result
        return result

    def _if(self, statement: ast.If, rest: list[ast.stmt]) -> list[ast.stmt]:
        """Lowers the branches; gives what is still to come after the statement."""
        body_exits, else_exits = _always_exits(statement.body), _always_exits(statement.orelse)
        if body_exits and not else_exits:
            statement.orelse, rest = statement.orelse + rest, []
        elif else_exits and not body_exits:
            statement.body, rest = statement.body + rest, []
        elif body_exits and else_exits:
            rest = []
        statement.body = self.block(statement.body)
        statement.orelse = self.block(statement.orelse)
        return rest

    def _compound(self, statement: ast.stmt) -> None:
        """Lowers the blocks of a loop, `with`, `try` or `match`."""
        is_loop = isinstance(statement, _Loop)
        if not is_loop or self._into_loops:
            inner = self.block(statement.body) if hasattr(statement, "body") else []
            if is_loop:
                inner = [self.guard(inner, statement), self._leave_loop(statement)]
            if hasattr(statement, "body"):
                statement.body = inner
        for field in ("orelse", "finalbody"):
            block = getattr(statement, field, [])
            if block:
                lowered = self.block(block)
                guarded = field == "orelse"
                setattr(statement, field, [self.guard(lowered, block[0])] if guarded else lowered)
        for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
            part.body = self.block(part.body)

    def guard(self, block: list[ast.stmt], where: ast.AST) -> ast.stmt:
        self.guarded = True
        test = ast.UnaryOp(ast.Not(), ast.Name(self._flag, ast.Load()))
        guard = Guard(test, block, [])
        guard.flag = self._flag
        return _located(guard, where)

    def _leave_loop(self, loop: ast.AST) -> ast.stmt:
        """Ends a loop that nobody is in any more."""
        self.guarded = True
        test = ast.Call(runtime("is_true"), [ast.Name(self._flag, ast.Load())], [])
        return _located(PlainIf(test, [ast.Break()], []), loop)


def _has_exit_in_if(statements: list[ast.stmt], kinds: type | tuple[type, ...], into_loops: bool) -> bool:
    for statement in statements:
        if isinstance(statement, SCOPES + (PlainIf,)) or (isinstance(statement, _Loop) and not into_loops):
            continue
        if isinstance(statement, ast.If | ast.Match) and _contains(statement, kinds, into_loops):
            return True
        children = [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.stmt)]
        handlers = [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.ExceptHandler)]
        if _has_exit_in_if(children + [inner for h in handlers for inner in h.body], kinds, into_loops):
            return True
    return False


def _without_flag(statements: list[ast.stmt], flag: str) -> None:
    """Takes out the assignments of a flag that nothing asks for."""

    class Remover(ast.NodeTransformer):
        def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
            target = node.targets[0]
            return None if isinstance(target, ast.Name) and target.id == flag else node

    holder = ast.Module(statements, [])
    Remover().visit(holder)
    for node in ast.walk(holder):
        if node is not holder and getattr(node, "body", None) == []:
            where = node if isinstance(node, ast.stmt) else holder.body[0]
            node.body = [_located(ast.Pass(), where)]  # type: ignore[attr-defined]
    statements[:] = holder.body


def lower_returns(function: ast.FunctionDef) -> None:
    """Leaves one `return`, at the function's end, if any stands in an `if`."""
    if not _has_exit_in_if(function.body, ast.Return, into_loops=True):
        return
    body = function.body
    if not _always_exits(body):
        gives_values = any(isinstance(node, ast.Return) and node.value is not None for node in own_nodes(function.body))
        value = runtime("missing_return") if gives_values else ast.Constant(None)
        body.append(_located(ast.Return(value), body[-1]))

    def replace(statement: ast.stmt) -> list[ast.stmt]:
        assert isinstance(statement, ast.Return)
        value = statement.value or ast.Constant(None)
        return [
            _located(_assign(VALUE, value), statement),
            _located(_assign(RETURNED, ast.Constant(True)), statement),
        ]

    lowering = _Lowering(ast.Return, True, RETURNED, replace)
    body = lowering.block(body)
    start = [_located(_assign(VALUE, runtime("no_value")), function.body[0])]
    if lowering.guarded:
        start.append(_located(_assign(RETURNED, ast.Constant(False)), function.body[0]))
    else:
        _without_flag(body, RETURNED)
    result = ast.Call(runtime("return_value"), [ast.Name(VALUE, ast.Load())], [])
    documentation, body = (body[:1], body[1:]) if ast.get_docstring(function, clean=False) is not None else ([], body)
    function.body = documentation + start + body + [_located(ast.Return(result), function.body[-1])]


class _LoopLowering(ast.NodeTransformer):
    """Lowers the exits of every loop of one function, the inner ones first."""

    def __init__(self) -> None:
        self._count = 0

    def _skip(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _skip

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if not _has_exit_in_if(node.body, (ast.Break, ast.Continue), into_loops=False):
            return node
        return self._lower(node)

    visit_While = visit_For  # type: ignore[assignment]

    def _lower(self, loop: ast.For | ast.While) -> list[ast.stmt]:
        self._count += 1
        left, broken = f"{PREFIX}left{self._count}", f"{PREFIX}broken{self._count}"

        def replace(statement: ast.stmt) -> list[ast.stmt]:
            flags = [left, broken] if isinstance(statement, ast.Break) else [left]
            return [_located(_assign(flag, ast.Constant(True)), statement) for flag in flags]

        breaks = any(_contains(statement, ast.Break, False) for statement in loop.body)
        lowering = _Lowering((ast.Break, ast.Continue), False, left, replace)
        body = lowering.block(loop.body)
        if lowering.guarded:
            body.insert(0, _located(_assign(left, ast.Constant(False)), loop))
        else:
            _without_flag(body, left)
        loop.body = body
        if not breaks:
            return [loop]
        ending = _Lowering(ast.Break, False, broken, replace)
        loop.body = [ending.guard(body, loop), ending._leave_loop(loop)]
        orelse, loop.orelse = loop.orelse, []
        start = _located(_assign(broken, ast.Constant(False)), loop)
        return [start, loop] + ([ending.guard(orelse, orelse[0])] if orelse else [])


def lower_exits(function: ast.FunctionDef) -> None:
    """Lowers what leaves an `if` in the function's own body."""
    lower_returns(function)
    holder = ast.Module(function.body, [])
    _LoopLowering().generic_visit(holder)
    function.body = holder.body
