"""`headrace doctor`: what is there, what is missing, and how to get it."""

import argparse
import importlib.util
import platform
from importlib.metadata import PackageNotFoundError, version

import headrace

_OPTIONAL = {
    "jax": ("the JAX iterators", 'pip install "headrace[jax]"'),
    "flax": ("the example that trains a model", 'pip install "headrace[jax]"'),
    "torch": ("the PyTorch iterators", "pip install torch"),
    "PIL": ("headrace convert and contact sheets", "pip install pillow"),
    "ml_dtypes": ("bfloat16 arrays in NumPy", "pip install ml_dtypes"),
}
_DISTRIBUTIONS = {"PIL": "pillow"}


def _installed_version(module: str) -> str | None:
    if importlib.util.find_spec(module) is None:
        return None
    try:
        return version(_DISTRIBUTIONS.get(module, module))
    except PackageNotFoundError:
        return "unknown version"


def advice_for(module: str) -> str:
    """How to get a missing package, if it is one of ours to know."""
    return f"; get it by: {_OPTIONAL[module][1]}" if module in _OPTIONAL else ""


def run(options: argparse.Namespace) -> int:
    """Runs the command. Missing optional parts are no failure."""
    print(f"headrace {headrace.__version__}, Python {platform.python_version()}, {platform.machine()}")
    for name, value in headrace.info().items():
        print(f"  {name}: {value}")
    print("optional packages:")
    for module, (purpose, advice) in _OPTIONAL.items():
        found = _installed_version(module)
        print(f"  {module}: {found}" if found else f"  {module}: missing, needed for {purpose}: {advice}")
    if importlib.util.find_spec("jax") is not None:
        import jax

        print("JAX devices: " + ", ".join(str(device) for device in jax.devices()))
    return 0


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser("doctor", help="tell what is present and what is missing")
    parser.set_defaults(run=run)
