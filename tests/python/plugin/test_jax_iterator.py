"""The JAX iterator on one device, and several pipelines without a sharding: values, types, memory, errors."""

import io

import numpy as np
import PIL.Image
import pytest
from pipelines import constant_batches, from_source, labels

jax = pytest.importorskip("jax")

from headrace import fn, pipeline_def, types  # noqa: E402
from headrace.plugin.base_iterator import LastBatchPolicy  # noqa: E402
from headrace.plugin.jax import DALIGenericIterator  # noqa: E402
from headrace.plugin.jax.integration import _jax_device, _to_jax_array  # noqa: E402

DTYPES = {
    "bool": (types.BOOL, np.bool_),
    "uint8": (types.UINT8, np.uint8),
    "uint16": (types.UINT16, np.uint16),
    "uint32": (types.UINT32, np.uint32),
    "int8": (types.INT8, np.int8),
    "int16": (types.INT16, np.int16),
    "int32": (types.INT32, np.int32),
    "float16": (types.FLOAT16, np.float16),
    "bfloat16": (types.BFLOAT16, jax.numpy.bfloat16),
    "float32": (types.FLOAT, np.float32),
}


@pytest.mark.parametrize("name", DTYPES)
def test_types_arrive_as_they_are_and_without_a_copy(name):
    dali_type, expected = DTYPES[name]
    data = np.arange(2 * 7 * 5 * 3).reshape(2, 7, 5, 3) % 120

    @pipeline_def(batch_size=2, num_threads=1)
    def pipe():
        return fn.cast(fn.external_source(lambda: data.astype(np.int32)), dtype=dali_type)

    iterator = DALIGenericIterator(pipe(), ["x"])
    pointers = []
    seen = iterator._next_outputs

    def watched():
        outputs, rows = seen()
        pointers.append(outputs[0][0].data_ptr())
        return outputs, rows

    iterator._next_outputs = watched
    for _ in range(3):
        array = next(iterator)["x"]
        assert array.dtype == np.dtype(expected)
        np.testing.assert_array_equal(np.asarray(array), data.astype(expected))
        assert pointers[-1] % 64 == 0
        assert array.unsafe_buffer_pointer() == pointers[-1]


@pytest.mark.parametrize("dtype, narrow", [(np.int64, np.int32), (np.uint64, np.uint32), (np.float64, np.float32)])
def test_64_bits_become_32_unless_jax_allows_them(dtype, narrow):
    def arrays():
        return next(DALIGenericIterator(from_source(constant_batches(3, (2, 3), dtype), 2), ["x"]))["x"]

    assert arrays().dtype == narrow
    jax.config.update("jax_enable_x64", True)
    try:
        assert arrays().dtype == dtype
    finally:
        jax.config.update("jax_enable_x64", False)


@pytest.mark.parametrize("shape", [(1, 1, 1, 3), (3, 1), (2, 0), (4,)])
def test_odd_shapes(shape):
    array = next(DALIGenericIterator(from_source(constant_batches(2, shape), shape[0]), ["x"]))["x"]
    assert array.shape == shape
    assert (np.asarray(array) == 0).all()


def test_layouts_without_a_sharding(numbered_files):
    def shape(num_pipelines, device_ids=(None, None), **arguments):
        pipes = [
            labels(numbered_files, batch_size=2, num_threads=1, device_id=device_id)
            for device_id in device_ids[:num_pipelines]
        ]
        array = next(DALIGenericIterator(pipes, ["x"], reader_name="reader", **arguments))["x"]
        return array.shape, sorted(device.id for device in array.devices())

    assert shape(1) == ((2, 1), [0])
    assert shape(1, (2,)) == ((2, 1), [2])
    assert shape(1, pmap_compatible=True) == ((1, 2, 1), [0])
    assert shape(2) == ((2, 2, 1), [0])
    assert shape(2, (1, 3)) == ((2, 2, 1), [1, 3])
    assert shape(2, devices=jax.devices()[2:]) == ((2, 2, 1), [2, 3])
    assert shape(2, devices=jax.devices()[:2], pmap_compatible=False) == ((4, 1), [0, 1])


def test_a_missing_device_id_lands_on_the_default_device(numbered_files):
    pipe = labels(numbered_files, batch_size=2, num_threads=1, device_id=7)
    array = next(DALIGenericIterator(pipe, ["x"], reader_name="reader"))["x"]
    assert array.devices() == {jax.devices()[0]}
    with jax.default_device(jax.devices()[3]):
        pipe = labels(numbered_files, batch_size=2, num_threads=1)
        array = next(DALIGenericIterator(pipe, ["x"], reader_name="reader"))["x"]
    assert array.devices() == {jax.devices()[3]}


def test_ragged_batches_name_the_output_and_leave_the_iterator_usable():
    batches = [[np.zeros(2), np.zeros(2)], [np.zeros(2), np.zeros(3)], [np.ones(2), np.ones(2)]]
    iterator = DALIGenericIterator(from_source(batches, 2), ["speech"])
    next(iterator)
    with pytest.raises(RuntimeError, match="'speech'"):
        next(iterator)
    assert np.asarray(next(iterator)["speech"]).tolist() == [[1, 1], [1, 1]]
    with pytest.raises(StopIteration):
        next(iterator)


def png(value):
    """A 2x2 gray image, as the bytes of a file."""
    file = io.BytesIO()
    PIL.Image.fromarray(np.full((2, 2), value, np.uint8)).save(file, "PNG")
    return np.frombuffer(file.getvalue(), np.uint8)


def test_an_operators_error_counts_as_a_batch():
    batches = [[png(k), np.frombuffer(b"no image", np.uint8) if k == 1 else png(k)] for k in range(4)]

    @pipeline_def(batch_size=2, num_threads=1)
    def pipe():
        data = fn.external_source(batches, cycle=True)
        return fn.decoders.image(data, output_type=types.GRAY)

    iterator = DALIGenericIterator(pipe(), ["x"], size=8)
    seen = [int(next(iterator)["x"][0, 0, 0, 0])]
    with pytest.raises(RuntimeError, match="decoders.image"):
        next(iterator)
    seen += [int(batch["x"][0, 0, 0, 0]) for batch in iterator]
    assert seen == [0, 2, 3]
    assert int(next(iter(iterator))["x"][0, 0, 0, 0]) == 0


@pytest.mark.parametrize("policy", ["zero", "skip"])
def test_bad_samples_are_flagged(tmp_path, policy):
    for k in range(6):
        (tmp_path / f"{k}.png").write_bytes(b"no image" if k == 4 else png(k + 1).tobytes())

    @pipeline_def(batch_size=3, num_threads=1, on_error=policy)
    def pipe():
        data, label = fn.readers.file(files=[str(tmp_path / f"{k}.png") for k in range(6)], name="reader")
        return fn.decoders.image(data, output_type=types.GRAY), label

    batches = list(DALIGenericIterator(pipe(), ["x", "label"], reader_name="reader"))
    assert [np.asarray(batch["mask"]).tolist() for batch in batches] == [[True] * 3, [True, False, True]]
    second = np.asarray(batches[1]["x"])[:, 0, 0, 0].tolist()
    assert (second[0], second[2]) == (4, 6)
    assert second[1] == 0 if policy == "zero" else second[1] in (1, 2, 3, 4, 6)


def test_a_sources_exception_passes_through():
    class Broken(Exception):
        pass

    calls = []

    def source(k):
        calls.append(k)
        if len(calls) == 3:
            raise Broken("no disk")
        return np.zeros((2, 1))

    iterator = DALIGenericIterator(from_source(source, 2), ["x"])
    next(iterator)
    next(iterator)
    with pytest.raises(Broken, match="no disk"):
        next(iterator)
    next(iterator)


def test_wrong_arguments(numbered_files):
    def pipe(**arguments):
        return labels(numbered_files, batch_size=2, num_threads=1, **arguments)

    named = {"output_map": ["x"], "reader_name": "reader"}
    one = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    with pytest.raises(AssertionError, match="partial last batch"):
        DALIGenericIterator(pipe(), **named, last_batch_policy=LastBatchPolicy.PARTIAL)
    with pytest.raises(AssertionError, match=r"jax\.sharding\.Sharding"):
        DALIGenericIterator(pipe(), **named, sharding="x")
    with pytest.raises(ValueError, match="Only one of"):
        DALIGenericIterator(pipe(), **named, sharding=one, devices=jax.devices())
    with pytest.raises(ValueError, match="pmap"):
        DALIGenericIterator(pipe(), **named, sharding=one, pmap_compatible=True)
    with pytest.raises(ValueError, match="one for each of the 1 pipelines"):
        DALIGenericIterator(pipe(), **named, devices=jax.devices())
    with pytest.raises(ValueError, match="named once"):
        DALIGenericIterator(pipe(), **named, devices=jax.devices()[:1] * 2)
    with pytest.raises(ValueError, match="all differ or all be the same"):
        DALIGenericIterator([pipe(device_id=0), pipe(device_id=0), pipe(device_id=1)], **named)


def test_pipelines_with_other_shapes_cannot_be_one_array():
    pipes = [from_source(constant_batches(2, shape), 2, device_id=k) for k, shape in enumerate([(2, 3), (2, 4)])]
    iterator = DALIGenericIterator(pipes, ["x"], size=4)
    with pytest.raises(RuntimeError, match="'x'.*batches differ"):
        next(iterator)


def test_single_tensors():
    batch = from_source(constant_batches(2, (2, 3)), 2).run()[0]
    assert _to_jax_array(batch).unsafe_buffer_pointer() == batch.data_ptr()
    assert _to_jax_array(batch, copy=True).unsafe_buffer_pointer() != batch.data_ptr()
    assert _to_jax_array(batch[0]).shape == (3,)
    assert _jax_device(batch) == jax.devices("cpu")[0]


def test_functions_are_found_below_the_plugin():
    import headrace.plugin.jax as plugin

    assert plugin.fn.jax_function.__name__ == "jax_function"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        plugin.nothing  # noqa: B018


def test_repr(numbered_files):
    pipes = [labels(numbered_files, k, 2, batch_size=2, num_threads=1) for k in range(2)]
    text = repr(DALIGenericIterator(pipes, ["x"], reader_name="reader", devices=jax.devices()[:2]))
    assert "batch_size=4" in text
    assert "len=5" in text
    assert "devices=[" in text
