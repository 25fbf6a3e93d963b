"""serialize/deserialize and checkpoints of pipelines without readers."""

import json

import numpy as np
import pytest

from headrace import Pipeline, PipelineGroup, fn, pipeline_def, types


def random_pipeline(**kwargs):
    pipe = Pipeline(**{"batch_size": 3, "num_threads": 1, "seed": 5, **kwargs})
    with pipe:
        pipe.set_outputs(fn.random.uniform(range=[0.0, 1.0], shape=[2]), fn.cast(np.float32([1.6]), dtype=types.INT32))
    return pipe


def source_pipeline(source=None, **kwargs):
    source = source or (lambda i: np.full((2, 1), i, np.int32))
    pipe = Pipeline(**{"batch_size": 2, "num_threads": 1, "enable_checkpointing": True, **kwargs})
    with pipe:
        pipe.set_outputs(fn.external_source(source=source, name="source"))
    return pipe


def arrays(pipe, count):
    return [[out.as_array().tolist() for out in pipe.run()] for _ in range(count)]


def test_serialized_pipelines_give_the_same(tmp_path):
    expected = arrays(random_pipeline(), 3)
    text = random_pipeline().serialize(filename=str(tmp_path / "p.json"))
    assert arrays(Pipeline.deserialize(text), 3) == expected
    assert arrays(Pipeline.deserialize(filename=str(tmp_path / "p.json")), 3) == expected
    other = Pipeline.deserialize(text, batch_size=1, num_threads=2)
    assert (other.batch_size, other.num_threads, other.seed) == (1, 2, 5)
    assert json.loads(text)["format"] == "headrace-pipeline"


def test_declared_outputs_are_serialized():
    declared = {"output_dtype": [types.FLOAT, None], "output_ndim": 1, "output_layout": [None, ""]}
    pipe = Pipeline.deserialize(random_pipeline(**declared).serialize())
    assert pipe.output_dtype() == [types.FLOAT, None] and pipe.output_ndim() == [1, 1]
    pipe.run()


def test_deserialized_sources_are_fed():
    pipe = Pipeline.deserialize(source_pipeline().serialize())
    for i in range(pipe.input_feed_count("source")):
        pipe.feed_input("source", np.full((2, 1), i))
    assert pipe.run()[0].as_array()[0, 0] == 0


@pytest.mark.parametrize("bad", [b"", b"{}", b"\x00\x01", "[1]", b'{"format": "headrace-pipeline", "version": 9}'])
def test_deserialize_refuses(bad):
    with pytest.raises(RuntimeError, match="serialize"):
        Pipeline.deserialize(bad)


@pytest.mark.parametrize("number", [-1, 12, 100, 265, 2**40])
def test_numbers_that_are_no_element_type_are_refused(number):
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        return fn.cast(fn.constant(idata=[3]), dtype=types.FLOAT)

    text = pipeline().serialize().replace(b'"dtype": 9', b'"dtype": %d' % number)
    assert b'"dtype": %d' % number in text
    with pytest.raises(RuntimeError, match=rf"\[cast\] dtype: {number} is the number of no element type"):
        Pipeline.deserialize(text).build()


def test_deserialize_needs_one_origin():
    with pytest.raises(ValueError):
        Pipeline.deserialize()


def test_resume_at_every_step():
    expected = arrays(random_pipeline(), 6)
    for step in range(6):
        pipe = random_pipeline(enable_checkpointing=True)
        arrays(pipe, step)
        state = pipe.checkpoint()
        resumed = random_pipeline(enable_checkpointing=True, checkpoint=state, seed=99)
        assert arrays(resumed, 6 - step) == expected[step:]
        assert resumed.is_restored_from_checkpoint and not pipe.is_restored_from_checkpoint


@pytest.mark.parametrize("depth", [1, 3])
def test_callables_with_an_argument_go_on(depth):
    def source(info):
        if info.iteration == 3:
            raise StopIteration
        return np.int32([100 * info.epoch_idx + info.idx_in_epoch])

    def make(**kwargs):
        pipe = Pipeline(2, 1, prefetch_queue_depth=depth, enable_checkpointing=True, **kwargs)
        with pipe:
            pipe.set_outputs(fn.external_source(source=source, batch=False))
        return pipe

    pipe = make()
    arrays(pipe, 3)
    with pytest.raises(StopIteration):
        pipe.run()
    pipe.reset()
    arrays(pipe, 1)
    assert arrays(make(checkpoint=pipe.checkpoint()), 1) == [[[[102], [103]]]]


def test_iterables_start_anew_with_a_warning(caplog):
    data = [np.full((2, 1), i) for i in range(5)]
    pipe = source_pipeline(data)
    arrays(pipe, 2)
    resumed = source_pipeline(data, checkpoint=pipe.checkpoint())
    assert resumed.run()[0].as_array()[0, 0] == 0
    assert "source" in caplog.text


def test_files_and_text(tmp_path):
    pipe = source_pipeline()
    pipe.run()
    state = pipe.checkpoint(str(tmp_path / "state"))
    assert (tmp_path / "state").read_bytes() == state and len(state) < 1000
    assert source_pipeline(checkpoint=state.decode()).run()[0].as_array()[0, 0] == 1


@pytest.mark.parametrize("bad", [b"", b"[]", b"{}", b"\xff", '{"format": "headrace-checkpoint", "version": 2}'])
def test_bad_checkpoints(bad):
    with pytest.raises(RuntimeError, match="checkpoint"):
        source_pipeline(checkpoint=bad).build()


def test_checkpointing_must_be_enabled():
    pipe = random_pipeline()
    with pytest.raises(RuntimeError, match="enable_checkpointing"):
        pipe.checkpoint()
    with pytest.raises(RuntimeError, match="enable_checkpointing"):
        random_pipeline(checkpoint=b"{}").build()


def test_checkpoint_of_another_graph_names_what_differs():
    state = source_pipeline().checkpoint()
    with pytest.raises(RuntimeError, match="graph"):
        random_pipeline(enable_checkpointing=True, checkpoint=state).build()


def test_groups_have_one_checkpoint_with_room_for_the_iterator():
    group = PipelineGroup([source_pipeline(), source_pipeline()]).build()
    group.run()
    state = group.checkpoint({"counter": 7})
    resumed = PipelineGroup([source_pipeline(checkpoint=state), source_pipeline()]).build()
    assert resumed.iterator_states == [{"counter": 7}] and resumed.restored
    assert [plan[0].as_array()[0, 0] for plan in resumed.run()] == [1, 1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("files")
    for i in range(7):
        (root / str(i % 2)).mkdir(exist_ok=True)
        (root / str(i % 2) / f"{i}.jpg").write_bytes(bytes([i] * (i + 1)))
    return root


def reader_pipeline(folder, **kwargs):
    pipe = Pipeline(**{"batch_size": 2, "num_threads": 2, "seed": 3, "enable_checkpointing": True, **kwargs})
    with pipe:
        files, labels = fn.readers.file(file_root=str(folder), random_shuffle=True, name="files")
        pipe.set_outputs(files, labels, fn.random.uniform(range=[0.0, 1.0]))
    return pipe


def rows(pipe, count):
    return [[[np.asarray(sample).tolist() for sample in out] for out in pipe.run()] for _ in range(count)]


@pytest.mark.parametrize("depth", [1, 4])
def test_readers_resume_at_every_step(folder, depth):
    expected = rows(reader_pipeline(folder), 9)
    for step in range(9):
        pipe = reader_pipeline(folder, prefetch_queue_depth=depth)
        rows(pipe, step)
        resumed = reader_pipeline(folder, checkpoint=pipe.checkpoint(), num_threads=1)
        assert rows(resumed, 9 - step) == expected[step:]


def test_reader_meta_and_source_info(folder):
    pipe = Pipeline.deserialize(reader_pipeline(folder).serialize())
    assert pipe.epoch_size("files") == 7 and pipe.epoch_size() == {"files": 7}
    assert pipe.reader_meta("files") == {
        "epoch_size": 7, "epoch_size_padded": 7, "number_of_shards": 1, "shard_id": 0, "pad_last_batch": 0,
        "stick_to_shard": 0,
    }  # fmt: skip
    files, labels, _ = pipe.run()
    for i in range(2):
        value = files.at(i)[0]
        assert files.source_info(i).endswith(f"{value % 2}/{value}.jpg") and labels.at(i).tolist() == [value % 2]
