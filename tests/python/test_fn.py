"""fn and ops: members, signatures, docstrings, inputs, argument errors, names and devices."""

import importlib
import inspect
import operator
import pathlib

import numpy as np
import pytest

import headrace
from headrace import Pipeline, fn, ops, types
from headrace.operator_call import display_prefix
from headrace.schemas import all_schemas


def run(*outputs, batch_size=2):
    pipe = Pipeline(batch_size, 1)
    pipe.set_outputs(*outputs)
    return [out.as_array() for out in pipe.run()]


def walk(module, path=""):
    for name in dir(module):
        member = getattr(module, name)
        if inspect.ismodule(member):
            yield from walk(member, f"{path}{name}.")
        else:
            yield path + name, member


PUBLIC = sorted(name for name in all_schemas() if not any(part.startswith("_") for part in name.split(".")))


def test_every_public_schema_is_a_function_and_a_class():
    assert sorted(path for path, _ in walk(fn)) == PUBLIC
    assert len(list(walk(ops))) == len(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_signature_and_docstring_follow_the_schema(name):
    schema = all_schemas()[name]
    function = fn
    for part in name.split("."):
        function = getattr(function, part)
    signature = inspect.signature(function)
    assert inspect.isfunction(function)
    assert function.__doc__
    if name == "external_source":
        return
    keyword_only = [p.name for p in signature.parameters.values() if p.kind == p.KEYWORD_ONLY]
    assert set(keyword_only) == {"device", "name"} | {spec.name for spec in schema.args}
    for spec in schema.args:
        assert spec.doc and spec.name in function.__doc__
        assert (signature.parameters[spec.name].default is inspect.Parameter.empty) == spec.required
    for entry in schema.inputs:
        assert entry[0] in signature.parameters


OLD_NAMES = {
    "caffe2_reader": "readers.caffe2",
    "caffe_reader": "readers.caffe",
    "coin_flip": "random.coin_flip",
    "experimental.decoders.image": "decoders.image",
    "experimental.decoders.image_crop": "decoders.image_crop",
    "experimental.decoders.image_random_crop": "decoders.image_random_crop",
    "experimental.decoders.image_slice": "decoders.image_slice",
    "experimental.peek_image_shape": "peek_image_shape",
    "experimental.tensor_resize": "tensor_resize",
    "fast_resize_crop_mirror": "resize_crop_mirror",
    "file_reader": "readers.file",
    "image_decoder": "decoders.image",
    "image_decoder_crop": "decoders.image_crop",
    "image_decoder_random_crop": "decoders.image_random_crop",
    "image_decoder_slice": "decoders.image_slice",
    "normal_distribution": "random.normal",
    "uniform": "random.uniform",
}


@pytest.mark.parametrize("old", OLD_NAMES)
def test_dalis_old_names_take_the_same_arguments(old):
    """DALI's deprecated names of operators that exist here."""
    schemas = all_schemas()
    new = OLD_NAMES[old]
    assert new in schemas[old].deprecation
    assert list(inspect.signature(operator.attrgetter(old)(fn)).parameters) == list(
        inspect.signature(operator.attrgetter(new)(fn)).parameters
    )


def test_submodules_can_be_imported():
    module = importlib.import_module("headrace.fn.readers")
    assert module is fn.readers
    from headrace.ops.readers import Caffe2

    assert Caffe2 is ops.readers.Caffe2
    namespace = {}
    exec("from headrace.fn import *", namespace)
    assert namespace["cast"] is fn.cast


@pytest.mark.parametrize(
    ("module", "name", "text"),
    [
        (fn, "water", r"headrace has no fn.water \(DALI has\)"),
        (fn, "waterr", "no attribute"),
        (fn, "rezise", "no attribute 'rezise'; did you mean fn.resize?"),
        (fn.experimental, "inflate", r"headrace has no fn.experimental.inflate \(DALI has\)"),
        (ops, "Water", r"headrace has no ops.Water \(DALI has\)"),
        (fn.readers, "rubbish", "no attribute"),
    ],
)
def test_missing_names(module, name, text):
    if hasattr(module, name):
        pytest.skip(f"{name} exists by now")
    with pytest.raises(AttributeError, match=text):
        getattr(module, name)


X = fn.constant(idata=[1, 2, 3])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: fn.one_hot(X, num_class=3), KeyError, 'Argument "num_class" is not defined for operator "OneHot"'),
        (lambda: fn.cast(X), RuntimeError, '"dtype"'),
        (lambda: fn.cast(dtype=types.FLOAT), ValueError, "expects from 1 to 1 inputs, but received 0"),
        (lambda: fn.cast(X, X, dtype=types.FLOAT), ValueError, "received 2"),
        (lambda: fn.cast(X, dtype=X), TypeError, "`dtype` for operator `headrace.fn.cast` should not be a 'DataNode'"),
        (lambda: fn.one_hot(X, num_classes="many"), ValueError, "num_classes"),
        (lambda: fn.one_hot(X, num_classes=[1]), TypeError, "num_classes"),
        (lambda: fn.one_hot(X, num_classes=2**70), OverflowError, "num_classes"),
        (lambda: fn.reshape(X, shape=[X, 3]), TypeError, "mix"),
        (lambda: fn.cast("text", dtype=types.FLOAT), TypeError, "input `0` of type 'str'"),
        (lambda: fn.cast(None, dtype=types.FLOAT), TypeError, "NoneType"),
        (lambda: fn.copy(X, device="tpu"), ValueError, "tpu"),
        (lambda: fn.cat([X, X], [X, X, X]), ValueError, "equal lengths"),
        (lambda: fn.one_hot(X, num_class=3), KeyError, 'Did you mean "num_classes"'),
        (lambda: ops.Cast(dtyp=types.FLOAT), KeyError, "dtyp"),
    ],
)
def test_errors_at_definition(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    ("value", "expected"), [(3.7, 3), ("4", 4), (True, 1), (np.int16(5), 5), (np.array([2]), 2), (types.Constant(6), 6)]
)
def test_constants_are_converted_as_python_does(value, expected):
    assert run(fn.one_hot(X, num_classes=value))[0].shape[-1] == expected


@pytest.mark.parametrize("shape", [[3, 1], (3, 1), np.array([3, 1]), range(3, 0, -2)])
def test_lists_from_any_sequence(shape):
    assert run(fn.reshape(X, shape=shape))[0].shape == (2, 3, 1)


def test_none_means_not_given():
    assert np.array_equal(*run(fn.one_hot(X, num_classes=4, axis=None, axis_name=None), fn.one_hot(X, num_classes=4)))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (3, np.int32),
        (2.5, np.float32),
        ([1, 2], np.int32),
        (np.float64([1.5]), np.float32),
        (np.uint8([[1]]), np.uint8),
    ],
)
def test_numbers_lists_and_arrays_as_inputs(value, dtype):
    (out,) = run(fn.copy(value))
    assert out.dtype == dtype and np.array_equal(out, np.array([value, value]))


def test_lists_of_nodes_are_several_calls():
    a, b = fn.copy([X, X + 1])
    left, right = run(a, b)
    assert np.array_equal(left + 1, right)


def test_names_and_devices():
    pipe = Pipeline(1)
    with pipe:
        first, second = fn.constant(idata=[1]), fn.copy(X)
        named = fn.copy(second, name="mine")
        gpu = named.gpu()
        on_gpu = fn.copy(gpu)
        back = gpu.cpu()
    assert (first.name, second.name, named.name) == ("__constant_0", "__copy_1", "mine")
    assert [node.device for node in (named, gpu, on_gpu, back)] == ["cpu", "gpu", "gpu", "cpu"]
    assert gpu.gpu() is gpu and named.cpu() is named


def test_gpu_data_into_a_cpu_operator_is_refused():
    pipe = Pipeline(1, 1)
    pipe.set_outputs(fn.copy(X.gpu(), device="cpu", name="culprit"))
    with pytest.raises(RuntimeError, match="GPU") as raised:
        pipe.build()
    assert f"`{display_prefix}.fn.copy`" in str(raised.value) and "test_fn.py" in str(raised.value)


def test_classes_take_arguments_in_either_call():
    one = ops.OneHot(num_classes=4)
    assert np.array_equal(*run(one(X), ops.OneHot()(X, num_classes=4)))
    assert "num_classes=4" in repr(one)


def test_import_is_light():
    import subprocess
    import sys

    code = "import sys, headrace; sys.exit(bool({'jax', 'torch', 'flax', 'ml_dtypes'} & set(sys.modules)))"
    environment = {"PYTHONPATH": str(pathlib.Path(headrace.__file__).parents[1])}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0


def test_info_names_what_the_build_has():
    info = headrace.info()
    assert info["version"] == headrace.__version__ and info["operators"] == len(all_schemas()) and info["compiler"]
    assert {"JPEG", "PNG"} <= set(info["image_formats"]) and info["simd"] and info["cuda"] is False
