"""The command `headrace`: doctor, convert, inspect, bench."""

import argparse
import sys

from headrace.cli import bench, convert, doctor, inspect

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit status. Bad input ends with one line on stderr and status 1."""
    parser = argparse.ArgumentParser(prog="headrace", description="Data loading and augmentation engine.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in (doctor, convert, inspect, bench):
        command.add_parser(commands)
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options) or 0)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    except ModuleNotFoundError as error:
        print(f"headrace: {error}{doctor.advice_for(str(error.name))}", file=sys.stderr)
        return 1
    except (OSError, RuntimeError, ValueError, ImportError) as error:
        print(f"headrace: {error}", file=sys.stderr)
        return 1
