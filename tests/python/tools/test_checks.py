"""The checks of `make lint` find what they are there for, and leave good code alone."""

import importlib.util
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"


def load(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("file", "line", "allowed"),
    [
        ("core/shape.h", '#include "core/error.h"', True),
        ("core/shape.cc", '#include "graph/schema.h"', False),
        ("io/lmdb.cc", '#include "codecs/codec.h"', False),
        ("ops/image/flip/flip.cc", '#include "graph/registry.h"', True),
        ("ops/image/flip/flip.cc", '#include "exec/plan.h"', False),
        ("exec/plan.cc", '#include "ops/image/flip/flip.h"', False),
        ("exec/plan.cc", '#include "graph/graph.h"', True),
        ("codecs/jpeg.cc", "#include <jpeglib.h>", True),
        ("codecs/jpeg.h", "#include <jpeglib.h>", False),
        ("graph/graph.h", "#include <nlohmann/json.hpp>", False),
        ("core/log.h", "#  include <iostream>", False),
        ("kernels/cpu/resample.h", "#include <hwy/highway.h>", True),
    ],
)
def test_walls(file, line, allowed):
    errors = load("check_layers").wall_errors(Path(file), file.split("/")[0], f"// Purpose.\n{line}\n")
    assert (errors == []) == allowed


CPP = """
namespace headrace {
class Flip : public SampleOperator {
 public:
  Flip(const OpSpec& spec) : axis_(spec.get("axis")), names_{"}", "{"} {
    check(axis_ >= 0, "{ not a brace");
  }
  void run(SampleContext& ctx) const override {
    for (int i = 0; i < 3; ++i) {
      visit([&]() { return '}'; });
    }
  }
  int axis() const { return axis_; }
};
template <typename T>
auto widen(T value) -> int64_t {
  return value;  // }
}
}  // namespace headrace
"""


def test_cpp_functions_are_measured():
    found = {(f.name, f.length) for f in load("check_sizes").cpp_functions(CPP)}
    assert found == {("Flip", 3), ("run", 5), ("axis", 1), ("widen", 3)}


def test_python_functions_are_measured_without_docstring():
    text = 'def outer():\n    """Two\n    lines."""\n    def inner():\n        return 1\n    return inner\n'
    assert {(f.name, f.length) for f in load("check_sizes").python_functions(text)} == {("outer", 4), ("inner", 2)}


def test_a_function_over_the_limit_fails(tmp_path, monkeypatch, capsys):
    checks = load("check_sizes")
    file = tmp_path / "long.cc"
    file.write_text("void f() {\n" + "  g();\n" * 119 + "}\n")
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    monkeypatch.setattr(checks, "checked_files", lambda: [file])
    assert checks.main() == 1
    assert "error: long.cc:1 f: 121 lines" in capsys.readouterr().out
    file.write_text("void f() {\n" + "  g();\n" * 118 + "}\n")
    assert checks.main() == 0


def test_compile_times_are_those_of_our_objects_that_exist(tmp_path):
    def compiled(target: str, source: str, children: str, *, exists: bool = True) -> None:
        object_file = tmp_path / "CMakeFiles" / f"{target}.dir" / f"{source}.o"
        object_file.parent.mkdir(parents=True, exist_ok=True)
        object_file.with_name(object_file.name + ".times").write_text(f"0m0.00s 0m0.00s\n{children}\n")
        if exists:
            object_file.touch()

    compiled("core", "src/a.cc", "1m2.50s 0m0.25s")
    compiled("core", "src/gone.cc", "0m1.00s 0m0.00s", exists=False)
    compiled("nanobind-static", "nb.cc", "0m9.00s 0m0.00s")
    assert load("compile_times").compiled_units(tmp_path) == {"src/a.cc": 62.75}
