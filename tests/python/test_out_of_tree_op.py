"""Operators built outside of headrace: the project tests/out_of_tree_op, built against the installed headers."""

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest

import headrace
from headrace import plugin_manager, sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = ROOT / "tests" / "out_of_tree_op"
STAMP = b"\x7fheadrace\x01plugin"


@pytest.fixture(scope="session")
def libraries(tmp_path_factory) -> pathlib.Path:
    """The folder with libheadrace_operators.so, libbad.so and custom_op/libsolarize.so."""
    folder = tmp_path_factory.mktemp("out_of_tree_op")
    command = ["cmake", "-S", str(PROJECT), "-B", str(folder), f"-Dheadrace_DIR={sysconfig.get_cmake_dir()}"]
    if shutil.which("ninja"):
        command += ["-G", "Ninja"]
    if shutil.which("ccache"):
        command += ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=120)
    subprocess.run(["cmake", "--build", str(folder), "--parallel", "2"], check=True, timeout=300)
    return folder


def run(program: str, *, alias: bool = False, **environment: str) -> subprocess.CompletedProcess:
    """Runs the text of a program in a process of its own; loading a library changes a process for good."""
    command = [sys.executable, *(["-m", "headrace.compat.dali"] if alias else []), "program.py"]
    folder = pathlib.Path(environment.pop("folder"))
    (folder / "program.py").write_text(textwrap.dedent(program))
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, cwd=folder, env={**os.environ, **environment}
    )


def test_the_operators(libraries):
    environment = {
        **os.environ,
        "HEADRACE_OUT_OF_TREE_LIBRARY": str(libraries / "libheadrace_operators.so"),
        "HEADRACE_BAD_LIBRARY": str(libraries / "libbad.so"),
        "HEADRACE_BAD_PLUGIN": "throws",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PROJECT / "test_operators.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("ninja"), reason="Ninja lists what was included")
def test_only_installed_headers_are_used(libraries):
    command = ["ninja", "-C", str(libraries), "-t", "deps"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    headers = {os.path.realpath(libraries / line.strip()) for line in lines if line.endswith(".h")}
    assert os.path.realpath(os.path.join(sysconfig.get_include_dir(), "headrace", "op.h")) in headers
    assert not any(header.startswith(str(ROOT / "src")) for header in headers)


def test_flags_without_cmake(tmp_path):
    library = tmp_path / "libsolarize.so"
    source = ROOT / "examples" / "custom_op" / "solarize.cc"
    flags = {
        option: subprocess.run(
            [sys.executable, "-m", "headrace.sysconfig", f"--{option}-flags"],
            capture_output=True, text=True, check=True,
        ).stdout.split()
        for option in ("compile", "link")
    }  # fmt: skip
    assert flags == {"compile": sysconfig.get_compile_flags(), "link": sysconfig.get_link_flags()}
    compiler = os.environ.get("CXX", "c++")
    command = [compiler, *flags["compile"], "-fPIC", "-shared", str(source), "-o", str(library), *flags["link"]]
    subprocess.run(command, check=True, timeout=120)
    done = run("import headrace; print(headrace.load_plugin('libsolarize.so'))", folder=str(tmp_path))
    assert done.stdout.strip() == "['solarize']", done.stderr


def test_the_operator_of_the_example(libraries, tmp_path):
    program = f"""
        import numpy as np
        import headrace
        from headrace import fn, pipeline_def

        headrace.load_plugin({str(libraries / "custom_op" / "libsolarize.so")!r})
        values = np.arange(256, dtype=np.uint8)

        @pipeline_def(batch_size=2, num_threads=1, device_id=None)
        def graph():
            threshold = fn.external_source(source=lambda: np.array([100, 300], np.int32))
            return fn.solarize(values, threshold=threshold)

        first, second = graph().run()[0].as_array()
        assert (first == np.where(values < 100, values, 255 - values)).all() and (second == values).all()
    """
    done = run(program, folder=str(tmp_path))
    assert done.returncode == 0, done.stderr


def test_the_program_of_the_example(tmp_path):
    script = ROOT / "examples" / "custom_op" / "solarize.py"
    images = ROOT / "examples" / "global_mixup" / "images"
    picture = tmp_path / "picture.png"
    done = subprocess.run(
        [sys.executable, str(script), str(images), str(picture)], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    from PIL import Image

    assert Image.open(picture).size == (8 * 128, 128)


def test_through_the_alias(libraries, tmp_path):
    for name in ("sub/deeper/libdali_operators.so", "libdali_solarize.so"):
        (tmp_path / "plugins" / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(
        libraries / "libheadrace_operators.so", tmp_path / "plugins" / "sub" / "deeper" / "libdali_operators.so"
    )
    shutil.copy(libraries / "custom_op" / "libsolarize.so", tmp_path / "plugins" / "libdali_solarize.so")
    shutil.copy(libraries / "libbad.so", tmp_path / "plugins" / "libother.so")
    program = """
        import numpy as np
        import nvidia.dali.fn as fn
        import nvidia.dali.ops as ops
        import nvidia.dali.plugin_manager as plugin_manager
        from nvidia.dali import pipeline_def, sysconfig, types

        assert sysconfig.get_include_flags()[0].startswith("-I")
        plugin_manager.load_directory("plugins")
        plugin_manager.load_library("plugins/libdali_solarize.so", global_symbols=True)
        import nvidia.dali.fn.out_of_tree.images
        from nvidia.dali.ops.out_of_tree import ScaleAdd
        assert ScaleAdd is ops.out_of_tree.ScaleAdd

        @pipeline_def(batch_size=1, num_threads=1, device_id=None)
        def graph():
            data = np.array([[[1, 2, 250]]], np.uint8)
            return fn.out_of_tree.images.invert(data), fn.solarize(data), ScaleAdd(scale=2.0)(data, dtype=types.FLOAT)

        print([output.as_array().ravel().tolist() for output in graph().run()])
        try:
            fn.out_of_tree.scale_add(np.zeros(1), scale=object())
        except TypeError as error:
            print("nvidia.dali.fn.out_of_tree.scale_add" in str(error))
        print(hasattr(fn, "bad"))
    """
    done = run(program, alias=True, folder=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[[254, 253, 5], [1, 2, 5], [2.0, 4.0, 500.0]]", "True", "False"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("throws", "registering its operators failed: no licence"),
        ("throws_foreign", "failed: an exception of type (anonymous namespace)::Foreign was thrown"),
        ("mistyped", '[bad.typed] size: expected an integer, got "x"'),
        ("twice", "operator bad.first is registered twice"),
        ("name:crop", "operator crop exists already: give it another name"),
        ("name:crop.mine", "operators crop.mine and crop: one name cannot be an operator and a module"),
        ("name:readers", "readers: headrace uses that name for something else"),
        ("name:transforms", "transforms: headrace uses that name for something else"),
        ("name:sys", "sys: headrace uses that name for something else"),
        ("name:bad.first.second", "one name cannot be an operator and a module"),
        *[(f"name:{name}", f'operator "{name}": expected words of lower-case letters')
          for name in ("Crop", "my__op", "my_", ".op", "my.", "a..b", "_op", "1st", "two words", "a_1")],
    ],
)  # fmt: skip
def test_registration_is_all_or_nothing(libraries, tmp_path, how, message):
    """A failed library leaves no operator, and its file may be loaded again."""
    program = f"""
        import os
        import headrace
        from headrace import fn, schemas
        before = set(schemas.all_schemas())
        library = {str(libraries / "libbad.so")!r}
        try:
            headrace.load_plugin(library)
        except (RuntimeError, ValueError) as error:
            print(error)
        schemas.forget()
        assert set(schemas.all_schemas()) == before and not hasattr(fn, "bad")
        os.environ["HEADRACE_BAD_PLUGIN"] = ""
        assert headrace.load_plugin(library) == ["bad.first"]
        assert set(schemas.all_schemas()) == before | {{"bad.first"}}
        assert fn.bad.first.__name__ == "first"
    """
    done = run(program, HEADRACE_BAD_PLUGIN=how, folder=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert message in done.stdout and f"load_plugin: {libraries / 'libbad.so'}: " in done.stdout


def stamped(libraries: pathlib.Path, offset: int, text: bytes) -> bytes:
    """The library with other bytes in its stamp (Note [plugin stamp] in graph/plugin.h)."""
    content = bytearray((libraries / "libbad.so").read_bytes())
    at = content.index(STAMP) + offset
    content[at : at + len(text)] = text
    return bytes(content)


@pytest.mark.parametrize(
    ("offset", "text", "shown"),
    [(40, b"0123456789abcdef", "headers 0123456789abcdef"), (64, b"libc++\0", "libc++)"), (96, b"\x63", "fmt 99")],
)
def test_a_library_of_other_headers_is_refused_before_it_runs(libraries, tmp_path, offset, text, shown):
    library = tmp_path / "old.so"
    library.write_bytes(stamped(libraries, offset, text))
    with pytest.raises(RuntimeError) as caught:
        headrace.load_plugin(library)
    theirs, _, ours = str(caught.value).partition("but this is ")
    assert f"{library}: built against headrace {headrace.__version__} (" in theirs and shown in theirs
    assert f"headrace {headrace.__version__} (" in ours and shown not in ours and "build it again" in ours


def test_files_that_are_no_libraries_of_operators(libraries, tmp_path):
    (tmp_path / "text.so").write_text("no library")
    (tmp_path / "empty.so").write_bytes(b"")
    whole = (libraries / "libbad.so").read_bytes()
    sizes = [4, 63, 100, whole.index(STAMP) + 50, whole.index(STAMP) + 200]
    for size in sizes:
        (tmp_path / f"cut_{size}.so").write_bytes(whole[:size])
    cases = {
        tmp_path / "missing.so": "there is no such file",
        tmp_path: "expected a shared library, got a folder",
        tmp_path / "text.so": "expected a shared library, got a file of another kind",
        tmp_path / "empty.so": "expected a shared library",
        **{tmp_path / f"cut_{size}.so": "the library is cut off" for size in sizes},
        shutil.which("cmake"): "it has no HEADRACE_PLUGIN",
        headrace._core.__file__: "it has no function headrace_register_plugin",
    }
    for path, message in cases.items():
        for load in (headrace.load_plugin, plugin_manager.load_library):
            with pytest.raises(RuntimeError, match=message):
                load(path)
    with pytest.raises(NotADirectoryError, match="is no folder"):
        plugin_manager.load_directory(tmp_path / "missing")
    plugin_manager.load_directory(tmp_path)  # no file there is named libdali_ or libheadrace_


def test_a_serialized_graph_names_the_remedy(libraries, tmp_path):
    program = f"""
        import sys
        import headrace
        from headrace import fn, pipeline_def
        if sys.stdin.readline().strip() == "save":
            headrace.load_plugin({str(libraries / "libheadrace_operators.so")!r})
            @pipeline_def(batch_size=1, num_threads=1, device_id=None)
            def graph():
                return fn.out_of_tree.draw()
            graph().serialize(filename="graph.json")
        else:
            headrace.Pipeline.deserialize(filename="graph.json")
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))

    def start(what: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "program.py"], input=what, capture_output=True, text=True, timeout=120, cwd=tmp_path
        )

    done = start("save")
    assert done.returncode == 0, done.stderr
    done = start("load")
    assert "headrace has no operator out_of_tree.draw; if a library has it, load that first" in done.stderr


def test_the_process_ends_cleanly_with_batches_in_flight(libraries, tmp_path):
    """Workers run the library's code, and the program holds its batches, when the interpreter ends."""
    program = f"""
        import headrace
        from headrace import fn, pipeline_def
        headrace.load_plugin({str(libraries / "libheadrace_operators.so")!r})
        @pipeline_def(batch_size=64, num_threads=4, device_id=None, prefetch_queue_depth=4)
        def graph():
            square = fn.out_of_tree.squares(size=100)
            scaled = fn.out_of_tree.scale_add(fn.cast(square, dtype=headrace.types.FLOAT), scale=fn.out_of_tree.draw())
            return fn.out_of_tree.subtract_batch_mean(scaled)
        pipeline = graph()
        held = [pipeline.run() for _ in range(3)]
        print("done")
    """
    for _ in range(5):
        # The C library fills freed memory, so that whoever still uses it fails.
        done = run(program, folder=str(tmp_path), MALLOC_PERTURB_="165", MALLOC_CHECK_="3")
        assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
