"""Rewrites a function's syntax tree: `if`, `and`, `or`, `not`, chained comparisons and calls ask the runtime."""

from __future__ import annotations

import ast
import copy

from headrace.conditionals.assigned import assigned_entries, assigned_names, own_nodes
from headrace.conditionals.exits import PREFIX, RETURNED, RUNTIME, VALUE, Guard, PlainIf, lower_exits, runtime


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(runtime(name), list(args), [])


def _lambda(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def _strings(values: list[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(value) for value in values], ast.Load())


def _names_of(names: list[str], context: ast.expr_context) -> ast.Tuple:
    return ast.Tuple([ast.Name(name, context) for name in names], context)


def _binds(expression: ast.expr) -> bool:
    """It can't go into a lambda, since it binds a variable or suspends the function."""
    return any(isinstance(node, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await) for node in ast.walk(expression))


def _is_excluded(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(target).rpartition(".")[2] == "do_not_convert"


def _is_generator(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function.body))


class Rewriter(ast.NodeTransformer):
    """Rewrites one function and those defined in it. Every new node has the line of what it stands for.

    Attributes:
        merged: names that `if` statements of the function, or of those around it, assign. Reading one is checked.
    """

    def __init__(self) -> None:
        self._merged: set[str] = set()
        self._globals: set[str] = set()
        self._count = 0

    def function(self, node: ast.FunctionDef) -> None:
        """Rewrites the function's body in place; decorators, defaults and annotations stay."""
        outer = self._merged, self._globals
        lower_exits(node)
        own = list(own_nodes(node.body))
        ifs = [inner for inner in own if isinstance(inner, ast.If) and not isinstance(inner, PlainIf)]
        self._merged = self._merged.union(*(assigned_names(inner.body + inner.orelse) for inner in ifs))
        self._globals = {name for inner in own if isinstance(inner, ast.Global) for name in inner.names}
        node.body = [statement for old in node.body for statement in self._statements(old)]
        self._merged, self._globals = outer

    def _statements(self, node: ast.stmt) -> list[ast.stmt]:
        new = self.visit(node)
        return new if isinstance(new, list) else [new]

    def _block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        return [new for statement in block for new in self._statements(statement)]

    def _located(self, new: ast.AST, old: ast.AST) -> ast.AST:
        return ast.fix_missing_locations(ast.copy_location(new, old))

    # -- functions --------------------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.args = self.visit(node.args)
        excluded = any(_is_excluded(decorator) for decorator in node.decorator_list)
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        if not excluded and not _is_generator(node):
            self.function(node)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    # -- statements -------------------------------------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        if isinstance(node, PlainIf):
            return self._located(ast.If(self.visit(node.test), node.body, []), node)
        names = assigned_names(node.body + node.orelse)
        entries = assigned_entries(node.body + node.orelse)
        self._count += 1
        state = f"{PREFIX}if{self._count}"
        is_guard = isinstance(node, Guard) and node.flag == RETURNED
        where = node.test
        begin = self._begin(node, is_guard, state, names, entries)
        is_true, is_false, both = (
            ast.Attribute(ast.Name(state, ast.Load()), side, ast.Load()) for side in ("true", "false", "both")
        )
        switch = ast.If(both, self._update(state, "switch", names), [])
        body = (self._known_in(node, names) if isinstance(node, Guard) else []) + self._block(node.body)
        statements = [
            begin,
            ast.If(is_true, [self._branch(state, "true_branch", body)], []),
            ast.If(is_false, [switch, self._branch(state, "false_branch", self._block(node.orelse))], []),
            ast.If(copy.deepcopy(both), self._update(state, "merge", names), []),
        ]
        for statement in statements:
            self._locate_new(statement, where)
        return statements

    def _known_in(self, guard: Guard, names: list[str]) -> list[ast.stmt]:
        """What is known of the samples that a guard lets through: they have not left."""
        known = {guard.flag: ast.Constant(False), **({VALUE: runtime("no_value")} if guard.flag == RETURNED else {})}
        return [ast.Assign([ast.Name(name, ast.Store())], value) for name, value in known.items() if name in names]

    def visit_Guard(self, node: Guard) -> ast.AST | list[ast.stmt]:
        return self.visit_If(node)

    def visit_PlainIf(self, node: PlainIf) -> ast.AST | list[ast.stmt]:
        return self.visit_If(node)

    def _begin(
        self,
        node: ast.If,
        is_guard: bool,
        state: str,
        names: list[str],
        entries: list[ast.Attribute | ast.Subscript],
    ) -> ast.stmt:
        test = self.visit(node.test)
        places: list[ast.expr] = [
            ast.Tuple([ast.Constant(ast.unparse(entry)), self._place(entry)], ast.Load()) for entry in entries
        ]
        begin = _call(
            "begin_if", test, _strings(names), self._variables(), ast.Tuple(places, ast.Load()),
            ast.Constant(is_guard),
        )  # fmt: skip
        return ast.Assign([ast.Name(state, ast.Store())], begin)

    def _place(self, entry: ast.Attribute | ast.Subscript) -> ast.expr:
        """A function that gives container, key, and whether the key is an attribute's name."""
        is_attribute = isinstance(entry, ast.Attribute)
        key = ast.Constant(entry.attr) if isinstance(entry, ast.Attribute) else copy.deepcopy(entry.slice)
        place = ast.Tuple([copy.deepcopy(entry.value), key, ast.Constant(is_attribute)], ast.Load())
        return self.visit(_lambda(place))

    def _variables(self) -> ast.expr:
        if not self._globals:
            return _call("variables")
        return _call("with_globals", _call("variables"), _call("global_variables"))

    def _update(self, state: str, method: str, names: list[str]) -> list[ast.stmt]:
        call = ast.Call(ast.Attribute(ast.Name(state, ast.Load()), method, ast.Load()), [self._variables()], [])
        if not names:
            return [ast.Expr(call)]
        return [ast.Assign([_names_of(names, ast.Store())], call)]

    def _branch(self, state: str, branch: str, body: list[ast.stmt]) -> ast.stmt:
        item = ast.withitem(ast.Attribute(ast.Name(state, ast.Load()), branch, ast.Load()), None)
        return ast.With([item], body or [ast.Pass()])

    def _locate_new(self, statement: ast.AST, where: ast.AST) -> None:
        """Gives what has no line yet that of the condition; what the user wrote keeps its own."""
        for node in ast.walk(statement):
            if isinstance(node, ast.stmt | ast.expr) and not hasattr(node, "lineno"):
                ast.copy_location(node, where)
        ast.fix_missing_locations(statement)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        target = node.target
        node.value = self.visit(node.value)
        if not isinstance(target, ast.Name):
            node.target = self.visit(target)
            return node
        if target.id not in self._merged:
            return node
        read = ast.Expr(self.visit(ast.copy_location(ast.Name(target.id, ast.Load()), target)))
        return [self._located(read, node), node]  # type: ignore[list-item]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.target = self.visit(node.target)
        node.value = self.visit(node.value) if node.value else None
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        self.generic_visit(node)
        node.subject = self._located(_call("subject", node.subject), node.subject)  # type: ignore[assignment]
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        node.guard = self.visit(node.guard) if node.guard else None
        node.body = self._block(node.body)
        return node

    # -- expressions ------------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if not isinstance(node.ctx, ast.Load) or node.id not in self._merged or node.id.startswith(PREFIX):
            return node
        return self._located(_call("read", node, ast.Constant(node.id)), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == RUNTIME:
            return node
        node.func = self._located(_call("convert", node.func), node.func)  # type: ignore[assignment]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if any(_binds(operand) for operand in node.values[1:]):
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        result = node.values[0]
        for operand in node.values[1:]:
            result = _call(name, result, _lambda(operand))
        return self._located(result, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._located(_call("not_", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 or any(_binds(operand) for operand in node.comparators):
            return node
        steps: list[ast.expr] = [
            ast.Tuple([ast.Constant(type(op).__name__), _lambda(operand)], ast.Load())
            for op, operand in zip(node.ops, node.comparators, strict=True)
        ]
        return self._located(_call("compare", node.left, *steps), node)
