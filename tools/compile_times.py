"""Reports the processor time of each translation unit and fails over the limits: median 4 s, maximum 15 s.

The compiler launcher (cmake/options.cmake) writes the times. They are processor times, so a busy machine makes nothing
fail. What came out of ccache took next to none; CI compiles without it.
"""

import argparse
import re
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEDIAN_LIMIT = 4.0
MAXIMUM_LIMIT = 15.0
FROM_CACHE = 0.1

MINUTES_AND_SECONDS = re.compile(r"(\d+)m([\d.]+)s")


def processor_seconds(times: Path) -> float:
    """User and system time of the shell's children: the last line of what `times` prints."""
    words = MINUTES_AND_SECONDS.findall(times.read_text().splitlines()[-1])
    return sum(60 * int(minutes) + float(seconds) for minutes, seconds in words)


def compiled_units(build: Path) -> dict[str, float]:
    """Seconds of the latest compilation of each object of ours that the build has."""
    seconds = {}
    for times in build.glob("CMakeFiles/*.dir/**/*.o.times"):
        unit = str(times.relative_to(build)).partition(".dir/")[2].removesuffix(".o.times")
        ours = "nanobind-static.dir" not in times.parts and times.with_suffix("").exists()
        if ours:
            seconds[unit] = processor_seconds(times)
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, nargs="?", default=ROOT / "build" / "dev")
    units = compiled_units(parser.parse_args().build)
    seconds = {unit: time for unit, time in units.items() if time > FROM_CACHE}
    if not seconds:
        print(f"compile times: all {len(units)} units came from ccache")
        return 0
    median = statistics.median(seconds.values())
    slowest = sorted(seconds.items(), key=lambda item: -item[1])
    for unit, time in slowest[:5]:
        print(f"{time:6.1f} s  {unit}")
    print(
        f"compile times: {len(seconds)} units ({len(units) - len(seconds)} more from ccache), "
        f"median {median:.1f} s (limit {MEDIAN_LIMIT:.0f}), maximum {slowest[0][1]:.1f} s (limit {MAXIMUM_LIMIT:.0f})"
    )
    most_were_compiled = 2 * len(seconds) > len(units)  # else the median is that of a few
    return (most_were_compiled and median > MEDIAN_LIMIT) or slowest[0][1] > MAXIMUM_LIMIT


if __name__ == "__main__":
    sys.exit(main())
