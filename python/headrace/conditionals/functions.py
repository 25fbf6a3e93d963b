"""Functions with rewritten conditionals: finds the source, compiles it anew, keeps globals, closure and lines."""

from __future__ import annotations

import ast
import copy
import functools
import linecache
import os
import sys
import types as python_types
import warnings
from collections.abc import Callable
from typing import Any

from headrace.conditionals.exits import RUNTIME
from headrace.conditionals.rewriter import Rewriter

_MARK = "_headrace_do_not_convert"
_FACTORY = "_headrace_factory"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Packages whose functions never branch on nodes; besides them, the standard library.
_LEFT_ALONE = sys.stdlib_module_names | {
    *("headrace", "nvidia", "numpy", "scipy", "jax", "jaxlib", "flax", "optax", "torch", "torchvision", "tensorflow"),
    *("PIL", "cv2", "numba", "pytest"),
}
_NOT_CONVERTED = 0x20 | 0x80 | 0x200  # inspect.CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR
_FUTURES = 0x1FF0000  # flags that `from __future__ import ...` sets in a code object

# Code of rewritten functions, which are not rewritten again; and what was made of others, None: they stay as they are.
_rewritten: set[python_types.CodeType] = set()
_converted: dict[tuple[str, python_types.CodeType], python_types.CodeType | None] = {}


def do_not_convert(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function whose `if`, `and`, `or` and `not` are Python's own, also in a pipeline with conditionals."""
    target = function.__func__ if isinstance(function, python_types.MethodType) else function
    try:
        setattr(target, _MARK, True)
        return function
    except AttributeError:  # a callable without attributes of its own

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        setattr(wrapper, _MARK, True)
        return wrapper


def convert(target: Any) -> Any:
    """The same callable with rewritten conditionals; `target` itself where there is nothing to rewrite.

    Functions, methods, partials and objects with a `__call__` written in Python are rewritten; generators, classes,
    the standard library, numeric packages and what has no source are not.
    """
    if getattr(target, _MARK, False) is True:
        return target
    if isinstance(target, python_types.FunctionType):
        return _convert_function(target)
    if isinstance(target, python_types.MethodType):
        function = convert(target.__func__)
        return target if function is target.__func__ else python_types.MethodType(function, target.__self__)
    if isinstance(target, functools.partial):
        function = convert(target.func)
        return target if function is target.func else functools.partial(function, *target.args, **target.keywords)
    if isinstance(target, type):
        return target
    call = type(target).__call__ if callable(target) else None
    if isinstance(call, python_types.FunctionType):
        function = convert(call)
        return target if function is call else python_types.MethodType(function, target)
    return target


def convert_pipeline_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """:func:`convert` for the function of a pipeline; warns if it can't be rewritten."""
    converted = convert(function)
    if converted is function and isinstance(function, python_types.FunctionType) and not _source_of(function.__code__):
        warnings.warn(
            f"enable_conditionals: the source of {function.__qualname__} is not available, so `if`, `and`, `or` and "
            "`not` on nodes don't work in it; define it in a file or a notebook cell",
            stacklevel=3,
        )
    return converted


def _convert_function(function: python_types.FunctionType) -> python_types.FunctionType:
    code = function.__code__
    if code in _rewritten or code.co_flags & _NOT_CONVERTED or code.co_filename.startswith(_PACKAGE):
        return function
    if (function.__module__ or "").partition(".")[0] in _LEFT_ALONE:
        return function
    key = (code.co_filename, code)
    if key not in _converted:
        _converted[key] = _rewrite(code)
    new_code = _converted[key]
    return function if new_code is None else _function_of(new_code, function)


def _function_of(code: python_types.CodeType, function: python_types.FunctionType) -> python_types.FunctionType:
    """A function that runs `code` in the place of the given one."""
    from headrace.conditionals import runtime

    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[RUNTIME] = python_types.CellType(runtime)
    closure = tuple(cells[name] for name in code.co_freevars)
    new = python_types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    new.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(new, function)
    del new.__dict__["__wrapped__"]
    return new


def _source_of(code: python_types.CodeType) -> str:
    return "".join(linecache.getlines(code.co_filename))


@functools.lru_cache(maxsize=64)
def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except SyntaxError:
        return None


def _first_line(node: ast.FunctionDef | ast.Lambda) -> int:
    """The line that a code object says it begins at: that of the first decorator."""
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])


class _Finder(ast.NodeVisitor):
    """Finds the definition that a code object was compiled from, and the class around it."""

    def __init__(self, code: python_types.CodeType) -> None:
        self._code = code
        self._class: str | None = None
        self.found: list[tuple[ast.FunctionDef | ast.Lambda, str | None]] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outer, self._class = self._class, node.name
        self.generic_visit(node)
        self._class = outer

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._consider(node, node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._consider(node, "<lambda>")

    def _consider(self, node: ast.FunctionDef | ast.Lambda, name: str) -> None:
        if name == self._code.co_name and _first_line(node) == self._code.co_firstlineno:
            self.found.append((node, self._class))
        self.generic_visit(node)


class _Mangler(ast.NodeTransformer):
    """Gives private names of a class (`__x`) the form that they have inside it."""

    def __init__(self, class_name: str) -> None:
        self._prefix = "_" + class_name.lstrip("_")

    def _mangled(self, name: str) -> str:
        return self._prefix + name if name.startswith("__") and not name.endswith("__") else name

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._mangled(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self._mangled(node.attr)
        self.generic_visit(node)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._mangled(node.arg)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        node.arg = self._mangled(node.arg) if node.arg else None
        self.generic_visit(node)
        return node


def _definition(code: python_types.CodeType) -> ast.FunctionDef | None:
    """A copy of the function's definition, without decorators; None if the source doesn't tell it."""
    module = _parsed(_source_of(code))
    if module is None:
        return None
    finder = _Finder(code)
    finder.visit(module)
    found = [
        (node, name) for node, name in finder.found if _parameters(node) == code.co_varnames[: _argument_count(code)]
    ]
    if len(found) != 1:
        return None
    node, class_name = found[0]
    node = copy.deepcopy(node)
    if isinstance(node, ast.Lambda):
        body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node.body)]
        node = ast.copy_location(ast.FunctionDef("_lambda", node.args, body, []), node)
    if class_name:
        _Mangler(class_name).visit(node)
    node.decorator_list = []
    node.returns = None
    return node


def _parameters(node: ast.FunctionDef | ast.Lambda) -> tuple[str, ...]:
    args = node.args
    rest = [args.vararg, args.kwarg]
    positional = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return tuple(arg.arg for arg in positional) + tuple(arg.arg for arg in rest if arg)


def _argument_count(code: python_types.CodeType) -> int:
    flags = bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)  # CO_VARARGS, CO_VARKEYWORDS
    return code.co_argcount + code.co_kwonlyargcount + flags


def _rewrite(code: python_types.CodeType) -> python_types.CodeType | None:
    """The rewritten function's code; None without source."""
    node = _definition(code)
    if node is None:
        return None
    node.args.defaults = [ast.copy_location(ast.Constant(None), default) for default in node.args.defaults]
    node.args.kw_defaults = [
        default and ast.copy_location(ast.Constant(None), default) for default in node.args.kw_defaults
    ]
    for arg in ast.walk(node.args):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    Rewriter().function(node)
    name = node.name
    outer = [ast.arg(free) for free in (*code.co_freevars, RUNTIME)]
    factory = ast.FunctionDef(_FACTORY, ast.arguments([], outer, None, [], [], None, []), [node], [])
    ast.copy_location(factory, node)
    module = ast.fix_missing_locations(ast.Module([factory], []))
    flags = code.co_flags & _FUTURES
    compiled = compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)
    new = _named(_inner(_inner(compiled, _FACTORY), name), code)
    _remember(new)
    return new


def _inner(code: python_types.CodeType, name: str) -> python_types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, python_types.CodeType) and c.co_name == name)


def _named(code: python_types.CodeType, like: python_types.CodeType) -> python_types.CodeType:
    """The code with the names of the original, which tracebacks show; also for the functions in it."""
    prefix = code.co_qualname + "."
    consts = tuple(
        _named(const, const.replace(co_qualname=like.co_qualname + "." + const.co_qualname.removeprefix(prefix)))
        if isinstance(const, python_types.CodeType)
        else const
        for const in code.co_consts
    )
    return code.replace(co_name=like.co_name, co_qualname=like.co_qualname, co_consts=consts)


def _remember(code: python_types.CodeType) -> None:
    _rewritten.add(code)
    for const in code.co_consts:
        if isinstance(const, python_types.CodeType):
            _remember(const)
