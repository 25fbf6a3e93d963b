"""Writes random functions of conditionals, which run on nodes and, sample by sample, on Python's numbers."""

import random

VARIABLES = ["a", "b", "c"]


class Writer:
    """Source text of a function `program(a, b, c)` with nested conditions, loops and early exits."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._lines = []

    def _condition(self, depth=0):
        kind = self._random.randrange(7 if depth < 2 else 3)
        name, other = self._random.sample(VARIABLES, 2)
        if kind == 0:
            return f"{name} > {self._random.randrange(-4, 12)}"
        if kind == 1:
            return f"({name} + {other}) & 3 == {self._random.randrange(4)}"
        if kind == 2:
            return f"{self._random.randrange(-6, 3)} < {name} < {self._random.randrange(3, 12)}"
        if kind == 3:
            return f"not {name}"
        left, right = self._condition(depth + 1), self._condition(depth + 1)
        return f"({left}) {'and' if kind < 6 else 'or'} ({right})"

    def _assignment(self):
        name, other = self._random.choice(VARIABLES), self._random.choice(VARIABLES)
        return self._random.choice(
            [
                f"{name} = {other} + {self._random.randrange(5)}",
                f"{name} += {other} & 7",
                f"{name} -= {self._random.randrange(9)}",
                f"{name} = {self._random.randrange(9)}",
                f"a, {self._random.choice('bc')} = {other}, a - {other}",
                f"d['x'] = d['x'] + {other}",
                f"{name} = helper({other})",
            ]
        )

    def _block(self, indent, depth, in_loop):
        for _ in range(self._random.randint(1, 3)):
            self._statement(indent, depth, in_loop)

    def _statement(self, indent, depth, in_loop):
        kind = self._random.randrange(8)
        pad = "    " * indent
        if depth == 0 or kind < 3:
            self._lines.append(pad + self._assignment())
        elif kind == 3 and depth > 1:
            self._lines.append(f"{pad}for i in range({self._random.randint(1, 3)}):")
            self._block(indent + 1, depth - 1, True)
        elif kind == 4:
            self._lines.append(f"{pad}if {self._condition()}:")
            exits = ["break", "continue"] if in_loop else []
            self._lines.append(f"{pad}    {self._random.choice([*exits, 'return a - b, d[chr(120)]'])}")
        else:
            self._lines.append(f"{pad}if {self._condition()}:")
            self._block(indent + 1, depth - 1, in_loop)
            if self._random.random() < 0.3:
                self._lines.append(f"{pad}elif {self._condition()}:")
                self._block(indent + 1, depth - 1, in_loop)
            if self._random.random() < 0.7:
                self._lines.append(f"{pad}else:")
                self._block(indent + 1, depth - 1, in_loop)

    def text(self):
        self._block(1, 4, False)
        helper = "def helper(x):\n    if x > 5:\n        return x - 3\n    return x + 1\n"
        return (
            f"{helper}\n\ndef program(a, b, c):\n    d = {{'x': c}}\n"
            + "\n".join(self._lines)
            + "\n    return a + b + c, d['x']\n"
        )
