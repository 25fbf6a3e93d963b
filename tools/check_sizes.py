"""Checks the sizes of files and functions: reports those worth a second look, fails over the hard limits."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FILE_LIMITS = (400, 800)
FUNCTION_LIMITS = (60, 120)

# What may hide braces from the scanner: comments, raw strings, strings, characters (but not 1'000 separators).
HIDDEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|^\s*#[^\n]*',
    re.DOTALL | re.MULTILINE,
)
# A head that ends in a parameter list with what may follow it, up to the brace of the body.
FUNCTION_HEAD = re.compile(
    r"([~\w:<>]+|operator\s*\S+)\s*\((?:[^;{}]|\{[^{}]*\})*\)\s*(?:const|noexcept|override|final|mutable|&&?|\s)*"
    r"(?:->\s*[^;{}]+|requires[^;{}]+|:\s*(?:[^;{}]|\{[^{}]*\})+)?\s*$"
)
# What stands before the brace of a member's initializer: ": a_(1), b_" of a constructor.
MEMBER_INITIALIZER = re.compile(r"\)[^;{}]*(?:,|(?<!:):)\s*\w+\s*$|\}\s*,\s*\w+\s*$")
NO_FUNCTION = {"if", "for", "while", "switch", "catch", "return"}


class Function(NamedTuple):
    name: str
    line: int
    length: int


def blank(match: re.Match) -> str:
    """Replaces hidden text, keeping its line breaks, so that line numbers stay."""
    return "\n" * match.group().count("\n")


def cpp_functions(text: str) -> list[Function]:
    """The outermost functions of a C++ file; lambdas count to the function around them."""
    text = HIDDEN.sub(blank, text)
    functions: list[Function] = []
    stack: list[Function | str | None] = []
    head_start = 0
    line = 1
    for at, char in enumerate(text):
        if char == "\n":
            line += 1
        elif char == "{":
            before = text[head_start:at][-2000:]
            if MEMBER_INITIALIZER.search(before):
                stack.append("initializer")
                continue
            inside = any(isinstance(entry, Function) for entry in stack)
            head = None if inside else FUNCTION_HEAD.search(before)
            is_function = head is not None and head.group(1) not in NO_FUNCTION
            stack.append(Function(head.group(1), line, 0) if head and is_function else None)
            head_start = at + 1
        elif char == "}":
            opened = stack.pop() if stack else None
            if opened == "initializer":
                continue
            if opened:
                functions.append(opened._replace(length=line - opened.line + 1))
            head_start = at + 1
        elif char == ";":
            head_start = at + 1
    return functions


def python_functions(text: str) -> list[Function]:
    """All functions of a Python file; the docstring doesn't count."""
    functions = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            doc = node.body[0] if ast.get_docstring(node) else None
            doc_lines = doc.end_lineno - doc.lineno + 1 if doc and doc.end_lineno else 0
            functions.append(Function(node.name, node.lineno, (node.end_lineno or 0) - node.lineno + 1 - doc_lines))
    return functions


def checked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.cc", "*.h", "*.cu", "*.py"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def main() -> int:
    errors = warnings = 0
    comment_lines = code_lines = 0
    files = checked_files()
    for file in files:
        text = file.read_text()
        lines = text.splitlines()
        functions = python_functions(text) if file.suffix == ".py" else cpp_functions(text)
        sizes = [(str(file.relative_to(ROOT)), len(lines), FILE_LIMITS)]
        sizes += [(f"{file.relative_to(ROOT)}:{f.line} {f.name}", f.length, FUNCTION_LIMITS) for f in functions]
        for name, size, (look, stop) in sizes:
            if size > look:
                kind = "error" if size > stop else "look again"
                errors += size > stop
                warnings += size <= stop
                print(f"{kind}: {name}: {size} lines (look again at {look}, stop at {stop})")
        comment_lines += sum(line.lstrip().startswith(("//", "#")) for line in lines)
        code_lines += sum(bool(line.strip()) for line in lines)
    share = 100 * comment_lines / max(code_lines, 1)
    print(f"sizes: {len(files)} files, {errors} errors, {warnings} to look at; comment lines {share:.0f} %")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
