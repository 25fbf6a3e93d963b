"""Golden cases: what DALI 2.4 gave for given inputs and arguments (format: tests/data/golden/README.md).

@golden.cases("reshape", "squeeze")
def test_golden(case):
    golden.check(case)
"""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace
from headrace import fn, math, types

FOLDER = Path(__file__).resolve().parent.parent / "data" / "golden"
# Floats may differ in the last places: compilers and summation orders do.
FLOAT_RTOL, FLOAT_ATOL = 2e-5, 1e-6


@functools.cache
def _index() -> list[dict]:
    return json.loads((FOLDER / "index.json").read_text())["cases"]


@functools.cache
def _arrays(npz: str) -> dict[str, np.ndarray]:
    with np.load(FOLDER / npz) as file:
        return dict(file)


def cases(*groups: str, skip: dict[str, str] | None = None):
    """Parametrises a test with `case` over all cases of the groups. `skip`: case id -> why headrace departs there."""
    names = {f"{group}.npz" for group in groups}
    found = [case for case in _index() if case["npz"] in names]
    missing = names - {case["npz"] for case in found}
    assert not missing, f"no golden cases in {sorted(missing)}"
    skip = skip or {}
    marks = {id_: pytest.mark.skip(reason=reason) for id_, reason in skip.items()}
    params = [pytest.param(case, id=case["id"], marks=marks.get(case["id"], ())) for case in found]
    return pytest.mark.parametrize("case", params)


def check(case: dict) -> None:
    """Runs the case in a pipeline and compares all outputs, or expects an error with a message."""
    if "error" in case:
        with pytest.raises(Exception) as caught:
            _run(case)
        assert len(str(caught.value)) > 8, "an error without a message"
        return
    outputs = _run(case)
    assert len(outputs) == len(case["outputs"])
    arrays = _arrays(case["npz"])
    for (samples, layout), wanted in zip(outputs, case["outputs"], strict=True):
        assert layout == wanted["layout"]
        for got, key in zip(samples, wanted["keys"], strict=True):
            _compare(got, arrays[key], case["atol"])


def _compare(got: np.ndarray, wanted: np.ndarray, atol: float) -> None:
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    if got.dtype.kind == "f":
        close = np.allclose(got, wanted, rtol=0, atol=atol, equal_nan=True)
        assert close or np.allclose(got, wanted, rtol=FLOAT_RTOL, atol=FLOAT_ATOL, equal_nan=True), (got, wanted)
    elif got.dtype.kind in "iu" and atol > 0:
        np.testing.assert_allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=0, atol=atol)
    else:
        np.testing.assert_array_equal(got, wanted)


def _argument(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("types."):
        return getattr(types, value.removeprefix("types."))
    return [_argument(v) for v in value] if isinstance(value, list) else value


def _source(samples: list[np.ndarray], layout: str | None = None):
    return fn.external_source(source=lambda: samples, layout=layout)


def _call(case: dict, nodes: list, tensors: dict):
    if case["fn"] == "expr":
        names = dict(zip("abcd", nodes, strict=False), fn=fn, math=math, types=types, dali=headrace, np=np, **tensors)
        return eval(case["expr"], names)
    module, *path = case["fn"].split(".")
    function = functools.reduce(getattr, path, {"fn": fn, "math": math}[module])
    return function(*nodes, **tensors, **{key: _argument(value) for key, value in case["args"].items()})


def _run(case: dict) -> list[tuple[list[np.ndarray], str]]:
    """Samples and layout of each output."""
    arrays = _arrays(case["npz"])
    inputs = [([arrays[key] for key in entry["keys"]], entry["layout"]) for entry in case["inputs"]]
    tensors = {name: [arrays[key] for key in keys] for name, keys in case.get("tensors", {}).items()}
    batches = [samples for samples, _ in inputs] + list(tensors.values())

    @headrace.pipeline_def(
        batch_size=len(batches[0]) if batches else 1, num_threads=1, device_id=None, seed=1234, prefetch_queue_depth=1
    )
    def pipeline():
        nodes = [_source(samples, layout) for samples, layout in inputs]
        result = _call(case, nodes, {name: _source(samples) for name, samples in tensors.items()})
        return tuple(result) if isinstance(result, list | tuple) else result

    p = pipeline()
    p.build()
    return [([np.array(out[i]) for i in range(len(out))], out.layout()) for out in p.run()]
