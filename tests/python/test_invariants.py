"""What must hold whatever the graph: determinism, accounting, resume, held batches, calls into Python, errors, ends.

Each has a control: a way of running that must break it, so that the test is known to see.
"""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from headrace import fn, pipeline_def, types

RECORDS = 23


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[str]:
    """RECORDS files; file i holds the number i, and i more bytes."""
    folder = tmp_path_factory.mktemp("numbers")
    paths = []
    for i in range(RECORDS):
        paths.append(str(folder / f"{i:03d}.bin"))
        Path(paths[-1]).write_bytes(bytes([i]) * (i + 1))
    return paths


def numbers_pipeline(files, batch_size=4, num_threads=1, prefetch_queue_depth=2, seed=7, extra_node=False, **options):
    """(first byte + noise in [0, 1), the label): the noise is keyed by the sample."""
    reader_options = options.pop("reader", {})

    @pipeline_def
    def pipeline():
        data, label = fn.readers.file(files=files, name="reader", **reader_options)
        noise = fn.random.uniform(range=[0.0, 1.0])
        if extra_node:
            fn.random.uniform(range=[0.0, 5.0])  # nobody uses it
        return fn.cast(data[0], dtype=types.FLOAT) + noise, label

    pipe = pipeline(
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=None,
        seed=seed,
        prefetch_queue_depth=prefetch_queue_depth,
        **options,
    )
    pipe.build()
    return pipe


def values_of(pipe, batches: int) -> list[float]:
    """The first output of so many batches, one list."""
    return [float(sample) for _ in range(batches) for sample in np.asarray(pipe.run()[0].as_array()).ravel()]


# 1. Same result everywhere.


@pytest.mark.parametrize("shuffle", [{}, {"random_shuffle": True, "seed": 5}, {"shuffle_after_epoch": True}])
def test_values_depend_on_identity_only(files, shuffle):
    samples = 72  # three epochs and more, and a multiple of all batch sizes
    expected = values_of(numbers_pipeline(files, batch_size=1, reader=shuffle), samples)
    assert sorted(int(value) for value in expected[:RECORDS]) == list(range(RECORDS))
    assert len({value % 1 for value in expected}) > samples - 3  # the noise differs between samples and epochs
    for threads in (1, 2, 4):
        for batch_size in (1, 3, 8):
            for depth in (1, 2, 4):
                pipe = numbers_pipeline(files, batch_size, threads, depth, reader=shuffle)
                assert values_of(pipe, samples // batch_size) == expected, (threads, batch_size, depth)


def test_control_noise_keyed_by_slot_is_seen():
    """Numbers that a callback draws per slot do depend on the batch size: the comparison above would notice."""

    def run(batch_size):
        @pipeline_def(batch_size=batch_size, num_threads=1, device_id=None)
        def pipeline():
            return fn.external_source(lambda info: np.float32(info.idx_in_batch), batch=False)

        pipe = pipeline()
        return values_of(pipe, 24 // batch_size)

    assert run(3) != run(8)


def test_another_seed_gives_other_values(files):
    assert values_of(numbers_pipeline(files, seed=1), 4) != values_of(numbers_pipeline(files, seed=2), 4)


# 2. Every good sample once in a reader's epoch, over all shards.


@pytest.mark.parametrize("shards", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "options", [{}, {"random_shuffle": True}, {"shuffle_after_epoch": True}, {"global_shuffle": True}]
)
def test_each_epoch_has_each_record_once_over_all_shards(files, shards, options):
    epochs = 3
    seen = [[] for _ in range(epochs)]
    for shard in range(shards):
        reader = {"num_shards": shards, "shard_id": shard, "stick_to_shard": True} | options
        if options.get("shuffle_after_epoch"):
            del reader["stick_to_shard"]
        pipe = numbers_pipeline(files, batch_size=1, reader=reader)
        size = (shard + 1) * RECORDS // shards - shard * RECORDS // shards
        for epoch in range(epochs):
            seen[epoch] += [int(value) for value in values_of(pipe, size)]
    for epoch in seen:
        assert sorted(epoch) == list(range(RECORDS))


# 3. Resume at every step.


@pytest.mark.parametrize("options", [{}, {"random_shuffle": True, "num_shards": 2, "shard_id": 1}])
def test_resume_at_every_step_equals_the_uninterrupted_run(files, options):
    steps = 14
    pipe = numbers_pipeline(files, reader=options, enable_checkpointing=True)
    checkpoints, expected = [], []
    for _ in range(steps):
        checkpoints.append(pipe.checkpoint())
        expected.append(values_of(pipe, 1))
    for step, checkpoint in enumerate(checkpoints):
        resumed = numbers_pipeline(
            files,
            num_threads=2,
            prefetch_queue_depth=3,
            reader=options,
            enable_checkpointing=True,
            checkpoint=checkpoint,
        )
        assert [values_of(resumed, 1) for _ in range(steps - step)] == expected[step:], step


def test_a_checkpoint_of_another_graph_or_of_cut_bytes_is_refused(files):
    pipe = numbers_pipeline(files, enable_checkpointing=True)
    checkpoint = pipe.checkpoint()
    with pytest.raises(RuntimeError, match="graph"):
        numbers_pipeline(files, enable_checkpointing=True, checkpoint=checkpoint, reader={"random_shuffle": True})
    with pytest.raises(RuntimeError, match="num_samples"):
        numbers_pipeline(files[:-1], enable_checkpointing=True, checkpoint=checkpoint)
    with pytest.raises(RuntimeError, match="checkpoint"):
        numbers_pipeline(files, enable_checkpointing=True, checkpoint=checkpoint[: len(checkpoint) // 2])


# 4. Batches that are held never change.


def test_held_batches_never_change(files):
    pipe = numbers_pipeline(files, num_threads=2, prefetch_queue_depth=3)
    held = [pipe.run()[1] for _ in range(60)]
    arrays = [batch.as_array() for batch in held]
    del held
    for step, array in enumerate(arrays):
        assert array.ravel().tolist() == [(4 * step + slot) % RECORDS for slot in range(4)], step


def test_control_a_recycled_buffer_is_seen(files):
    """Writing a later batch into an earlier one's memory is what the test above would report."""
    pipe = numbers_pipeline(files)
    first, second = (pipe.run()[1].as_array() for _ in range(2))
    before = first.copy()
    first[:] = second
    assert (first != before).any()


# 5. Calls into the program's Python: exactly run count + depth - 1, in order, one at a time.


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("observed", [False, True])
def test_sources_are_called_run_count_plus_depth_minus_one_times(depth, observed, tmp_path):
    calls, inside = [], threading.Lock()

    def source(info):
        assert inside.acquire(blocking=False)
        calls.append((info.iteration, threading.get_ident()))
        time.sleep(0.001)
        inside.release()
        return np.full(3, info.iteration, np.int32)

    @pipeline_def(batch_size=2, num_threads=3, device_id=None, prefetch_queue_depth=depth)
    def pipeline():
        return fn.external_source(lambda info: [source(info)] * 2, batch_info=True)

    pipe = pipeline()
    pipe.build()
    if observed:
        pipe.start_trace()
    for run in range(1, 8):
        (output,) = pipe.run()
        assert output.as_array().tolist() == [[run - 1] * 3] * 2
        if observed:
            pipe.statistics()
            pipe.trace(str(tmp_path / "trace.json"))
        assert [iteration for iteration, _ in calls] == list(range(run + depth - 1))
    assert {thread for _, thread in calls} == {threading.get_ident()}


# 6. A bad sample changes nothing but its row.


def good_and_bad_images(folder: Path, bad: int) -> list[str]:
    from PIL import Image

    paths = []
    for i in range(RECORDS):
        path = folder / f"{i:03d}.png"
        Image.fromarray(np.full((6, 5, 3), i, np.uint8)).save(path)
        if i == bad:
            path.write_bytes(path.read_bytes()[:40])
        paths.append(str(path))
    return paths


def image_pipeline(paths: list[str], on_error: str):
    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=3)
    def pipeline():
        data, label = fn.readers.file(files=paths, name="reader")
        return fn.decoders.image(data), label

    pipe = pipeline(on_error=on_error)
    pipe.build()
    return pipe


@pytest.mark.parametrize("bad", [0, 1, 6, RECORDS - 1])
def test_raise_names_the_file_and_the_next_batch_is_right(tmp_path, bad):
    paths = good_and_bad_images(tmp_path, bad)
    pipe = image_pipeline(paths, "raise")
    for step in range(RECORDS // 4 + 2):
        rows = [(4 * step + slot) % RECORDS for slot in range(4)]
        if bad in rows:
            with pytest.raises(RuntimeError) as error:
                pipe.run()
            assert paths[bad] in str(error.value)
            assert f"Sample {rows.index(bad)} of the batch" in str(error.value)
            assert "headrace.fn.decoders.image" in str(error.value)
            continue
        images, labels = pipe.run()
        assert labels.as_array().ravel().tolist() == rows
        assert images.as_array()[:, 0, 0, 0].tolist() == rows


@pytest.mark.parametrize("policy", ["skip", "zero"])
@pytest.mark.parametrize("bad", [0, 6, RECORDS - 1])
def test_skip_and_zero_change_only_the_bad_row(tmp_path, policy, bad):
    pipe = image_pipeline(good_and_bad_images(tmp_path, bad), policy)
    good = 0
    for step in range(2 * RECORDS // 4 + 1):
        images, labels = pipe.run()
        assert len(images) == 4
        for slot in range(4):
            record = (4 * step + slot) % RECORDS
            pixel, label = int(images.at(slot)[0, 0, 0]), int(labels.at(slot)[0])
            if record != bad:
                assert (pixel, label) == (record, record)
                good += 1
            elif policy == "zero":
                assert pixel == 0 and label in (0, bad)
            else:
                assert pixel == label != bad
    assert good >= 2 * (RECORDS - 1) - 4


def test_control_shifted_rows_are_seen(tmp_path):
    """Leaving the bad file out instead of replacing its row moves all rows behind it."""
    paths = good_and_bad_images(tmp_path, 6)
    pipe = image_pipeline(paths[:6] + paths[7:], "raise")
    pixels = [int(image[0, 0, 0]) for _ in range(2) for image in pipe.run()[0].as_array()]
    assert [record for record, pixel in enumerate(pixels) if record != 6 and pixel != record] == [7]


# 7. Rewriting doesn't change values; test_rewriting.py has images and regions.


def test_an_unused_node_behind_changes_nothing(files):
    assert values_of(numbers_pipeline(files), 6) == values_of(numbers_pipeline(files, extra_node=True), 6)


def test_equal_nodes_give_what_one_gives(files):
    @pipeline_def(batch_size=4, num_threads=1, device_id=None, seed=1)
    def pipeline():
        data, _ = fn.readers.file(files=files)
        first, again = data[0], data[0]
        return first, again, first + again

    first, again, both = (output.as_array() for output in pipeline().run())
    assert (first == again).all()
    assert (both == 2 * first).all()


def test_equal_random_nodes_stay_two():
    @pipeline_def(batch_size=8, num_threads=1, device_id=None, seed=1)
    def pipeline():
        return fn.random.uniform(), fn.random.uniform()

    first, second = (output.as_array() for output in pipeline().run())
    assert (first != second).any()


# 10. Steady state and ends.


def test_nothing_grows(files):
    def round_trip():
        pipe = numbers_pipeline(files, num_threads=2)
        values_of(pipe, 5)
        pipe.close()

    def usage():
        return len(os.listdir("/proc/self/fd")), threading.active_count(), len(os.listdir("/proc/self/task"))

    gc.collect()  # the pipelines of other tests
    round_trip()
    before = usage()
    for _ in range(50):
        round_trip()
    assert usage() == before


def test_the_steady_state_allocates_nothing(files):
    pipe = numbers_pipeline(files, num_threads=2)
    values_of(pipe, 50)
    before = pipe.statistics()["memory"]["system_allocations"]
    values_of(pipe, 200)
    assert pipe.statistics()["memory"]["system_allocations"] - before <= 2


PROGRAM = """
    import sys, threading, time
    import numpy as np
    from headrace import fn, pipeline_def

    def source(info):
        if {fail} and info.iteration == 3:
            raise KeyError("the source's own error")
        if {slow} and info.iteration > 0:
            time.sleep(0.2)
        return np.zeros((4, 3), np.float32)

    @pipeline_def(batch_size=4, num_threads=2, device_id=None, prefetch_queue_depth=2)
    def pipeline():
        x = fn.external_source(source, batch_info=True)
        return x + 1, fn.random.uniform(shape=[1000])

    pipe = pipeline()
    pipe.build()
    held = []
    for _ in range({runs}):
        held.append(pipe.run())
    {end}
"""


@pytest.mark.parametrize(
    ("settings", "status", "message"),
    [
        ({"runs": 0}, 0, ""),
        ({"runs": 3}, 0, ""),
        ({"runs": 3, "end": "del pipe"}, 0, ""),
        ({"runs": 3, "end": "pipe.close()"}, 0, ""),
        ({"runs": 5, "fail": True}, 1, "the source's own error"),
        ({"runs": 3, "end": "raise ValueError('the user')"}, 1, "the user"),
        ({"runs": 3, "end": "sys.exit(7)"}, 7, ""),
        ({"runs": 2, "slow": True}, 0, ""),
        ({"runs": 3, "end": "globals().update(cycle=[pipe, held]); cycle.append(cycle)"}, 0, ""),
    ],
)
def test_programs_end_promptly(settings, status, message):
    fields = {"runs": 3, "fail": False, "slow": False, "end": "pass"} | settings
    program = textwrap.dedent(PROGRAM).format(**fields)
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert time.monotonic() - begin < 10  # the import's own time included, on a loaded machine


def test_a_forked_child_gets_an_error_instead_of_a_hang(files):
    pipe = numbers_pipeline(files)
    pipe.run()
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            pipe.run()
            os.write(write_end, b"no error")
        except RuntimeError as error:
            os.write(write_end, str(error).encode())
        os._exit(0)
    os.close(write_end)
    assert b"forked" in os.read(read_end, 4096)
    os.waitpid(child, 0)
    pipe.run()
