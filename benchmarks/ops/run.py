"""The table of operators: each beside DALI's, the same script in processes that alternate on one pinned core.

Writes benchmarks/ops/README.md. `--names` measures some operators only and leaves the table alone.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import machine  # noqa: E402

DALI, OURS = "DALI", "headrace"
RESOLUTION = 1.0  # microseconds


def rounds(names: list[str], count: int, seconds: float) -> dict[str, list[dict[str, float]]]:
    """The results of each engine, one for each round: microseconds by operator."""
    script = [str(HERE / "measure.py"), str(seconds), *names]
    commands = {OURS: [*machine.OWN_PYTHON, *script], DALI: [machine.dali_python(), *script]}
    results: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for _ in range(count):
        for name, command in commands.items():
            results[name].append(json.loads(machine.run_pinned(command, 1)))
    return results


def compare(results: dict[str, list[dict[str, float]]]) -> list[tuple[str, float, float, float | None]]:
    """(operator, our microseconds, DALI's, the median of the ratios); no ratio where neither takes RESOLUTION.

    Less than RESOLUTION counts as RESOLUTION, so that noise makes no ratio large.
    """
    table = []
    for name in results[OURS][0]:
        ours, rival = ([entry[name] for entry in results[engine]] for engine in (OURS, DALI))
        medians = statistics.median(ours), statistics.median(rival)
        pairs = zip(ours, rival, strict=True)
        ratio = statistics.median(max(b, RESOLUTION) / max(a, RESOLUTION) for a, b in pairs)
        table.append((name, *medians, ratio if max(medians) > RESOLUTION else None))
    return table


def text(table: list[tuple[str, float, float, float | None]]) -> str:
    """The table as Markdown, with a line that sums it up."""
    lines = ["| operator | headrace, us | DALI 2.4, us | DALI : headrace |", "|---|---|---|---|"]
    for name, ours, rival, ratio in table:
        lines.append(f"| {name} | {ours:.1f} | {rival:.1f} | {f'{ratio:.2f} x' if ratio is not None else '-'} |")
    ratios = [ratio for *_, ratio in table if ratio is not None]
    slower = [name for name, _, _, ratio in table if ratio is not None and ratio < 1]
    lines += ["", f"Median {statistics.median(ratios):.2f} x; slower than DALI: {', '.join(slower) or 'none'}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measures and prints; writes the table if all operators were measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each operator and round")
    parser.add_argument("--names", nargs="*", default=[], help="names in measure.py's CASES")
    options = parser.parse_args()
    written = text(compare(rounds(options.names, options.rounds, options.seconds)))
    print(written)
    if not options.names:
        machine.replace_table(HERE / "README.md", machine.describe(options.rounds) + written)


if __name__ == "__main__":
    main()
