"""Runs clang-tidy on the C++ files that changed: against the merge base with main, on main itself its last commits."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "dev"
ONLY_GCC = ("-fvect-cost-model",)


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def base_commit(last: int) -> str:
    """Where this branch left main, or the commit `last` steps back (or the first) when it is main."""
    head = git("rev-parse", "HEAD")
    for main in ("origin/main", "main"):
        base = git("merge-base", "HEAD", main)
        if base and base != head:
            return base
    count = int(git("rev-list", "--count", "--first-parent", "HEAD") or 1)
    return git("rev-parse", f"HEAD~{min(last, count - 1)}")


def changed_sources(last: int) -> list[str]:
    """Changed .cc files, newest change first; a changed header is seen through the source beside it.

    Tests are left out: GoogleTest's macros break most naming rules.
    """
    folders = ("src", "python/bindings")
    names = git("diff", "--name-only", "--diff-filter=d", base_commit(last), "--", *folders).splitlines()
    names += git("ls-files", "-o", "--exclude-standard", *folders).splitlines()
    sources = {name.removesuffix(".h") + ".cc" if name.endswith(".h") else name for name in names}
    sources = {name for name in sources if name.endswith(".cc") and not name.endswith("_test.cc")}
    existing = [name for name in sources if (ROOT / name).exists()]
    return sorted(existing, key=lambda name: -(ROOT / name).stat().st_mtime)


def commands_for_clang(build: Path, folder: Path) -> None:
    """Writes `build`'s compile commands to `folder` without the options that only g++ knows."""
    entries = json.loads((build / "compile_commands.json").read_text())
    for entry in entries:
        words = entry["command"].split(" ")
        entry["command"] = " ".join(word for word in words if not word.startswith(ONLY_GCC))
    (folder / "compile_commands.json").write_text(json.dumps(entries))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--last", type=int, default=20, help="commits to look at on main")
    parser.add_argument("--seconds", type=float, default=240, help="no file is begun after this time")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    sources = changed_sources(options.last)
    deadline = time.monotonic() + options.seconds

    def run(source: str) -> int | None:
        if time.monotonic() > deadline:
            return None
        command = ["clang-tidy-14", "--quiet", "-p", database, source]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        print(done.stdout, end="")
        return done.returncode

    with tempfile.TemporaryDirectory() as database, ThreadPoolExecutor(options.jobs) as pool:
        commands_for_clang(BUILD, Path(database))
        results = list(pool.map(run, sources))
    failed = sum(bool(result) for result in results)
    late = results.count(None)
    print(f"clang-tidy: {len(sources) - late} of {len(sources)} changed files, {failed} with errors")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
