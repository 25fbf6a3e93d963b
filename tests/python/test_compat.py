"""The alias `nvidia.dali`: what resolves to what, and where it stops."""

import subprocess
import sys
import textwrap

import pytest


def run(program: str, *, alias: bool = True, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    """Runs the text of a program in a fresh process, as a script that is run through the alias."""
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "program.py")
        with open(script, "w") as file:
            file.write(textwrap.dedent(program))
        command = [sys.executable, *(["-m", "headrace.compat.dali"] if alias else []), script, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)


def output_of(program: str, **options) -> str:
    done = run(program, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_modules_resolve_to_headrace():
    program = """
        import nvidia.dali as dali, nvidia.dali.fn as fn, nvidia.dali.types as types
        import nvidia.dali.ops, nvidia.dali.math, nvidia.dali.tensors, nvidia.dali.data_node, nvidia.dali.backend
        from nvidia.dali import Pipeline, pipeline_def
        from nvidia.dali.backend_impl import TensorListCPU, TensorCPU
        from nvidia.dali.pipeline import Pipeline as same
        import headrace, os
        assert Pipeline is same is headrace.Pipeline
        assert types.DALIDataType is headrace.types.DALIDataType
        assert os.path.dirname(dali.__file__) == os.path.dirname(headrace.__file__)
        assert fn.readers.caffe2 is headrace.fn.readers.caffe2
        print(nvidia.dali.__name__, nvidia.dali.fn.readers.__name__)
    """
    assert output_of(program) == "nvidia.dali nvidia.dali.fn.readers"


def test_messages_name_the_functions_of_dali():
    program = """
        import numpy as np
        import nvidia.dali.fn as fn
        from nvidia.dali import pipeline_def
        @pipeline_def(batch_size=1, num_threads=1, device_id=None)
        def pipe():
            return fn.decoders.image(np.zeros(10, np.uint8))
        p = pipe(); p.build()
        try:
            p.run()
        except RuntimeError as error:
            print(error)
    """
    text = output_of(program)
    assert "nvidia.dali.fn.decoders.image" in text
    assert "program.py" in text


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("import nvidia.dali.auto_aug", "headrace has no module for nvidia.dali.auto_aug"),
        ("import nvidia.dali.nonsense", "headrace has no module for nvidia.dali.nonsense"),
        ("import nvidia.dali.fn as fn; fn.audio_resample", "headrace has no fn.audio_resample (DALI has)"),
        ("import nvidia.dali.fn as fn; fn.nonsense", "no attribute 'nonsense'"),
        ("from nvidia.dali import nonsense", "nonsense"),
    ],
)
def test_what_headrace_lacks_raises_at_once(statement: str, message: str):
    done = run(statement)
    assert done.returncode != 0
    assert message in done.stderr.splitlines()[-1]


def test_a_missing_program_is_one_line(tmp_path):
    command = [sys.executable, "-m", "headrace.compat.dali", str(tmp_path / "nothing.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.splitlines() == [
        f"python -m headrace.compat.dali: there is no file {tmp_path / 'nothing.py'}"
    ]


def test_the_rest_of_the_namespace_is_left_alone():
    program = """
        import importlib.util, sys
        before = [name for name in sys.modules if name.split(".")[0] == "nvidia"]
        import nvidia.dali
        for name in ("nvidia.nothing", "nvidia.dali2"):
            try:
                spec = importlib.util.find_spec(name)
            except ModuleNotFoundError:
                spec = None
            assert spec is None, name
        assert nvidia.__spec__.submodule_search_locations is not None
        print(before)
    """
    assert output_of(program) == "[]"


def test_arguments_name_and_path_are_the_scripts():
    program = """
        import os, sys
        program = os.path.basename(sys.argv[0])
        print(__name__, os.path.basename(__file__), sys.argv[1:], os.path.isdir(sys.path[0]), program)
    """
    assert output_of(program, arguments=("a", "--b")) == "__main__ program.py ['a', '--b'] True program.py"


def test_spawned_processes_have_the_alias():
    program = """
        import multiprocessing
        def work(queue):
            import nvidia.dali
            queue.put(nvidia.dali.__file__)
        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            child = context.Process(target=work, args=(queue,))
            child.start()
            import headrace
            print(queue.get(timeout=60) == headrace.__file__)
            child.join()
    """
    assert output_of(program) == "True"


def test_install_is_for_this_process_only_when_asked():
    program = """
        import os, subprocess, sys
        from headrace.compat import dali
        dali.install(shadow=True, children=False)
        import nvidia.dali
        assert dali.is_installed()
        done = subprocess.run([sys.executable, "-c", "import headrace.compat.dali as d; print(d.is_installed())"],
                              capture_output=True, text=True)
        print(done.stdout.strip())
    """
    assert output_of(program, alias=False) == "False"


def test_without_the_alias_nothing_is_found():
    done = run("import headrace, nvidia.dali", alias=False)
    assert done.returncode != 0
    assert "ModuleNotFoundError" in done.stderr
