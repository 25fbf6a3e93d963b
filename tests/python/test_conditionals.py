"""Conditionals: every form as in DALI, and rows equal to what Python computes sample by sample."""
# ruff: noqa: SIM108

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import traceback

import numpy as np
import pytest
from random_conditionals import Writer

import headrace
from headrace import fn, pipeline_def, types
from headrace.pipeline import do_not_convert

HERE = pathlib.Path(__file__).parent
SIZES = [7, 0, 1, 5]
NUMBERS = np.arange(-3, 10, dtype=np.int32)


def build(function, batch_size=16, **kwargs):
    return pipeline_def(batch_size=batch_size, num_threads=2, seed=3, enable_conditionals=True, **kwargs)(function)()


def numbers(values=NUMBERS):
    return fn.external_source(lambda: list(np.asarray(values)))


def rows(function, batch_size=16, **kwargs):
    """Each output of one run, as lists of samples."""
    outputs = build(function, batch_size, **kwargs).run()
    return [[np.asarray(out[i]).tolist() for i in range(len(out))] for out in outputs]


# -- the forms of DALI ----------------------------------------------------------------------------------------------


def lines_of(command):
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(headrace.__file__).parents[1])}
    program = str(HERE / "dali_conditionals_program.py")
    done = subprocess.run([*command, program], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.dali
def test_the_same_program_prints_the_same():
    python = os.environ.get("DALI_PYTHON")
    if not python:
        pytest.skip("DALI_PYTHON is not set")
    assert lines_of([sys.executable, "-m", "headrace.compat.dali"]) == lines_of([python])


def test_the_program_runs():
    lines = lines_of([sys.executable, "-m", "headrace.compat.dali"])
    assert len(lines) == 85
    assert "basic [[1, 10, 3, 30, 40, 6]] ['DALIDataType.INT32']" in lines
    assert "split_as_outputs [[0, 2, 5], [1, 3, 4]] ['DALIDataType.INT32', 'DALIDataType.INT32']" in lines
    assert "missing raises RuntimeError" in lines and "none_one raises ValueError" in lines


# -- random programs ------------------------------------------------------------------------------------------------


def load(text, path):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


@pytest.mark.parametrize("seed", [*range(40), 1144, 1236])
def test_rows_equal_what_python_computes(seed, tmp_path):
    program = load(Writer(seed).text(), tmp_path / f"random_program_{seed}.py")
    batches = np.random.default_rng(seed).integers(-4, 12, (len(SIZES), 3, 8)).astype(np.int32)
    feeds = [[list(batches[k, i, :size]) for i in range(3)] for k, size in enumerate(SIZES)]
    pipe = build(lambda: program(*fn.external_source(feeds, num_outputs=3)), prefetch_queue_depth=2)
    for k, size in enumerate(SIZES):
        outputs = pipe.run()
        expected = [program(*(int(batches[k, i, slot]) for i in range(3))) for slot in range(size)]
        got = list(zip(*([int(np.asarray(out[slot])) for slot in range(size)] for out in outputs), strict=True))
        assert got == expected, pathlib.Path(tmp_path / f"random_program_{seed}.py").read_text()


# -- what is in a branch --------------------------------------------------------------------------------------------


def test_random_values_of_a_branch_are_those_outside():
    def inside():
        x = numbers()
        if x > 2:
            y = fn.random.uniform(range=[0.0, 1.0], seed=7)
        else:
            y = fn.random.normal(seed=9)
        return y

    def outside():
        x = numbers()
        uniform, normal = fn.random.uniform(range=[0.0, 1.0], seed=7), fn.random.normal(seed=9)
        return x > 2, uniform, normal

    (got,) = rows(inside)
    chosen, uniform, normal = rows(outside)
    assert got == [u if c else n for c, u, n in zip(chosen, uniform, normal, strict=True)]


def test_batch_operators_get_the_rows_of_their_branch():
    def function():
        x = numbers()
        if x > 2:
            order = fn.batch_permutation()
            y = fn.permute_batch(x, indices=order)
        else:
            order = fn.batch_permutation()
            y = fn.permute_batch(x, indices=order) * 100
        return x, y, order

    x, y, order = rows(function)
    for taken, factor in ((NUMBERS > 2, 1), (NUMBERS <= 2, 100)):
        own, permuted, places = (np.array(values)[taken] for values in (x, y, order))
        assert sorted(places) == list(range(len(own)))
        assert (permuted == own[places] * factor).all()


def test_statistics_over_the_batch_are_those_of_the_branch():
    values = np.float32(NUMBERS)[:, None]

    def function():
        x = numbers(values)
        if fn.reductions.sum(x) > 2:
            return fn.normalize(x, batch=True)
        return x

    got = np.array(rows(function)[0])[:, 0]
    part = values[values > 2]
    expected = np.where(values[:, 0] > 2, (values[:, 0] - part.mean()) / part.std(), values[:, 0])
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_an_empty_branch_is_never_called():
    def function(limit):
        x = numbers()
        if x > limit:
            x = fn.permute_batch(x, indices=[99] * 16)  # an error whenever it is called
        return x

    assert rows(lambda: function(100))[0] == NUMBERS.tolist()
    with pytest.raises(RuntimeError, match="permute_batch"):
        rows(lambda: function(5))


def test_errors_in_a_branch_hit_only_its_samples():
    def function():
        x = numbers()
        table = fn.constant(idata=[10, 20, 30])
        y = x
        if x < 3:
            y = table[x]
        return y

    def shown(**kwargs):
        return rows(function, on_error="zero", **kwargs)[0]

    assert shown() == [10, 20, 30, 10, 20, 30, *range(3, 10)]
    values = NUMBERS.copy()
    values[0] = -100

    def failing():
        x = numbers(values)
        y = x
        if x < 3:
            y = fn.constant(idata=[10, 20, 30])[x]
        return y

    assert rows(failing, on_error="zero")[0] == [0, 20, 30, 10, 20, 30, *range(3, 10)]
    with pytest.raises(RuntimeError, match="Sample 0"):
        rows(failing)


def test_values_are_split_once_for_each_branch():
    def function():
        x = numbers()
        y = x
        if x > 2:
            y = x + x * x
            if x > 4:
                y = y + x
        else:
            y = x - 1
        return y

    pipe = build(function)
    pipe.build()
    # x as operand, the condition of the inner `if`, and y there; x and y of the inner one
    assert pipe.graph().count("_conditional.split") <= 4
    assert rows(function)[0] == [v - 1 if v <= 2 else v + v * v + (v if v > 4 else 0) for v in NUMBERS.tolist()]


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_branches_on_devices(device):
    def function():
        x = numbers()
        y = x if device == "cpu" else x.gpu()
        if x > 2:
            y = y + 1
        else:
            y = x * 2
        return y

    assert rows(function)[0] == [v + 1 if v > 2 else v * 2 for v in NUMBERS.tolist()]


def test_a_reader_in_a_branch_reads_for_all(tmp_path):
    for i in range(4):
        (tmp_path / f"{i}.bin").write_bytes(bytes([i]))

    def function():
        _, outer = fn.readers.file(files=[str(tmp_path / f"{i}.bin") for i in range(4)])
        y = outer
        if outer[0] > 1:
            _, inner = fn.readers.file(files=[str(tmp_path / f"{i}.bin") for i in range(4)], labels=[5, 6, 7, 8])
            y = inner
        return y

    assert np.ravel(rows(function, 4)[0]).tolist() == [0, 1, 7, 8]


# -- errors ---------------------------------------------------------------------------------------------------------


def one_branch():
    x = numbers()
    if x > 1:
        only_here = x
    return only_here


def leak():
    x = numbers()
    kept = []
    if x > 1:
        kept.append(x + 1)
    return kept[0]


def leak_into_node():
    x = numbers()
    kept = []
    if x > 1:
        kept.append(x + 1)
    return kept[0] + 1


def gpu_condition():
    x = numbers()
    if x.gpu() > 1:
        x = x + 1
    return x


def lacks_return():
    x = numbers()
    if x > 1:
        return x


def matches_a_node():
    x = numbers()
    match x:
        case 1:
            x = x + 1
    return x


def entry_of_one():
    x = numbers()
    d = {}
    if x > 1:
        d["key"] = x
    return x


def entry_diverges():
    x = numbers()
    d = {"key": None}
    if x > 1:
        d["key"] = x
    return x


@pytest.mark.parametrize(
    ("function", "error", "texts"),
    [
        (one_branch, RuntimeError, ["'only_here'", "`else`", "test_conditionals.py:"]),
        (leak, RuntimeError, ["in a branch"]),
        (leak_into_node, RuntimeError, ["in a branch"]),
        (gpu_condition, ValueError, ["must be on the CPU"]),
        (lacks_return, RuntimeError, ["`else` branch must also have a return"]),
        (matches_a_node, TypeError, ["`match` on the DataNode", "`if` and `elif`"]),
        (entry_of_one, RuntimeError, ["d['key']"]),
        (entry_diverges, ValueError, ["d['key']", "None"]),
    ],
)
def test_errors_at_definition(function, error, texts):
    with pytest.raises(error) as caught:
        build(function)
    for text in texts:
        assert text in str(caught.value)


def test_tracebacks_show_the_users_lines():
    def inner(x):
        if x > 1:
            raise ZeroDivisionError
        return x

    with pytest.raises(ZeroDivisionError) as caught:
        build(lambda: inner(numbers()))
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.name) == (__file__, "inner")
    assert last.line == "raise ZeroDivisionError"


def test_errors_at_run_name_the_users_line():
    def function():
        x = numbers()
        if x > 1:
            x = x + 1.5
        return x

    with pytest.raises(RuntimeError, match=r'test_conditionals.py", line \d+, in function\n.*if x > 1'):
        build(function).run()


def test_errors_of_a_condition_name_the_line_of_the_if():
    def no_scalar():
        x = fn.external_source(lambda: [np.ones(3, np.int32)] * len(NUMBERS))
        y = fn.zeros(shape=[2])
        if x:
            z = y + 1
        else:
            z = y - 1
        return z

    def elif_is_no_scalar():
        x = fn.external_source(lambda: [np.ones(3, np.int32)] * len(NUMBERS))
        y = numbers()
        if y > 1000:
            z = y + 1
        elif x:
            z = y - 1
        else:
            z = y
        return z

    for function, line in ((no_scalar, "if x:"), (elif_is_no_scalar, "elif x:")):
        with pytest.raises(RuntimeError) as caught:
            build(function).run()
        shown = re.findall(r'test_conditionals.py", line \d+, in \w+\n\s*(.*)', str(caught.value))
        assert shown == [line], caught.value


# -- which functions ------------------------------------------------------------------------------------------------


class Counter:
    def __init__(self, step):
        self.__step = step

    def __call__(self, x):
        if x > 2:
            x = x + self.__step
        return x


@do_not_convert
def untouched(x):
    return x if x else 0


def defaults(x, /, limit=2, *rest, step, **more):
    """Adds."""
    if x > limit:
        x = x + step + sum(rest) + more["extra"]
    return x


def test_functions_keep_their_signature():
    got = rows(lambda: (Counter(10)(numbers()), defaults(numbers(), 3, 100, step=1, extra=1000)))
    assert got[0] == [v + 10 if v > 2 else v for v in NUMBERS.tolist()]
    assert got[1] == [v + 1101 if v > 3 else v for v in NUMBERS.tolist()]
    assert defaults(5, step=1, extra=1) == 7 and defaults.__doc__ == "Adds."


def test_do_not_convert():
    with pytest.raises(TypeError, match="conditional context"):
        build(lambda: untouched(numbers()))
    assert do_not_convert(untouched) is untouched and untouched(3) == 3


def test_closures_and_nonlocal():
    def function():
        x = numbers()
        total = x

        def add(amount):
            nonlocal total
            if x > 2:
                total = total + amount

        add(10)
        add(5)
        return total

    assert rows(function)[0] == [v + 15 if v > 2 else v for v in NUMBERS.tolist()]


def test_without_source_python_values_work():
    space = {"fn": fn, "numbers": numbers}
    exec("def function():\n    x = numbers()\n    if True:\n        x = x + 1\n    return x", space)
    with pytest.warns(UserWarning, match="source"):
        assert rows(space["function"])[0] == (NUMBERS + 1).tolist()


def test_serialized_graphs_keep_their_branches():
    def function():
        x = fn.random.uniform(range=[0.0, 1.0], seed=4)
        if x > 0.5:
            x = fn.random.uniform(range=[2.0, 3.0], seed=5)
        return x

    pipe = build(function)
    again = headrace.Pipeline.deserialize(pipe.serialize(), batch_size=16, num_threads=1, seed=3)
    assert again.run()[0].as_array().tolist() == pipe.run()[0].as_array().tolist()


def test_type_of_constants():
    def function():
        x = numbers()
        if x > 2:
            kind, share = True, 0.5
        else:
            kind, share = False, 0.25
        return kind, share

    assert [out.dtype for out in build(function).run()] == [types.BOOL, types.FLOAT]
