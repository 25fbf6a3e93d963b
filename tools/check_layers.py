"""Checks the walls between the rooms from the include lines, and that headers stay light."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "headrace"
BINDINGS = ROOT / "python" / "bindings"

# What each room may include besides itself (docs/design.md, "The house").
MAY_INCLUDE = {
    "core": set(),
    "io": {"core"},
    "codecs": {"core"},
    "kernels": {"core"},
    "graph": {"core"},
    "exec": {"core", "graph"},
    "ops": {"core", "io", "codecs", "kernels", "graph"},
}

# Compile time is a feature, and third-party headers stay in source files.
HEAVY_HEADERS = (
    "iostream",
    "regex",
    "nlohmann/",
    "hwy/",
    "jpeglib.h",
    "png.h",
    "tiffio.h",
    "webp/",
    "openjpeg.h",
    "lmdb.h",
)
# The kernels' headers are what declares code for Highway's targets.
MAY_BE_HEAVY = {"kernels": ("hwy/",)}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def wall_errors(path: Path, room: str, text: str) -> list[str]:
    """The includes of `text` that its room must not have, as messages."""
    errors = []
    for quote, header in INCLUDE.findall(text):
        other = header.split("/")[0]
        if quote == '"' and other in MAY_INCLUDE and other != room and other not in MAY_INCLUDE[room]:
            errors.append(f'{path}: {room} must not include "{header}" ({room} may use: {sorted(MAY_INCLUDE[room])})')
        heavy = header.startswith(HEAVY_HEADERS) and not header.startswith(MAY_BE_HEAVY.get(room, "\0"))
        if path.suffix == ".h" and heavy:
            errors.append(f"{path}: <{header}> belongs in a .cc file")
    return errors


def main() -> int:
    errors = []
    files = [*SOURCES.rglob("*.h"), *SOURCES.rglob("*.cc")]
    for file in sorted(files):
        room = file.relative_to(SOURCES).parts[0]
        if room in MAY_INCLUDE:
            errors += wall_errors(file.relative_to(ROOT), room, file.read_text())
        elif file.parent != SOURCES:
            errors.append(f"{file.relative_to(ROOT)}: {room} is no room of src/headrace")
    print(*errors, sep="\n", end="\n" if errors else "")
    print(f"layers: {len(files)} files, {len(errors)} errors")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
