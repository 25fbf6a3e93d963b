"""A progress line on stderr: done, rate, time left. Silent when stderr is no terminal."""

import sys
import time


class Progress:
    """Counts `unit`s up to `total`; use as a context manager, so that the line ends in every case."""

    def __init__(self, total: int, unit: str, label: str = ""):
        self._total, self._unit, self._label = total, unit, label
        self._done = 0
        self._begin = self._shown = time.monotonic()
        self._visible = sys.stderr.isatty()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._visible and self._done:
            self._show()
            print(file=sys.stderr)

    def advance(self, count: int = 1) -> None:
        """Adds `count` to what is done, and shows it ten times a second."""
        self._done += count
        now = time.monotonic()
        if self._visible and now - self._shown > 0.1:
            self._shown = now
            self._show()

    def _show(self) -> None:
        seconds = max(time.monotonic() - self._begin, 1e-9)
        rate = self._done / seconds
        share = self._done / max(self._total, 1)
        bar = "#" * round(24 * share)
        left = (self._total - self._done) / rate if rate else 0.0
        text = f"{self._label} [{bar:<24}] {self._done}/{self._total} {rate:,.0f} {self._unit}/s, {left:.0f} s left"
        print(f"\r{text:<100}", end="", file=sys.stderr, flush=True)
