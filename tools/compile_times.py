"""Reports how long each translation unit took to compile and fails over the limits: median 4 s, maximum 15 s.

The first measure is Ninja's log, which is wall time. Where it is over a limit the commands are run again, one at a
time and without ccache, and their processor time counts: a busy machine makes nothing fail.
"""

import argparse
import json
import os
import resource
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEDIAN_LIMIT = 4.0
MAXIMUM_LIMIT = 15.0
MEASURED_AGAIN = 8


def logged_seconds(build: Path) -> dict[str, float]:
    """Seconds of the latest compilation of each object of ours that the build still has."""
    seconds = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, *_ = line.split("\t")
        ours = output.endswith(".o") and not output.startswith("CMakeFiles/nanobind")
        if ours and (build / output).exists():
            seconds[output] = (int(end) - int(start)) / 1000
    return seconds


def compile_commands(build: Path) -> dict[str, list[str]]:
    """The compiler's command line of each object, without ccache."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = [word for word in shlex.split(entry["command"]) if Path(word).name != "ccache"]
        commands[words[words.index("-o") + 1]] = words
    return commands


def processor_seconds(build: Path, words: list[str]) -> float:
    """Processor time of a compilation whose result goes nowhere."""
    words = [word for word in words if word != "-MD"]
    for flag in ("-MT", "-MF"):
        if flag in words:
            del words[words.index(flag) : words.index(flag) + 2]
    words[words.index("-o") + 1] = "/dev/null"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=build, check=True, env={**os.environ, "CCACHE_DISABLE": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_again(build: Path, seconds: dict[str, float]) -> float:
    """Replaces log times that break a limit by processor times, and returns the median.

    A median over the limit is measured on the middle units only: theirs is the median processor time.
    """
    commands = compile_commands(build)
    by_time = sorted((output for output in seconds if output in commands), key=seconds.__getitem__)
    middle = by_time[max(0, len(by_time) // 2 - 2) : len(by_time) // 2 + 3]
    too_slow = statistics.median(seconds.values()) > MEDIAN_LIMIT
    suspects = [output for output in by_time if seconds[output] > MAXIMUM_LIMIT][-MEASURED_AGAIN:]
    for output in {*suspects, *(middle if too_slow else ())}:
        seconds[output] = processor_seconds(build, commands[output])
    return statistics.median(seconds[output] for output in (middle if too_slow else seconds))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, nargs="?", default=ROOT / "build" / "dev")
    build = parser.parse_args().build
    seconds = logged_seconds(build)
    if not seconds:
        print(f"compile times: nothing was compiled in {build}")
        return 0
    median = measure_again(build, seconds)
    slowest = sorted(seconds.items(), key=lambda item: -item[1])
    for output, time in slowest[:5]:
        print(f"{time:6.1f} s  {output.split('.dir/')[-1].removesuffix('.o')}")
    print(
        f"compile times: {len(seconds)} units, median {median:.1f} s (limit {MEDIAN_LIMIT:.0f}), "
        f"maximum {slowest[0][1]:.1f} s (limit {MAXIMUM_LIMIT:.0f})"
    )
    return median > MEDIAN_LIMIT or slowest[0][1] > MAXIMUM_LIMIT


if __name__ == "__main__":
    sys.exit(main())
